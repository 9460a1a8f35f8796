"""Other tools' forms of a run: each is told by its content and gives the same rankings."""

import json
import math

import pyarrow
import pytest
import pytrec_eval
from pyarrow import parquet

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.files.formats import FORMS, read_requests, read_run, write_requests

RUN = Run.from_dict({"q2-ins": {"007": 0.1, "d2": 2.5}, "q1-ins": {"d2": -1e-9}}, tag="bm25")
EXPECTED = {"q2-ins": {"d2": 2.5, "007": 0.1}, "q1-ins": {"d2": -1e-9}}
REQUESTS = [
    {
        "query": {"text": "vaccines, for a layman", "qid": "7"},
        "candidates": [
            {"docid": "d2", "score": 1.5, "doc": {"content": "two"}},
            {"docid": "d1", "score": 2.5, "doc": {"content": "one"}},
        ],
    },
    {"query": {"text": "tides", "qid": 8}, "candidates": [{"docid": "d1", "score": "0.5", "doc": {"content": "one"}}]},
]


WRITTEN = [name for name, form in FORMS.items() if form.write]


def refused(path, read=read_run):
    with pytest.raises(ToolkitError) as caught:
        read(path)
    return caught.value.message.replace(f"{path.parent}/", "")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", WRITTEN)
def test_every_form_is_read_back_by_its_content(tmp_path, format, suffix):
    path = tmp_path / f"run{suffix}"
    FORMS[format].write(RUN, path)
    run = read_run(path)
    assert run.to_dict() == EXPECTED
    assert [list(docs) for docs in run.to_dict().values()] == [["d2", "007"], ["d2"]]
    assert run.tag == ("" if format == "json" else "bm25")


def test_json_is_what_pytrec_eval_reads(tmp_path):
    FORMS["json"].write(RUN, tmp_path / "run.json")
    content = json.loads((tmp_path / "run.json").read_text())
    evaluator = pytrec_eval.RelevanceEvaluator({"q2-ins": {"007": 1}}, {"recip_rank"})
    assert evaluator.evaluate(content)["q2-ins"]["recip_rank"] == 0.5


def test_mteb_predictions_have_model_subset_and_split(tmp_path):
    FORMS["mteb"].write(RUN, tmp_path / "predictions.json")
    assert json.loads((tmp_path / "predictions.json").read_text()) == {
        "mteb_model_meta": {"model_name": "bm25", "revision": None},
        "default": {"test": EXPECTED},
    }


def test_parquet_has_a_row_a_document_best_first(tmp_path):
    FORMS["parquet"].write(RUN, tmp_path / "run.parquet")
    assert parquet.read_table(tmp_path / "run.parquet").to_pylist() == [
        {"query_id": "q2-ins", "doc_id": "d2", "rank": 1, "score": 2.5, "tag": "bm25"},
        {"query_id": "q2-ins", "doc_id": "007", "rank": 2, "score": 0.1, "tag": "bm25"},
        {"query_id": "q1-ins", "doc_id": "d2", "rank": 1, "score": -1e-9, "tag": "bm25"},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q": {"d": 1}', "run.json, line 1: not JSON: Expecting ',' delimiter at column 15"),
        ('{"q": {"d": 1, "d": 2}}', "run.json: not JSON: the key 'd' comes twice"),
        ('{"q": ["d"]}', "run.json: not a mapping of query_id to doc_id to score"),
        ('{"q": {"d": "best"}}', "run.json: not a mapping of query_id to doc_id to score"),
        ('{"q": {"d": NaN}}', "run.json: score nan of document d in query q is not a finite number"),
        (
            '{"mteb_model_meta": {}, "en": {"test": {}}, "fr": {"test": {}}}',
            "run.json: expected one subset and split, found en/test, fr/test",
        ),
        ('{"mteb_model_meta": {}, "default": {}}', "run.json: expected one subset and split, found none"),
        ('{"mteb_model_meta": {}, "default": 5}', "run.json: not a mapping of query_id to doc_id to score"),
        ('{"mteb_model_meta": "e5", "default": {"test": {}}}', "run.json: not a mapping of query_id to doc_id to score"),
        ('{"q": {"d": 1' + "0" * 400 + "}}", "run.json: not a mapping of query_id to doc_id to score"),
        ('{"q": {"\\ud800": 1}}', "run.json: not JSON: half a surrogate pair, which is no text"),
        ("{}", "run.json: no documents in it"),
        ('{"q": {}}', "run.json: no documents in it"),
        ("[]", "run.json: no documents in it"),
        ("PAR1 and nothing more", "run.json: not readable as Parquet"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, content, message):
    (tmp_path / "run.json").write_text(content)
    assert refused(tmp_path / "run.json") == message


def test_a_document_twice_in_parquet_is_refused(tmp_path):
    FORMS["parquet"].write(Run.from_columns(["q", "q"], ["d", "d"], [1, 2]), tmp_path / "run")
    assert refused(tmp_path / "run") == "run: a query has the same document twice"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query_id": ["q", None], "doc_id": ["a", "b"], "score": [1, 2]}, "column query_id has 1 empty values"),
        ({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, None]}, "column score has 1 empty values"),
        (
            {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": ["1", "best"]},
            "column score (string) is not readable as double",
        ),
        (
            {"query_id": [["q"], ["q"]], "doc_id": ["a", "b"], "score": [1, 2]},
            "column query_id (list<element: string>) is not readable as string",
        ),
        ({"query_id": ["q"], "document": ["a"], "sim": [1]}, "no column doc_id, score"),
        ({"query_id": [], "doc_id": [], "score": []}, "no documents in it"),
    ],
)
def test_parquet_that_is_no_run_is_refused(tmp_path, columns, message):
    parquet.write_table(pyarrow.table(columns), tmp_path / "run.parquet")
    assert refused(tmp_path / "run.parquet") == f"run.parquet: {message}"


