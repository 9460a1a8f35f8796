"""The steps: encode, index, search, fuse, rerank, diversify, expand, judge; instructions, rules and placebo."""
