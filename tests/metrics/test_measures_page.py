"""docs/measures.md says what the registry and the evidence script say."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolkit import registry
from toolkit.metrics.families.paired import VARIANTS, wise_of_ranks

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
OVER = {
    "paired": "a query over its modes",
    "mode": "a query in one mode",
    "group": "a core query in one mode",
    "aggregate": "a whole run",
}


def rows():
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("name", registry.measures())
def test_the_table_has_every_measure_as_registered(name):
    row = registry.measures()[name]
    (cells,) = [cells for cells in rows() if cells[0].strip("`").partition("@")[0] == name]
    parameters = [f"{key}={spec['default']!r}" if "default" in spec else key for key, spec in row.parameters.items()]
    worst = "left out" if row.worst is None else f"{row.worst:g}"
    related = ", ".join(f"`{other}`" for other in row.related)
    assert cells[1:] == [OVER[row.over], ", ".join(parameters), worst, related, row.source]


def test_the_examples_of_the_three_variants_are_computed():
    examples = [cells for cells in rows() if cells[0].startswith("(")]
    assert len(examples) == 4
    for ranks, *values in examples:
        numbers = [int(rank) for rank in ranks.strip("()").split(",")]
        assert [float(value) for value in values] == [round(float(wise_of_ranks(*numbers, variant=v)), 2) for v in VARIANTS]


@pytest.mark.process
def test_the_evidence_is_what_the_script_prints():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "wise_evidence"], capture_output=True, text=True, check=True)
    printed = PAGE.partition("<!-- printed by scripts/wise_evidence -->\n")[2].partition("<!-- end -->")[0]
    assert printed == done.stdout
    by_variant = {line.partition(":")[0]: line for line in done.stdout.splitlines()[-3:]}
    assert list(by_variant) == ["release", "source", "paper"]
