"""Runs made again: registered ones, a paper's, an experiment's; the evidence of the measures' cards, citations."""
