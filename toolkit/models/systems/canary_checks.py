"""Whether a system does what a run takes for granted: asked for texts whose order nobody disputes, before a run is made.

Relevant above irrelevant, equal scores for equal requests, whatever is asked beside them; an instruction that reaches the model
and lowers what it rules out; texts read to their end; and the scores of a pinned checkpoint, where one is named.
"""

import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import temporary_folder
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.models.encoders import LOADERS, load_encoder
from toolkit.models.llm import Request, load_llm
from toolkit.models.rerankers import KINDS, load_reranker
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.library import is_rank_only
from toolkit.models.vectors.late import maxsim
from toolkit.registry.loader import FOLDER, did_you_mean
from toolkit.registry.system_kinds import ANSWERING, instruction_facts

CANARIES = FOLDER / "canaries.yaml"
RELEVANCE, INSTRUCTIONS = ("query", "relevant", "irrelevant"), ("query", "instruction", "excluded", "kept")
LENGTHS = (20, 100, 400, 1600)  # words before the one sentence that tells two texts apart
READ = 100  # words that any system of texts should read
FILLER = "the weather in the valley stayed calm and the boats lay still on the water"
RIGHT = 0.8  # share of the pairs whose order has to be right
CLOSE = 1e-3  # by which a score may differ beside others, of the scores' spread: batches are added up in other orders
ALIKE = 0.98  # least rank correlation with the pinned checkpoint
ASKING = {"retries": 1, "timeout": 60.0}
Pairs = Sequence[tuple[Topic, str]]


class Check(NamedTuple):
    """One thing that was tried. seen: what came of it; problem: what is wrong; empty where nothing is."""

    method: str
    what: str
    problem: str = ""
    seen: str = ""


class Canaries(NamedTuple):
    """Rows of `canaries.yaml`, or of a file of that form: relevance of one language, and instructions."""

    relevance: Sequence[Mapping[str, str]]
    instructions: Sequence[Mapping[str, str]]

    def requests(self) -> int:
        """About how many requests a server of scores gets."""
        return 4 * len(self.relevance) + 2 + 2 * len(self.instructions) + 2 * len(LENGTHS)


def canaries(path: str | Path | None = None, language: str = "en") -> Canaries:
    """Those of a file, ours where none is named. ToolkitError for a language that it has not, and for rows that lack a text."""
    known, where = read_yaml(Path(path) if path else CANARIES), str(path or CANARIES.name)
    if not isinstance(known, dict) or not isinstance(known.get("relevance"), dict):
        hint = f"`relevance: {{en: [{{{', '.join(RELEVANCE)}}}]}}`, `instructions: [{{{', '.join(INSTRUCTIONS)}}}]`"
        raise ToolkitError(f"{where} holds no canaries", hint)
    if language not in known["relevance"]:
        hint = f"{did_you_mean(language, known['relevance'])}known: {', '.join(known['relevance'])}"
        raise ToolkitError(f"{where} has no relevance for language {language!r}", hint)
    found = Canaries(known["relevance"][language], known.get("instructions") or [])
    for names, rows in ((RELEVANCE, found.relevance), (INSTRUCTIONS, found.instructions)):
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict) or (lacking := [name for name in names if not str(row.get(name) or "").strip()]):
                lacks = f"lacks {', '.join(lacking)}" if isinstance(row, dict) else "is no mapping"
                raise ToolkitError(f"{where}: row {number} of {'relevance' if names is RELEVANCE else 'instructions'} {lacks}")
    return found


def canary_checks(spec: SystemSpec, texts: Canaries, *, like: SystemSpec | None = None, **loading: Any) -> Iterator[Check]:
    """Every check of a system, as it is made, and whether its scores are those of `like`; the first error ends them.

    Answers are not taken from a cache and none are kept. ToolkitError for a kind that reads no texts here.
    """
    answers = spec.kind in ("judge", "expander")
    if not answers and spec.kind not in (*LOADERS, *KINDS, "listwise"):
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}: no model is asked", "systems with a model can be checked")
    with temporary_folder(Path(tempfile.gettempdir()), "tandem-check-") as folder:
        if answers:
            yield from stepwise(spec.kind, _answers(spec, texts, folder, loading))
            return
        score = scorer(spec, folder, **loading)
        yield from stepwise("score", _scores(spec, score, texts))
        if like is not None:
            yield from stepwise("like", _parity(score, scorer(like, folder), like.name, texts))


def stepwise(method: str, steps: Iterator[Any]) -> Iterator[Check]:
    """A check of each thing that is tried; the first error ends them.

    steps  by turns what is tried next, and what is wrong with it (empty where nothing is) or (problem, what was seen)
    """
    for what in steps:
        try:
            found = next(steps)
            problem, seen = (found, "") if isinstance(found, str) else found
        except ToolkitError as error:
            problem, seen = f"{error.message} ({error.hint})" if error.hint else error.message, ""
        yield Check(method, what, problem, seen)


