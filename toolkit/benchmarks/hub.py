"""Data repositories of the Hugging Face hub, at a pinned revision."""

from __future__ import annotations

from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.store import home, lock

# tables and the head of the README, which names the files of each configuration
PATTERNS = ["README.md", "*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet"]


def fetch(repository: str, revision: str) -> Path:
    """The folder of a data repository at one revision, downloaded where it is not there yet.

    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count, as for everything of huggingface_hub.
    Raises ToolkitError where the repository cannot be had.
    """
    import huggingface_hub
    from huggingface_hub import constants

    say(f"fetching {repository} from {constants.ENDPOINT}")
    try:
        with lock(f"hub {repository}"):
            folder = huggingface_hub.snapshot_download(
                repository, repo_type="dataset", revision=revision, cache_dir=home() / "hub", allow_patterns=PATTERNS
            )
    except Exception as error:
        raise ToolkitError(
            f"cannot fetch {repository} at {revision[:12]} from {constants.ENDPOINT} ({_reason(error)})",
            "take a local copy (tandem benchmarks fetch infosearch --from DIR), or use the mini (infosearch-mini)",
            status=1,
        ) from error
    return Path(folder)


def _reason(error: BaseException) -> str:
    """The first cause, in one line: huggingface_hub explains itself in several."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0] or type(error).__name__
