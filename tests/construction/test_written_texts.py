import json
from contextlib import suppress
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.construction.answer_forms import (
    read_document,
    read_documents,
    read_instructed_query,
    read_instruction,
    read_keywords,
    read_verdict,
)
from toolkit.construction.documents.posts import read_posts, split_post
from toolkit.core.errors import ToolkitError


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("What helps, then? No jargon, please!", ("What helps, then?", "No jargon, please!")),
        ('"What\nhelps?  No jargon." ', ("What helps?", "No jargon.")),
        ("什么有用？请给我中文的文章。", ("什么有用？", "请给我中文的文章。")),
        # as the paper's prompt asks for it (table 5)
        ("Core query: a b\nCondition: blog\nQuery_with_Instruction: What helps? Only blogs.", ("What helps?", "Only blogs.")),
    ],
)
def test_an_instructed_query_is_two_sentences_each_in_a_line(answer, text):
    assert read_instructed_query(answer) == text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('"No jargon,\nplease!"', "No jargon, please!"),
        ("不要中文的。", "不要中文的。"),
        ("Reverse Instruction: No blogs.", "No blogs."),  # table 7
    ],
)
def test_an_instruction_is_one_sentence_in_a_line(answer, text):
    assert read_instruction(answer) == text


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "empty"),
        ("Give me plain words. And then", "no end"),
        ("One sentence only.", "1 sentences"),
        ("One. Two. Three.", "3 sentences"),
        ("Sure! Give me plain words.", "it speaks of the text"),
        ("Here are two sentences: A b. C d.", "it speaks of the text"),
        ("word " * 80 + "end. Two.", "more than 80 words"),
    ],
)
def test_another_form_of_instruction_is_none(answer, problem):
    with pytest.raises(ValueError, match=problem):
        read_instructed_query(answer)
    with pytest.raises(ValueError, match="2 sentences, not 1"):
        read_instruction("No blogs. No forums.")


def test_documents_of_one_answer_are_told_apart_by_their_labels():
    answer = "Query: a b\n\n**Blog:** My kettle\nby Ann, 2024\n\nForum: Bo: it limes up\nCy: vinegar"  # table 6
    assert read_documents("Blog", "Forum")(answer) == {
        "Blog": "My kettle\nby Ann, 2024",
        "Forum": "Bo: it limes up\nCy: vinegar",
    }
    for wrong in ("", "Blog: one two three", "Forum: one two three\nBlog: one two three", "Blog: one\nForum: one two three"):
        with pytest.raises(ValueError, match=r"no Blog:, Forum:|fewer than 3"):
            read_documents("Blog", "Forum")(wrong)


def test_a_document_is_a_text_that_does_not_speak_of_itself():
    assert read_document("```\nKettles lime up with time.\n```") == "Kettles lime up with time."
    assert read_document("“Kettles lime up.”") == "Kettles lime up."
    assert read_document("水壶会结垢") == "水壶会结垢"
    assert read_document("Core query: a b\nHard negative document: Kettles lime up.") == "Kettles lime up."  # table 8
    for answer in ("", "two words", "Here is the rewritten text: Kettles lime up.", "I cannot do that, sorry."):
        with pytest.raises(ValueError, match=r"words|speaks of|empty"):
            read_document(answer)


def test_keywords_are_lines():
    assert read_keywords("1. limescale\n- citric acid\n\n* limescale\n2) “vinegar”,") == ["limescale", "citric acid", "vinegar"]
    assert read_keywords("Condition: citric acid") == ["citric acid"]  # table 3
    for answer in ("", "limescale, vinegar", "The words are: a", "a word of many words here", "Done."):
        with pytest.raises(ValueError, match=r"no words|no word"):
            read_keywords(answer)


@pytest.mark.parametrize(("answer", "holds"), [("Yes", True), (" yes.", True), ("**No**", False), ("NO, it is a list.", False)])
def test_a_verdict_begins_with_yes_or_no(answer, holds):
    assert read_verdict(answer) is holds


@pytest.mark.parametrize("answer", ["", "Maybe", "Yesterday", "Yes or No", "No... well, yes", "The answer is yes"])
def test_what_is_neither_or_both_is_no_verdict(answer):
    with pytest.raises(ValueError, match="Yes"):
        read_verdict(answer)


@given(st.text())
def test_readers_read_or_refuse_any_answer(answer):
    for read in (read_instruction, read_instructed_query, read_documents("A", "B"), read_document, read_keywords, read_verdict):
        with suppress(ValueError):
            assert read(answer) is not None


def test_a_post_is_whole_and_its_code_apart():
    text = (
        "I tried this:\n\n    for row in rows:\n        print(row)\n\nand it is slow.\n\n```py\nrows = set(rows)\n```\nThanks!"
    )
    code = "    for row in rows:\n        print(row)\n\nrows = set(rows)"
    assert split_post(f"{text}\n") == (text, code, "", "")


