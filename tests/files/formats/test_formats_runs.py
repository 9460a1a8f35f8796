"""Runs are read as trec_eval reads them, and refused with every problem and its line."""

import gzip

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.files.formats import read_run
from toolkit.files.runs.lint import run_from_lines, scan_run
from toolkit.files.runs.runs import form_of, parse_run
from toolkit.files.runs.trec_runs import stream_trec

LINES = ("q2 Q0 d1 1 2.5 bm25", "q2 Q0 d2 2 1.25 bm25", "q1 Q0 d1 1 0.5 bm25")
PLAIN = "\n".join(LINES) + "\n"
COLUMNS = (["q2", "q2", "q1"], ["d1", "d2", "d1"], [2.5, 1.25, 0.5], "bm25")


def columns(run: Run):
    query_ids = [run.query_ids[code] for code in run.queries]
    return query_ids, run.doc_ids.take(run.docs).to_pylist(), run.scores.tolist(), run.tag


def write(folder, content, name="run.trec"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path) -> list[str]:
    with pytest.raises(ToolkitError) as caught:
        read_run(path)
    assert caught.value.status == 2
    return [line.replace(f"{path.parent}/", "") for line in caught.value.lines()]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace(" ", "\t"),
        PLAIN.replace(" ", " \t  "),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(" ", "\t").replace("\n", " \r\n"),
        "\ufeff" + PLAIN,
        "\ufeff# made by hand\n" + PLAIN,
        f"# six words in a comment line\n{LINES[0]}\n\n  # another\n   \n  {LINES[1]}  \n{LINES[2]}\n\n",
        PLAIN.replace(" ", "\v"),
    ],
)
def test_every_layout_gives_the_same_run(tmp_path, content):
    assert columns(read_run(write(tmp_path, content))) == COLUMNS


@pytest.mark.parametrize(("name", "pack"), [("run.gz", gzip.compress), ("run.trec.zst", zstandard.compress)])
def test_compressed_runs_are_read(tmp_path, name, pack):
    assert columns(read_run(write(tmp_path, pack(PLAIN.encode()), name))) == COLUMNS


def test_ids_stay_text_as_they_are(tmp_path):
    ids = ["007", "null", "NA", "nan", '"a', "b\"c'", "1e3", "#d", "\u00a0", "東京", "true", "-"]
    text = "".join(f"{id if id != '#d' else 'q'} Q0 {id} 1 {10 - rank} {id}\n" for rank, id in enumerate(ids))
    run = read_run(write(tmp_path, text))
    assert run.doc_ids.to_pylist() == ids
    assert run.query_ids == tuple(id if id != "#d" else "q" for id in ids)
    assert run.tag == "007"


