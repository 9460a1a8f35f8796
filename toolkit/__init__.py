"""Tandem: reproducible evaluation of instruction-following and perspective-diverse retrieval.

Importing this package registers nothing and loads nothing heavy; `toolkit.datasets` registers the
benchmarks with ir_datasets, `toolkit.metrics` the measures with ir_measures.

What the commands do is one call each in `tandem_ir`: `import tandem_ir as tandem; tandem.search(...)`.
"""

__version__ = "0.1.0"
