"""Runs compared: with each other, with references, with what a paper reports."""
