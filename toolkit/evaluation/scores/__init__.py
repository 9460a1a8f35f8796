"""Runs and judgments in, scores out."""
