"""Pickled runs: read in every protocol, and nothing in a file is ever executed, however it is built."""

import collections
import gzip
import math
import os
import pickle
import pickletools
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_run
from toolkit.files.runs import pickled

RUN = {"1_1": {"d1": 1.5, "d2": 2, "d3": -7, "d4": 70000, "d5": 2.0**40}, "é\n2": {"Д": 1e-300}}
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "instructir" / "eval/model_pred/bm25/results.pickle.gz"


def text(value):
    return pickle.SHORT_BINUNICODE + bytes([len(value)]) + value.encode()


class Shell:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_gives_the_run(tmp_path, protocol):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(RUN, protocol))
    assert read_run(path).to_dict() == RUN


LISTS = {"1_1": ["d2", "d1"], "é": ["Д"], "none": []}


@pytest.mark.parametrize("protocol", range(6))
def test_lists_of_ranked_ids_are_runs(tmp_path, protocol):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(LISTS, protocol))
    if protocol < 1:  # lists by an instruction of their own
        with pytest.raises(ToolkitError, match="an instruction makes"):
            read_run(path)
        return
    assert read_run(path).to_dict() == {"1_1": {"d2": 1.0, "d1": 0.5}, "é": {"Д": 1.0}}


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_ids_may_be_texts_of_numpy(tmp_path, protocol):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps({"q": [np.str_("d1"), np.str_("é22")], "r": ["x", np.str_("d1")]}, protocol))
    assert read_run(path).to_dict() == {"q": {"d1": 1.0, "é22": 0.5}, "r": {"x": 1.0, "d1": 0.5}}
    assert "numpy.ndarray" not in str(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"q": ["d", "d"]}, "comes twice"),
        ({"q": ["d"], "r": {"d": 1.0}}, "no mapping of queries"),
        ({"q": [1]}, "is no text"),
        ({"q": [["d"]]}, "is no text"),
        ({"q": [np.int64(1)]}, "an instruction makes|is something else"),
        ({"q": np.array(["d1", "d2"])}, "is something else"),
        ({"q": [np.dtype("U7")]}, "is no text"),
        ({"q": [np.dtype(">U7")]}, "an instruction makes"),
    ],
)
def test_lists_of_anything_else_are_refused(tmp_path, content, said):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(content, 4))
    with pytest.raises(ToolkitError, match=said):
        read_run(path)


@pytest.mark.parametrize("name", ["run.pickle.gz", "run.pkl", "run.bin", "run.trec"])
def test_a_pickle_is_known_by_its_name_or_its_bytes(tmp_path, name):
    path = tmp_path / name
    content = pickle.dumps(RUN, 4)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert read_run(path).to_dict() == RUN


def test_a_run_that_was_made_of_a_pickle_keeps_its_name_and_is_none(tmp_path):
    (tmp_path / "run.pickle.trec").write_text("q Q0 d 1 1.5 tag\n")
    assert read_run(tmp_path / "run.pickle.trec").to_dict() == {"q": {"d": 1.5}}


def test_ids_that_are_shared_between_queries_are_read_once_and_used_again(tmp_path):
    docs = [f"document-{number}" for number in range(3000)]  # more than one batch, ids from the memo
    run = {f"q{number}": {doc: float(place) for place, doc in enumerate(docs)} for number in range(3)}
    (tmp_path / "run.pickle").write_bytes(pickle.dumps(run, 4))
    assert read_run(tmp_path / "run.pickle").to_dict() == {
        name: dict(sorted(v.items(), key=lambda x: -x[1])) for name, v in run.items()
    }


@pytest.mark.parametrize("protocol", range(6))
def test_what_would_run_a_command_is_refused_and_not_run(tmp_path, protocol):
    marker = tmp_path / "ran"
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps({"q": {"d": Shell(marker)}}, protocol))
    assert any(word.name in ("GLOBAL", "STACK_GLOBAL") for word, _, _ in pickletools.genops(path.read_bytes()))
    with pytest.raises(ToolkitError, match="something else than dict, list, str, int or float"):
        read_run(path)
    assert not marker.exists()