@pytest.mark.parametrize("edit", [str, lambda text: text.replace(" ", "\t"), lambda text: text.replace("\n", " \r\n")])
def test_a_line_of_a_run_is_read_although_its_query_begins_as_a_comment_does(tmp_path, edit):
    text = edit("#by hand\n# a b 1 2 c\n#1 Q0 d1 1 2.5 t\n #2 Q0 #d 1 1e0 t\n#1 of 2 runs\nq Q0 d 1 1 t\n")
    run = read_run(write(tmp_path, text))
    assert run.to_dict() == {"#1": {"d1": 2.5}, "#2": {"#d": 1.0}, "q": {"d": 1.0}}
    assert columns(run_from_lines(scan_run(text.encode())[0], "a")) == columns(run)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#1 Q0 d1 1 high t", "line 1: score high is not a number"),
        ("#1 Q0 d1 1 nan t", "line 1: score nan is not a finite number"),
        (b"#1 Q0 d\xe4 1 1 t", "line 1: not UTF-8 text"),
    ],
)
def test_what_is_wrong_with_such_a_line_is_said(tmp_path, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    assert message in "\n".join(refused(write(tmp_path, line + b"\nq Q0 d 1 1 t\n")))


@pytest.mark.parametrize(("third", "form"), [("1", "msmarco"), ("0.5", "tsv")])
def test_three_columns_are_read_although_all_their_queries_begin_as_comments_do(tmp_path, third, form):
    data = f"#1\td1\t{third}\n#2\td2\t{third}\n".encode()
    assert parse_run(data, "a", form).query_ids == ("#1", "#2")
    assert form in ("tsv", form_of(data, "a"))


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_second_and_fourth_column_may_hold_anything(tmp_path, blank):
    run = read_run(write(tmp_path, "q 0 d1 first 2 a\nq Q0 d2 - 1 a\n".replace(" ", blank)))
    assert columns(run) == (["q", "q"], ["d1", "d2"], [2.0, 1.0], "a")


@pytest.mark.parametrize(
    ("text", "value"), [("1e-7", 1e-7), ("-.5", -0.5), ("+2.", 2.0), ("1E3", 1000.0), ("-0", 0.0), ("3e38", 3e38)]
)
def test_scores_in_any_decimal_form(tmp_path, text, value):
    assert read_run(write(tmp_path, f"q Q0 d 1 {text} a\n")).scores.tolist() == [value]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d9 2 1.5", "expected 6 columns, found 5"),
        ("q Q0 d9 2 1.5 a b", "expected 6 columns, found 7"),
        ("q  d9 2 1.5 a", "expected 6 columns, found 5"),
        (" Q0 d9 2 1.5 a", "expected 6 columns, found 5"),
        ("q\tQ0 d9 2 1.5", "expected 6 columns, found 5"),
        ("q Q0 d9 2 1,5 a", "score 1,5 is not a number"),
        ("q Q0 d9 2 1_000 a", "score 1_000 is not a number"),
        ("q Q0 d9 2 0x1p3 a", "score 0x1p3 is not a number"),
        ("q Q0 d9 2 nan a", "score nan is not a finite number"),
        ("q Q0 d9 2 -Infinity a", "score -Infinity is not a finite number"),
        ("q Q0 d9 2 1e400 a", "score 1e400 is not a finite number"),
        ("q Q0 d9 2 1e39 a", "score 1e39 is not a finite number"),
        ("q Q0 d1 2 1.5 a", "document d1 of query q again, first on line 1"),
        ("q Q0 d1 1 2 a", "the same line as line 1"),
        (b"q Q0 d\xe9 2 1.5 a", "not UTF-8 text"),
        ("q Q0 d\0 2 1.5 a", "not UTF-8 text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path, b"q Q0 d1 1 2 a\n# comment\n" + line + b"\nq Q0 d3 3 1 a\n")
    assert refused(path)[0] == f"error: run.trec, line 3: {message}"


def test_the_hint_says_what_a_line_is(tmp_path):
    assert refused(write(tmp_path, "q Q0 d1 1 2\n")) == [
        "error: run.trec, line 1: expected 6 columns, found 5",
        "hint:  a run line is: query_id Q0 doc_id rank score tag; "
        "`tandem runs convert --help` lists the other formats that are read",
    ]


def test_all_problems_of_a_file_are_collected_in_the_order_of_lines(tmp_path):
    text = b"q Q0 d1 1 inf a\nq Q0 d2 2\nq Q0 d3 3 1 a\nq Q0 d3 3 1 a\n\xff\n"
    assert refused(write(tmp_path, text)) == [
        "error: run.trec: 5 problems",
        "  line 1: score inf is not a finite number",
        "  line 2: expected 6 columns, found 4",
        "  line 4: the same line as line 3",
        "  line 5: not UTF-8 text",
        "  line 5: expected 6 columns, found 1",
        "hint:  tandem runs verify names the code of each; --codes explains them",
    ]


def test_twenty_problems_are_shown_and_the_others_counted(tmp_path):
    lines = refused(write(tmp_path, "q Q0 d\n" * 25))
    assert lines[0] == "error: run.trec: 25 problems"
    assert lines[20] == "  line 20: expected 6 columns, found 3"
    assert lines[21] == "  ... and 5 more"


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing came back\n", "\ufeff"])
def test_an_empty_run_is_no_run(tmp_path, content):
    assert refused(write(tmp_path, content))[0] == "error: run.trec: no run lines in it"


def test_a_missing_run_is_named(tmp_path):
    assert refused(tmp_path / "absent.trec") == ["error: no file absent.trec", "hint:  check the path"]


@pytest.mark.parametrize(("name", "pack"), [("run.gz", gzip.compress), ("run.zst", zstandard.compress)])
def test_compressed_data_that_breaks_off_is_refused(tmp_path, name, pack):
    path = write(tmp_path, pack(PLAIN.encode())[:-10], name)
    assert "the compressed data is damaged or breaks off here" in refused(path)[0]


def test_the_line_of_the_break_is_named(tmp_path):
    # stored, not compressed: byte 25 of the archive is byte 10 of the text; the second line has begun there
    packed = gzip.compress(b"q Q0 d 1\nq Q0 d2 2\n" * 10, compresslevel=0)
    assert refused(write(tmp_path, packed[:27], "run.gz"))[0].startswith(
        "error: run.gz, line 2: the compressed data is damaged"
    )


def test_what_is_no_gzip_is_refused(tmp_path):
    assert refused(write(tmp_path, PLAIN, "run.gz"))[0] == (
        "error: run.gz, line 1: the compressed data is damaged or breaks off here"
    )


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\v\f\r "), min_size=1, max_size=6)
query_words = words.filter(lambda word: word[0] not in "#\ufeff")
scores = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30)
rows = st.lists(st.tuples(query_words, words, scores), min_size=1, max_size=30, unique_by=lambda row: row[:2])


@given(rows, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_shuffled_lines_give_the_same_rankings(rows, random):
    lines = [f"{query_id} Q0 {doc_id} 1 {score!r} a\n" for query_id, doc_id, score in rows]
    expected = dict(parse_run("".join(lines).encode(), "a").rankings())
    random.shuffle(lines)
    assert dict(parse_run("".join(lines).encode(), "b").rankings()) == expected


@given(rows, st.sampled_from([" ", "\t", "  "]))
@settings(deadline=None)
def test_the_fast_way_reads_what_the_careful_way_reads(rows, blank):
    data = "".join(f"{q} Q0 {d} {n} {s!r} {q}\n".replace(" ", blank) for n, (q, d, s) in enumerate(rows)).encode()
    lines, problems = scan_run(data)
    assert problems == []
    assert columns(parse_run(data, "a")) == columns(run_from_lines(lines, "a"))


@pytest.mark.parametrize("piece", [15, 30, 1 << 20])
@pytest.mark.parametrize("name", ["run.trec", "run.gz"])
@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        f"# a b 1 2 c\n\n{LINES[0]}\n# another\n\n\n{LINES[1].replace(' ', chr(9))}\r\n{LINES[2]}",
        f"{LINES[0]}\n\ufeff{LINES[1]}\n  {LINES[2]}  \n",
    ],
)
def test_large_files_are_read_in_pieces(tmp_path, monkeypatch, content, name, piece):
    monkeypatch.setattr("toolkit.files.runs.trec_runs.PIECE", piece)
    data = content.encode()
    path = write(tmp_path, gzip.compress(data) if name.endswith(".gz") else data, name)
    assert columns(read_run(path)) == COLUMNS
    assert stream_trec(path, "a") is not None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{LINES[0]}\n{LINES[1]}\n{LINES[0]}\n", "line 3: the same line as line 1"),
        (f"{LINES[0]}\n{LINES[1]}\nq2 Q0 d9 3 nan t\n", "line 3: score nan is not a finite number"),
        (f"{LINES[0]}\n{LINES[1]}\nq2 d9\n", "line 3: expected 6 columns, found 2"),
    ],
)
def test_what_is_wrong_in_a_later_piece_is_named_with_its_line(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr("toolkit.files.runs.trec_runs.PIECE", 1)
    assert refused(write(tmp_path, content))[0] == f"error: run.trec, {message}"


def test_files_with_byte_order_marks_may_be_joined_by_cat(tmp_path):
    part = "\ufeffq-{} Q0 a 1 2 t\n"
    (tmp_path / "run.trec").write_text(part.format("ori") + part.format("ins"), encoding="utf-8")
    assert read_run(tmp_path / "run.trec").query_ids == ("q-ori", "q-ins")
