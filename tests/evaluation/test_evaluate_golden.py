"""The command as a process gives what published implementations give (tests/golden)."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import tandem

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
CASES = sorted(folder.name for folder in GOLDEN.glob("paired-*"))
TIES = {"trec": "ties_by_docid_descending", "file": "ties_by_file_order"}
MODES = ("ori", "ins", "rev")
MEASURES = {
    "WISE_paper": "WISE(ties='{ties}')@20",
    "WISE_release": "WISE(ties='{ties}',variant='release')@20",
    "WISE_source": "WISE(ties='{ties}',variant='source')@20",
    "SICR_paper": "SICR(ties='{ties}')",
    "SICR_release": "SICR(ties='{ties}',variant='release')",
    "pMRR": "pMRR(ties='{ties}')",
}


def evaluate(case: str, *options: str) -> str:
    folder = GOLDEN / case
    runs = [f"{mode}={folder / f'run.{mode}.trec'}" for mode in MODES]
    qrels = [f"{mode}={folder / f'qrels.{mode}.txt'}" for mode in MODES]
    return tandem("evaluate", "--run", *runs, "--qrels", *qrels, *options, check=True).stdout


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("case", CASES)
def test_paired_measures_equal_the_golden_values(case, ties):
    expected = json.loads((GOLDEN / case / "expected.json").read_text())[TIES[ties]]
    names = {name: form.format(ties=ties) for name, form in MEASURES.items()}
    text = evaluate(case, "--by-query", "--format", "csv", "-m", *names.values())
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row["query_id"], []).append(float(row["value"]))
        assert row["mode"] == "paired"
    aggregate = dict(zip(names, found.pop(""), strict=True))
    for name in names:
        assert aggregate[name] == pytest.approx(expected["aggregate"][name], abs=1e-9), name
    for query_id, values in expected["per_query"].items():
        wanted = [values[name] for name in names if values.get(name) is not None]
        assert found.pop(query_id) == pytest.approx(wanted, abs=1e-9), query_id
    assert not found


@pytest.mark.parametrize("case", CASES)
def test_plain_measures_equal_trec_eval(case):
    expected = json.loads((GOLDEN / case / "expected.json").read_text())["trec_eval"]
    rows = json.loads(evaluate(case, "--format", "json", "-m", "nDCG@10", "P@1", "RR", "Robustness@10"))["rows"]
    found = {mode: {} for mode in MODES}
    for row in rows:
        assert row["group"] == "all"
        found[row["mode"]][row["measure"]] = row["value"]
    assert set(expected) == set(MODES)
    for mode in MODES:
        assert found[mode] == pytest.approx(expected[mode], abs=1e-9)


def test_no_byte_depends_on_the_order_of_lines_and_files(tmp_path):
    import random

    def command(folder: Path, modes: tuple[str, ...]) -> str:
        runs = [f"{mode}={folder / f'run.{mode}.trec'}" for mode in modes]
        qrels = [f"{mode}={folder / f'qrels.{mode}.txt'}" for mode in reversed(modes)]
        options = ["--references", "--by-query", "--format", "json"]
        return tandem("evaluate", "--run", *runs, "--qrels", *qrels, *options, check=True).stdout

    case = GOLDEN / "paired-tied-scores"
    for file in [*case.glob("*.trec"), *case.glob("*.txt")]:
        lines = file.read_text().splitlines(keepends=True)
        random.Random(7).shuffle(lines)
        (tmp_path / file.name).write_text("".join(lines))
    assert command(case, MODES) == command(tmp_path, ("rev", "ori", "ins"))
