"""What was built, as a benchmark: a folder that `benchmarks check` accepts, with who made its items (`item_provenance`).

Items with instructions become modes ori, ins and rev, a group a dimension, a corpus a group (`content_of`). Their fields:

    core, query, group, condition   the core query's id and text, the dimension, and which of its conditions is asked for
    instruction, reversed           of the modes ins and rev
    gold                            documents that meet query and instruction
    instruction_negatives           documents that meet the query and break the instruction
    hard_negatives                  documents that do not meet the query

A document is `{"id", "title", "text"}`; of one that was written, `made` says by whom.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.construction.queries.dimensions import Condition
from toolkit.construction.step_files import BuiltSteps
from toolkit.construction.steps import Item, by_fields
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.core.system.files import open_output
from toolkit.datasets.own import PROVENANCE, is_benchmark_folder
from toolkit.datasets.own.own_new import Content, new_folder
from toolkit.files.store import sharing


def written(to: Path, write: Callable[[Path], None]) -> Path:
    """A folder as `write` fills it, whole or not at all. One that was built before is replaced; ToolkitError for any other."""
    is_ours = is_benchmark_folder(to) and (to / PROVENANCE).is_file()
    is_empty = not to.exists() or (to.is_dir() and not any(to.iterdir()))
    if not is_ours and not is_empty:
        raise ToolkitError(f"{to} is there and was not built", "name a folder that is not there yet")
    with sharing.new_folder(to) as part:
        write(part)
    return to


def write_benchmark(
    build: BuiltSteps,
    folder: Path,
    content: Content,
    modes: Modes,
    *,
    made: Mapping[str, Iterable[Mapping[str, str]]],
    measures: Sequence[str] = (),
    more: Mapping[str, Any] = {},
) -> None:
    """Write what a kind made of its steps into the empty folder that it was given.

    made      id of each query and document -> who made it: what `BuiltSteps.made` has of the items that it is made of
    measures  that the table shows
    more      further keys of benchmark.yaml: `description`, `groups`, `language`

    Raises ToolkitError where there is no query.
    """
    if not content.rows and not any(content.topics.values()):
        raise ToolkitError("the steps left no query", "`tandem build status` says which step rejected them, and why")
    source = {"source": dict(build.config.seeds.source())} if build.config.seeds.source() else {}
    description = {"description": f"built by tandem build, kind {build.config.kind}"}
    named = {"name": build.to.resolve().name, "place": build.to}
    new_folder(folder, content, modes, measures=measures, more={**description, **source, **more}, **named)
    with open_output(folder / PROVENANCE) as out:
        for name, rows in made.items():
            out.write((json.dumps({"id": name, "made": list(rows)}, ensure_ascii=False) + "\n").encode())


MODES = Modes({"ori": BASE, "ins": INSTRUCTED, "rev": REVERSED})
MEASURES = ("nDCG@10", "RR@1", "Robustness@10", "pMRR", "SICR", "WISE@20", "WISE_ideal@20", "GoldRank")
Document = Mapping[str, Any]
GOLD, BREAKING, HARD = "gold", "instruction_negatives", "hard_negatives"
LABELS = {GOLD: {"ori": 1, "ins": 1, "rev": 0}, BREAKING: {"ori": 1, "ins": 0, "rev": 1}, HARD: {"ori": 0, "ins": 0, "rev": 0}}


def content_of(items: Sequence[Item]) -> Content:
    """The benchmark of these items: a row each, judgments of each mode, and a corpus for each group."""
    corpora = {group: documents(mine) for group, mine in by_fields(items, "group").items()}
    qrels = {mode: [line for item in items for line in judgments(item, mode)] for mode in MODES}
    return Content(rows=[row(item) for item in items], qrels=qrels, corpora=corpora)


def row(item: Item) -> dict[str, Any]:
    """A row of topics.jsonl. The instruction is what is added to the core query, as it is published; where a model wrote the
    instructed query, that stands whole among the wordings.
    """
    fields = item.fields
    whole = {"wordings": {"rephrased": f"{fields['rephrased']} {fields['instruction']}"}} if "rephrased" in fields else {}
    instructions = {"ins": fields["instruction"], "rev": fields["reversed"]}
    return {"id": item.id, **item.only("query", "group", "core", "condition"), "instructions": instructions, **whole}


def judgments(item: Item, mode: str) -> Iterator[tuple[str, str, str, str]]:
    """The lines of an item in a mode: all modes judge the same documents."""
    for what, labels in LABELS.items():
        for document in item.fields.get(what, ()):
            yield item.id, "0", document["id"], str(labels[mode])


def documents(items: Iterable[Item]) -> list[Doc]:
    """All documents of the items, each once, by id: gold ones must not stand first."""
    entries = {entry["id"]: entry for item in items for what in LABELS for entry in item.fields.get(what, ())}
    return [doc_of(entries[doc_id]) for doc_id in sorted(entries)]


def doc_of(document: Document) -> Doc:
    """A document of an item."""
    return Doc(document["id"], document.get("title", ""), document["text"])


def written_entry(core: str, text: str, made: Mapping[str, str], step: str) -> dict[str, Any]:
    """A document that was made for a core query. Its id says nothing of what it is, since ties are ordered by ids."""
    digest = hashlib.sha256(f"{core}\0{text}".encode(errors="surrogatepass")).hexdigest()[:12]
    return {"id": f"{core}-{digest}", "text": text, "made": [{**made, "step": step}]}


def family(item: Item) -> tuple[str, str]:
    """What the items of one query in one dimension have in common."""
    return item.fields["group"], item.fields["core"]


def siblings(items: Iterable[Item]) -> dict[tuple[str, str], list[Item]]:
    """The items of each query in each dimension, in order."""
    return by_fields(items, "group", "core")


def fits(item: Item, document: Mapping[str, Any]) -> bool:
    """Whether a document meets an item's condition by its rule; without a rule it does not."""
    fields = item.fields
    return bool(fields["rule"]) and Condition(fields["condition"], "", "", rule=fields["rule"]).fits(doc_of(document))
