"""Items with instructions as a benchmark: modes ori, ins and rev, a group a dimension, a corpus a group.

What of an item is written, by its fields:

    core, query, group, condition   the core query's id and text, the dimension, and which of its conditions is asked for
    instruction, reversed           of the modes ins and rev
    gold                            documents that meet query and instruction
    instruction_negatives           documents that meet the query and break the instruction
    hard_negatives                  documents that do not meet the query

A document is `{"id", "title", "text"}`; of one that was written, `made` says by whom.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolkit.construction.items import Item
from toolkit.construction.queries.dimensions import Condition
from toolkit.core.documents import Doc
from toolkit.core.modes import BASE, INSTRUCTED, REVERSED, Modes
from toolkit.datasets.own.own_new import Content

MODES = Modes({"ori": BASE, "ins": INSTRUCTED, "rev": REVERSED})
MEASURES = ("nDCG@10", "RR@1", "Robustness@10", "pMRR", "SICR", "WISE@20", "WISE_ideal@20", "GoldRank")
Document = Mapping[str, Any]
GOLD, BREAKING, HARD = "gold", "instruction_negatives", "hard_negatives"
LABELS = {
    GOLD: {"ori": 1, "ins": 1, "rev": 0},
    BREAKING: {"ori": 1, "ins": 0, "rev": 1},
    HARD: {"ori": 0, "ins": 0, "rev": 0},
}


def content_of(items: Sequence[Item]) -> Content:
    """The benchmark of these items: a row each, judgments of each mode, and a corpus for each group."""
    groups = dict.fromkeys(item.fields["group"] for item in items)
    corpora = {group: documents(item for item in items if item.fields["group"] == group) for group in groups}
    qrels = {mode: [line for item in items for line in judgments(item, mode)] for mode in MODES}
    return Content(rows=[row(item) for item in items], qrels=qrels, corpora=corpora)


def row(item: Item) -> dict[str, Any]:
    """A row of topics.jsonl. The instruction is what is added to the core query, as it is published; where a model wrote the
    instructed query, that stands whole among the wordings.
    """
    fields = item.fields
    whole = {"wordings": {"rephrased": f"{fields['rephrased']} {fields['instruction']}"}} if "rephrased" in fields else {}
    return {
        "id": item.id,
        "query": fields["query"],
        "group": fields["group"],
        "core": fields["core"],
        "condition": fields["condition"],
        "instructions": {"ins": fields["instruction"], "rev": fields["reversed"]},
        **whole,
    }


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


def entry_of(doc: Doc) -> dict[str, str]:
    """A document as an item holds it."""
    return {"id": doc.doc_id, **({"title": doc.title} if doc.title else {}), "text": doc.text}


def written_entry(core: str, text: str, made: Mapping[str, str], step: str) -> dict[str, Any]:
    """A document that was made for a core query. Its id says nothing of what it is, since ties are ordered by ids."""
    digest = hashlib.sha256(f"{core}\0{text}".encode(errors="surrogatepass")).hexdigest()[:12]
    return {"id": f"{core}-{digest}", "text": text, "made": [{**made, "step": step}]}


def family(item: Item) -> tuple[str, str]:
    """What the items of one query in one dimension have in common."""
    return item.fields["group"], item.fields["core"]


def siblings(items: Iterable[Item]) -> dict[tuple[str, str], list[Item]]:
    """The items of each query in each dimension, in order."""
    found: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        found[family(item)].append(item)
    return found


def fits(item: Item, document: Mapping[str, Any]) -> bool:
    """Whether a document meets an item's condition by its rule; without a rule it does not."""
    fields = item.fields
    return bool(fields["rule"]) and Condition(fields["condition"], "", "", rule=fields["rule"]).fits(doc_of(document))
