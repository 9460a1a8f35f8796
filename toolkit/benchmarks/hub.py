"""Data repositories of the Hugging Face hub, at a pinned revision."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import is_shown, say
from toolkit.store import home, lock, reason, without_secrets

README = "README.md"  # its head names the files of each configuration
TABLES = ("*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet")
TIMEOUT = 10  # seconds


@contextmanager
def fetched(repository: str, revision: str, hint: str, patterns: Sequence[str] = TABLES) -> Iterator[Path]:
    """The folder of a data repository at one revision, named by its commit, for the length of the block.

    What has arrived stays where the download is interrupted. It goes when the block ends well, and when the block cannot
    use it (ToolkitError): the next call downloads it again.
    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count, as for everything of huggingface_hub.

    hint      the way out where the repository cannot be had (ToolkitError)
    patterns  of the files that are wanted, beside the README
    """
    from huggingface_hub import constants

    cache = home() / "hub" / repository.replace("/", "--")
    with lock(f"hub {repository}"):
        endpoint = without_secrets(constants.ENDPOINT)
        say(f"fetching {repository} from {endpoint}")
        try:
            folder = _download(repository, revision, cache, patterns)
        except Exception as error:  # whatever its HTTP library raises comes through
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS, errno.EACCES):
                raise  # nobody's network
            message = f"cannot fetch {repository} at {revision[:12]} from {endpoint} ({reason(error)})"
            raise ToolkitError(message, hint, status=1) from error
        try:
            yield folder
        except ToolkitError as error:
            shutil.rmtree(cache)  # or a damaged file would be met again for ever
            here, there = f"{folder}/", f"{repository} at {revision[:12]}: "
            problems = [str(problem).replace(here, "") for problem in error.problems]
            message = error.message.replace(here, there).replace(str(folder), there.rstrip(": "))
            raise ToolkitError(message, f"run again, or {hint}", problems=problems, status=1) from error
        shutil.rmtree(cache)


def _download(repository: str, revision: str, cache: Path, patterns: Sequence[str]) -> Path:
    import requests
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    if not is_shown():
        disable_progress_bars()
    if not constants.HF_HUB_OFFLINE:
        # huggingface_hub tries for half a minute before it says that there is no network
        requests.head(constants.ENDPOINT, timeout=TIMEOUT)
    where = {"repo_type": "dataset", "revision": revision, "cache_dir": cache}
    return Path(snapshot_download(repository, allow_patterns=[README, *patterns], **where))
