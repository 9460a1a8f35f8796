"""Data repositories of the Hugging Face hub, at a pinned revision."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import say
from toolkit.files.store import home, lock, without_secrets
from toolkit.files.store.hub import HubError, endpoint, fetch_files, is_offline, list_files

README = "README.md"  # its head names the files of each configuration
TABLES = ("*.jsonl", "*.jsonl.gz", "*.tsv", "*.parquet")


@contextmanager
def fetched(repository: str, revision: str, hint: str, patterns: Sequence[str] = TABLES) -> Iterator[Path]:
    """The folder of a data repository at one revision, named by its commit, for the length of the block.

    What has arrived stays where the download is interrupted. It goes when the block ends well, and when the block cannot
    use it (ToolkitError): the next call downloads it again.
    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count.

    hint      the way out where the repository cannot be had (ToolkitError)
    patterns  of the files that are wanted, beside the README
    """
    cache, place = home() / "hub" / repository.replace("/", "--"), without_secrets(endpoint())
    with lock(f"hub {repository}"):
        say(f"fetching {repository} from {place}")
        try:
            if is_offline():
                raise HubError("HF_HUB_OFFLINE is set")
            commit, files = list_files("datasets", repository, revision)
            wanted = [file for file in files if any(fnmatch(file.name, pattern) for pattern in (README, *patterns))]
            folder = cache / commit
            fetch_files("datasets", repository, commit, wanted, folder)
        except HubError as error:
            message = f"cannot fetch {repository} at {revision[:12]} from {place} ({error})"
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
