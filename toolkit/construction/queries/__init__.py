"""Queries and instructions of a benchmark: collected, written, translated."""
