"""From what a user names to the comparisons of each run with the first, and the queries that moved most."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import guess_group
from toolkit.core.runs import Run
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table, labels
from toolkit.datasets import resolve_topics
from toolkit.evaluation.comparison.comparison import USUAL, Moved, Testing, compare, corrected, testing_notes
from toolkit.evaluation.comparison.notes import run_notes
from toolkit.evaluation.scores.evaluation import Evaluation, benchmark_of, prepare, to_depth
from toolkit.evaluation.scores.judgments import Judgments
from toolkit.evaluation.scores.run_inputs import Source, as_sources, load_each
from toolkit.evaluation.scores.score_table import is_share
from toolkit.files.provenance import NamedRun, Recorded, run_names
from toolkit.reporting.diff.diff_output import Pair
from toolkit.reporting.diff.diff_page import render
from toolkit.reporting.diff.rankings import identical, likeness
from toolkit.reporting.pages import Frame, browse, finder, languages_of
from toolkit.retrieval.texts import texts_from

TOP = 10  # a document that nobody judged is shown where it enters or leaves these ranks
SHOWN = 8  # documents of one query


@dataclass(frozen=True)
class Given:
    """Runs to compare, in the order given, with what judges them; `evaluation` is None where nothing does."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    evaluation: Evaluation | None

    def measures(self, wanted: str | Sequence[str] | None) -> list[str]:
        """As ir_measures writes them; the benchmark's own where none are named."""
        return [str(measure) for measure in tandem.parse_all(wanted or self.evaluation.judgments.measures)]


def load(
    runs: Sequence[Any] | Mapping[str, Any],
    *,
    benchmark: str | None = None,
    qrels: Any = None,
    modes: Mapping[str, str] | None = None,
    measures: str | Sequence[str] | None = None,
    depth: int | None = None,
    ids: str = "tandem",
    unjudged: str = "refuse",
    rankings: bool = False,
) -> Given:
    """Read runs (a list, or names with them; each is one run) and judgments, as `toolkit.evaluation` does.

    measures  that are going to be computed, see `prepare`
    rankings  without judgments, also where the records of the runs name a benchmark

    Raises ToolkitError for fewer than two runs and for what cannot be read or judged.
    """
    sources = as_sources(runs)
    if len(sources) < 2:
        raise ToolkitError(f"{len(sources)} run, nothing to compare it with", "tandem diff A B")
    if rankings and (benchmark or qrels is not None):
        raise ToolkitError("--rankings compares without judgments", "leave --rankings out, or --benchmark and --qrels")
    is_judged = bool(benchmark or qrels is not None)
    with suppress(ToolkitError):
        is_judged = is_judged or (not rankings and bool(benchmark_of(sources)))
    if is_judged:
        how = {"modes": modes, "measures": measures, "apart": True}
        prepared = prepare(sources, benchmark, qrels, depth, ids, unjudged, **how)
        return Given(prepared.runs, _names(prepared.runs, sources), prepared)
    if ids != "tandem":
        raise ToolkitError(f"--ids {ids} needs a benchmark", "name --benchmark")
    loaded = tuple(to_depth(run, depth) for run in load_each(sources))
    return Given(loaded, _names(loaded, sources), None)


def diff(
    runs: Sequence[Any] | Mapping[str, Any] | Given,
    *,
    measures: str | Sequence[str] | None = None,
    missing: str = "worst",
    testing: Testing = USUAL,
    top: int = 5,
    by: str | None = None,
    **judging: Any,
) -> list[Pair]:
    """Compare each run with the first, in the order given; measures and missing  as in `toolkit.evaluation`

    runs     as for `load`, with its arguments in `judging`, or what it returned; without judgments, rankings alone are compared
    testing  how differences are tested; Holm's correction is over all runs that are compared with the first
    top, by  how many queries that moved most are shown, by which measure
    """
    given = runs if isinstance(runs, Given) else load(runs, measures=measures, **judging)
    if given.evaluation:
        given.measures(measures)  # refuses what is no measure, also where nothing is to be computed
    others = zip(given.runs[1:], given.names[1:], strict=True)
    pairs = [_pair(given, other, name, measures, top, by, missing, testing) for other, name in others]
    places = [place for place, pair in enumerate(pairs) if pair.comparison]
    if not places:
        return pairs
    changes = [pairs[place].comparison.changes for place in places]
    of_pairs, family = corrected(changes, given.evaluation.judgments, testing.primary)
    for place, changed in zip(places, of_pairs, strict=True):
        pair = pairs[place]
        notes = (*testing_notes(changed, family, testing, pair.a), *pair.notes)
        comparison = replace(pair.comparison, changes=tuple(changed))
        pairs[place] = replace(pair, comparison=comparison, notes=notes, family=family.note)
    return pairs


