"""Documents from JSONL, TSV and TREC text."""

import gzip
import hashlib

import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.files.texts.corpus import Entry, corpus_files, read_corpus, ready_ids


def docs(tmp_path, content: str | bytes, name="corpus"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return entries(path)


def entries(path, digest=None):
    return [entry for batch in read_corpus(path, digest) for entry in batch.entries()]


def test_jsonl_takes_id_or_underscore_id_and_numbers_as_ids(tmp_path):
    lines = '{"id": "a", "text": "one"}\n\n{"_id": 7, "title": "Two", "text": "two"}\n'
    assert docs(tmp_path, lines) == [Entry(1, Doc("a", "", "one")), Entry(3, Doc("7", "Two", "two"))]


def test_contents_wins_over_title_and_text(tmp_path):
    assert docs(tmp_path, '{"id": "a", "title": "T", "text": "x", "contents": "all"}') == [Entry(1, Doc("a", "", "all"))]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "a"', "not JSON"),
        ("{}", "no field 'id'"),
        ('{"id": "a"}', "no field 'text'"),
        ('{"id": true, "text": "x"}', "strings"),
        ('{"id": "a b", "text": "x"}', "without white space"),
        ('{"id": "", "text": "x"}', "the id is empty"),
        ('{"id": "a", "text": ["x"]}', "strings"),
        (r'{"id": "a", "text": "\ud800"}', "not UTF-8"),
        (b'{"id": "a", "text": "\xff"}', "not UTF-8"),
    ],
)
def test_a_broken_line_says_what_is_wrong_and_the_next_is_read(tmp_path, line, problem):
    line = line if isinstance(line, bytes) else line.encode()
    good = b'{"id": "z", "text": "fine"}\n'
    first, broken, last = docs(tmp_path, good + line + b"\n" + good)
    assert broken.line == 2
    assert broken.doc is None
    assert problem in broken.problem
    assert first.doc == last.doc == Doc("z", "", "fine")


def test_tsv_has_two_or_three_columns_or_names_them(tmp_path):
    assert docs(tmp_path, "1\tone\r\n2\ttwo\n") == [Entry(1, Doc("1", "", "one")), Entry(2, Doc("2", "", "two"))]
    assert docs(tmp_path, "1\tOne\tone\n") == [Entry(1, Doc("1", "One", "one"))]
    assert docs(tmp_path, "id\ttext\ttitle\n1\tone\tOne\n") == [Entry(2, Doc("1", "One", "one"))]
    assert docs(tmp_path, "1\tone\n2\n")[1] == Entry(2, None, "expected 2 columns divided by tabs, found 1")


def test_trec_text_takes_the_text_element_without_tags(tmp_path):
    head = "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Big\nnews</HEADLINE>\n<DATE>now</DATE>\n"
    block = f"{head}<TEXT>\n<P>It</P> rains.\n</TEXT>\n</DOC>\n"
    assert docs(tmp_path, block + block.replace("FT-1", "FT-2")) == [
        Entry(1, Doc("FT-1", "Big news", "It rains.")),
        Entry(10, Doc("FT-2", "Big news", "It rains.")),
    ]


def test_trec_text_without_text_element_is_all_but_its_number(tmp_path):
    assert docs(tmp_path, "<DOC><DOCNO>1</DOCNO>It rains.</DOC>") == [Entry(1, Doc("1", "", "It rains."))]


def test_trec_block_without_end_is_a_problem(tmp_path):
    content = "<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n<DOCNO>2</DOCNO>\n"
    assert docs(tmp_path, content) == [Entry(1, None, "no </DOC>"), Entry(3, None, "no </DOC>")]


def test_digest_is_over_the_decompressed_bytes(tmp_path):
    content = b'{"id": "a", "text": "one"}\n'
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(content))
    digest = hashlib.sha256()
    assert [entry.doc.doc_id for entry in entries(path, digest)] == ["a"]
    assert digest.hexdigest() == hashlib.sha256(content).hexdigest()


def test_truncated_gzip_names_the_file(tmp_path):
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "text": "one"}\n' * 100)[:-10])
    with pytest.raises(ToolkitError, match=r"c\.jsonl\.gz: the compressed data is damaged"):
        entries(path)


def test_empty_file_has_no_documents(tmp_path):
    assert docs(tmp_path, "") == []


def test_a_folder_is_its_files_in_order_of_name(tmp_path):
    for name in ("b.jsonl", "a.jsonl", ".hidden"):
        (tmp_path / name).touch()
    assert [file.name for file in corpus_files(tmp_path)] == ["a.jsonl", "b.jsonl"]


GOOD = b'{"id": "a", "contents": "one"}\n{"contents": "\\u00e9 \xc3\xa9", "id": "b"}\n'


def test_lines_in_anserinis_form_are_ready_as_they_are():
    assert ready_ids(GOOD) == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": "c", "contents": "x", "title": "t"}',
        b'{"id": "c", "text": "x"}',
        b'{"id": "c", "contents": " "}',
        b'{"id": "c", "contents": null}',
        b'{"id": "c d", "contents": "x"}',
        b'{"id": "", "contents": "x"}',
        b'{"id": 7, "contents": "x"}',
        b'{"id": "c", "contents": "\xff"}',
        b'{"id": "c", "contents": "\\ud800"}',
        b'{"id": "c", "contents": "x"',
        b"[]",
    ],
)
def test_one_line_that_is_otherwise_has_all_of_them_looked_at(line):
    assert ready_ids(GOOD + line + b"\n") == []


def test_blocks_keep_every_line_and_its_number(tmp_path):
    rows = [f'{{"id": "{number}", "contents": "{"x" * 999}"}}\n' for number in range(1000)]
    path = tmp_path / "corpus"
    path.write_text("".join(rows) + "broken\n" + rows[0].rstrip("\n"))
    batches = list(read_corpus(path))
    assert len(batches) > 2
    assert [id for batch in batches[:-1] for id in batch.ids] == [
        str(number) for number in range(len(batches[0].ids) * (len(batches) - 1))
    ]
    assert [(entry.line, bool(entry.problem)) for batch in batches for entry in batch.entries()] == [
        *((number, False) for number in range(1, 1001)),
        (1001, True),
        (1002, False),
    ]


@pytest.mark.parametrize("line", ['{{"id": "{}", "text": "a pear"}}', "{}\ta pear", "<DOC><DOCNO>{}</DOCNO>a pear</DOC>"])
def test_megabytes_of_blank_lines_are_left_out_and_counted(tmp_path, line):
    file = tmp_path / "docs.txt"
    file.write_text(line.format("d1") + "\n" * 3_000_000 + line.format("d2") + "\n")
    entries = [entry for batch in read_corpus(file) for entry in batch.entries()]
    assert [(entry.line, entry.doc.doc_id) for entry in entries] == [(1, "d1"), (3_000_001, "d2")]
