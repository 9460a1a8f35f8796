"""What kinds of indexes there are, and which of them a folder holds."""

from collections.abc import Callable
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.files.formats.indexes import NAME, check_made_with, read_index_record
from toolkit.files.texts.per_query_corpus import has_questions
from toolkit.models.lucene.docids import has_ids, id_file

LUCENE, IMPACT, FAISS, MULTIVECTOR = KINDS = ("lucene", "impact", "faiss", "multivector")
TITLES = {LUCENE: "Lucene", IMPACT: "impact", FAISS: "FAISS", MULTIVECTOR: "multivector"}
SEARCHED = {"bm25": LUCENE, "impact": IMPACT, "dense": FAISS, "multivector": MULTIVECTOR}  # by which kind of system


def _has_faiss(folder: Path) -> bool:
    """The file alone is not enough: many folders hold a file named `index`."""
    from toolkit.models.vectors.faiss_index import index_file
    from toolkit.models.vectors.faiss_shards import part_folders, shard_paths

    if shard_paths(folder, 0)[0].is_file():
        return (folder / NAME).is_file()
    if index_file(folder) is None:
        return bool(part_folders(folder))
    return (folder / NAME).is_file() or has_ids(folder)


def _has_multivector(folder: Path) -> bool:
    from toolkit.models.vectors.late import VECTORS

    return (folder / VECTORS).is_file()


HOLDS: dict[str, Callable[[Path], bool]] = {
    LUCENE: lambda folder: any(folder.glob("segments_*")),
    FAISS: _has_faiss,
    MULTIVECTOR: _has_multivector,
}


def is_index(folder: Path) -> bool:
    """Whether a folder holds an index of any kind, or one for each of several questions, by its files."""
    return folder.is_dir() and (has_questions(folder) or any(holds(folder) for holds in HOLDS.values()))


def index_kind(folder: Path) -> str | None:
    """The kind of the index in a folder: what its record says, or its files do; None where it holds none.

    Impact indexes are Lucene's: one without a record is `lucene`. Raises ToolkitError for a record that cannot be read.
    """
    if not is_index(folder):
        return None
    record = read_index_record(folder)
    if record and record.get("kind") in KINDS:
        return record["kind"]
    return next((kind for kind, holds in HOLDS.items() if holds(folder)), None)


def kind_for(system: SystemSpec | None) -> str:
    """The kind of index that a system searches; Lucene's where no system is named. ToolkitError for one that searches none."""
    if system is None:
        return LUCENE
    if system.kind not in SEARCHED:
        hint = f"kinds that search one: {', '.join(SEARCHED)}"
        raise ToolkitError(f"system {system.name} is of kind {system.kind}, which cannot search an index", hint)
    return SEARCHED[system.kind]


def chosen_kind(given: str | None, spec: SystemSpec | None, *, of_lucene: bool, vectors: str | None) -> str:
    """The type of index to build; ToolkitError where system, vectors or options are of another one."""
    if given and given not in KINDS:
        raise ToolkitError(f"no type of index {given!r}", f"known: {', '.join(KINDS)}")
    kind = given or kind_for(spec)
    if spec and kind != kind_for(spec):
        raise ToolkitError(f"system {spec.name} searches indexes of type {kind_for(spec)}, not {kind}", "leave --type out")
    if vectors:
        if kind != FAISS or spec:
            raise ToolkitError(f"{vectors} holds vectors, which say what made them", "name --type faiss, and no --system")
        return kind
    if kind != LUCENE and spec is None:
        raise ToolkitError(f"no system for an index of type {kind}", "name one with --system, such as all-minilm-l6-v2")
    if kind != LUCENE and of_lucene:
        raise ToolkitError("--language and --skip-invalid are Lucene's", f"leave them out of an index of type {kind}")
    return kind


def check_kind(folder: Path, system: SystemSpec | None) -> None:
    """Raise ToolkitError where a folder holds no index that the system searches, or one made with another system.

    Indexes made elsewhere do not say what made them: that is for the user to know.
    """
    wanted, actual = kind_for(system), index_kind(folder)
    if wanted == FAISS and actual is None and folder.is_dir():
        from toolkit.models.vectors.faiss_index import index_file

        if index_file(folder):
            id_file(folder)  # says what is missing
    if actual is None or (actual != wanted and system is None):
        hint = f"`tandem index CORPUS {'' if wanted == LUCENE else f'--type {wanted} '}--output DIR` makes one"
        raise ToolkitError(f"{folder} holds no {TITLES[wanted]} index", hint)
    record = read_index_record(folder)
    if record is None and (wanted, actual) == (IMPACT, LUCENE):
        return
    if actual != wanted:
        raise ToolkitError(f"index {folder} is of kind {actual}", f"{system.name} searches indexes of kind {wanted}")
    if record is not None and wanted != LUCENE:
        check_made_with(folder, record, system)
