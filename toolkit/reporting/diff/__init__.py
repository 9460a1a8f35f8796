"""Runs compared: what changed between two runs, by how much, and whether that is more than chance."""
