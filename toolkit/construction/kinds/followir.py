"""FollowIR and mFollowIR: topics whose narratives become narrower (`construction.queries.narratives`), in several languages.

A topic of group `cross-lingual/K` is translated for group K; one of any other group for each group asked for. A topic and its
translations have one field `topic`, and share documents, judgments and candidates. A translation has beside its topic's fields
`language`, and `source_narrative` and `source_changed`, which it was translated from.

Source: mFollowIR (arXiv 2501.19264, section 3.2), where speakers of each language translated the change alone.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from toolkit.construction import answer_forms
from toolkit.construction.documents.built_benchmark import BREAKING, HARD, doc_of, write_benchmark
from toolkit.construction.documents.negatives import Adversarial, InstructionNegatives, added_to
from toolkit.construction.queries.narratives import (
    CROSS_LINGUAL,
    Candidates,
    Choose,
    Edits,
    Rejudge,
    Review,
    Topics,
    narrowed,
    nfc,
    not_narrowed,
    published_id,
)
from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.review.review_step import CHOSEN, ReviewStep
from toolkit.construction.step_files import BuiltSteps
from toolkit.construction.steps import UNREADABLE, Item, Step, by_fields
from toolkit.construction.tools import Tools
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE, INSTRUCTED, Modes
from toolkit.datasets.group_data import part_name
from toolkit.datasets.own.own_new import Content

TEXTS = ("query", "narrative", "changed")
SOURCE = "source_narrative"


@dataclass(frozen=True)
class Translate(Step):
    """Topics in other languages.

    model        "" asks none: people translate the changes (`translation-review`), of topics that `texts` has
    to           group of the benchmark -> its language, as the model is told it (`fas: Persian`); empty translates nothing
    texts        group -> topics (a benchmark's name, or a file in the build's folder) that have query and narrative in its
                 language, under the same ids or published ids: of these the change alone is translated, by `edit_prompt`

    A translation's id is that of its topic with the group in front.
    """

    name: ClassVar[str] = "translate"
    about: ClassVar[str] = "query, narrative and its change in other languages"
    optional: ClassVar[bool] = True
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt": ("language", *TEXTS),
        "edit_prompt": ("language", "narrative", "changed", "translated"),
    }
    model: str = "writer"
    prompt: str = "build-followir-translate.v2"
    edit_prompt: str = "build-followir-translate-edit.v2"
    to: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        if unknown := [group for group in self.texts if group not in self.to]:
            message = f"step translate: texts of {', '.join(unknown)}, into which nothing is translated"
            raise ToolkitError(message, "name its language under `to`")

    def problems(self, seeds: Seeds, steps: Sequence[Step]) -> Iterator[str]:
        """Without a model: nobody who translates, and groups without topics whose change people could translate."""
        if not self.model and not any(isinstance(step, TranslationReview) for step in steps):
            yield f"without a model people translate: name the step {TranslationReview.name}"
        if not self.model and (lacking := [group for group in self.to if group not in self.texts]):
            yield f"people translate the change alone: `texts` has no topics of {', '.join(lacking)}"

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The topics as they are, then their translations, language by language."""
        from toolkit.datasets import resolve_topics

        yield from (item.passed() for item in items)
        for group in self.to:
            known: dict[str, dict[str, str]] = {}  # id, and published id, without mode -> query and narrative of a topic
            for topic in resolve_topics(tools.seeds.local(self.texts[group])).topics if group in self.texts else ():
                for each in (topic.base_id, published_id(topic)) if topic.instruction else ():
                    known.setdefault(each, {"query": topic.query or topic.text, "narrative": topic.instruction})
            meant = [item for item in items if _is_for(item, group)]
            pairs = [(item, known.get(item.id) or known.get(item.fields["published"]) or {}) for item in meant]
            yield from self._translated(group, [pair for pair in pairs if pair[1]], tools, "edit_prompt")
            yield from self._translated(group, [pair for pair in pairs if not pair[1]], tools, "prompt")

    def _translated(
        self, group: str, pairs: Sequence[tuple[Item, Mapping[str, str]]], tools: Tools, parameter: str
    ) -> Iterator[Item]:
        """Topics, each with the texts that there are of it in a group's language, by the prompt that a parameter names."""
        prompt, language = getattr(self, parameter), self.to[group]
        given = [{**item.fields, "language": language, "translated": texts.get("narrative", "")} for item, texts in pairs]
        rows = ({slot: row[slot] for slot in self.slots[parameter]} for row in given)
        read = answer_forms.json_object(*(TEXTS if parameter == "prompt" else TEXTS[2:]))
        answers = tools.parsed(self.model, prompt, rows, read) if self.model else ({} for _ in pairs)
        made = [tools.made("wrote", self.model, prompt)] if self.model else []
        prefix = part_name(CROSS_LINGUAL)
        for (item, texts), answer in zip(pairs, answers, strict=True):
            name = item.id.removeprefix(prefix) if item.id.startswith(prefix) else f"{group}-{item.id}"
            fields = {key: value for key, value in item.fields.items() if key not in ("changed", "edit")}
            fields |= {"group": group, "language": language}
            fields |= {SOURCE: item.fields["narrative"], "source_changed": item.fields["changed"]}
            fields |= {key: nfc(text) for key, text in {**texts, **(answer or {})}.items()}
            # without `changed` it is still to be translated
            fields |= narrowed(fields["narrative"], fields["changed"]) if "changed" in fields else {}
            done = Item(name, fields, (item.id,)).by(*made)
            if self.model and answer:
                yield done.reject(not_narrowed(done.fields["narrative"], done.fields["changed"]))
            else:
                yield done.reject(UNREADABLE if self.model else "" if texts else "no topic in the language")