HTML = """\
<p>Use <code>os.environ</code> &amp; see <a href="https://docs.python.org/3/library/os.html">the page</a>, it says:</p>

<blockquote>
<p>Names and what they stand for,
all of them texts.</p>
</blockquote>

<pre class="lang-py"><code>if a &lt; b:
    sort()
</code></pre>
<p>Bye.</p>"""


def test_of_html_code_is_unescaped_quotations_and_links_stay_and_other_tags_are_left_out():
    post = split_post(HTML)
    assert post.post == (
        "Use `os.environ` & see [the page](https://docs.python.org/3/library/os.html), it says:\n\n"
        "> Names and what they stand for,\n> all of them texts.\n\n```\nif a < b:\n    sort()\n```\n\nBye."
    )
    assert post.code == "if a < b:\n    sort()"
    assert post.manual == "Names and what they stand for,\nall of them texts."
    assert post.source == "https://docs.python.org/3/library/os.html"


def test_code_within_a_quotation_parts_it_and_unknown_names_in_brackets_are_text():
    post = split_post(
        "<p>The <b>manual</b>:</p><blockquote><p>Use a <T>:</p>"
        "<pre>\n\n  <span>x</span> = 1\n\n\n  y\n</pre>so.</blockquote><p>Bye</p>"
    )
    assert post.post == "The manual:\n\n> Use a <T>:\n\n```\n  x = 1\n\n\n  y\n```\n\n> so.\n\nBye"
    assert post[1:] == ("  x = 1\n\n\n  y", "Use a <T>:", "manual")


def test_tags_that_are_not_closed_hold_to_the_end():
    assert split_post("<p>See <a href='u'>this<pre>x &lt; 1").post == "See this\n\n```\nx < 1\n```"
    assert split_post("</a></blockquote><p>a</p><blockquote>b").post == "</a></blockquote><p>a</p><blockquote>b"  # no HTML
    assert split_post("<p>a</blockquote></a><blockquote>b").post == "a\n\n> b"


@pytest.mark.parametrize(
    "text",
    [
        "<p>x</p><pre>" + " " * 100_000,
        "<p>x</p>" + "<pre>" * 50_000,
        "<p>x</p>" + "<a " * 100_000,
        "<p>x</p>" + "<a href='x'>" * 50_000,
        "<p>x</p>" + "<blockquote>" * 50_000 + "<pre" * 50_000,
        "<p>x</p><blockquote>" + "\n \n" * 50_000 + "x",
        "<pre><code>" * 50_000 + "x" + "</code></pre>" * 50_000,
    ],
    ids=range(7),
)
@pytest.mark.timeout(60)  # what grows with the square of the length takes minutes
def test_what_is_not_closed_is_read_in_a_time_that_grows_with_its_length(text):
    assert "x" in split_post(text).post


def test_a_character_reference_that_is_no_number_stays():
    assert split_post("<p>a &amp; b</p><p>&#" + "9" * 5_000 + ";</p>").post.startswith("a & b\n\n&#999")


@pytest.mark.parametrize(
    ("text", "manual", "source"),
    [
        ("From the manual:\n\n> It takes a value.\n\nSo do it.", "It takes a value.", "manual"),
        ("> It takes a value.\n\n([docs](https://example.org/x))\n", "It takes a value.", "https://example.org/x"),
        ("You wrote:\n\n> It takes a value.\n\nIt does not.", "", ""),  # a quotation of the question
        ("> It takes a value.", "", ""),
        ("See the docs.\n\nYou wrote:\n\n> It takes a value.", "", ""),  # another paragraph speaks of them
        (  # an answer to what the question says, which happens to name documentation
            "> It takes a value.\n\n"
            "If you can, restrict the value with a [function](https://example.org/docs/f) of your own, which is simple.",
            "",
            "",
        ),
        (  # as dumps have it: one line feed between paragraphs
            "<p>See the docs.</p>\n<p>You wrote:</p>\n"
            "<blockquote>\n  <p>One.</p>\n  <p>Two.</p>\n</blockquote>\n<p>(Manual)</p>",
            "One.\n\nTwo.",
            "Manual",
        ),
        ("The reference says\n> One.\n\nand the man page\n> Two.\n", "One.\n\nTwo.", "reference"),
    ],
)
def test_a_manual_is_what_a_post_quotes_of_documentation(text, manual, source):
    assert split_post(text)[2:] == (manual, source)


def test_an_indented_quotation_is_prose():
    assert split_post("He said:\n\n    I have never seen that.\n    Nor has she.\n\nHm.").code == ""


def test_a_post_without_code_has_none():
    assert split_post("Only words here.") == ("Only words here.", "", "", "")


