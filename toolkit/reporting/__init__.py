"""Reports: runs of one or several benchmarks as tables, plots and one self-contained page."""
