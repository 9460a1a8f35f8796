"""Tandem: reproducible evaluation of instruction-following and perspective-diverse retrieval.

Importing this package registers nothing and loads nothing heavy; `toolkit.benchmarks` registers the
benchmarks with ir_datasets, `toolkit.measures` the measures with ir_measures.

What the commands do is one call each: `toolkit.make_run(...)`, `toolkit.evaluate(...)`.
"""

from importlib import import_module

__version__ = "0.1.0"


def __getattr__(name: str):
    if name == "evaluate":  # a package that can be called
        return import_module("toolkit.evaluate")
    if name == "make_run":
        return import_module("toolkit.jobs.run_jobs").make_run
    raise AttributeError(f"module 'toolkit' has no attribute {name!r}")
