"""The fixture `tandem_gate`, for a conftest.py that says `pytest_plugins = ["tandem_ir.pytest_plugin"]`.

It is no entry point: pytest rewrites every module of a distribution that has one, on each start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolkit.evaluation.decisions.gate_output import Gate


@pytest.fixture(scope="session")
def tandem_gate() -> Callable[..., Gate]:
    """Call it with a baseline, a run and what `tandem_ir.gate` takes: the test fails where the run is worse.

    strict  also where it is undecided, which otherwise is a warning

    Returns the `Gate`, whose `to_frame()` has every number.
    """

    def compare(baseline: Any, run: Any, *, strict: bool = False, **how: Any) -> Gate:
        __tracebackhide__ = True
        from toolkit.core.errors import ToolkitError
        from toolkit.core.tables.aligned_table import to_text
        from toolkit.evaluation.decisions.decision import gate
        from toolkit.evaluation.decisions.gate_output import UNDECIDED, describe, to_table
        from toolkit.metrics.inference import FEW

        try:
            made = gate(baseline, run, **how)
        except ToolkitError as error:
            pytest.fail("\n".join(error.lines()), pytrace=False)
        if not made.passed(strict=strict):
            pytest.fail(to_text([to_table(made, strict=strict)]), pytrace=False)
        for check in made.deciding:
            if check.verdict in (UNDECIDED, FEW):
                warnings.warn(describe(check), stacklevel=2)
        return made

    return compare
