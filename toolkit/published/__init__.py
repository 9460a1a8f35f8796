"""What papers print: their tables, what contradicts these, their claims; and scores of runs beside them."""

from toolkit.published.benchmark_sizes import Printed, statistics
from toolkit.published.claims import Claim, claims, outcomes
from toolkit.published.inconsistencies import Inconsistency, inconsistencies
from toolkit.published.paper_tables import Cell, cells

__all__ = ["Cell", "Claim", "Inconsistency", "Printed", "cells", "claims", "inconsistencies", "outcomes", "statistics"]
