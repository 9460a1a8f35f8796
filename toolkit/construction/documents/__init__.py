"""Documents of a benchmark: gold ones, candidates, negatives; and what is put out of them."""