HOSTILE = {
    "a class": pickle.dumps(collections.OrderedDict(q={"d": 1.0})),
    "a persistent id": b"\x80\x04}\x94" + text("q") + text("x") + pickle.BINPERSID + b"s.",
    "an extension code": b"\x80\x02" + pickle.EXT1 + b"\x01.",
    "inst": b"(ios\nsystem\n.",
    "a list": pickle.dumps(["d"]),
    "a tuple": pickle.dumps({("q", "r"): {"d": 1.0}}),
    "bytes": pickle.dumps({"q": {"d": b"x"}}),
    "none": pickle.dumps({"q": {"d": None}}),
    "truth": pickle.dumps({"q": {"d": True}}),
    "truth in protocol 0": pickle.dumps({"q": {"d": True}}, 0),
    "a number as an id": pickle.dumps({1: {"d": 1.0}}),
    "a dictionary as a score": pickle.dumps({"q": {"d": {"e": 1.0}}}),
    "a run without queries' dictionaries": pickle.dumps({"q": 1.0}),
    "a text alone": pickle.dumps("q"),
    "a number beyond any float": pickle.dumps({"q": {"d": 10**400}}),
    "a number of a gigabyte": b"\x80\x02}" + text("q") + pickle.LONG4 + struct.pack("<i", 1 << 30) + b"s.",
    "a dictionary that holds itself": b"\x80\x04}\x94" + text("q") + b"h\x00s.",
    "one dictionary for two queries": b"\x80\x04}(" + text("q") + b"}\x94" + text("d") + b"K\x01s" + text("r") + b"h\x00u.",
    "an id twice": b"\x80\x04}" + text("q") + b"}(" + text("d") + b"K\x01" + text("d") + b"K\x02us.",
    "two pickles": pickle.dumps(RUN) + pickle.dumps(RUN),
    "a file that breaks off": pickle.dumps(RUN)[:-9],
    "a memo that was never filled": b"\x80\x04}" + text("q") + b"h\x07s.",
    "a stack that is empty": b"\x80\x04s.",
    "a mark without end": b"\x80\x04((((}.",
    "values without their dictionary": b"\x80\x04}(" + text("q") + b"u.",
    "a text longer than the file": b"\x80\x04}" + pickle.BINUNICODE8 + struct.pack("<Q", 1 << 60) + b"x.",
    "bytes that are no text": b"\x80\x04}" + pickle.SHORT_BINUNICODE + b"\x02\xff\xfe}s.",
    "a protocol of the future": b"\x80\x09}.",
    "nothing": b"\x80\x04",
    "a wall of dictionaries": b"\x80\x04" + b"}" * 100_000 + b".",
    "a wall of numbers": b"\x80\x04" + b"K\x01" * 100_000 + b".",
    "a value remembered for ever": b"\x80\x04}" + b"\x94" * 100_000 + b".",
    "a wall of marks": b"\x80\x04" + b"(" * 10_000_000 + b".",
}  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_anything_but_a_run_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "run.pickle"
    path.write_bytes(content)
    with pytest.raises(ToolkitError, match=r"run\.pickle, byte [\d,]+: ") as caught:
        read_run(path)
    assert caught.value.hint.startswith("a pickled run is {query_id: {doc_id: score}}")


@pytest.mark.process
def test_a_place_in_the_memo_reserves_no_memory(tmp_path):
    # the C unpickler makes room for every place up to the one that is named: 32 GB here
    content = b"\x80\x04}" + text("q") + pickle.LONG_BINPUT + struct.pack("<I", 2**32 - 1) + b"}" + text("d") + b"K\x01ss."
    (tmp_path / "run.pickle").write_bytes(content)
    code = (
        "import resource, sys\n"
        "from toolkit.files.formats import read_run\n"
        "import toolkit.files.runs.pickled\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "print(read_run(sys.argv[1]).to_dict())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.pickle")], capture_output=True, text=True)
    assert done.stdout.strip() == "{'q': {'d': 1.0}}", done.stderr


def test_what_unpacks_to_more_than_any_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pickled, "MOST", 1 << 20)
    path = tmp_path / "bomb.pickle.gz"
    path.write_bytes(gzip.compress(b"\x80\x04" + b"." * (1 << 21)))
    with pytest.raises(ToolkitError, match="unpacks to more than"):
        read_run(path)


def test_damaged_compression_is_named(tmp_path):
    path = tmp_path / "run.pickle.gz"
    path.write_bytes(gzip.compress(pickle.dumps(RUN))[:-12])
    with pytest.raises(ToolkitError, match="the compressed data is damaged or breaks off"):
        read_run(path)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_are_finite(tmp_path, score):
    (tmp_path / "run.pickle").write_bytes(pickle.dumps({"q": {"d": score}}))
    with pytest.raises(ToolkitError):
        read_run(tmp_path / "run.pickle")


def test_runs_convert_reads_a_pickle_from_standard_input():
    words = ["convert", "-", "--to", "trec", "--output", "-", "--tag", "bm25"]
    done = tandem("runs", *words, input=pickle.dumps({"1_1": {"d1": 0.5, "d2": 2}}))
    assert (done.returncode, done.stdout) == (0, "1_1 Q0 d2 1 2 bm25\n1_1 Q0 d1 2 0.5 bm25\n")


if PUBLISHED.is_file():  # the authors' own BM25 run

    def test_the_published_run_has_its_published_scores(tmp_path):
        queries = PUBLISHED.parents[3] / "qrels" / "test.tsv"
        rows = [line.split("\t") for line in queries.read_text().splitlines()[1:]]
        qrels = Qrels.from_columns([r[0] for r in rows], [r[1] for r in rows], [int(r[2]) for r in rows])
        scores = evaluate(read_run(PUBLISHED), qrels=qrels, measures=["Robustness@10", "nDCG@10"])
        assert round(100 * scores.value("Robustness@10", mode=""), 2) == 26.92
        assert round(100 * scores.value("nDCG@10", mode=""), 2) == 76.01


@pytest.mark.parametrize("opcode", ["GLOBAL", "STACK_GLOBAL", "BINPERSID"])
def test_the_unpickler_refuses_what_is_looked_up_by_name(tmp_path, opcode):
    content = {
        "GLOBAL": b"\x80\x02}" + text("q") + b"cposix\nsystem\n" + b"s.",
        "STACK_GLOBAL": b"\x80\x04}" + text("q") + text("posix") + text("system") + pickle.STACK_GLOBAL + b"s.",
        "BINPERSID": b"\x80\x02}" + text("q") + text("x") + pickle.BINPERSID + b"s.",
    }[opcode]
    (tmp_path / "run.pickle").write_bytes(content)
    named = "a persistent id" if opcode == "BINPERSID" else r"posix\.system"
    with pytest.raises(ToolkitError, match=f"{named} is something else than dict, list, str, int or float"):
        read_run(tmp_path / "run.pickle")