def _names(runs: Sequence[Run], sources: Sequence[Source]) -> tuple[str, ...]:
    """Tags, or where two are the same, names from the records, or files where one has no record."""
    tags = [run.tag for run in runs]
    if len(set(tags)) == len(tags):
        return tuple(tags)
    named = []
    for run, source in zip(runs, sources, strict=True):
        record = Recorded(source.name, run).record
        named.append(NamedRun(run.tag, run.source, [record] if record else []))
    if all(each.records for each in named):
        return tuple(run_names(named))
    return tuple(run.source or f"run {place}" for place, run in enumerate(runs, 1))


def _pair(
    given: Given, b: Run, name: str, measures: Sequence[str] | None, top: int, by: str | None, missing: str, testing: Testing
) -> Pair:
    a, names = given.runs[0], (given.names[0], name)
    if identical(a, b):
        return Pair(*names, True, (), None)
    alike, notes = tuple(likeness(a, b)), tuple(_notes(a, b, names))
    if given.evaluation is None:
        return Pair(*names, False, alike, None, notes=notes, modes=registry.known_modes())
    judgments = given.evaluation.judgments
    chosen = replace(given.evaluation.measure_set(measures, missing), shown=())  # a change shows in any mode
    comparison = compare(a, b, judgments, chosen, testing)
    named = [replace(run, tag=tag) for run, tag in zip((a, b), names, strict=True)]
    warnings = run_notes(named, judgments, chosen.every(judgments), missing)
    compared = [change.measure for change in comparison.changes]
    measure = str(tandem.parse(by)) if by else next(iter(compared), "")
    if by and measure not in compared:
        raise ToolkitError(f"{measure} was not compared", "name it with -m too")
    moved = (row for row in comparison.moved if row.measure == measure)
    rows = sorted(moved, key=lambda row: (-abs(row.b - row.a), row.group, row.query_id, row.mode))[:top]
    tables = (moved_table(rows, a, b, judgments),) if rows else ()
    notes = (*judgments.notes, *warnings, *notes, *comparison.notes)
    return Pair(*names, False, alike, comparison, tables, notes, modes=judgments.known_modes)


def _notes(a: Run, b: Run, names: tuple[str, str]) -> Iterator[str]:
    """What must be known before likeness is trusted."""
    for (run, name), (other, other_name) in permutations(zip((a, b), names, strict=True)):
        if lacking := set(other.query_ids).difference(run.query_ids):
            queries = "query" if len(lacking) == 1 else "queries"
            yield f"{name} lacks {len(lacking):,} {queries} of {other_name}, whose rankings are not compared ({three(lacking)})"
    depths = [int(run.lengths.max(initial=0)) for run in (a, b)]
    if len(set(depths)) > 1:
        shown = ", ".join(f"{name} {depth}" for name, depth in zip(names, depths, strict=True))
        yield f"lists differ in depth ({shown}): overlap is over the longer one; --depth {min(depths)} truncates all"


