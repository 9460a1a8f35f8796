"""Regressions: runs with registered numbers, made again from nothing and compared.

`replay(specs)` makes them again, `add(run)` registers one, `page(spec)` says what is registered.
"""

from toolkit.studies.regress.register import add
from toolkit.studies.regress.registered_entry import RegressionPaths, ours, page, users
from toolkit.studies.regress.replay import Result, replay

__all__ = ["RegressionPaths", "Result", "add", "ours", "page", "replay", "users"]
