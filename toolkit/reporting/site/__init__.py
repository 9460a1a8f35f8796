"""A report of several benchmarks as a static site: an index, a page a system, a benchmark and a pair, the runs themselves."""