@dataclass(frozen=True)
class TranslationReview(ReviewStep):
    """Speakers of each language write the changed narrative in it; what they write replaces what a model wrote."""

    name: ClassVar[str] = "translation-review"
    about: ClassVar[str] = "people translate the changes of narratives"
    form: str = "followir-translation"
    reviewers: int = 1

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The topics as they are, and the translations: waiting, or with what people wrote."""
        for item in super().run(items, tools):
            narrative, written = item.fields["narrative"], item.fields.get(CHOSEN, {}).get("changed")
            done = item.having(**narrowed(narrative, written)) if written else item
            yield done.reject(not_narrowed(narrative, done.fields["changed"])) if written else done

    def is_reviewed(self, item: Item) -> bool:
        """Whether people see it: a translation, of those that were drawn or have no text yet."""
        return SOURCE in item.fields and ("changed" not in item.fields or super().is_reviewed(item))


def _is_for(item: Item, group: str) -> bool:
    """Whether a topic is translated for a group: one over documents of another group's language is not."""
    own = item.fields["group"]
    return own == f"{CROSS_LINGUAL}{group}" if own.startswith(CROSS_LINGUAL) else own != group


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
    found = build.config.seeds.texts(sorted({doc_id for item in topics for doc_id in item.fields["candidates"]}))
    written = {entry["id"]: entry for item in given for entry in added_to(item)}
    found = {**found, **{doc_id: doc_of(entry) for doc_id, entry in written.items()}}
    corpora = {group: _docs(found, items) for group, items in by_fields(topics, "group").items()}
    candidates = [(item.id, doc_id) for item in topics for doc_id in item.fields["candidates"] if doc_id in found]
    shared = len({item.fields["corpus"] for item in topics}) < 2
    rows = []
    for item in topics:
        instructions = {"og": item.fields["narrative"], "changed": item.fields["changed"]}
        rows.append({"id": item.id, **item.only("query", "group"), "instructions": instructions})
    content = Content(
        docs=_docs(found, topics) if shared else (),
        rows=rows,
        qrels={mode: [line for item in topics for line in _judgments(item, mode, found)] for mode in MODES},
        corpora={} if shared else corpora,
        candidates=dict.fromkeys(MODES, candidates),
    )
    made = {item.id: build.made[last][item.id] for item in topics} | dict.fromkeys(found, ())
    made |= {doc_id: entry["made"] for doc_id, entry in written.items()}
    more = {"groups": _groups(build, topics), "options": {"shown": ["og"]}}
    # as mFollowIR has them: its name alone means the groups in the language of their documents
    across = [group for group in corpora if group.startswith(CROSS_LINGUAL)]
    within = [group for group in corpora if group not in across]
    more |= {"selections": {"": within, CROSS_LINGUAL.rstrip("/"): across}} if across and within else {}
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


def _docs(found: Mapping[str, Doc], topics: Sequence[Item]) -> list[Doc]:
    """The candidates of topics, by id: relevant ones must not stand together."""
    wanted = {doc_id for item in topics for doc_id in item.fields["candidates"]}
    return [Doc(doc_id, nfc(found[doc_id].title), nfc(found[doc_id].text)) for doc_id in sorted(wanted & found.keys())]


def _judgments(item: Item, mode: str, found: Container[str]) -> Iterator[tuple[str, str, str, str]]:
    fields = item.fields
    fell = fields["fell"] if mode == "changed" else ()
    candidates = set(fields["candidates"])
    for doc_id, label in {**fields["relevant"], **fields["others"]}.items():
        if doc_id in candidates and doc_id in found:
            yield item.id, "0", doc_id, str(0 if doc_id in fell else label)


def _groups(build: BuiltSteps, topics: Sequence[Item]) -> list[dict[str, str]]:
    """Each group with the language of its documents: that of the seeds' group, else of the step `topics`."""
    source = build.config.seeds.topic_set.benchmark
    known = {row["name"]: row.get("language", "") for row in source.spec.groups} if source else {}
    assumed = build.config.steps[build.config.step_number(Topics.name)].parameters()["language"]
    groups = {group: known.get(items[0].fields["corpus"]) or assumed for group, items in by_fields(topics, "group").items()}
    return [{"name": group, **({"language": language} if language else {})} for group, language in groups.items()]
