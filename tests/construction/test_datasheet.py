"""The datasheet of a benchmark: its whole text, the same bytes again, and what it says where nobody knows."""

from pathlib import Path

import pytest
import yaml
from command import tandem
from planted_folders import planted

from toolkit.construction.datasheet import datasheet, write_datasheet
from toolkit.core.errors import ToolkitError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "datasheet" / "datasheet.md"
WROTE = {
    "role": "wrote",
    "by": "mistralai/Mistral-7B-Instruct-v0.2",
    "family": "mistral",
    "prompt": "build-target",
    "step": "targets",
    "sha256": "ab" * 32,
}
JUDGED = {"role": "judged", "by": "gpt-4o", "family": "gpt", "prompt": "build-fit", "step": "filter-one", "sha256": "cd" * 32}
REVIEWED = {"role": "judged", "by": "person", "step": "review"}
SCORES, ALPHA = {"score 1": 1, "score 2": 1}, {"value": 0.71, "low": 0.5, "high": 0.9}
FACTS = {
    "kind": "infosearch",
    "seeds": {"benchmark": "infosearch-mini", "docs": {"extra.jsonl": "ef" * 32}},
    "steps": [
        {"step": "targets", "entered": 20, "left": 18, "waiting": 0, "rejected": {"keywords left": 2}, "tokens": 12345},
        {"step": "filter-one", "entered": 18, "left": 16, "waiting": 0, "rejected": SCORES, "tokens": 2000},
        {"step": "review", "entered": 16, "left": 16, "waiting": 0, "rejected": {}, "tokens": None},
    ],
    "models": {"writer": {"system": "local", "model": "mistralai/Mistral-7B-Instruct-v0.2", "max_tokens": "1024"}},
    "agreement": [{"step": "review", "question": "fits", "measure": "Krippendorff's alpha", "items": 16, **ALPHA}],
}


@pytest.fixture
def built(tmp_path):
    made = {f"d{core}-{number}": [WROTE, JUDGED] for core in range(16) for number in (0, 2)} | {"q3": [REVIEWED]}
    folder = planted(tmp_path / "mine", gold=lambda text: " ".join(text.split()[:30]), unrelated=12, made=made)
    source = "source: {paper: 'arXiv 0000.00000', licence: CC0-1.0}\n"
    with (folder / "benchmark.yaml").open("a") as out:
        out.write(f"description: planted for a test.\n{source}")
    (folder / "datasheet.yaml").write_text(yaml.safe_dump(FACTS))
    return folder


def test_the_whole_page(built):
    assert datasheet(built) == GOLDEN.read_text(encoding="utf-8")


def test_the_same_bytes_again_and_elsewhere(built, tmp_path):
    first = write_datasheet(built).read_bytes()
    moved = built.rename(tmp_path / "elsewhere")
    assert write_datasheet(moved).read_bytes() == first


def test_the_command_writes_it_into_the_folder(built):
    done = tandem("build", "datasheet", built.name, cwd=built.parent)
    assert (done.returncode, done.stdout) == (0, "mine/datasheet.md\n")
    assert (built / "datasheet.md").read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8")


def test_what_nobody_knows_is_said(tmp_path):
    text = datasheet(planted(tmp_path / "mine"))
    for line in (
        "It was not built by `tandem build`.",
        "- licence of the seeds: not stated",
        "Nothing says in which steps.",
        "Nothing says who wrote, filtered and judged the items.",
        "No person reviewed an item.",
        "There are none.",
    ):
        assert line in text


def test_people_without_a_known_agreement_are_said(tmp_path):
    text = datasheet(planted(tmp_path / "mine", made={"q1": [REVIEWED], "d0-0": [REVIEWED]}))
    assert "People had a part in 2 items; how far they agree is not known." in text
    assert "as far as models wrote" not in text


def test_a_problem_is_a_use_that_it_is_not_for(tmp_path):
    text = datasheet(planted(tmp_path / "mine", made={"nobody": [JUDGED]}))
    assert "- Any use before this is mended: provenance.jsonl: 1 item is neither document nor query (nobody)." in text


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(ToolkitError, match=r"has no benchmark\.yaml"):
        datasheet(tmp_path)
