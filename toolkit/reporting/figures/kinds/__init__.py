"""One file for each kind of figure."""
