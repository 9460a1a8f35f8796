"""What papers print: their tables, what contradicts these, their claims; and scores of runs beside them."""

from toolkit.registry.published.claims import Claim, claims, outcomes
from toolkit.registry.published.paper_tables import Cell, Inconsistency, Printed, cells, inconsistencies, statistics

__all__ = ["Cell", "Claim", "Inconsistency", "Printed", "cells", "claims", "inconsistencies", "outcomes", "statistics"]
