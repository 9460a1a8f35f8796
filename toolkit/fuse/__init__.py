"""Fusion: several runs of the same topics as one."""

from toolkit.fuse.fusion import METHODS, fuse, parse_method

__all__ = ["METHODS", "fuse", "parse_method"]
