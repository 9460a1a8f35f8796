"""Measures of instruction following and perspective diversity, as an extension of ir_measures.

Importing this package registers the measures of `registry/measures.yaml` with ir_measures: parse_measure, calc_aggregate,
iter_calc know them from then on. Each is also a name of this package: `from toolkit.measures import WISE, pMRR`.
"""

from toolkit.measures.definitions import MEASURES, parse, parse_all
from toolkit.measures.diagnostics import Findings, findings
from toolkit.measures.evaluation import MeasureValues, evaluate
from toolkit.measures.explanation import Explanation, explain
from toolkit.measures.join import Positions, positions
from toolkit.measures.messages import describe, notes
from toolkit.measures.paired import per

globals().update(MEASURES)

__all__ = [
    "MEASURES",
    "Explanation",
    "Findings",
    "MeasureValues",
    "Positions",
    "describe",
    "evaluate",
    "explain",
    "findings",
    "notes",
    "parse",
    "parse_all",
    "per",
    "positions",
    *MEASURES,
]
