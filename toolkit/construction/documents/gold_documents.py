"""The documents that are to meet query and condition (InfoSearch, arXiv 2410.23841, appendix A.2 and A.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from toolkit.construction.documents.instructed_benchmark import GOLD, doc_of, family, fits, written_entry
from toolkit.construction.documents.posts import split_post
from toolkit.construction.items import Item
from toolkit.construction.queries.dimensions import KEEP, PART, REWRITE, SELECT
from toolkit.construction.queries.infosearch_steps import SeedQueries, slots_of
from toolkit.construction.queries.written_texts import read_document, read_documents
from toolkit.construction.steps import UNREADABLE, Step
from toolkit.construction.tools import Tools

# dimension -> its conditions whose documents one request asks for (table 6), and the label of each in the answer
LABELS = {
    "audience": {"layman": "Layman"},
    "length": {"sentence": "Sentence", "article": "Article"},
    "source": {"blog": "Blog", "forum post": "Forum"},
}


@dataclass(frozen=True)
class GoldDocuments(Step):
    """Documents that are to meet query and condition: kept as they were found, rewritten, a part of a post, or chosen.

    A condition with a rule takes the first of the query's documents that meets it as it is, before any is rewritten. What is
    rewritten are the documents that are kept for another condition (the news, the expert's text, the paragraph: appendix A.4).
    Nothing here has a title, which would tell what was found from what was written, but what is chosen.

    prompt            asks for one document of one condition
    audience_prompt, length_prompt, source_prompt   of the dimension of this name, for the documents of all its conditions that
                      are rewritten, in one request; empty: one by one, with `prompt`
    """

    model: str = "writer"
    prompt: str = "build-rewriting.v1"
    audience_prompt: str = "build-rewriting-audience.v1"
    length_prompt: str = "build-rewriting-length.v1"
    source_prompt: str = "build-rewriting-source.v1"

    name: ClassVar[str] = "documents"
    about: ClassVar[str] = "documents kept, rewritten, split or chosen so that they meet the condition"
    reads: ClassVar[tuple[str, ...]] = (SeedQueries.name,)
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt": ("query", "demand", "document"),
        **{f"{dimension}_prompt": ("query", "document") for dimension in LABELS},
    }
    published: ClassVar[Mapping[str, str]] = {f"{each}_prompt": f"infosearch-table6-{each}" for each in LABELS}
    version: ClassVar[int] = 2

    def run(self, items: Sequence[Item], tools: Tools) -> Iterable[Item]:
        """See `Step`."""
        known = {each["id"]: each for seed in tools.step(SeedQueries.name) for each in seed.fields["documents"]}
        found = {item.id: _found(item, [known[doc_id] for doc_id in item.fields["documents"]]) for item in items}
        asked = [item for item in items if not found[item.id] and REWRITE in (item.fields["satisfy"], item.fields["otherwise"])]
        written = self._written(asked, self._origins(items, found, known), tools)
        for item in items:
            satisfy, part, taken = item.fields["satisfy"], item.fields["part"], found[item.id]
            text, made = written.get(item.id, ("", tools.made("filtered" if satisfy == SELECT else "wrote")))
            texts = [text] if text else [each["text"] for each in taken]
            gold = taken if satisfy == SELECT else [written_entry(item.fields["core"], one, made, self.name) for one in texts]
            source = {"source": taken[0]["source"] if taken else ""} if part == "manual" else {}
            done = item.passed(**({GOLD: gold, **source} if gold else {})).by(made)
            yield done if gold else done.reject(UNREADABLE if item.id in written else f"no {part} in the post")

    @staticmethod
    def _origins(
        items: Sequence[Item], found: Mapping[str, Sequence[Mapping[str, Any]]], known: Mapping[str, Mapping[str, Any]]
    ) -> dict[tuple[str, str], str]:
        """Of each query in each dimension what is rewritten: the document that another condition keeps, else its first one."""
        origins = {family(item): doc_of(known[item.fields["documents"][0]]).contents for item in reversed(items)}
        kept = [item for item in items if item.fields["satisfy"] in (KEEP, PART) and found[item.id]]
        return origins | {family(item): found[item.id][0]["text"] for item in reversed(kept)}

    def _written(
        self, asked: Sequence[Item], origins: Mapping[tuple[str, str], str], tools: Tools
    ) -> dict[str, tuple[str | None, Mapping[str, str]]]:
        """Item -> the text that the model wrote for it, None where its answer cannot be read; and who wrote it."""
        written: dict[str, tuple[str | None, Mapping[str, str]]] = {}
        requests: dict[str, dict[Any, list[Item]]] = defaultdict(lambda: defaultdict(list))
        for item in asked:
            together = f"{item.fields['group']}_prompt" if _label(item) else ""
            alone = not together or not getattr(self, together)
            requests["prompt" if alone else together][item.id if alone else family(item)].append(item)
        for parameter, groups in requests.items():
            prompt, slots = getattr(self, parameter), self.slots[parameter][:-1]
            labels = LABELS.get(parameter.removesuffix("_prompt"), {}).values()
            firsts = [group[0] for group in groups.values()]
            rows = (slots_of(item, *slots) | {"document": origins[family(item)]} for item in firsts)
            read: Callable[[str], Any] = read_documents(*labels) if labels else read_document
            made = tools.made("wrote", self.model, prompt)
            for group, answer in zip(groups.values(), tools.parsed(self.model, prompt, rows, read), strict=True):
                for item in group:
                    written[item.id] = answer[_label(item)] if isinstance(answer, dict) else answer, made
        return written


def _label(item: Item) -> str:
    return LABELS.get(item.fields["group"], {}).get(item.fields["condition"], "")


def _found(item: Item, documents: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The documents of an item's query that need not be written: all that may be chosen, or what meets its condition."""
    satisfy, part = item.fields["satisfy"], item.fields["part"]
    if satisfy == SELECT:
        return documents
    if satisfy == PART:
        posts = [split_post(doc_of(document).contents) for document in documents]
        post = next((one for one in posts if one.code), posts[0])  # all parts are of one post
        return [{"text": text, "source": post.source}] if (text := getattr(post, part)) else []
    chosen: Sequence[Mapping[str, Any]] = [document for document in documents if fits(item, document)][:1]
    if satisfy == KEEP and not chosen:  # without a rule `screening` keeps the first that meets the condition
        chosen = documents[:1] if item.fields["rule"] else documents
    return [{"text": doc_of(document).contents} for document in chosen]
