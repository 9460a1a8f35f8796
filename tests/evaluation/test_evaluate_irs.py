"""`evaluate -m IRS_mean`: its parts beside it, an interval below each run, and a note that it is experimental."""

import csv
import io
import json

import pytest
from command import ROOT, tandem

BASELINES = ROOT / "runs" / "baselines"
PARTS = ["IRS_mean", "IRS", "IRS_reaction"]
MEASURE = "IRS_mean(documents=2)"
LISTS = {"q-1": ("ng", "gn", "ng"), "q-2": ("gn", "gn", "gn"), "r-1": ("gn", "gn", "gn"), "s-1": ("gn", "gn", "ng")}


@pytest.fixture
def files(tmp_path):
    """Run and qrels of four queries, of which IRS_mean is 1/2, 0, 0 and 1/2."""
    run, qrels = [], []
    for base, lists in LISTS.items():
        for mode, docs in zip(("ori", "ins", "rev"), lists, strict=True):
            run += [f"{base}-{mode} Q0 {doc} {rank} {9 - rank} mine" for rank, doc in enumerate(docs, 1)]
            relevant = {"ori": "gn", "ins": "g", "rev": "n"}[mode]
            qrels += [f"{base}-{mode} 0 {doc} {int(doc in relevant)}" for doc in "gn"]
    for name, lines in (("run.trec", run), ("qrels.txt", qrels)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / "run.trec", tmp_path / "qrels.txt"


def test_the_parts_stand_beside_it_and_a_note_says_what_it_is(files):
    run, qrels = files
    done = tandem("evaluate", run, "--qrels", qrels, "-m", MEASURE, "--format", "json")
    made = json.loads(done.stdout)
    assert list(dict.fromkeys(row["measure"].partition("(")[0] for row in made["rows"])) == PARTS
    assert {row["mode"] for row in made["rows"]} == {"paired", "ins", "rev"}
    assert [note for note in made["notes"] if note.startswith("experimental")] == [
        "experimental, of this project, and not shown to be better than WISE and p-MRR: IRS_mean, IRS_reaction"
    ]


def test_an_interval_is_students_over_what_counts_once(files):
    run, qrels = files
    done = tandem("evaluate", run, "--qrels", qrels, "-m", MEASURE, "--format", "csv")
    row = next(csv.DictReader(io.StringIO(done.stdout)))
    # without core queries each query is its own: 1/2, 0, 0, 1/2 have standard error sqrt(1/12 / 4); t(3) is 3.1824
    margin = 3.182446 * (1 / 48) ** 0.5
    assert [float(row[name]) for name in ("value", "interval_low", "interval_high")] == pytest.approx(
        [0.25, 0.25 - margin, 0.25 + margin], abs=1e-5
    )


def test_a_table_has_intervals_of_such_measures_alone(files):
    run, qrels = files
    lines = tandem("evaluate", run, "--qrels", qrels, "-m", MEASURE, "WISE").stdout.splitlines()
    (low,) = [line.split() for line in lines if line.strip().startswith("interval from ")]
    assert low[:3] == ["interval", "from", "-0.2093"]
    made = json.loads(tandem("evaluate", run, "--qrels", qrels, "-m", MEASURE, "WISE", "--format", "json").stdout)
    assert [row["interval_low"] for row in made["rows"] if row["measure"] == "WISE"] == [None]
    assert "interval" not in tandem("evaluate", run, "--qrels", qrels, "-m", "WISE").stdout


def test_without_a_reversed_mode_there_are_the_parts_and_a_note():
    run = BASELINES / "mfollowir-mini.bm25.v2.trec.gz"
    made = json.loads(tandem("evaluate", run, "--benchmark", "mfollowir-mini", "-m", "IRS_mean", "--format", "json").stdout)
    assert list(dict.fromkeys(row["measure"] for row in made["rows"] if row["value"] is not None)) == ["IRS"]
    assert any("without judgments in a reversed mode: left out of IRS_mean" in note for note in made["notes"])


def test_a_measure_without_values_and_without_parts_is_refused(files, tmp_path):
    run, qrels = files
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(line for line in qrels.read_text().splitlines(keepends=True) if "-ori" in line))
    done = tandem("evaluate", run, "--qrels", plain, "-m", MEASURE)
    assert done.returncode == 2
    assert "no value of IRS_mean" in done.stderr


def falling(run, *measures):
    """The first note of a run on the mini, where it is the one about what falls."""
    done = tandem("evaluate", BASELINES / run, "--benchmark", "infosearch-mini", "-m", *measures, "--format", "json")
    return [note for note in json.loads(done.stdout)["notes"][:1] if "everything falls" in note]


def test_a_p_mrr_that_rises_because_everything_falls_is_said_first():
    placebo = "infosearch-mini.bm25.placebo.v2.trec.gz"
    assert falling(placebo, "p-MRR") == ["bm25: p-MRR 0.11 rises because everything falls: gold documents from rank 8 to 10"]
    assert falling(placebo, "WISE") == []  # nothing is said of a number that is not shown
    assert falling("infosearch-mini.bm25.v2.trec.gz", "p-MRR") == []  # its gold documents pass negatives
    assert falling("infosearch-mini.bm25+rules.v2.trec.gz", "p-MRR") == []
