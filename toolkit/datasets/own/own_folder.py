"""A folder with `benchmark.yaml` is a benchmark: which files it has, what they say, and what a user calls it.

    benchmark.yaml                               name, modes, measures
    corpus[.GROUP].(jsonl|tsv|trec|txt)          documents, for all groups or of one
    topics.jsonl                                 a row a query, with its instructions
    topics[.GROUP][.MODE].(jsonl|tsv|trec|txt)   or a file a mode
    qrels[.GROUP][.MODE].(txt|tsv|qrels)         judgments, a file a mode, or one with ids that carry it
    candidates[.GROUP][.MODE].(trec|txt|run)     documents to rerank, where there are some

Each may be compressed (`.gz`, `.zst`). In a file's name a group's `/` is `-`.
"""

import functools
import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import Modes
from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.specs import BenchmarkSpec, GroupSpec
from toolkit.core.system.files import AS_FILES, as_one
from toolkit.datasets.group_data import group_names, part_name
from toolkit.datasets.own import FILE
from toolkit.datasets.own.declaration import Declaration, line_of, read_declaration
from toolkit.datasets.own.own_qrels import QrelsFile, read_candidates, read_judgments
from toolkit.datasets.own.own_topics import OwnTopics, from_files, from_rows
from toolkit.datasets.own.remarks import Remarks, refuse
from toolkit.registry.loader import did_you_mean

ENDINGS = {
    "corpus": ("jsonl", "tsv", "trec", "txt"),
    "topics": ("jsonl", "tsv", "trec", "txt"),
    "qrels": ("txt", "tsv", "qrels"),
    "candidates": ("trec", "txt", "run"),
}
MEANT = {**dict.fromkeys(("corpora", "documents", "docs"), "corpus"), "queries": "topics", "topic": "topics", "qrel": "qrels"}
NAMED = re.compile(rf"({'|'.join(ENDINGS)})(?:\.(.+?))??\.(\w+?)(?:\.(?:gz|zst))?")
DESCRIPTION = "a benchmark in a folder of one's own"


class _File(NamedTuple):
    """A file of the folder, by its name: `qrels.length.pos.txt` has the words `length.pos`."""

    path: Path
    words: str
    ending: str


