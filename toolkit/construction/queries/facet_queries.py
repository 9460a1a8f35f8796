"""Core queries, conditions and labels from documents with facets (`works-with::audio`, `implemented-in::perl`): no model.

A topic is one tag, or two of different facets; a condition is a value of a facet that says nothing of topics. A document is
judged on a condition where it has some value of the condition's facet: those with the value meet it, those with other
values only do not, and a document without any is unjudged and no part of that facet's corpus. Likewise a document without
any tag of a topical facet is judged on no topic.
"""

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolkit.models.lucene.okapi import stem, stop_words

UNDECIDED = "TODO"  # the value of volunteers who found none that fits

Tags = Mapping[str, Sequence[str]]  # document id -> its tags
Conditions = Mapping[str, Mapping[str, Sequence[str]]]  # facet -> value -> ways to say it


@dataclass(frozen=True)
class Limits:
    """What a core query needs.

    least    documents that meet the condition, and relevant ones that do not
    most     relevant documents in all
    overlap  the largest share that its relevant documents have in common with those of another core query of the facet:
             the size of what both have by the size of what either has
    """

    least: int = 4
    most: int = 100
    overlap: float = 0.75


@dataclass(frozen=True)
class CoreQuery:
    """A topic among the documents that are judged on a facet.

    relevant  their ids, in order
    met       value -> the relevant documents that have it, of the values that make a query of it
    rejected  why it makes none
    """

    facet: str
    tags: tuple[str, ...]
    text: str
    relevant: tuple[str, ...] = ()
    met: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: str = ""


@dataclass(frozen=True)
class FacetQuery:
    """A core query with its condition: `relevant` in base mode, `met` with the instruction, the others with its reverse."""

    core: CoreQuery
    value: str

    @property
    def met(self) -> tuple[str, ...]:
        """The gold documents."""
        return self.core.met[self.value]


def facet_of(tag: str) -> str:
    """`works-with::image:raster` -> `works-with`"""
    return tag.partition("::")[0]


def value_of(tag: str) -> str:
    """`works-with::image:raster` -> `image:raster`"""
    return tag.partition("::")[2]


