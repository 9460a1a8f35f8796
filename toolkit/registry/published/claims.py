"""What the papers say of their tables (`registry/published/claims.yaml`), and whether it holds over some numbers.

`toolkit.registry.published.claim_functions` has the function of each, by its id.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.published.claim_functions import FUNCTIONS
from toolkit.registry.published.claim_numbers import Missing
from toolkit.registry.published.paper_tables import PUBLISHED, Cell


class Claim(NamedTuple):
    """One claim of a paper.

    section  where it stands there
    claim    in our words
    general  whether it can be asked of other runs too; the rest is about the paper's own numbers
    holds    whether it does over the published tables; None where the paper prints no number of it
    note     what the tables say
    """

    id: str
    paper: str
    section: str
    claim: str
    general: bool
    holds: bool | None
    note: str = ""


@functools.cache
def claims(paper: str) -> tuple[Claim, ...]:
    """The claims of a paper, in its order; empty where none are known."""
    return tuple(Claim(paper=paper, **row) for row in read_yaml(PUBLISHED / "claims.yaml").get(paper, ()))


def outcomes(paper: str, cells: Sequence[Cell]) -> list[tuple[Claim, bool | None]]:
    """Whether each claim of a paper holds over some cells, its own or others in their form; None where cells are missing."""
    from pandas import DataFrame

    frame = DataFrame(cells, columns=Cell._fields)
    decided: list[tuple[Claim, bool | None]] = []
    for claim in claims(paper):
        try:
            decided.append((claim, bool(FUNCTIONS[claim.id](frame))))
        except Missing:
            decided.append((claim, None))
    return decided
