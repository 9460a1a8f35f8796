"""Data repositories of the Hugging Face hub, at a pinned revision."""

from __future__ import annotations

from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.store import home, lock

# tables and the head of the README, which names the files of each configuration
PATTERNS = ["README.md", "*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet"]


def fetch(repository: str, revision: str, hint: str) -> Path:
    """The folder of a data repository at one revision, downloaded where it is not there yet.

    hint  the way out where it cannot be had (ToolkitError)

    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count, as for everything of huggingface_hub.
    """
    from huggingface_hub import constants, snapshot_download

    endpoint = constants.ENDPOINT
    with lock(f"hub {repository}"):
        say(f"fetching {repository} from {endpoint}")
        try:
            folder = snapshot_download(
                repository, repo_type="dataset", revision=revision, cache_dir=home() / "hub", allow_patterns=PATTERNS
            )
        except Exception as error:  # whatever its HTTP library raises comes through
            message = f"cannot fetch {repository} at {revision[:12]} from {endpoint} ({_reason(error)})"
            raise ToolkitError(message, hint, status=1) from error
    return Path(folder)


def _reason(error: BaseException) -> str:
    """The first cause, in one line: huggingface_hub explains itself in several."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0] or type(error).__name__