def decided(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags that say something."""
    return tuple(tag for tag in tags if value_of(tag) != UNDECIDED)


def values_by_facet(tags: Iterable[str], facets: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Facet -> the values that it has here, of those facets that have one."""
    values = {facet: tuple(value_of(tag) for tag in decided(tags) if facet_of(tag) == facet) for facet in facets}
    return {facet: found for facet, found in values.items() if found}


def judged(docs: Tags, facet: str, topical: Iterable[str]) -> list[str]:
    """Ids of the documents that have a value of the facet and one of a topical facet, in order."""
    topical = tuple(topical)
    return sorted(doc_id for doc_id, tags in docs.items() if values_by_facet(tags, (facet,)) and values_by_facet(tags, topical))


def plain_name(tag: str) -> str:
    """What a tag without a description is called: the words of its value, what is special first (`raster image`)."""
    return " ".join(part.replace("-", " ") for part in reversed(value_of(tag).split(":")))


def words(text: str) -> frozenset[str]:
    """Stems of the words of a text, without stop words."""
    return frozenset(stem(word) for word in re.findall(r"[\w+#]+", text.lower()) if word not in stop_words())


def topic_text(tags: Sequence[str], wordings: Mapping[str, str], names: Mapping[str, str]) -> str:
    """`Data Conversion, Raster Image`: the facet's wording of each tag's name."""
    return ", ".join(wordings[facet_of(tag)].format(name=names.get(tag) or plain_name(tag)) for tag in tags)


def topics(docs: Tags, ids: Iterable[str], wordings: Mapping[str, str]) -> dict[tuple[str, ...], list[str]]:
    """Topic -> the documents that have all of its tags, in order; topics by number of tags and name."""
    found = defaultdict(list)
    for doc_id in ids:
        tags = sorted(tag for tag in decided(docs[doc_id]) if facet_of(tag) in wordings)
        pairs = (pair for pair in itertools.combinations(tags, 2) if facet_of(pair[0]) != facet_of(pair[1]))
        for topic in itertools.chain(((tag,) for tag in tags), pairs):
            found[topic].append(doc_id)
    return {topic: found[topic] for topic in sorted(found, key=lambda topic: (len(topic), topic))}


def core_queries(
    docs: Tags, facet: str, conditions: Conditions, wordings: Mapping[str, str], names: Mapping[str, str], limits: Limits
) -> Iterator[CoreQuery]:
    """Every topic of the documents that are judged on the facet, with the reason where no query can be made of it.

    docs      tags of all documents
    wordings  topical facet -> how its tags are put in a query: a text with {name}
    names     tag -> its name; others are called by `plain_name`
    """
    ids = judged(docs, facet, wordings)
    holders = {value: {doc_id for doc_id in ids if f"{facet}::{value}" in docs[doc_id]} for value in conditions[facet]}
    spoken = {value: words(" ".join([value, *ways])) for value, ways in conditions[facet].items()}
    known: set[tuple[str, ...]] = set()
    for topic, relevant in topics(docs, ids, wordings).items():
        query = CoreQuery(facet, topic, topic_text(topic, wordings, names), tuple(relevant))
        holding = {value: tuple(doc_id for doc_id in relevant if doc_id in holders[value]) for value in holders}
        met = {value: ids for value, ids in holding.items() if limits.least <= len(ids) <= len(relevant) - limits.least}
        unsaid = {value: found for value, found in met.items() if not spoken[value] & words(query.text)}
        rejected = _unfit(query, names, limits)
        if query.relevant in known:
            rejected = rejected or "the same relevant documents as another topic"
        elif not met:
            rejected = rejected or f"no value with {limits.least} documents that have it and {limits.least} that do not"
        elif not unsaid:
            rejected = rejected or "the topic has words of the condition"
        elif not rejected:
            known.add(query.relevant)
        yield replace(query, met=unsaid, rejected=rejected)


def _unfit(query: CoreQuery, names: Mapping[str, str], limits: Limits) -> str:
    if len(query.relevant) < 2 * limits.least:
        return f"fewer than {2 * limits.least} relevant documents"
    if len(query.relevant) > limits.most:
        return f"more than {limits.most} relevant documents"
    said = [words(names.get(tag) or plain_name(tag)) for tag in query.tags]
    if len(said) == 2 and (said[0] <= said[1] or said[1] <= said[0]):
        return "both tags have the same words"
    return ""


def chosen(candidates: Mapping[str, Sequence[CoreQuery]], count: int, limits: Limits, seed: int) -> list[FacetQuery]:
    """Up to `count` queries of each facet, in the order in which they were drawn.

    Facets take turns. Each draws for the value that has the fewest queries so far, a topic whose tags are in the fewest;
    between equals the seed decides. No topic comes twice, in whatever facet.
    """
    draws = {facet: _Draw(facet, queries, limits, seed) for facet, queries in candidates.items()}
    taken: set[tuple[str, ...]] = set()
    found = []
    for _ in range(count):
        for draw in draws.values():
            if query := draw.next(taken):
                taken.add(query.core.tags)
                found.append(query)
    return found


class _Draw:
    """The queries of one facet."""

    def __init__(self, facet: str, queries: Sequence[CoreQuery], limits: Limits, seed: int):
        self._left = sorted(queries, key=lambda query: lot(seed, facet, *query.tags))
        self._values, self._tags = Counter({value: 0 for query in queries for value in query.met}), Counter()
        self._last: frozenset[str] = frozenset()  # the relevant documents of the query drawn last
        self._overlap = limits.overlap

    def next(self, taken: set[tuple[str, ...]]) -> FacetQuery | None:
        self._left = [query for query in self._left if query.tags not in taken and self._is_new(query)]
        for value in sorted(self._values, key=lambda value: (self._values[value], value)):
            if fitting := [query for query in self._left if value in query.met]:
                query = min(fitting, key=lambda query: max(self._tags[tag] for tag in query.tags))
                self._values[value] += 1
                self._tags.update(query.tags)
                self._last = frozenset(query.relevant)
                return FacetQuery(query, value)
        return None

    def _is_new(self, query: CoreQuery) -> bool:
        """Whether it has few documents in common with the one drawn last; earlier ones were looked at before."""
        relevant = frozenset(query.relevant)
        return len(self._last & relevant) <= self._overlap * len(self._last | relevant)


def lot(*what: object) -> str:
    """A digest by which to draw: the same for the same on every machine."""
    return hashlib.sha256("\0".join(map(str, what)).encode()).hexdigest()


def instruction(ways: Sequence[str], frames: Sequence[str], *what: object) -> str:
    """One of the frames about one of the ways to say the condition, drawn by `what`."""
    number = int(lot(*what), 16)
    return frames[number % len(frames)].format(condition=ways[number // len(frames) % len(ways)])
