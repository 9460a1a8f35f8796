"""mFollowIR's step: queries, narratives and edits in the language of the documents, beside those that were there.

A topic of group `cross-lingual/K` is translated for group K; one of any other group for each group asked for. A topic and its
translations have one field `topic`, and share documents, judgments and candidates.

Source: mFollowIR (arXiv 2501.19264, section 3), where people translated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from toolkit.benchmarks.group_data import part_name
from toolkit.build import answer_forms
from toolkit.build.items import Item
from toolkit.build.narratives import nfc, published_id
from toolkit.build.steps import UNREADABLE, Step
from toolkit.build.tools import Tools
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.models.language_id import script

CROSS_LINGUAL = "cross-lingual/"
TEXTS = ("query", "narrative", "edit")


@dataclass(frozen=True)
class Translate(Step):
    """Topics in other languages.

    to           group of the benchmark -> its language, as the model is told it (`fas: Persian`); empty translates nothing
    texts        group -> topics (a benchmark's name, or a file in the build's folder) that have query and narrative in its
                 language, under the same ids or published ids: of these topics the edit alone is translated, by `edit_prompt`

    A translation has the fields of its topic, and language; its id is that of the topic with the group in front.
    """

    name: ClassVar[str] = "translate"
    about: ClassVar[str] = "query, narrative and edit in other languages"
    optional: ClassVar[bool] = True
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt": ("language", *TEXTS),
        "edit_prompt": ("language", "narrative", "translated", "edit"),
    }
    model: str = "writer"
    prompt: str = "build-followir-translate.v1"
    edit_prompt: str = "build-followir-translate-edit.v1"
    to: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        if unknown := [group for group in self.texts if group not in self.to]:
            message = f"step translate: texts of {', '.join(unknown)}, into which nothing is translated"
            raise ToolkitError(message, "name its language under `to`")

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The topics as they are, then their translations, language by language."""
        yield from (item.passed() for item in items)
        for group, language in self.to.items():
            meant = [item for item in items if _is_for(item, group)]
            known = _known(self.texts[group], tools) if group in self.texts else {}
            written = [item for item in meant if item.id in known or item.fields["published"] in known]
            yield from self._edits(written, group, language, known, tools)
            yield from self._whole([item for item in meant if item not in written], group, language, tools)

    def _whole(self, items: Sequence[Item], group: str, language: str, tools: Tools) -> Iterator[Item]:
        rows = ({"language": language, **{name: item.fields[name] for name in TEXTS}} for item in items)
        answers = tools.parsed(self.model, self.prompt, rows, answer_forms.json_object(*TEXTS))
        made = tools.made("wrote", self.model, self.prompt)
        for item, texts in zip(items, answers, strict=True):
            yield _translated(item, group, language, texts or {}, made)

    def _edits(
        self, items: Sequence[Item], group: str, language: str, known: Mapping[str, Topic], tools: Tools
    ) -> Iterator[Item]:
        topics = [known.get(item.id) or known[item.fields["published"]] for item in items]
        rows = (
            {
                "language": language,
                "translated": topic.instruction,
                **{name: item.fields[name] for name in ("narrative", "edit")},
            }
            for item, topic in zip(items, topics, strict=True)
        )
        answers = tools.parsed(self.model, self.edit_prompt, rows, answer_forms.json_object("edit"))
        made = tools.made("wrote", self.model, self.edit_prompt)
        for item, topic, texts in zip(items, topics, answers, strict=True):
            given = {"query": topic.query or topic.text, "narrative": topic.instruction}
            yield _translated(item, group, language, {**given, **texts} if texts else {}, made)


def _is_for(item: Item, group: str) -> bool:
    """Whether a topic is translated for a group: one over documents of another group's language is not."""
    own = item.fields["group"]
    return own == f"{CROSS_LINGUAL}{group}" if own.startswith(CROSS_LINGUAL) else own != group


def _translated(item: Item, group: str, language: str, texts: Mapping[str, str], made: Mapping[str, str]) -> Item:
    """The topic in another language; rejected where an answer has not all texts, or leaves one as it was."""
    prefix = part_name(CROSS_LINGUAL)
    name = item.id.removeprefix(prefix) if item.id.startswith(prefix) else f"{group}-{item.id}"
    fields = {**item.fields, "group": group, "language": language, **{name: nfc(text) for name, text in texts.items()}}
    return Item(name, fields, (item.id,), (made,)).reject(_no_translation(item, texts))


def _no_translation(item: Item, texts: Mapping[str, str]) -> str:
    if not texts:
        return UNREADABLE
    if nfc(texts["edit"]) == item.fields["edit"]:
        return "the edit is as it was"
    return "" if script(texts["edit"]) == script(texts["narrative"]) else "the edit is not in the script of its narrative"


def _known(name: str, tools: Tools) -> dict[str, Topic]:
    """Id, and published id, without mode -> topic."""
    from toolkit.benchmarks import resolve_topics

    local = tools.folder / name
    topics = resolve_topics(str(local) if local.exists() else name).topics
    known: dict[str, Topic] = {}
    for topic in topics:
        if topic.instruction:
            for each in (topic.base_id, published_id(topic)):
                known.setdefault(each, topic)
    return known
