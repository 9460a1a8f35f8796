"""Where no benchmark is named, the records of the runs name it."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.datasets import ir_datasets_adapter
from toolkit.datasets.recorded_topics import recorded_topics
from toolkit.diff import main as diff_main
from toolkit.diff import parser as diff_parser
from toolkit.evaluate import main, parser
from toolkit.evaluation import evaluate
from toolkit.files.formats import read_run, write_run
from toolkit.files.provenance import Recorded, file_digest, read_record, write_record
from toolkit.report import main as report_main
from toolkit.report import parser as report_parser
from toolkit.shell import guard

pytestmark = pytest.mark.unit

BASELINES = Path(__file__).resolve().parents[2] / "runs/baselines"
NOTE = "judged by infosearch-mini, as the records of the runs say"


@pytest.fixture
def bm25(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for suffix in (".gz", ".gz.yaml"):
        shutil.copy(BASELINES / f"infosearch-mini.bm25.v2.trec{suffix}", f"bm25.trec{suffix}")
    return "bm25.trec.gz"


def part(name, mode, topics):
    """A run of one mode, made for these topics."""
    run = read_run("bm25.trec.gz")
    write_run(run.select([query_id for query_id in run.query_ids if query_id.endswith(mode)]), name)
    record = read_record("bm25.trec.gz")
    record["data"] |= {"topics": {"name": topics}, "run": {"sha256": file_digest(Path(name))}}
    write_record(name, record)
    return name


def test_a_run_is_judged_by_the_benchmark_of_its_record(bm25, capsys):
    assert guard(parser, main, [bm25, "-m", "nDCG@10"]) == 0
    table = capsys.readouterr().out
    assert NOTE in table
    assert guard(parser, main, [bm25, "-m", "nDCG@10", "--benchmark", "infosearch-mini"]) == 0
    assert table.replace(f"{NOTE}\n", "") == capsys.readouterr().out


def test_files_of_every_mode_are_of_the_whole_benchmark(bm25):
    names = [part(mode, mode, f"infosearch-mini-{mode}") for mode in ("ori", "ins", "rev")]
    assert evaluate(names, measures=["pMRR"])["pMRR"] == evaluate(bm25, measures=["pMRR"])["pMRR"]
    one = evaluate(names[1], measures=["nDCG@10"])
    assert one.notes[0] == "judged by infosearch-mini-ins, as the records of the runs say"
    with pytest.raises(ToolkitError, match="the runs are of several benchmarks: ori of infosearch-mini-ori, ins of infosearch"):
        evaluate(names[:2])


def test_runs_that_disagree_or_say_nothing_are_refused(bm25, capsys):
    other = part("other", "ori", "instructir-mini")
    message = f"evaluation needs a benchmark, or qrels: the runs are of several benchmarks: {bm25} of infosearch-mini, other of"
    with pytest.raises(ToolkitError, match=message):
        evaluate([bm25, other])
    write_run(read_run(bm25), "bare.trec")
    with pytest.raises(ToolkitError, match=r"no record says which benchmark bare\.trec is of"):
        evaluate([bm25, "bare.trec"])
    with pytest.raises(ToolkitError, match="the runs are no files"):
        evaluate(read_run(bm25))
    shutil.copy("bm25.trec.gz.yaml", "bare.trec.yaml")
    write_run(read_run(bm25).head(3), "bare.trec")  # the record is of another file now
    with pytest.raises(ToolkitError, match=r"no record says which benchmark bare\.trec is of"):
        evaluate("bare.trec")
    assert "warning: bare.trec.yaml is the record of another file: left out" in capsys.readouterr().err


def test_report_and_diff_know_it_too(bm25, capsys):
    assert guard(report_parser, report_main, [bm25, "--format", "csv", "-m", "nDCG@10"]) == 0
    shown = capsys.readouterr()
    assert NOTE in shown.err
    assert "infosearch-mini" in shown.out
    rounded = part("rounded", "", "infosearch-mini")
    write_run(read_run(bm25).head(5), rounded)
    record = read_record(bm25)
    record["data"]["run"]["sha256"] = file_digest(Path(rounded))
    write_record(rounded, record)
    assert guard(diff_parser, diff_main, [bm25, rounded, "-m", "R@100"]) == 1
    judged = capsys.readouterr().out
    assert NOTE in judged
    assert "R@100" in judged
    assert guard(diff_parser, diff_main, [bm25, rounded, "--rankings"]) == 1
    assert NOTE not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["beir/scifact/test", "antique/test"])
def test_a_collection_that_only_a_record_names_is_not_downloaded(bm25, monkeypatch, tmp_path, name):
    asked = []
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    monkeypatch.setattr("ir_datasets.util.home_path", lambda: tmp_path / "irds")
    monkeypatch.setattr(ir_datasets_adapter, "session", lambda: SimpleNamespace(get=lambda *given, **_: asked.append(given)))
    write_run(Run.from_dict({"q": {"d": 1.0}}), "theirs.trec")
    topics = {"name": name, "sha256": "0" * 64}
    write_record("theirs.trec", {"data": {"topics": topics, "run": {"sha256": file_digest(Path("theirs.trec"))}}})
    for call in (lambda: evaluate("theirs.trec"), lambda: recorded_topics(Recorded("theirs.trec", None))):
        with pytest.raises(ToolkitError) as caught:
            call()
        assert caught.value.status == 2
        assert name in caught.value.message
    assert asked == []


def test_another_thread_downloads_what_its_user_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(ir_datasets_adapter, "session", lambda: SimpleNamespace(get=lambda **given: asked.append(given)))
    with ir_datasets_adapter.at_hand("beir/scifact/test", ""), ThreadPoolExecutor(1) as pool:
        pool.submit(ir_datasets_adapter._get, url="here").result()
    assert asked == [{"url": "here"}]
