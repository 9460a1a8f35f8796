"""Every form of a run file: told by its content, one reader, the same scores."""

import gzip
import json
import pickle
import sys
from pathlib import Path

import cbor2
import pandas
import pyarrow
import pytest
from command import ROOT, tandem
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.evaluate import main, parser
from toolkit.files.formats import FORMS, read_run, write_run
from toolkit.files.runs.runs import form_of
from toolkit.runs import main as runs_main
from toolkit.runs import parser as runs_parser
from toolkit.shell import guard

SCORES = {"7": {"d1": 2.5, "007": 1.5}, "8": {"d1": 0.25}}
ROWS = [(q, d, s) for q, docs in SCORES.items() for d, s in docs.items()]
FRAME = pandas.DataFrame(ROWS, columns=["qid", "docno", "score"])
TREC = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in ROWS)
MSMARCO = "7\td1\t1\n7\t007\t2\n8\td1\t1\n"


def lz4(content):
    """As ranx does it: a compressed frame within a compressed frame."""
    for _ in range(2):
        content = memoryview(pyarrow.Codec("lz4").compress(content)).tobytes()
    return content


def parquet(frame):
    out = pyarrow.BufferOutputStream()
    pq.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), out)
    return out.getvalue().to_pybytes()


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


pyterrier = FRAME.assign(docid=[0, 1, 0], rank=[0, 1, 0], query=['a "b", c', "two\nlines", ""])
FILES = {
    "run.trec": ("trec", TREC.encode()),
    "run.res.gz": ("trec", gzip.compress(TREC.encode())),
    "run.json": ("json", json.dumps(SCORES, indent=2).encode()),
    "tandem.jsonl": ("jsonl", lines({"query_id": q, "doc_id": d, "score": s} for q, d, s in ROWS)),
    "ranx.jsonl": ("jsonl", lines({"q_id": int(q), "docid": d, "score": s, "rank": 9} for q, d, s in ROWS)),
    "pyterrier.csv": ("csv", pyterrier.to_csv(index=False).encode()),
    "indexed.csv.gz": ("csv", gzip.compress(pyterrier.to_csv().encode())),
    "pyterrier.tsv": ("csv", b"\xef\xbb\xbf" + pyterrier.to_csv(index=False, sep="\t").encode()),
    "tevatron.tsv": ("tsv", "".join(f"{q}\t{d}\t{s}\n" for q, d, s in ROWS).encode()),
    "frame.parquet": ("parquet", parquet(FRAME)),
    "ranx.parq": ("parquet", parquet(FRAME.rename(columns={"qid": "q_id", "docno": "doc_id"}))),
    "mteb.json": ("mteb", json.dumps({"mteb_model_meta": {"model_name": "e5"}, "default": {"test": SCORES}}).encode()),
    "ranx.lz4": ("lz4", lz4(cbor2.dumps(SCORES))),
    "requests.jsonl": (
        "rank-llm",
        lines(
            {"query": {"text": "x", "qid": q}, "candidates": [{"docid": d, "score": s} for d, s in docs.items()]}
            for q, docs in SCORES.items()
        ),
    ),
    "run.pkl": ("pickle", pickle.dumps(SCORES)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_its_content(tmp_path, name):
    form, content = FILES[name]
    for called in (name, f"run{'.gz' * name.endswith('.gz')}"):  # the name says nothing but the compression
        (tmp_path / called).write_bytes(content)
        assert read_run(tmp_path / called).to_dict() == SCORES
        assert read_run(tmp_path / called, form).to_dict() == SCORES


def test_the_examples_are_of_every_form():
    assert {form for form, _ in FILES.values()} | {"msmarco"} == set(FORMS)


@pytest.mark.parametrize("name", FILES)
def test_every_form_is_read_by_every_command(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(FILES[name][1])
    write_run(Run.from_dict(SCORES, tag="t"), "same.trec")
    Path("qrels").write_text("7 0 007 1\n8 0 d1 1\n")
    judged = ("--qrels", "qrels", "-m", "RR")
    for command in (
        ("diff", "same.trec", name, *judged),
        ("runs", "verify", name),
        ("runs", "show", name),
        ("report", name, *judged, "--format", "csv"),
        ("fuse", name, "same.trec", "--output", "-"),
    ):
        done = tandem(*command)
        assert (done.returncode, command) == (0, command), done.stderr


@pytest.mark.parametrize("name", FILES)
def test_every_form_is_evaluated_alike(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(FILES[name][1])
    (tmp_path / "qrels").write_text("7 0 007 1\n8 0 d1 1\n")
    argv = [str(tmp_path / name), "--qrels", str(tmp_path / "qrels"), "-m", "RR", "--format", "csv"]
    assert guard(parser, main, argv) == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[3:5] == ["RR", "0.75"]  # (1/2 + 1) / 2


@pytest.mark.parametrize("first", [0, 1])
def test_ranks_from_0_or_1_become_scores_and_are_said_to_be_ranks(tmp_path, capsys, first):
    path = tmp_path / "run.tsv"
    path.write_text(f"q\ta\t{first}\nq\tb\t{first + 1}\nr\tb\t{first}\n")
    assert read_run(path).to_dict() == {"q": {"a": 1.0, "b": 0.5}, "r": {"b": 1.0}}
    assert capsys.readouterr().err == f"note: {path}: ranks and no scores: a document scores 1/rank\n"


@pytest.mark.parametrize(
    "content",
    [
        "q\ta\t3\nq\tb\t2\nq\tc\t1\n",  # ranks from the worst on, or scores
        "q\ta\t1\nq\tb\t3\n",  # ranks with a gap, or scores
        "q\ta\t0\nq\tb\t0\n",
        "q\ta\t2\n",
    ],
)
def test_whole_numbers_that_may_be_ranks_or_scores_are_not_guessed(tmp_path, content):
    path = tmp_path / "run"
    path.write_text(content)
    with pytest.raises(
        ToolkitError, match=r"may be msmarco \(query_id, doc_id, rank, .*\) or tsv \(query_id, doc_id, score"
    ) as caught:
        read_run(path)
    assert caught.value.hint == "tandem runs convert F --from msmarco --to trec --output G"
    assert read_run(path, "tsv").to_dict()["q"]["a"] == int(content.split()[2])


def test_convert_takes_the_form_of_an_ambiguous_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_text("q\ta\t3\nq\tb\t2\n")
    for form, best in (("msmarco", "b"), ("tsv", "a")):
        assert guard(runs_parser, runs_main, ["convert", "run", "--from", form, "--to", "trec", "--output", form]) == 0
        assert next(iter(read_run(form).to_dict()["q"])) == best
    assert guard(runs_parser, runs_main, ["convert", "run", "--from", "excel", "--to", "trec", "--output", "x"]) == 2
    assert "error: --from is 'excel'\nhint:  Known: trec, json, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q\ta\t1\nq\tb\t1\n", "two documents of a query have one rank"),
        (b"qid,docno,rank\nq,a,1.5\n", "rank 1.5 is not a whole number"),
        (b"qid,docno,score\nq,a,best\n", "In CSV column #2: Row #2: CSV conversion error to double: invalid value 'best'"),
        (b"qid,docno,score\nq,,1\n", "doc_id is empty"),
        (b"qid,docno,score\nq,a\n", "CSV parse error: Row #2: Expected 3 columns, got 2: q,a"),
        (b'{"qid": "q", "docno": "a", "score": 1}\n{"qid": "q", "docno": "b"}\n', "no 'score'"),
        (b'{"qid": "q", "docno": "a", "score": 1}\n{"qid": "q"\n', "line 2: not JSON"),
        (b'{"qid": 1.5, "docno": "a", "score": 1}\n', "query_id 1.5 is no id"),
        (b'{"qid": "q", "docno": "a", "score": "x"}\n', "score is no number"),
        (b"\x04\x22\x4d\x18 broken", "not readable as ranx's LZ4"),
        (b"q d 1\n", "expected 6 columns, found 3"),
        (b"query-id\tcorpus-id\tscore\nq\td\t1\n", "invalid value 'score'"),  # BEIR's qrels are no run
    ],
)
def test_what_is_wrong_is_named(tmp_path, content, message):
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(ToolkitError) as caught:
        read_run(tmp_path / "run", "msmarco" if message.startswith("two documents") else "")
    assert message in caught.value.message
    assert str(tmp_path / "run") in caught.value.message


@pytest.mark.parametrize(
    "content", [b"PK\3\4\0\0\10 z\n\0", b"\x93NUMPY\1\0v\0{'descr': '<f8'}\n\0\0", "q Q0 d 1 2 t\n".encode("utf-16")]
)
def test_a_binary_file_of_no_known_format_is_one_error(tmp_path, content):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ToolkitError) as caught:
        read_run(tmp_path / "f")
    assert caught.value.message.endswith("f is a binary file of no known format")
    assert "tandem runs convert --help" in caught.value.hint
    assert caught.value.problems == ()


