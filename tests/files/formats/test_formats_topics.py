"""Topics: TREC, TSV and JSONL, told apart by content; what cannot be searched for is refused."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.files.formats import read_topics, write_topics
from toolkit.files.texts.topics import read_narratives

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
TOPIC = Topic(
    "audience-012-1-ins",
    "how do vaccines work? Explain it to a layman.",
    query="how do vaccines work?",
    instruction="Explain it to a layman.",
    condition="layman",
    mode="ins",
    group_id="audience-012",
    original_id="12",
)


def write(folder, content, name="topics"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def refused(path):
    with pytest.raises(ToolkitError) as caught:
        read_topics(path)
    return [line.replace(f"{path.parent}/", "") for line in caught.value.lines()]


def test_trec_topics_are_written_one_value_a_line(tmp_path):
    write_topics([TOPIC], tmp_path / "topics.trec")
    assert (tmp_path / "topics.trec").read_text() == (
        "<top>\n"
        "<num> Number: audience-012-1-ins\n"
        "<orig> 12\n"
        "<title> how do vaccines work? Explain it to a layman.\n"
        "<desc> Description: how do vaccines work?\n"
        "<narr> Narrative: Explain it to a layman.\n"
        "</top>\n\n"
    )
    [topic] = read_topics(tmp_path / "topics.trec")
    assert (topic.query_id, topic.text, topic.query, topic.instruction, topic.original_id) == (
        *("audience-012-1-ins", TOPIC.text, TOPIC.query, TOPIC.instruction, "12"),
    )


def test_trec_topics_have_a_line_for_each_perspective(tmp_path):
    topic = Topic("kialo-1", "Cats?", query="Cats?", original_id="1", perspectives=("Cats\nare good.", "<narr> no cats"))
    write_topics([topic], tmp_path / "topics.trec")
    assert (
        (tmp_path / "topics.trec")
        .read_text()
        .endswith("<narr> Narrative:\n<perspective> Cats are good.\n<perspective> <narr> no cats\n</top>\n\n")
    )
    [read] = read_topics(tmp_path / "topics.trec")
    assert (read.instruction, read.perspectives) == ("", ("Cats are good.", "<narr> no cats"))


def test_tsv_topics_are_id_and_text(tmp_path):
    write_topics([TOPIC], tmp_path / "topics.tsv", "tsv")
    assert (tmp_path / "topics.tsv").read_text() == "audience-012-1-ins\thow do vaccines work? Explain it to a layman.\n"
    [topic] = read_topics(tmp_path / "topics.tsv")
    assert topic == Topic(TOPIC.query_id, TOPIC.text, query=TOPIC.text)


def test_jsonl_topics_keep_everything(tmp_path):
    topic = Topic("q", " two  blanks\nand a line ", query="\u3000x\t", instruction="</top>")
    write_topics([TOPIC, topic], tmp_path / "topics.jsonl", "jsonl")
    assert read_topics(tmp_path / "topics.jsonl") == [TOPIC, topic]


def test_narratives_of_classic_trec_topics_are_read_apart_and_of_no_other_file(tmp_path):
    narrative = "<narr> Narrative:\nA document\r\nnames one."
    first = f"<top>\n<num> Number: 301\n<title> crime\n<desc> Description:\nWho?\n{narrative}\n</top>\n"
    second = "<top>\n<num> Number: 302\n<title> no narrative\n</top>\n"
    assert read_narratives(write(tmp_path, first + second)) == {"301": "A document names one."}
    write_topics([TOPIC], tmp_path / "own.trec")
    assert read_narratives(tmp_path / "own.trec") == {}
    assert read_narratives(write(tmp_path, '{"id": "1", "query": "q", "narr": "n"}\n')) == {}


def test_classic_trec_topics_give_their_titles(tmp_path):
    text = """
<top>

<num> Number: 301
<title> International Organized
Crime

<desc> Description:
Identify organizations that participate in <b>crime</b>.

<narr> Narrative:
A relevant document must name one.

</top>

