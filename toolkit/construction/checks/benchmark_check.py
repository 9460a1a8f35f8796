"""All checks of one benchmark, built or not: `tandem build check`. Whether instructions matter to labels and scores is here."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolkit.construction.checks.judged_texts import JudgedTexts, judged_texts
from toolkit.construction.checks.near_duplicates import COSINE, THRESHOLD, Alike, near_duplicates_in
from toolkit.construction.checks.surface_cues import SurfaceRow, surface_cues
from toolkit.core.errors import three
from toolkit.core.modes import BASE
from toolkit.core.system.progress import progress
from toolkit.datasets import find
from toolkit.datasets.accepted import File, Runs
from toolkit.datasets.own import PROVENANCE, provenance_file
from toolkit.datasets.own.item_provenance import read_provenances
from toolkit.datasets.own.own_check import check_folder
from toolkit.evaluation.analyses.instances import plain_values
from toolkit.evaluation.comparison.circularity import Circular, Share, circular, circularity_text, grouped, shares_of
from toolkit.evaluation.comparison.references import blind
from toolkit.evaluation.scores.evaluation import Evaluation, prepare
from toolkit.evaluation.scores.judgments import from_benchmark
from toolkit.metrics import parse

LABELS, SCORE = "labels", "score"
MEASURE = "nDCG@10"
SAME = 1e-9  # by which two scores may differ and be one


class Ignored(NamedTuple):
    """A query whose instruction could be left out.

    what  is the same then: `LABELS`, or `SCORE` of the ranking
    run   whose score it is
    """

    group: str
    query_id: str
    what: str
    run: str = ""


class Effect(NamedTuple):
    """How many of a group's instructed queries (in each mode) have an instruction without effect. run: as of `Ignored`."""

    group: str
    what: str
    run: str
    queries: int
    ignored: tuple[Ignored, ...]


def unchanged_labels(texts: JudgedTexts) -> Effect:
    """Queries with the same relevant documents, in the same degrees, as without the instruction.

    Without a base mode that is what is relevant to any instruction of the core query, where it has several.
    """
    instructions = Counter((row.core, row.mode) for row in texts.instructed)
    has_base = bool(texts.benchmark.spec.modes.of(BASE))
    rows = [row for row in texts.instructed if has_base or instructions[row.core, row.mode] > 1]
    same = (Ignored(texts.group, row.query_id, LABELS) for row in rows if row.before == row.relevant)
    return Effect(texts.group, LABELS, "", len(rows), tuple(same))


def unchanged_scores(evaluation: Evaluation, only: str = "all") -> Iterator[Effect]:
    """Of each run and group: queries where the ranking that it gives without the instruction scores the same (nDCG@10).

    only  what the only group is called, where there is one

    Nothing where the benchmark has no base mode.
    """
    judgments = evaluation.judgments
    modes = judgments.modes
    if not modes.of(BASE):
        return
    for run in evaluation.runs:
        ignorant = blind(run, modes)
        for part in judgments.parts:
            own, without = (plain_values(each, part, MEASURE) for each in (run, ignorant))
            asked = [query_id for query_id in own if modes.split(query_id)[1] not in modes.of(BASE)]
            same = [query_id for query_id in asked if abs(own[query_id] - without.get(query_id, 0.0)) <= SAME]
            group = part.group if len(judgments.parts) > 1 else only
            ignored = tuple(Ignored(group, query_id, SCORE, run.tag) for query_id in same)
            yield Effect(group, SCORE, run.tag, len(asked), ignored)


@dataclass(frozen=True)
class BenchmarkCheck:
    """What was found of a benchmark.

    problems   why it should not be used as it is
    effects    whether instructions matter, of labels and then of each run
    cues       what surface tells, group by group
    pairs      near-duplicates
    shares     who wrote, filtered and judged how much; None where nobody says
    circular   of the runs that were given: those of models that made items
    unchecked  what could not be checked, and why
    """

    name: str
    problems: tuple[str, ...]
    effects: tuple[Effect, ...]
    cues: tuple[SurfaceRow, ...]
    pairs: tuple[Alike, ...]
    shares: tuple[Share, ...] | None
    circular: tuple[Circular, ...]
    unchecked: tuple[str, ...]

    @property
    def warnings(self) -> list[str]:
        """What may make numbers say something else than they seem to, a line each."""
        found = [circularity_text(alike) for alike in grouped(self.circular)]
        for each in (effect for effect in self.effects if effect.what == LABELS and effect.ignored):
            found.append(f"group {each.group}: {len(each.ignored):,} of {each.queries:,} instructions change no label")
        for row in (row for row in self.cues if row.is_found):
            condition = f" ({row.condition})" if row.condition else ""
            tells = [f"a classifier's area {row.area.value:.2f}, at least {row.area.low:.2f}"] if row.area.is_found else []
            tells += [f"{row.cue.name} alone {row.cue.area:.2f}"] if row.cue.is_found else []
            found.append(f"group {row.group}{condition}: surface tells gold documents from {row.others}: {'; '.join(tells)}")
        for what, by in dict.fromkeys((pair.what, pair.by) for pair in self.pairs):
            alike = [pair for pair in self.pairs if (pair.what, pair.by) == (what, by)]
            across = sum(pair.first.group != pair.second.group for pair in alike)
            found.append(f"{len(alike):,} pairs of {what} are near-duplicates by {by}, {across:,} of them in two groups")
        return found


