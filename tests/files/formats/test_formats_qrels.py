"""Qrels: four columns, or BEIR's three; subtopics are kept; contradictions are refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.files.formats import read_qrels, write_qrels
from toolkit.files.runs.lint import qrels_from_lines, scan_qrels
from toolkit.files.texts.parse import evened, parse_plain_qrels

INSTRUCTIR = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "instructir" / "qrels"


def write(folder, content, name="qrels.txt"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def refused(path):
    with pytest.raises(ToolkitError) as caught:
        read_qrels(path)
    return [line.replace(f"{path.parent}/", "") for line in caught.value.lines()]


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 1\nq1 0 b 0\n007 0 a -2\n",
        "q1\t0\ta\t1\r\nq1  0 b\t0\r\n\r\n007 0 a -2",
        "\ufeff# by hand\nq1 0 a +1\nq1 0 b 0\n007 0 a -2\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n007\ta\t-2\n",
        "qid\tpid\tscore\r\nq1\ta\t1\r\nq1\tb\t0\r\n007\ta\t-2\r\n",
    ],
)
def test_every_layout_gives_the_same_judgments(tmp_path, content):
    assert list(read_qrels(write(tmp_path, content))) == [Qrel("q1", "a", 1), Qrel("q1", "b", 0), Qrel("007", "a", -2)]


@pytest.mark.parametrize(
    "content",
    [
        "#by hand\n# a b 1\n#1 0 a 1\n#q 0 b 0\n",
        "#by hand, in May 2026\r\n\r\n#1\t0\ta\t1\r\n#q\t0\tb\t0",
        "query-id\tcorpus-id\tscore\n#1\ta\t1\n#q\tb\t0\n",
    ],
)
def test_judgments_are_read_although_their_query_begins_as_a_comment_does(tmp_path, content):
    assert list(read_qrels(write(tmp_path, content))) == [Qrel("#1", "a", 1), Qrel("#q", "b", 0)]


def test_subtopics_are_kept(tmp_path):
    qrels = read_qrels(write(tmp_path, "q 1 a 1\nq 2 a 1\nq 2 b 0\n"))
    assert list(qrels) == [Qrel("q", "a", 1, "1"), Qrel("q", "a", 1, "2"), Qrel("q", "b", 0, "2")]


def test_the_same_judgment_twice_counts_once(tmp_path):
    assert list(read_qrels(write(tmp_path, "q 0 a 1\nq 0 a 1\n"))) == [Qrel("q", "a", 1)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 a 1\nq 0 a 2\n", "line 2: document a of query q is judged 2, but 1 on line 1"),
        ("q 0 a 1\nq a 1\n", "line 2: expected 4 columns, found 3"),
        ("query-id\tcorpus-id\tscore\nq\t0\ta\t1\n", "line 2: expected 3 columns, found 4"),
        ("q 0 a 0.5\n", "line 1: relevance 0.5 is not a whole number"),
        (b"q 0 a 1\nq 0 \xe4 1\n", "line 2: not UTF-8 text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, content, message):
    assert refused(write(tmp_path, content))[0] == f"error: qrels.txt, {message}"


@pytest.mark.parametrize("content", ["", "# none\n", "query-id\tcorpus-id\tscore\n"])
def test_empty_qrels_are_refused(tmp_path, content):
    assert refused(write(tmp_path, content))[0] == "error: qrels.txt: no judgments in it"


def test_a_header_is_read_at_the_start_only(tmp_path):
    assert refused(write(tmp_path, "q 0 a 1\nquery-id\tcorpus-id\tscore\n"))[0].endswith("line 2: expected 4 columns, found 3")


def test_qrels_that_could_not_be_read_back_are_not_written(tmp_path):
    with pytest.raises(ToolkitError, match="iteration 'my view' cannot stand in a TREC file"):
        write_qrels(Qrels.from_rows([Qrel("q", "a", 1, "my view")]), tmp_path / "qrels.txt")
    assert not (tmp_path / "qrels.txt").exists()


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\v\f\r "), min_size=1, max_size=5)
judgments = st.builds(Qrel, words.filter(lambda word: word[0] not in "#\ufeff"), words, st.integers(-(10**9), 10**9), words)


@given(st.lists(judgments, min_size=1, max_size=12, unique_by=lambda row: (row.query_id, row.doc_id, row.iteration)))
@settings(deadline=None)
def test_qrels_are_read_back_as_they_were(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt.gz"
    write_qrels(Qrels.from_rows(rows), path)
    assert list(read_qrels(path)) == rows


@given(st.lists(judgments, min_size=1, max_size=12), st.sampled_from([" ", "\t", "  "]))
@settings(deadline=None)
def test_the_fast_way_reads_what_the_careful_way_reads_or_nothing(rows, blank):
    data = "".join(f"{q} {i} {d} {r}\n".replace(" ", blank) for q, d, r, i in rows).encode()
    fast, (lines, problems) = parse_plain_qrels(evened(data), "a"), scan_qrels(data)
    if fast is not None:
        assert problems == []
        assert list(fast) == list(qrels_from_lines(lines, "a"))


@pytest.mark.parametrize(
    "line", ["q 0 a 2", "q 0 a 1", "q 0 b x", "# a b 1", "q a 1", "q 0 b ", " q 0 b 1", "q 0 b\0 1", "q 0 b \u0661"]
)
def test_the_fast_way_leaves_alone_what_is_not_plain(line):
    assert len(parse_plain_qrels(b"q 0 a 1\nq 1 a 1\n", "a")) == 2
    assert parse_plain_qrels(f"q 0 a 1\nq 1 a 1\n{line}\n".encode(), "a") is None


@pytest.mark.skipif(not INSTRUCTIR.is_dir(), reason="no shared data beside the checkout")
def test_instructirs_own_qrels_are_read():
    qrels = read_qrels(INSTRUCTIR / "test.tsv")
    assert len(qrels) == len(qrels.query_ids) == 9906
    assert next(iter(qrels)) == Qrel("1078446_1", "7865137_1", 1)