<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus Subsidies
</top>
"""
    assert read_topics(write(tmp_path, text.replace("\n", "\r\n"))) == [
        Topic("301", "International Organized Crime", query="International Organized Crime"),
        Topic("051", "Airbus Subsidies", query="Airbus Subsidies"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "007\tnull\nq-rev\ta\tb\n",
        "\ufeff007\tnull\r\n\r\nq-rev\ta\tb\r\n",
        '{"_id": "007", "text": "null", "metadata": {"source": 1}}\n\n{"query_id": "q-rev", "text": "a\\tb", "query": null}\n',
        "<top>\n<num>007</num><title>\nnull\n</title>\n</top>\n<top>\n<num>q-rev</num><title>a\tb</title>\n</top>\n",
    ],
)
def test_what_a_file_is_is_seen_from_its_content(tmp_path, content):
    topics = read_topics(write(tmp_path, gzip.compress(content.encode()), "topics.gz"))
    between = " " if content.startswith("<") else "\t"
    assert topics == [Topic("007", "null", query="null"), Topic("q-rev", f"a{between}b", query=f"a{between}b")]


def test_a_number_as_id_is_text(tmp_path):
    assert read_topics(write(tmp_path, '{"_id": 12, "text": "x"}\n'))[0].query_id == "12"


ROW = {"query": "wind power", "instruction": "For experts."}
READ = Topic("q-ins", "wind power For experts.", query="wind power", instruction="For experts.")


@pytest.mark.parametrize(
    ("row", "topic"),
    [
        ({"_id": "q-ins", "text": "wind power", "instruction": "For experts."}, READ),  # BEIR's, mFollowIR's on the hub
        ({"id": "q-ins", **ROW}, READ),
        ({"qid": "q-ins", "title": "wind power", "instruction": "For experts."}, READ),
        ({"query_id": "q-ins", "text": "wind power For experts.", "instruction": "For experts."}, READ),
        ({"id": "q-ins", "text": "Experts: wind power", **ROW}, replace(READ, text="Experts: wind power")),
        ({"id": 7, **ROW, "mode": "ins", "group_id": "3"}, replace(READ, query_id="7", group_id="3", mode="ins")),
        ({"qid": "7", "query": "wind power", "instruction": None}, Topic("7", "wind power", query="wind power")),
        ({"_id": "7", "text": "wind power"}, Topic("7", "wind power", query="wind power")),
    ],
)
def test_json_lines_of_others_give_core_query_and_instruction(tmp_path, row, topic, capsys):
    assert read_topics(write(tmp_path, json.dumps(row))) == [topic]
    assert capsys.readouterr().err == ""


def test_keys_that_are_not_read_are_named_once(tmp_path, capsys):
    rows = [
        {"_id": "1", "text": "a", "metadata": {}},
        {"_id": "2", "text": "a", "instruct": "For experts.", "title": "b"},
        {"_id": "3", "text": "a", "instruct": "For laymen.", "metadata": {"source": 1}},
    ]
    assert len(read_topics(write(tmp_path, "\n".join(map(json.dumps, rows))))) == 3
    source = tmp_path / "topics"
    assert capsys.readouterr().err == f"note: {source}: keys that topics do not have are not read: instruct, title, metadata\n"


@pytest.mark.parametrize(
    "content",
    [
        "query_id\tquery\tinstruction\nq-ins\twind power\tFor experts.\n",
        "QID\tInstruction\tText\n\nq-ins\tFor experts.\t wind power\n",
        "_id\ttext\tmode\tinstruction\nq-ins\twind power\tins\tFor experts.\n",
        "id\ttitle\ttext\tinstruction\tquery\nq-ins\t\twind power For experts.\tFor experts.\twind power\n",
        "q-ins\twind power\tFor experts.\n",
    ],
)
def test_tsv_columns_are_read_by_their_header_and_a_third_one_is_the_instruction(tmp_path, content, capsys):
    assert read_topics(write(tmp_path, content)) == [replace(READ, mode="ins" if "mode" in content else "")]
    assert capsys.readouterr().err == ""


def test_tsv_rows_may_lack_their_last_column(tmp_path, capsys):
    content = "qid\tquery\tinstruction\tsource\na\twind power\nb\twind power\tFor experts.\tweb\n"
    assert [topic.text for topic in read_topics(write(tmp_path, content))] == ["wind power", "wind power For experts."]
    assert "not read: source\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("qid\tnarrative\nq1\tone\n", "line 1: a header without a column text or query or title"),
        ("qid\tquery\nq1\tone\ttwo\n", "line 2: 3 columns, the header has 2"),
        ("q1\tone\nq2 two\n", "line 2: no tab between topic id and text"),
        ("q1\tone\nq2\t \n", "line 2: topic q2 without text"),
        ("q1\tone\n\ttwo\n", "line 2: a topic without id"),
        ("q1\tone\nq 2\ttwo\n", "line 2: white space in the topic id 'q 2'"),
        ("q1\tone\nq2\ttwo\nq1\tone\n", "line 3: topic q1 again, first on line 1"),
        ('{"_id": "q1", "text": "one"}\n{"_id": "q2", "text"\n', "line 2: not JSON: Expecting ':' delimiter at column 21"),
        ('{"_id": "q1", "text": "one"}\n["q2"]\n', "line 2: a topic without id"),
        ('{"_id": "q1", "text": ["one"]}\n', "line 1: text is no string"),
        ('{"_id": true, "text": "one"}\n', "line 1: query_id is no string"),
        ("<top>\n<num> 1\n<title> one\n</top>\n<top>\n<num> 2\n</top>\n", "line 5: topic 2 without text"),
        ("<top>\n<num> 1\n<title> one\n<top>\n<num> 2\n<title> two\n</top>\n", "line 1: <top> without </top>"),
        ("<top>\n<num> 1\n<title> one\n", "line 1: <top> without </top>"),
        (b"q1\tone\nq2\tzw\xf6lf\n", "line 2: not UTF-8 text"),
    ],
)
def test_a_wrong_topic_is_named(tmp_path, content, message):
    assert refused(write(tmp_path, content))[0] == f"error: topics, {message}"


@pytest.mark.parametrize("content", ["", "\n\n", "<html></html>\n"])
def test_a_file_without_topics_is_refused(tmp_path, content):
    assert refused(write(tmp_path, content))[0] == "error: topics: no topics in it"


def test_an_id_with_white_space_is_not_written(tmp_path):
    with pytest.raises(ToolkitError, match="query_id 'q 1' cannot stand in a TREC file"):
        write_topics([Topic("q 1", "x")], tmp_path / "topics.trec")
    assert not (tmp_path / "topics.trec").exists()


@pytest.mark.parametrize("format", ["trec", "tsv", "jsonl"])
def test_an_id_with_a_no_break_space_is_not_written_as_another(tmp_path, format):
    with pytest.raises(ToolkitError, match="cannot stand in topics"):
        write_topics([Topic("q\u00a01", "x"), Topic("q\u2028", "x")], tmp_path / "topics", format)
    assert not (tmp_path / "topics").exists()


@pytest.mark.parametrize("body", ["\n", "\n7 gears\n"])
def test_a_trec_topic_without_tags_is_named(tmp_path, body):
    (tmp_path / "topics").write_text(f"<top>{body}</top>\n")
    with pytest.raises(ToolkitError, match="line 1: a topic without id"):
        read_topics(tmp_path / "topics")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query_id": "q", "text": "\\ud800"}', "not JSON: half a surrogate pair, which is no text"),
        ('{"query_id": 1' + "0" * 5000 + "}", "not JSON: a number of 5,001 digits"),
        ('{"query_id": ' * 100_000, "not JSON: nested too deep"),
    ],
)
def test_json_that_is_no_topic_is_named_with_its_line(tmp_path, line, message):
    (tmp_path / "topics.jsonl").write_text('{"query_id": "p", "text": "x"}\n' + line)
    with pytest.raises(ToolkitError, match=f"line 2: {message}"):
        read_topics(tmp_path / "topics.jsonl")


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
awkward = st.sampled_from(["<title>", "</top>", "<top>", "<narr>", "Number:", "Description: x", "Topic: y", "<orig>", "{", "["])
texts = st.lists(words | awkward, min_size=1, max_size=4).map(" ".join)
topics = st.lists(
    st.builds(Topic, words.filter(lambda word: word[0] not in "#\ufeff{<"), texts, texts, texts, original_id=words),
    min_size=1,
    max_size=4,
    unique_by=lambda topic: topic.query_id,
)


@given(topics)
@settings(deadline=None)
def test_trec_topics_are_read_back_whatever_stands_in_a_text(tmp_path_factory, topics):
    path = tmp_path_factory.mktemp("topics") / "topics.trec"
    write_topics(topics, path)
    assert [(t.query_id, t.text, t.query, t.instruction, t.original_id) for t in read_topics(path)] == [
        (t.query_id, t.text, t.query, t.instruction, t.original_id) for t in topics
    ]


@given(topics)
@settings(deadline=None)
def test_tsv_topics_are_read_back(tmp_path_factory, topics):
    path = tmp_path_factory.mktemp("topics") / "topics.tsv"
    write_topics(topics, path, "tsv")
    assert [(t.query_id, t.text) for t in read_topics(path)] == [(t.query_id, t.text) for t in topics]


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the checkout")
def test_real_topics_are_read():
    vaswani = read_topics(DATA / "vaswani" / "topics.trec")
    assert len(vaswani) == 93
    assert (vaswani[3].query_id, vaswani[3].text) == ("4", "SYSTEMS OF DATA CODING FOR INFORMATION TRANSFER")
    seeds = read_topics(DATA / "msmarco-seeds" / "topics.tsv")
    assert len(seeds) == 1743
    assert (seeds[0].query_id, seeds[0].text) == ("320792", "how much is a cost to run disneyland")


def test_perspectives_and_wordings_stay_in_jsonl(tmp_path):
    topic = Topic("q1", "Cats?", query="Cats?", wordings={"short": "cats"}, perspectives=("Cats are good.", "Cats are bad."))
    write_topics([topic], tmp_path / "t.jsonl", "jsonl")
    (read,) = read_topics(tmp_path / "t.jsonl")
    assert read == topic
    assert (read.perspectives, read.wordings) == (topic.perspectives, topic.wordings)


@pytest.mark.parametrize(("field", "message"), [("perspectives", "no list of texts"), ("wordings", "no mapping of texts")])
def test_perspectives_and_wordings_that_are_none_are_refused(tmp_path, field, message):
    (tmp_path / "t.jsonl").write_text(f'{{"query_id": "q", "text": "t", "{field}": ["", 1]}}\n')
    with pytest.raises(ToolkitError, match=f"{field} is {message}"):
        read_topics(tmp_path / "t.jsonl")
