"""Where the files that come with Tandem lie: in a checkout beside the package, in an installation within it."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = ("topics", "qrels", "indexes", "runs")


def shipped(folder: str, *parts: str) -> Path:
    """The path of a shipped file or folder: the checkout's where there is one, else the installed one.

    folder  one of `topics`, `qrels`, `indexes`, `runs` (setup.cfg maps them to `toolkit/shipped/<folder>`)
    """
    assert folder in FOLDERS, folder
    checkout = PACKAGE.parent
    root = checkout if (checkout / "setup.cfg").is_file() else PACKAGE / "shipped"
    return root.joinpath(folder, *parts)


def corpora(*parts: str) -> Path:
    """The path of a mini benchmark's sources (`toolkit/datasets/corpora/<benchmark>/`)."""
    return PACKAGE.joinpath("datasets", "corpora", *parts)