class OwnFolder:
    """What a folder holds. Topics are read when it is opened, judgments and documents when they are asked for.

    path     as the user named it, for messages
    remarks  problems and warnings of all that was read so far
    """

    def __init__(self, path: Path):
        self.path, self.remarks = path, Remarks()
        self.declared: Declaration = read_declaration(path / FILE, self.remarks)
        self._files = self._named_files()
        self.topics: OwnTopics = self._read_topics()
        self.spec: BenchmarkSpec = self._spec()
        self._check_names()

    @property
    def modes(self) -> Modes:
        """Of the queries; empty where the folder declares none."""
        return self.declared.modes

    def check(self) -> None:
        """ToolkitError with all that is wrong with what was read so far."""
        refuse(self.path, self.remarks.problems)

    @functools.cached_property
    def qrels(self) -> Qrels | None:
        """All judgments; None where there are none."""
        return read_judgments(self._of_modes("qrels"), self.topics, self.modes, self.remarks)

    @functools.cached_property
    def candidates(self) -> Run | None:
        """All documents to rerank; None where there are none."""
        return read_candidates(self._of_modes("candidates"), self.topics, self.modes, self.remarks)

    def judgment_files(self) -> list[Path]:
        """Where judgments stand."""
        return [file.path for file in self._files["qrels"]]

    @functools.cached_property
    def corpora(self) -> Mapping[str, Path]:
        """The groups that have a file of documents of their own, or are the first of those that share one -> the file."""
        files = {file.words: file.path for file in self._files["corpus"]}
        stems = {part_name(group): group for group in self.topics.topics}
        own = {stems[words]: path for words, path in files.items() if words in stems}
        sharing = [group for group in self.topics.topics if group not in own]
        if "" in files and sharing:
            own[sharing[0]] = files[""]
        return own

    def _named_files(self) -> dict[str, list[_File]]:
        """The files by what they hold. Names that nothing is read from, and two files for one thing, are problems."""
        found: dict[str, list[_File]] = {what: [] for what in ENDINGS}
        taken: dict[tuple[str, str], Path] = {}
        for path in sorted(self.path.iterdir()):
            match = NAMED.fullmatch(path.name)
            if match is None or not path.is_file():
                # a file that seems to be meant as one of the folder's: `topic.jsonl`, `Qrels.txt`
                word, _, rest = path.name.partition(".")
                near = MEANT.get(word.lower(), word.lower())
                if path.is_file() and near in ENDINGS and rest:
                    self.remarks.warning(path, 0, "the file is not read", f"is it meant as {near}.{rest}?")
                continue
            what, words, ending = match[1], match[2] or "", match[3]
            if ending not in ENDINGS[what]:
                todo = f"write them as .{' or .'.join(ENDINGS[what])}"
                self.remarks.problem(path, 0, f"{what} as .{ending} are not read", todo)
            elif (first := taken.setdefault((what, words), path)) != path:
                self.remarks.problem(path, 0, f"{first.name} holds the same", "keep one of the two")
            else:
                found[what].append(_File(path, words, ending))
        return found

    def _read_topics(self) -> OwnTopics:
        files, modes = self._files["topics"], self.modes
        rows = [file for file in files if not file.words and file.ending == "jsonl"]
        if rows and len(files) > 1:
            other = next(file for file in files if file != rows[0])
            self.remarks.problem(other.path, 0, f"{rows[0].path.name} has the topics of every mode", "keep one of the two")
        if rows:
            return from_rows(rows[0].path, modes, self.remarks, self.declared.refused)
        if not files:
            self.remarks.problem(self.path, 0, "there are no topics", "write topics.jsonl, or topics.MODE.tsv for every mode")
            return OwnTopics(lost=math.inf)
        divided = [(file.path, *self._divided(file, None)) for file in files]
        return from_files([one for one in divided if one[2] or not modes], modes, self.remarks)

    def _divided(self, file: _File, groups: Mapping[str, str] | None) -> tuple[str, str]:
        """Group and mode of a file's name. What is neither is a problem; groups: stem -> group, where they are known."""
        words, modes = file.words, self.modes
        if words in modes:
            return "", words
        group, _, mode = words.rpartition(".")
        if mode in modes and (groups is None or group in groups):
            return group, mode
        if groups is not None and words in groups:
            return words, ""
        if groups is None and not modes:
            return words, ""
        if (words or groups is None) and words.rpartition(".")[2] not in self.declared.refused:
            known = [*modes, *(groups if groups and len(groups) > 1 else ())]
            kinds = "mode or group" if groups and len(groups) > 1 else "mode"
            what = f"{words!r} is no {kinds}" if words else "of which mode are they?"
            self.remarks.problem(file.path, 0, what, f"{did_you_mean(words, known)}known: {', '.join(known) or 'none'}")
        return "", ""

    def _of_modes(self, what: str) -> list[QrelsFile]:
        groups, known = {part_name(group): group for group in self.topics.topics}, len(self.remarks)
        files = [(file, self._divided(file, groups)[1]) for file in self._files[what]]
        if len(self.remarks) > known or self.declared.refused:  # of which mode some are is not known
            return [(file.path, mode) for file, mode in files if mode]
        if self.modes and len({bool(mode) for _, mode in files}) > 1:
            whole = next(file.path for file, mode in files if not mode)
            self.remarks.problem(whole, 0, f"there are {what} of every mode beside a file for each", "keep one of the two")
            files = [(file, mode) for file, mode in files if mode]
        elif self.modes and files and files[0][1]:
            there, ending = {mode for _, mode in files}, files[0][0].path.name.partition(f".{files[0][1]}.")[2]
            for mode in [mode for mode in self.modes if mode not in there]:
                self.remarks.problem(self.path, 0, f"there are no {what} of mode {mode}", f"write {what}.{mode}.{ending}")
        return [(file.path, mode) for file, mode in files]

    def _line(self, key: str, word: str) -> int:
        return line_of((self.path / FILE).read_text(encoding="utf-8", errors="replace"), key, word)

    def _spec(self) -> BenchmarkSpec:
        """The entry that the registry would have of it."""
        declared, there = self.declared, list(self.topics.topics)
        rows: dict[str, GroupSpec] = {group["name"]: group for group in declared.groups}
        for name in [name for name in there if rows and name not in rows]:
            place = next(self.topics.places[base] for base, group in self.topics.groups.items() if group == name)
            todo = f"{did_you_mean(name, rows)}groups: {', '.join(rows)}"
            self.remarks.problem(*place, f"group {name} is not in benchmark.yaml", todo)
        strange = any(name not in rows for name in there)  # said above: one of them may be what seems to be missing
        for name in [name for name in rows if there and name not in there and not strange]:
            todo = f"{did_you_mean(name, there)}groups of topics: {', '.join(there)}"
            self.remarks.problem(self.path / FILE, self._line("groups", name), f"group {name} has no topics", todo)
        shared = next((name for name, path in self.corpora.items() if NAMED.fullmatch(path.name)[2] is None), None)
        for file in self._files["corpus"]:
            if there and file.path not in self.corpora.values():
                stems = [part_name(name) for name in there]
                what = f"{file.words!r} is no group" if file.words else "every group has documents of its own"
                self.remarks.problem(file.path, 0, what, f"{did_you_mean(file.words, stems)}groups: {', '.join(there)}")
        order = [name for name in rows if name in there] + [name for name in there if name not in rows]
        if twins := as_one(order):
            what = f"the groups {twins[0]!r} and {twins[1]!r} {AS_FILES}"
            self.remarks.problem(self.path / FILE, self._line("groups", twins[1]), what, "rename one of the two")
        groups = []
        for name in order:
            language = {"language": declared.language} if declared.language else {}
            row: dict[str, Any] = {"name": name, **language, **rows.get(name, {})}
            if shared and name not in self.corpora:
                row["corpus"] = shared
            groups.append(row)
        selections = {key: names for key, names in declared.selections.items() if set(names) <= set(order)}
        for key in [key for key in declared.selections if key not in selections]:
            what = f"selection {key!r} names a group that is not there"
            self.remarks.problem(self.path / FILE, self._line("selections", key), what, f"groups: {', '.join(order)}")
        said = {key: getattr(declared, key) for key in ("modes", "measures", "source", "counts", "options", "smallest_effects")}
        said |= {"name": declared.name or "unnamed", "description": declared.description or DESCRIPTION}
        place = str(self.path.absolute())
        return BenchmarkSpec(layout="folder", groups=tuple(groups), selections=selections, folder=place, **said)

    def _check_names(self) -> None:
        """Names of parts that can be read in two ways: `NAME-g-pos` is of a group `g-pos`, and of `g` in a mode `pos`."""
        meant: dict[str, tuple[str, str]] = {}
        for part, mode in itertools.product(group_names(self.spec), ("", *self.modes)):
            group, known = meant.setdefault(part_name(part, mode), (part, mode))
            if known != mode:
                one, other = (f"group {its or 'any'} in mode {of or 'any'}" for its, of in ((group, known), (part, mode)))
                what = f"{part_name(self.spec.name, part, mode)} is {one}, and {other}"
                self.remarks.problem(self.path / FILE, self._line("groups", part), what, "rename one of the two")


def open_folder(path: str | Path) -> OwnFolder:
    """What a folder holds, read again where a file of it has changed. Raises ToolkitError where it holds no benchmark."""
    folder = Path(path)
    if not (folder / FILE).is_file():
        what = f"{folder} has no {FILE}" if folder.is_dir() else f"no folder {folder}"
        raise ToolkitError(what, f"`tandem benchmarks new {folder}` begins one")
    # names, sizes and times of its files: they change when what it holds does
    files = sorted((path.name, path.stat()) for path in folder.iterdir() if path.is_file())
    return _opened(folder, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in files))


@functools.lru_cache(maxsize=8)
def _opened(folder: Path, state: tuple) -> OwnFolder:
    return OwnFolder(folder)