ROWS = (
    {"Id": 1, "PostTypeId": 1, "Title": "How to sort?", "AcceptedAnswerId": 4},
    {"Id": 2, "PostTypeId": 1, "Title": "How to read the environment?"},
    {"Id": 3, "PostTypeId": 2, "ParentId": 1, "Score": 9, "Body": "<p>So:</p><pre><code>sort(rows)</code></pre>"},
    {"Id": 4, "PostTypeId": 2, "ParentId": 1, "Score": 2, "Body": "<p>Or:</p><pre><code>sorted(rows)</code></pre>"},
    {"Id": 5, "PostTypeId": 2, "ParentId": 1, "Score": 99, "Body": "<p>No code at all.</p>"},
    {"Id": 6, "PostTypeId": 2, "ParentId": 2, "Body": HTML},
    {"Id": 7, "PostTypeId": 1, "Title": "Who knows?"},
)


def test_questions_are_read_of_a_dump_and_of_json_lines(tmp_path):
    dump, lines = tmp_path / "Posts.xml", tmp_path / "posts.jsonl"
    rows = (" ".join(f"{name}={quoteattr(str(value))}" for name, value in row.items()) for row in ROWS)
    dump.write_text(
        '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "".join(f"  <row {row} />\n" for row in rows) + "</posts>\n"
    )
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    # first the question whose answer quotes documentation; then the accepted answer before the better one; none without code
    expected = [("2", "How to read the environment?", ["6"]), ("1", "How to sort?", ["4", "3"])]
    for path in (dump, lines):
        found = read_posts([path])
        assert [(topic.query_id, topic.text, [doc.doc_id for doc in answers]) for topic, answers in found] == expected
    assert found[0][1][0].text == split_post(HTML).post


def dump_of(rows, between=""):
    return between.join(f"<row {' '.join(f'{name}={quoteattr(str(value))}' for name, value in row.items())} />" for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        f"<posts>{dump_of(ROWS)}</posts>",  # all in one line
        dump_of(ROWS, "\n"),  # an excerpt without the root
        f'<?xml version="1.0"?><!DOCTYPE posts><posts>{dump_of(ROWS)}</posts>'.replace("<row ", "<row\n  "),
        f"<posts>{dump_of(ROWS)}</posts>{' ' * (1 << 20)}",  # more than is read at once
        "\n\n" + "\n".join(json.dumps({"Tags": "<row a='b'>", **row}) for row in ROWS) + "\n\n",
        json.dumps({"Id": 9, "PostTypeId": 2, "Body": "x" * (1 << 20)}) + "\n" + "\n".join(map(json.dumps, ROWS)),
    ],
    ids=("one-line", "rows", "lines-of-a-row", "large", "json-of-xml", "large-json"),
)
def test_posts_may_stand_in_lines_of_any_kind(tmp_path, text):
    (tmp_path / "posts").write_text(text)
    assert [topic.query_id for topic, _ in read_posts([tmp_path / "posts"])] == ["2", "1"]


@pytest.mark.parametrize(
    "line", ["<row Id='1'", '{"Id": 1', '{"PostTypeId": 1}', "no post", '{"Id": 1, "Score": "many"}', "[1]"]
)
def test_a_line_that_is_no_post_is_named(tmp_path, line):
    (tmp_path / "posts.jsonl").write_text('{"Id": 1, "PostTypeId": 1}\n' + line)
    with pytest.raises(ToolkitError, match=r"posts\.jsonl, line 2: no post"):
        read_posts([tmp_path / "posts.jsonl"])


# entities of entities: 10 ** 9 letters
BOMB = (
    b"<!DOCTYPE p [\n<!ENTITY e0 'a'>\n"
    + b"".join(b"<!ENTITY e%d '%s'>\n" % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]>\n<posts><row Id='&e9;'/></posts>"
)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"Id": 1}\n{"Id": 2, "Body": "caf\xe9"}\n', r"line 2: no post \(.*utf-8"),
        (b"<posts>\n<row Id='1' Body='caf\xe9'/>\n</posts>", r"line 2: no post \(not well-formed"),
        (b"<posts>\n<row Id='1'/>\n", r"line 3: no post \(no element found"),
        (b"<posts>\n<row Id='1'/>\n<row PostTypeId='1'/></posts>", r"line 3: no post \(no Id\)"),
        (BOMB, r"line \d+: no post \(limit on input amplification"),
        (b"<posts/>", "0 questions, and no answer"),
        (b'{"Id": 1, "PostTypeId": 1}\n', "1 questions, and no answer"),
    ],
)
def test_a_file_without_posts_is_one_error(tmp_path, data, problem):
    (tmp_path / "posts").write_bytes(data)
    with pytest.raises(ToolkitError, match=problem):
        read_posts([tmp_path / "posts"])


@pytest.mark.parametrize("row", [ROWS[0], ROWS[3]], ids=("question", "answer"))
def test_a_post_that_is_there_twice_is_an_error(tmp_path, row):
    (tmp_path / "posts").write_text("\n".join(map(json.dumps, [*ROWS, row])))
    with pytest.raises(ToolkitError, match=rf"line 8: the post {row['Id']} was there before"):
        read_posts([tmp_path / "posts"])
    with pytest.raises(ToolkitError, match=r"line \d: the post . was there before"):
        read_posts([tmp_path / "posts"] * 2)