def page(
    given: Given,
    pairs: Sequence[Pair] | None = None,
    *,
    benchmark: str | None = None,
    topics: str | Sequence[str] | None = None,
    index: str | None = None,
    docs: str | None = None,
    measures: Sequence[str] | None = None,
    missing: str = "worst",
    notes: Sequence[str] = (),
    frame: Frame | None = None,
) -> str:
    """What changed, and the runs side by side, query by query, as one HTML file.

    pairs        what `diff` says of these runs; compared here where they are not given
    topics       whose queries they are; the benchmark's where none are named
    index, docs  where texts of documents come from, see `toolkit.retrieval.texts`; the benchmark's corpora where neither is
                 named
    frame        of a page of a site

    Raises ToolkitError where there are no judgments of the runs.
    """
    if given.evaluation is None:
        raise ToolkitError("a page shows scores, and there are no judgments for these runs", "name --benchmark or --qrels")
    benchmark = benchmark or given.evaluation.benchmark
    queries = resolve_topics(topics or benchmark) if topics or benchmark else None
    has_texts = queries and (index or docs or queries.benchmark)
    browsed = browse(
        given.runs,
        given.names,
        given.evaluation.judgments,
        given.measures(measures),
        topics=queries.topics if queries else (),
        find=finder(given.evaluation.judgments, queries, texts_from(queries, index=index, docs=docs)) if has_texts else None,
        languages=languages_of(given.evaluation.judgments, queries) if queries else None,
        missing=missing,
    )
    compared = diff(given, measures=measures, missing=missing) if pairs is None else pairs
    notes = (*given.evaluation.judgments.notes, *notes)
    first, *others = given.names
    title = f"{first} \u2192 {others[0]}" if len(others) == 1 else f"{len(others)} runs compared with {first}"
    return render(compared, browsed, title=title, notes=notes, frame=frame)


class Place(NamedTuple):
    """A document's rank in both runs, from 1; None where it is missing. label: of the judgments, None where there is none."""

    query_id: str
    doc_id: str
    label: int | None
    a: int | None
    b: int | None


def places(moved: Moved, a: Run, b: Run, judgments: Judgments) -> list[Place]:
    """The judged documents of a moved query that changed place, then others that came into the top ranks or left them.

    A query that stands for several (a core query, or all modes of one) brings all of its own.
    """
    part = next(part for part in judgments.parts if part.group == moved.group)
    query_ids, modes = [], registry.modes_of(part.qrels)
    for query_id in part.qrels.query_ids:
        base, mode = modes.split(query_id)
        core = guess_group(base) if part.cores is None else part.cores.get(base)
        if moved.query_id in (base, core) and moved.mode in (mode, "paired"):
            query_ids.append(query_id)
    ranks_a, ranks_b = _ranks(a, query_ids), _ranks(b, query_ids)
    rows = []
    for query_id in query_ids:
        first, second = ranks_a.get(query_id, {}), ranks_b.get(query_id, {})
        rising = sorted(part.qrels.select([query_id]), key=lambda row: row.relevance)
        labels = {row.doc_id: row.relevance for row in rising}  # the highest where there are several perspectives
        for doc_id in sorted({*first, *second}):
            place = Place(query_id, doc_id, labels.get(doc_id), first.get(doc_id), second.get(doc_id))
            inside = [rank is not None and rank <= TOP for rank in (place.a, place.b)]
            if place.a != place.b and (place.label is not None or inside[0] != inside[1]):
                rows.append(place)
    return sorted(rows, key=_by_weight)[:SHOWN]


def _ranks(run: Run, query_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    return {
        query_id: {doc.doc_id: rank for rank, doc in enumerate(ranking, 1)}
        for query_id, ranking in run.select(query_ids).rankings()
    }


def _by_weight(place: Place) -> tuple:
    """Relevant documents first, then judged ones, then those nearest to the top."""
    best = min(rank for rank in (place.a, place.b) if rank is not None)
    return (-(place.label if place.label is not None else -1), best, place.query_id, place.doc_id)


def moved_table(rows: Sequence[Moved], a: Run, b: Run, judgments: Judgments) -> Table:
    """A row for each query, with its values, and below it the documents, with their ranks."""
    cells: list[tuple[Cell, ...]] = []
    below = set()
    for row in rows:
        mode = "" if row.mode in ("", "paired") else f" ({row.mode})"
        share = is_share(row.measure)
        cells.append((f"{row.query_id}{mode}", row.measure, "", Number(row.a, share), Number(row.b, share)))
        for place in places(row, a, b, judgments):
            below.add(len(cells))
            mode = judgments.known_modes.split(place.query_id)[1]
            where = place.query_id if place.query_id != row.query_id and not mode else mode
            label = "unjudged" if place.label is None else str(place.label)
            cells.append((where, place.doc_id, label, *("-" if rank is None else rank for rank in (place.a, place.b))))
    columns = (*labels("query", "measure, documents"), *map(Column, ("label", "first", "second")))
    title = "queries that moved most: their values, and the ranks of documents"
    return Table(columns, cells, title=title, below=frozenset(below))
