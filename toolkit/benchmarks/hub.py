"""Data repositories of the Hugging Face hub, at a pinned revision."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import is_shown, say
from toolkit.store import home, lock, reason, without_secrets

# tables, and the README, whose head names the files of each configuration
PATTERNS = ["README.md", "*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet"]
TIMEOUT = 10  # seconds


@contextmanager
def fetched(repository: str, revision: str, hint: str) -> Iterator[Path]:
    """The folder of a data repository at one revision, for the length of the block.

    What has arrived stays where the download is interrupted, and goes when the block ends well.
    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count, as for everything of huggingface_hub.

    hint  the way out where the repository cannot be had (ToolkitError)
    """
    from huggingface_hub import constants

    cache = home() / "hub" / repository.replace("/", "--")
    with lock(f"hub {repository}"):
        endpoint = without_secrets(constants.ENDPOINT)
        say(f"fetching {repository} from {endpoint}")
        try:
            folder = _download(repository, revision, cache)
        except Exception as error:  # whatever its HTTP library raises comes through
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS, errno.EACCES):
                raise  # nobody's network
            message = f"cannot fetch {repository} at {revision[:12]} from {endpoint} ({reason(error)})"
            raise ToolkitError(message, hint, status=1) from error
        yield folder
        shutil.rmtree(cache)


def _download(repository: str, revision: str, cache: Path) -> Path:
    import requests
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    if not is_shown():
        disable_progress_bars()
    if not constants.HF_HUB_OFFLINE:
        # huggingface_hub tries for half a minute before it says that there is no network
        requests.head(constants.ENDPOINT, timeout=TIMEOUT)
    return Path(snapshot_download(repository, repo_type="dataset", revision=revision, cache_dir=cache, allow_patterns=PATTERNS))
