"""Tandem: reproducible evaluation of instruction-following and perspective-diverse retrieval.

Importing this package registers nothing and loads nothing heavy; `toolkit.benchmarks` registers the
benchmarks with ir_datasets, `toolkit.measures` the measures with ir_measures.
"""

__version__ = "0.1.0"
