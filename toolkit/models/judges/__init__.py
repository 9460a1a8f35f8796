"""Judges: models that say whether a document holds a perspective, all behind one cache of answers."""

from toolkit.models.judges.judge import Judge, Pair, Plan, Sides, Verdict
from toolkit.models.judges.loading import KIND, STANCE, SUPPORT, Shot, load_judge, read_shots

__all__ = ["KIND", "STANCE", "SUPPORT", "Judge", "Pair", "Plan", "Shot", "Sides", "Verdict", "load_judge", "read_shots"]
