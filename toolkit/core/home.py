"""Where Tandem keeps what it downloads and builds."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder of everything that Tandem keeps: TANDEM_HOME, `~/.cache/tandem` where that is not set.

    Read anew at each call; made on first use by who writes into it.
    """
    return Path(os.environ.get("TANDEM_HOME") or Path.home() / ".cache" / "tandem").absolute()