def scorer(spec: SystemSpec, folder: Path, **loading: Any) -> Callable[[Pairs], np.ndarray]:
    """What scores (topic, text) pairs, (n,) float64, higher is better; of a listwise system minus the place in a topic's list.

    folder  where a cache of answers lies, a new one at each call: what is asked twice is answered twice
    """
    asked, calls = spec.loader == "endpoint" or spec.kind in ANSWERING, iter(range(1 << 30))

    def fresh() -> dict[str, Any]:
        how = {**loading, **(ASKING if spec.loader == "endpoint" else {})}
        return {**how, "cache": folder / f"{next(calls)}.sqlite"} if asked else how

    @functools.cache
    def loaded() -> Any:
        return _load(spec, loading)

    def score(pairs: Pairs) -> np.ndarray:
        model = _load(spec, fresh()) if asked else loaded()
        queries = [topic_input(spec.templates, topic) for topic, _ in pairs]
        documents = [doc_input(spec.templates, Doc("", "", text)) for _, text in pairs]
        if spec.kind in LOADERS:
            made = zip(model.encode(queries, "query"), model.encode(documents, "passage"), strict=True)
            return np.array([_similarity(*each) for each in made], float)
        if hasattr(model, "score"):
            return model.score(list(zip(queries, documents, strict=True)))
        scores = np.empty(len(pairs))
        by_topic: dict[str, list[int]] = {}
        for place, query in enumerate(queries):
            by_topic.setdefault(query.whole, []).append(place)
        windows = [Window("check", query, tuple(documents[place].whole for place in own)) for query, own in by_topic.items()]
        for own, order in zip(by_topic.values(), model.rank(windows), strict=True):
            scores[[own[place] for place in order]] = -np.arange(len(order))
        return scores

    return score


def _load(spec: SystemSpec, how: Mapping[str, Any]) -> Any:
    if spec.kind in LOADERS:
        return load_encoder(spec, **how)
    if spec.kind == "listwise" or is_rank_only(spec):
        from toolkit.models.rerankers.listwise_ranker import load_ranker

        return load_ranker(spec, **how)
    return load_reranker(spec, **how)


def _similarity(query: Any, passage: Any) -> float:
    """Of vectors, of vectors of tokens, or of terms with weights."""
    if isinstance(query, dict):
        return sum(weight * passage.get(term, 0.0) for term, weight in query.items())
    return float(maxsim(query, [passage])[0] if query.ndim == 2 else query @ passage)


def _topic(query: str, instruction: str = "") -> Topic:
    return Topic("check", f"{query} {instruction}".strip(), query, instruction)


def _scores(spec: SystemSpec, score: Callable[[Pairs], np.ndarray], texts: Canaries) -> Iterator[Any]:
    """What was tried and found, see `stepwise`."""
    listwise = spec.kind == "listwise" or is_rank_only(spec)
    pairs = [(_topic(row["query"]), row[name]) for row in texts.relevance for name in ("relevant", "irrelevant")]
    yield f"{len(pairs)} texts: a finite score each, not all the same"
    first = score(pairs)
    if not np.isfinite(first).all():
        yield f"{int((~np.isfinite(first)).sum())} of {len(first)} scores are no finite numbers", ""
        return
    yield (f"all {len(first)} scores are {first[0]:g}" if np.ptp(first) == 0 else "", f"{first.min():.4g} to {first.max():.4g}")
    yield "relevant above irrelevant"
    right = int((first[::2] > first[1::2]).sum())
    seen = f"{right} of {len(texts.relevance)} pairs"
    yield (seen if right < RIGHT * len(texts.relevance) else "", seen)
    yield "equal requests, equal scores"
    apart = float(np.abs(score(pairs) - first).max())
    yield (f"scores are others the second time ({apart:.3g} apart): runs will not repeat" if apart else "", "")
    if not listwise:
        yield "a text alone, among others, in another order"
        yield _beside(score, pairs)
    if texts.instructions:
        yield "an instruction lowers what it rules out"
        yield _instructed(spec, score, texts, listwise)
    yield "long texts are read to their end"
    yield _length_read(score, texts.relevance[0])


def _beside(score: Callable[[Pairs], np.ndarray], pairs: Pairs) -> tuple[str, str]:
    """One query with every text: at once, in the other order, and each alone."""
    many = [(pairs[0][0], text) for _, text in pairs]
    together, turned = score(many), score(many[::-1])[::-1]
    alone = np.concatenate([score([pair]) for pair in many])
    room = CLOSE * max(float(np.ptp(alone)), 1e-6)
    worst = max(float(np.abs(other - alone).max()) for other in (together, turned))
    if worst <= room:
        return "", f"at most {worst:.2g} apart"
    exchanged = np.abs(np.sort(together) - np.sort(alone)).max() <= room
    what = "texts get one another's scores" if exchanged else "a score depends on what is asked beside it"
    return f"{what} ({worst:.3g} apart)", ""


