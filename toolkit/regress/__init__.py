"""Regressions: runs with registered numbers, made again from nothing and compared.

`replay(specs)` makes them again, `add(run)` registers one, `page(spec)` says what is registered.
"""

from toolkit.regress.paths import RegressionPaths, ours, users
from toolkit.regress.register import add
from toolkit.regress.regression_pages import page
from toolkit.regress.replay import Result, replay

__all__ = ["RegressionPaths", "Result", "add", "ours", "page", "replay", "users"]
