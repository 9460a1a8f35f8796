"""Fusion: several runs of the same topics as one."""

from toolkit.fuse.fuse_step import Fuse
from toolkit.fuse.fusion import METHODS, check_method, fuse, parse_method

__all__ = ["METHODS", "Fuse", "check_method", "fuse", "parse_method"]
