"""Measures of instruction following and perspective diversity, as an extension of ir_measures.

Importing this package registers `WISE`, `WISE_ideal`, `SICR`, `pMRR`, `GoldRank`, `NegativeRank`, `Robustness`,
`MRecall` and `PerspectiveP` with ir_measures: parse_measure, calc_aggregate, iter_calc know them from then on.
"""

from toolkit.measures.definitions import MEASURES, parse
from toolkit.measures.evaluation import MeasureValues, evaluate
from toolkit.measures.explanation import Explanation, explain
from toolkit.measures.join import Positions, positions
from toolkit.measures.paired import per
from toolkit.measures.review import Findings, findings
from toolkit.measures.wording import describe, notes

WISE, WISE_ideal, SICR, pMRR = (MEASURES[name] for name in ("WISE", "WISE_ideal", "SICR", "pMRR"))
GoldRank, NegativeRank, Robustness = (MEASURES[name] for name in ("GoldRank", "NegativeRank", "Robustness"))
MRecall, PerspectiveP = (MEASURES[name] for name in ("MRecall", "PerspectiveP"))

__all__ = [
    "SICR",
    "WISE",
    "Explanation",
    "Findings",
    "GoldRank",
    "MRecall",
    "MeasureValues",
    "NegativeRank",
    "PerspectiveP",
    "Positions",
    "Robustness",
    "WISE_ideal",
    "describe",
    "evaluate",
    "explain",
    "findings",
    "notes",
    "pMRR",
    "parse",
    "per",
    "positions",
]
