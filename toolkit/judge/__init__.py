"""Judging: which of a question's perspectives the best documents hold."""
