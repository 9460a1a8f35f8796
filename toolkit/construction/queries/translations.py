"""mFollowIR's steps: queries, narratives and changed narratives in the language of the documents, beside those that were there.

A topic of group `cross-lingual/K` is translated for group K; one of any other group for each group asked for. A topic and its
translations have one field `topic`, and share documents, judgments and candidates. A translation has beside its topic's fields
`language`, and `source_narrative` and `source_changed`, which it was translated from.

Source: mFollowIR (arXiv 2501.19264, section 3.2), where speakers of each language translated the change alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from toolkit.construction import answer_forms
from toolkit.construction.items import Item
from toolkit.construction.queries.narratives import CROSS_LINGUAL, narrowed, nfc, not_narrowed, published_id
from toolkit.construction.queries.seeds import Seeds
from toolkit.construction.review.review_step import CHOSEN, ReviewStep
from toolkit.construction.steps import UNREADABLE, Step
from toolkit.construction.tools import Tools
from toolkit.core.errors import ToolkitError
from toolkit.datasets.group_data import part_name

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
        yield from (item.passed() for item in items)
        for group in self.to:
            known = _known(self.texts[group], tools) if group in self.texts else {}
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
        for (item, texts), answer in zip(pairs, answers, strict=True):
            done = _in_language(item, group, language, {**texts, **(answer or {})}).by(*made)
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


def _in_language(item: Item, group: str, language: str, texts: Mapping[str, str]) -> Item:
    """The topic with texts of another language; without `changed` where that is still to be translated."""
    prefix = part_name(CROSS_LINGUAL)
    name = item.id.removeprefix(prefix) if item.id.startswith(prefix) else f"{group}-{item.id}"
    fields = {key: value for key, value in item.fields.items() if key not in ("changed", "edit")}
    fields |= {"group": group, "language": language, SOURCE: item.fields["narrative"], "source_changed": item.fields["changed"]}
    fields |= {key: nfc(text) for key, text in texts.items()}
    fields |= narrowed(fields["narrative"], fields["changed"]) if "changed" in fields else {}
    return Item(name, fields, (item.id,))


def _known(name: str, tools: Tools) -> dict[str, dict[str, str]]:
    """Id, and published id, without mode -> query and narrative of a topic."""
    from toolkit.datasets import resolve_topics

    local = tools.folder / name
    known: dict[str, dict[str, str]] = {}
    for topic in resolve_topics(str(local) if local.exists() else name).topics:
        if topic.instruction:
            for each in (topic.base_id, published_id(topic)):
                known.setdefault(each, {"query": topic.query or topic.text, "narrative": topic.instruction})
    return known