def check_benchmark(
    benchmark: File,
    runs: Runs | None = None,
    *,
    similarity: float = THRESHOLD,
    dense: bool = False,
    cosine: float = COSINE,
    most: int | None = None,
) -> BenchmarkCheck:
    """What a benchmark rewards beside what it means to: a built one, a folder of your own, or one of the registry.

    runs        whose rankings are compared with what they are without the instruction, and whose systems with who made the
                items; as of `tandem_ir.evaluate`
    similarity  of near-duplicates: the least Jaccard similarity of runs of five characters
    dense       also paraphrases, by vectors of all-minilm-l6-v2 with at least this `cosine`; most  pairs that are listed

    Its `problems` and `warnings` are sentences; `effects`, `cues`, `pairs`, `shares`, `circular` are what they rest on. Raises
    ToolkitError where there is no such benchmark.
    """
    name = str(benchmark)
    groups = list(judged_texts(name))
    folder = groups[0].benchmark.spec.folder if groups else ""
    judged = [each for each in groups if each.labels]
    judgments = from_benchmark(name) if judged else None
    evaluation = prepare(runs, name, None, None, "tandem") if runs else None
    pairs = near_duplicates_in(groups, threshold=similarity, dense=dense, cosine=cosine, most=most)
    effects = [effect for each in judged if (effect := unchanged_labels(each)).queries]
    effects += unchanged_scores(evaluation, judged[0].group) if evaluation else []
    shares = shares_of(judgments) if judgments and judgments.provenance else None
    cues: list[SurfaceRow] = []
    with progress("surface cues", len(judged), "groups") as advance:
        for each in judged:
            cues += surface_cues(each)
            advance(1)
    return BenchmarkCheck(
        find(name).name,
        tuple(_problems(folder, groups, pairs)),
        tuple(effects),
        tuple(cues),
        tuple(pairs),
        None if shares is None else tuple(shares),
        tuple(circular(evaluation.runs, shares or ()) if evaluation else ()),
        tuple(_unchecked(groups, judged, shares is not None)),
    )


def _problems(folder: str, groups: Sequence[JudgedTexts], pairs: Sequence[Alike]) -> Iterator[str]:
    """What is wrong with the folder's files, items of the provenance that are not there, one text with two labels."""
    if folder:
        yield from map(str, check_folder(folder, parse=parse).problems)
    if path := provenance_file(folder):
        known = {doc_id for each in groups for doc_id in each.docs}
        for topic in (topic for each in groups for topics in each.topics.values() for topic in topics):
            known |= {topic.query_id, topic.base_id, topic.group_id}
        if unknown := [item for item in read_provenances(path) if item not in known]:
            items = "1 item is" if len(unknown) == 1 else f"{len(unknown):,} items are"
            yield f"{PROVENANCE}: {items} neither document nor query ({three(unknown)})"
    for pair in (pair for pair in pairs if pair.is_contradictory):
        first, second = pair.first.item_id, pair.second.item_id
        yield f"documents {first} and {second} are one text, and only one is relevant to query {pair.opposed}"


def _unchecked(groups: Sequence[JudgedTexts], judged: Sequence[JudgedTexts], has_makers: bool) -> Iterator[str]:
    if not has_makers:
        yield f"circularity: nothing says who wrote, filtered and judged the items ({PROVENANCE})"
    if without := [each.group for each in groups if each not in judged]:
        yield f"labels and surface cues: nothing is judged in {', '.join(without)}"
    if judged and not any(each.instructed for each in judged):
        yield "the effect of instructions: no query has one"
    if without := [each.group for each in groups if not each.docs]:
        yield f"surface cues and near-duplicates: the documents of {', '.join(without)} are not on this machine"