def test_a_record_is_compared_with_the_tag_where_the_form_has_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(Run.from_dict({"q": {"d": 1.0}}, tag="mine"), "run.trec")
    for form in ("json", "parquet"):
        assert tandem("runs", "convert", "run.trec", "--to", form, "--output", f"run.{form}").returncode == 0
        assert tandem("runs", "verify", f"run.{form}").returncode == 0


def test_verify_says_what_is_wrong_with_any_form(tmp_path, capsys):
    (tmp_path / "good.csv").write_bytes(FILES["pyterrier.csv"][1])
    (tmp_path / "bad.csv").write_text("qid,docno,score\nq,a,1\nq,a,2\n")
    assert guard(runs_parser, runs_main, ["verify", str(tmp_path / "good.csv")]) == 0
    assert guard(runs_parser, runs_main, ["verify", str(tmp_path / "bad.csv")]) == 2
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'good.csv'}: no problems, no warnings\n"
    assert shown.err.startswith(f"error: {tmp_path / 'bad.csv'}: a query has the same document twice\n")


@pytest.mark.parametrize("query_id", ["{", '{"', "{}", "[", "[]", '[{"', "(dp", "}q", "PAR1", '"a"'])
def test_a_query_id_that_looks_like_another_form_stays_one(tmp_path, query_id):
    (tmp_path / "run").write_text(f"{query_id} Q0 d 1 2.5 t\n{query_id} Q0 e 1 1.5 t\n")
    assert read_run(tmp_path / "run").to_dict() == {query_id: {"d": 2.5, "e": 1.5}}


