"""Run files: what is in them, what is wrong with them, and the same in other forms."""

from toolkit.runs.convert import benchmark_texts, convert, file_texts
from toolkit.runs.repair import is_repaired, repair_qrels, repair_run
from toolkit.runs.summary import summarise

__all__ = ["benchmark_texts", "convert", "file_texts", "is_repaired", "repair_qrels", "repair_run", "summarise"]
