"""A benchmark in a folder of the user's: `benchmark.yaml`, topics, qrels and a corpus, read where they lie.

Which files there are, and what may be in them: `datasets.own.own_folder`. Nothing is copied; documents are read when they are
asked for.
"""

from functools import partial
from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec
from toolkit.datasets.copies.row_values import LazyDocs
from toolkit.datasets.group_data import Group, Part
from toolkit.datasets.own.own_folder import open_folder
from toolkit.datasets.own.remarks import CHECK
from toolkit.files.texts.documents import corpus_from_files

NEEDED = ("name",)
TABLES = ()  # none are stored: the folder is read in place


def find(root: Path, group: Group) -> Path | None:
    """The folder itself."""
    return root if (root / "benchmark.yaml").is_file() else None


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A group.

    Raises ToolkitError with all problems of topics and qrels, with their lines, and where the folder holds something else than
    it did when it was registered.
    """
    own = open_folder(folder)
    qrels, candidates, name = own.qrels, own.candidates, group["name"]
    own.check()
    if name not in own.topics.topics or own.spec.modes != spec.modes:
        message = f"{folder} has other groups or modes than {spec.name} was registered with"
        raise ToolkitError(message, f"tandem benchmarks add {folder}")
    topics = own.topics.topics[name]
    ids = {mode: [topic.query_id for topic in of_mode] for mode, of_mode in topics.items()}
    judged: dict[str, Qrels] = {} if qrels is None else {mode: qrels.select(of_mode) for mode, of_mode in ids.items()}
    ranked: dict[str, Run] = {} if candidates is None else {mode: candidates.select(of_mode) for mode, of_mode in ids.items()}
    lacks = {"qrels": f"write qrels.MODE.txt in {folder}", "documents": f"write corpus.jsonl in {folder}, or name an --index"}
    docs = LazyDocs(partial(_own_docs, folder, own.corpora[name])) if name in own.corpora else None
    return Part(name, topics, judged, docs, ranked, lacks=lacks)


def _own_docs(folder: Path, path: Path) -> list[Doc]:
    try:
        return list(corpus_from_files(path).documents())
    except ToolkitError as error:
        raise ToolkitError(error.message, f"`{CHECK} {folder}` says everything that is wrong") from error
