"""Analyses: what moves a run's scores beside the system, and what a benchmark's instructions are made of."""
