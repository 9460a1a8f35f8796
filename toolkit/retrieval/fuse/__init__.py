"""Fusion: several runs of the same topics as one."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(__name__, {"fuse_step": ("METHODS", "Fuse", "check_method", "fuse", "parse_method")})
