"""What papers print: their tables, what contradicts these, their claims; and scores of runs beside them."""

from toolkit.registry.published.benchmark_sizes import Printed, statistics
from toolkit.registry.published.claims import Claim, claims, outcomes
from toolkit.registry.published.inconsistencies import Inconsistency, inconsistencies
from toolkit.registry.published.paper_tables import Cell, cells

__all__ = ["Cell", "Claim", "Inconsistency", "Printed", "cells", "claims", "inconsistencies", "outcomes", "statistics"]
