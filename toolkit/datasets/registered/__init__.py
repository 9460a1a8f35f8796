"""Benchmarks as ir_datasets knows them."""