def test_json_of_six_words_a_line_is_json():
    assert form_of(b'{ "q" : { "d" : 1 }}', "") == "json"
    assert form_of(b'{ "q": { "d": 1 }}', "") == "json"  # the fifth word is a number, as in TREC


def test_the_guide_lists_the_forms():
    rows = [
        (f"`{form.name}`", *form.words.values(), "yes" if form.write or form.name == "rank-llm" else "no")
        for form in FORMS.values()
    ]
    guide = (Path(__file__).resolve().parents[3] / "docs/guides/runs.md").read_text(encoding="utf-8")
    assert "".join(f"| {' | '.join(row)} |\n" for row in rows) in guide


ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\v\f\r "), min_size=1, max_size=5)
runs = st.dictionaries(
    ids.filter(lambda word: word[0] not in "#\ufeff"),
    st.dictionaries(ids, st.floats(min_value=-1e38, max_value=1e38), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.write])
@given(scores=runs, tag=ids)
def test_what_is_written_is_read_back(tmp_path_factory, name, scores, tag):
    path, run = tmp_path_factory.mktemp("run") / "run", Run.from_dict(scores, tag=tag)
    FORMS[name].write(run, path)
    again = read_run(path)
    assert list(again.rankings()) == list(run.rankings())
    assert again.tag == ("" if name == "json" else tag)


def test_what_reads_lz4_is_an_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cbor2", None)
    (tmp_path / "ranx.lz4").write_bytes(FILES["ranx.lz4"][1])
    assert guard(runs_parser, runs_main, ["show", str(tmp_path / "ranx.lz4")]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path / 'ranx.lz4'}: ranx's compressed form needs packages that are not installed\n"
        f"hint:  pip install -e '{ROOT}[ranx]'\n"
    )
