"""The documents that are to meet query and condition (InfoSearch, arXiv 2410.23841, appendix A.2 and A.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from toolkit.build.dimensions import KEEP, PART, REWRITE, SELECT
from toolkit.build.infosearch_steps import SeedQueries, slots_of
from toolkit.build.instructed_benchmark import GOLD, doc_of, family, fits, siblings, written_entry
from toolkit.build.items import Item
from toolkit.build.posts import split_post
from toolkit.build.steps import UNREADABLE, Step
from toolkit.build.tools import Tools
from toolkit.build.written_texts import read_document, read_documents
from toolkit.core.documents import Doc

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
        found = {item.id: list(_found(item, [known[doc_id] for doc_id in item.fields["documents"]])) for item in items}
        asked = [item for item in items if not found[item.id] and REWRITE in (item.fields["satisfy"], item.fields["otherwise"])]
        origins = {name: _origin(group, found, known) for name, group in siblings(items).items()}
        written = self._written(asked, origins, tools)
        for item in items:
            core, fields = item.fields["core"], item.fields
            if item.id in written:
                text, made = written[item.id]
                gold = [written_entry(core, text, made, self.name)] if text else []
            elif fields["satisfy"] == SELECT:
                gold, made = found[item.id], tools.made("filtered")
            else:
                made = tools.made("wrote")
                gold = [written_entry(core, each["text"], made, self.name) for each in found[item.id]]
            done = item.passed(**({GOLD: gold} if gold else {})).by(made)
            if fields["satisfy"] == PART and fields["part"] == "manual" and gold:
                done = replace(done, fields={**done.fields, "source": next((each["source"] for each in found[item.id]), "")})
            yield done if gold else done.reject(UNREADABLE if item.id in written else f"no {fields['part']} in the post")

    def _written(
        self, asked: Sequence[Item], origins: Mapping[tuple[str, str], Doc], tools: Tools
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
            rows = (slots_of(item, *slots) | {"document": origins[family(item)].contents} for item in firsts)
            read: Callable[[str], Any] = read_documents(*labels) if labels else read_document
            made = tools.made("wrote", self.model, prompt)
            for group, answer in zip(groups.values(), tools.parsed(self.model, prompt, rows, read), strict=True):
                for item in group:
                    written[item.id] = answer[_label(item)] if isinstance(answer, dict) else answer, made
        return written


def _label(item: Item) -> str:
    return LABELS.get(item.fields["group"], {}).get(item.fields["condition"], "")


def _found(item: Item, documents: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The documents of an item's query that need not be written: all that may be chosen, or what meets its condition."""
    satisfy, part = item.fields["satisfy"], item.fields["part"]
    if satisfy == SELECT:
        yield from documents
    elif satisfy == PART:
        posts = [split_post(doc_of(document).contents) for document in documents]
        post = next((one for one in posts if one.code), posts[0])  # all parts are of one post
        if text := getattr(post, part):
            yield {"text": text, "source": post.source}
    elif item.fields["rule"]:
        first = next((document for document in documents if fits(item, document)), None)
        chosen = first or (documents[0] if satisfy == KEEP else None)
        yield from [{"text": doc_of(chosen).contents}] if chosen else ()
    elif satisfy == KEEP:  # the check says which of them meets it, and `screening` keeps the first of these
        yield from ({"text": doc_of(document).contents} for document in documents)


def _origin(
    items: Sequence[Item], found: Mapping[str, Sequence[Mapping[str, Any]]], known: Mapping[str, Mapping[str, Any]]
) -> Doc:
    """What is rewritten for a query in a dimension: the document that another condition keeps, else the query's first one."""
    kept = [found[item.id][0]["text"] for item in items if item.fields["satisfy"] in (KEEP, PART) and found[item.id]]
    return Doc("", "", kept[0]) if kept else doc_of(known[items[0].fields["documents"][0]])
