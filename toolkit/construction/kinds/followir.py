"""FollowIR and mFollowIR: topics whose narratives become narrower, in one language or several
(`toolkit.construction.queries.narratives`).
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolkit.construction.documents.built_benchmark import write_benchmark
from toolkit.construction.documents.instructed_benchmark import BREAKING, HARD, doc_of
from toolkit.construction.documents.negatives import Adversarial, InstructionNegatives, added_to
from toolkit.construction.items import Item
from toolkit.construction.queries.narratives import CROSS_LINGUAL, Candidates, Choose, Edits, Rejudge, Review, Topics, nfc
from toolkit.construction.queries.translations import Translate, TranslationReview
from toolkit.construction.records.item_history import BuiltSteps
from toolkit.core.documents import Doc
from toolkit.core.modes import BASE, INSTRUCTED, Modes
from toolkit.datasets.own.own_new import Content


@dataclass(frozen=True)
class EditNegatives(InstructionNegatives):
    """Documents that answer the query and that the sentences exclude which the narrowed narrative alone has."""

    instruction: str = "edit"


STEPS = (Topics, Edits, Rejudge, Review, Choose, Translate, TranslationReview, Candidates, EditNegatives, Adversarial)
MODES = Modes({"og": BASE, "changed": INSTRUCTED})
MEASURES = ("nDCG@20", "pMRR")


def benchmark(build: BuiltSteps, to: Path) -> None:
    """Modes og (the narrative as it was) and changed (narrowed), with candidates; a group a language, as in mFollowIR.

    The documents are the candidates. Both modes judge of them what the seeds judge; what fell is not relevant in `changed`.
    Negatives that further steps wrote are candidates, too.
    """
    last = build.config.names[-1]
    given = build.passed(last)
    topics = [with_negatives(item) for item in given]
    seeds = build.config.seeds
    found = seeds.texts(sorted({doc_id for item in topics for doc_id in item.fields["candidates"]}))
    written = {entry["id"]: entry for item in given for entry in added_to(item)}
    found = {**found, **{doc_id: doc_of(entry) for doc_id, entry in written.items()}}
    corpora = {group: _docs(found, items) for group, items in _by_group(topics).items()}
    shared = len({item.fields["corpus"] for item in topics}) < 2
    content = Content(
        docs=_docs(found, topics) if shared else (),
        rows=[_row(item) for item in topics],
        qrels={mode: [line for item in topics for line in _judgments(item, mode, found)] for mode in MODES},
        corpora={} if shared else corpora,
        candidates={mode: [pair for item in topics for pair in _candidates(item, found)] for mode in MODES},
    )
    made = {item.id: build.made[last][item.id] for item in topics} | dict.fromkeys(found, ())
    made |= {doc_id: entry["made"] for doc_id, entry in written.items()}
    more = {"groups": _groups(build, topics), "options": {"shown": ["og"]}, **_selections(corpora)}
    write_benchmark(build, to, content, MODES, made=made, measures=MEASURES, more=more)


def with_negatives(item: Item) -> Item:
    """A topic with the documents that were written for it among its candidates: instruction negatives fall with the edit."""
    breaking, hard = ([entry["id"] for entry in item.fields.get(what, ())] for what in (BREAKING, HARD))
    fields = item.fields
    changed = {"candidates": [*fields["candidates"], *breaking, *hard], "fell": [*fields["fell"], *breaking]}
    labels = {
        "relevant": {**fields["relevant"], **dict.fromkeys(breaking, 1)},
        "others": {**fields["others"], **dict.fromkeys(hard, 0)},
    }
    return replace(item, fields={**fields, **changed, **labels})


def _by_group(topics: Sequence[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in topics:
        groups.setdefault(item.fields["group"], []).append(item)
    return groups


def _docs(found: Mapping[str, Doc], topics: Sequence[Item]) -> list[Doc]:
    """The candidates of topics, by id: relevant ones must not stand together."""
    wanted = {doc_id for item in topics for doc_id in item.fields["candidates"]}
    return [Doc(doc_id, nfc(found[doc_id].title), nfc(found[doc_id].text)) for doc_id in sorted(wanted & found.keys())]


def _row(item: Item) -> dict[str, Any]:
    fields = item.fields
    instructions = {"og": fields["narrative"], "changed": fields["changed"]}
    return {"id": item.id, "query": fields["query"], "group": fields["group"], "instructions": instructions}


def _judgments(item: Item, mode: str, found: Container[str]) -> Iterator[tuple[str, str, str, str]]:
    fields = item.fields
    fell = fields["fell"] if mode == "changed" else ()
    candidates = set(fields["candidates"])
    for doc_id, label in {**fields["relevant"], **fields["others"]}.items():
        if doc_id in candidates and doc_id in found:
            yield item.id, "0", doc_id, str(0 if doc_id in fell else label)


def _candidates(item: Item, found: Container[str]) -> Iterator[tuple[str, str]]:
    return ((item.id, doc_id) for doc_id in item.fields["candidates"] if doc_id in found)


def _groups(build: BuiltSteps, topics: Sequence[Item]) -> list[dict[str, str]]:
    """Each group with the language of its documents: that of the seeds' group, else of the step `topics`."""
    source = build.config.seeds.topic_set.benchmark
    known = {row["name"]: row.get("language", "") for row in source.spec.groups} if source else {}
    assumed = build.config.steps[build.config.step_number(Topics.name)].parameters()["language"]
    groups = {group: known.get(items[0].fields["corpus"]) or assumed for group, items in _by_group(topics).items()}
    return [{"name": group, **({"language": language} if language else {})} for group, language in groups.items()]


def _selections(groups: Iterable[str]) -> dict[str, Any]:
    """As mFollowIR has them: its name alone means the groups in the language of their documents."""
    across = [group for group in groups if group.startswith(CROSS_LINGUAL)]
    within = [group for group in groups if group not in across]
    return {"selections": {"": within, CROSS_LINGUAL.rstrip("/"): across}} if across and within else {}