def test_parquet_may_have_numbers_for_ids_and_32_bit_scores(tmp_path):
    columns = {"query_id": [7, 7], "doc_id": pyarrow.array(["a", "b"]).dictionary_encode(), "tag": ["my run", None]}
    scores = {"score": pyarrow.array([1, 2], pyarrow.float32())}
    parquet.write_table(pyarrow.table(columns | scores), tmp_path / "run.parquet")
    run = read_run(tmp_path / "run.parquet")
    assert run.to_dict() == {"7": {"b": 2.0, "a": 1.0}}
    assert run.tag == "my-run"


def test_requests_are_a_run_and_topics(tmp_path):
    (tmp_path / "requests.json").write_text(json.dumps(REQUESTS))
    (tmp_path / "requests.jsonl").write_text("\n".join(map(json.dumps, REQUESTS)))
    for name in ("requests.json", "requests.jsonl"):
        run, topics = read_requests(tmp_path / name)
        assert run.to_dict() == {"7": {"d1": 2.5, "d2": 1.5}, "8": {"d1": 0.5}}
        assert topics == [
            Topic("7", "vaccines, for a layman", query="vaccines, for a layman"),
            Topic("8", "tides", query="tides"),
        ]
        assert read_run(tmp_path / name).to_dict() == {"7": {"d1": 2.5, "d2": 1.5}, "8": {"d1": 0.5}}


def test_requests_are_written_best_first_with_their_texts(tmp_path):
    run = Run.from_dict({"7": {"d2": 1.5, "d1": 2.5}})
    write_requests(
        run, [Topic("7", "été"), Topic("9", "x")], tmp_path / "r.json", contents={"d1": "one", "d2": "two", "d3": "x"}
    )
    assert json.loads((tmp_path / "r.json").read_text()) == [
        {
            "query": {"text": "été", "qid": "7"},
            "candidates": [
                {"docid": "d1", "score": 2.5, "doc": {"content": "one"}},
                {"docid": "d2", "score": 1.5, "doc": {"content": "two"}},
            ],
        }
    ]


def test_requests_without_a_text_are_not_written(tmp_path):
    run = Run.from_dict({"7": {"d1": 1, "d2": 2}, "8": {"d1": 1}})
    with pytest.raises(ToolkitError, match="no text for 1 of 2 queries of the run: 8"):
        write_requests(run, [Topic("7", "x")], tmp_path / "r.json", contents={})
    with pytest.raises(ToolkitError, match="no text for 2 of 2 documents of the run: d1, d2"):
        write_requests(run, [Topic("7", "x"), Topic("8", "y")], tmp_path / "r.json", contents={})
    assert not (tmp_path / "r.json").exists()


def request(qid="7", text="x", **candidates):
    rows = [{"docid": doc_id, "score": score} for doc_id, score in candidates.items()]
    return {"query": {"text": text, "qid": qid}, "candidates": rows}


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([request(d1=1), request(d1=1)], "request 2: query 7 again"),
        ([request(d1=1), {"query": {"text": "x"}}], "request 2: no 'qid'"),
        ([request(d1=1, d2=math.inf)], "request 1: score inf is not a finite number"),
        ([request(d1=10**400)], "request 1: int too large to convert to float"),
        ([request(text="\ud800", d1=1)], "line 1: not JSON: half a surrogate pair, which is no text"),
        ([request(d1=1, d2="high")], "request 1: could not convert string to float: 'high'"),
        ([request(text=None)], "request 1: expected text, found NoneType"),
        (
            [{"query": {"text": "x", "qid": "7"}, "candidates": request(d1=1)["candidates"] * 2}],
            "request 1: query 7 has the same document twice",
        ),
    ],
)
def test_a_wrong_request_is_named(tmp_path, requests, message):
    path = tmp_path / "requests.json"
    path.write_text(json.dumps(requests))
    assert refused(path, read_requests) == f"requests.json, {message}"


def test_requests_that_are_no_json_or_no_text_name_the_line(tmp_path):
    path = tmp_path / "requests.json"
    path.write_bytes(b'[\n{"query": \xff}]')
    assert refused(path, read_requests) == "requests.json, line 2: not UTF-8 text"
    path.write_bytes(b'[\n{"query": }]')
    assert refused(path, read_requests) == "requests.json, line 2: not JSON: Expecting value at column 11"
    path.write_bytes(b'{"query": {"qid": "q", "text": "x"}, "candidates": []}\n\n{"query": }\n')
    assert refused(path, read_requests) == "requests.json, line 3: not JSON: Expecting value at column 11"
    path.write_bytes(b"[" * 100_000)
    assert refused(path, read_requests) == "requests.json, line 1: not JSON: nested too deep"
