"""Where Tandem stores what it downloads and builds."""

import os
from pathlib import Path


def home() -> Path:
    """The folder of everything that Tandem stores: TANDEM_HOME, `~/.cache/tandem` where that is not set.

    Looked up at each call; made by the first that writes into it.
    """
    return Path(os.environ.get("TANDEM_HOME") or Path.home() / ".cache" / "tandem").absolute()