def _instructed(spec: SystemSpec, score: Callable[[Pairs], np.ndarray], texts: Canaries, listwise: bool) -> tuple[str, str]:
    plain, instructed = (
        np.array([score([(_topic(row["query"], said), row[name]) for name in ("excluded", "kept")]) for row, said in asked])
        for asked in ([(row, "") for row in texts.instructions], [(row, row["instruction"]) for row in texts.instructions])
    )
    moved, total = int((plain != instructed).any(axis=1).sum()), len(texts.instructions)
    lower = int((np.diff(instructed)[:, 0] > np.diff(plain)[:, 0]).sum())
    how = instruction_facts(spec).get("instruction as", "text")
    seen = f"{lower} of {total} as asked, {moved} move at all (instruction in the {how})"
    if listwise:  # two texts may stay in their order although the instruction was read
        return "", seen
    if not moved:
        return "the system ignores the instruction: no score moves", seen
    return (f"the instruction reaches {moved} of {total} requests" if moved < total else ""), seen


def _length_read(score: Callable[[Pairs], np.ndarray], row: Mapping[str, str]) -> tuple[str, str]:
    topic, read = _topic(row["query"]), 0
    for words in LENGTHS:
        before = " ".join(islice(cycle(FILLER.split()), words))
        try:
            one, other = score([(topic, f"{before}. {row[name]}") for name in ("relevant", "irrelevant")])
        except ToolkitError as error:
            return ("" if read >= READ else error.message), f"read to {read} words, refused at {words:,}: {error.message}"
        if one == other:
            seen = f"read to {read} words, truncated before {words:,}"
            return ("" if read >= READ else seen), seen
        read = words
    return "", f"read to {read:,} words"


def _parity(
    score: Callable[[Pairs], np.ndarray], pinned: Callable[[Pairs], np.ndarray], name: str, texts: Canaries
) -> Iterator[Any]:
    """What was tried and found, see `stepwise`."""
    from scipy.stats import spearmanr

    topics = [_topic(row["query"]) for row in texts.relevance]
    pairs = [(topic, row[name]) for topic in topics for row in texts.relevance for name in ("relevant", "irrelevant")]
    yield f"the scores of {name}"
    ours, theirs = score(pairs), pinned(pairs)
    correlation, apart = float(spearmanr(ours, theirs).statistic), float(np.abs(ours - theirs).max())
    seen = f"rank correlation {correlation:.3f}, at most {apart:.3g} apart over {len(pairs)} pairs"
    yield ("" if correlation >= ALIKE else seen, seen)


def _answers(spec: SystemSpec, texts: Canaries, folder: Path, loading: Mapping[str, Any]) -> Iterator[Any]:
    """Of a language model or classifier that judges, and of one that writes; see `stepwise`."""
    how = {**loading, **(ASKING if spec.loader == "endpoint" else {})}
    if spec.kind == "expander":
        request = Request([{"role": "user", "content": f"In one sentence: {texts.relevance[0]['query']}?"}], {})
        yield "a question is answered"
        said = [load_llm(spec, cache=folder / f"{n}.sqlite", **how).complete([request])[0].text for n in range(2)]
        yield ("" if said[0] else "it says nothing", said[0][:60])
        yield "the same again"
        yield ("" if said[0] == said[1] else "another answer the second time: only cached answers repeat", "")
        return
    from toolkit.models.judges import Pair, load_judge

    rows = [row for row in texts.relevance if row.get("statement")]
    pairs = [Pair(row[name], row["statement"]) for row in rows for name in ("relevant", "irrelevant")]
    yield f"{len(pairs)} documents: yes or no of each"
    first, again = (load_judge(spec, cache=folder / f"{n}.sqlite", **how).judge(pairs) for n in range(2))
    unanswered = sum(verdict.holds is None for verdict in first)
    yield (f"{unanswered} have no answer: {first[0].said}" if unanswered else "", "")
    yield "yes where the statement is held, no where it is not"
    right = sum(verdict.holds is (place % 2 == 0) for place, verdict in enumerate(first))
    yield (f"{right} of {len(pairs)}" if right < RIGHT * len(pairs) else "", f"{right} of {len(pairs)}")
    yield "the same again"
    other = sum(one.holds != two.holds for one, two in zip(first, again, strict=True))
    yield (f"{other} of {len(pairs)} answers are others the second time" if other else "", "")
