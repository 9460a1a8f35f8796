"""The scores of a row, by whatever its table is about: measures, coverage, changes without overlap, paraphrases, agreement.

And which of our numbers the paper's own tests tell from the best of their column: mFollowIR's underlines.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, Score
from toolkit.datasets import find, load
from toolkit.evaluation import evaluate
from toolkit.evaluation.analyses.coverage import coverage
from toolkit.evaluation.analyses.overlap import overlap
from toolkit.evaluation.analyses.paraphrase import paraphrase
from toolkit.evaluation.analyses.stance import stance
from toolkit.evaluation.comparison.paper_comparison import p_values
from toolkit.evaluation.scores.judgments import Judgments, from_benchmark
from toolkit.evaluation.scores.run_inputs import as_sources
from toolkit.evaluation.scores.stance import FORMS, read_stances
from toolkit.files.formats import read_qrels, read_run
from toolkit.registry.published.comparison import measures_of, scored_group, tested
from toolkit.retrieval.judge.agreement import Agreement, agreement, expectations
from toolkit.studies.reproduce.compared_cells import Compared
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.table_rows import AGREEMENT, COVERAGE, OVERLAP, PARAPHRASES, STANCE, UNION, Row


def scores_of(files: RowFiles, row: Row, runs: Sequence[Path], qrels: Path | None) -> list[Score]:
    """The aggregate scores of a row, its system's name as the run's.

    runs   that are scored: one, or several together
    qrels  a judge's labels of them, where the benchmark has none
    """
    part = row.part
    if part.scores == AGREEMENT:
        return _agreement(row, qrels)
    if part.scores in (COVERAGE, UNION):
        found = coverage(_read(runs), _judgments(part.topics, qrels), depth=int(part.judge["depth"]))
        return [score for score in found.rows if score.run == row.system.name]
    if part.scores == OVERLAP:
        [run, filtered] = _read([*runs, files.path(files.tables.row(f"{part.of}/{part.lexical}"))])
        return list(overlap([run], filtered, _judgments(part.topics)).rows)
    if part.scores == PARAPHRASES:
        against = files.tables.row(f"{part.against}/{row.system.name}")
        [own, original] = _read([*runs, files.path(against)])
        return list(paraphrase(original, own, _judgments(against.part.topics), _judgments(part.topics)).rows)
    if part.scores == STANCE:
        [run] = _read(runs)
        found = stance({FORMS[0]: run}, _judgments(part.topics, qrels), read_stances(files.stances_path))
        scores = []  # shares of the questions of all groups together, where the rows have them of each
        for measure in part.measures.values():
            own = [score for score in found.rows if score.measure == measure]
            questions = sum(score.queries for score in own)
            value = sum(score.value * score.queries for score in own) / questions
            scores.append(own[0]._replace(group=AVERAGE, value=value, queries=questions))
        return scores
    given = str(qrels) if qrels else None
    measures = list(measures_of(files.tables.paper))
    return list(evaluate([*map(str, runs)], benchmark=part.topics, qrels=given, measures=measures, ori_unit="both").rows)


def commands(files: RowFiles, row: Row) -> list[str]:
    """What makes a row's run, its labels and its scores by hand, in the folder of the reproduction, a line each."""
    return [*(each.command for each in files.planned(row)), *_score_command(files, row, files.scored(row))]


def _score_command(files: RowFiles, row: Row, runs: Sequence[Path]) -> list[str]:
    """The command whose numbers `scores_of` has; none for a judge's agreement with people, which is computed here alone."""
    part = row.part
    how = {"benchmark": part.topics, "qrels": files.qrels_path(row) if part.judge else None}
    if part.scores in (COVERAGE, UNION):
        return [files.command("analyze", "coverage", *runs, **how, depth=part.judge["depth"])]
    if part.scores == OVERLAP:
        lexical = files.path(files.tables.row(f"{part.of}/{part.lexical}"))
        return [files.command("analyze", "overlap", *runs, filter_run=lexical, **how)]
    if part.scores == PARAPHRASES:
        original = files.tables.row(f"{part.against}/{row.system.name}")
        return [files.command("analyze", "paraphrase", files.path(original), *runs, benchmark=original.part.topics)]
    if part.scores == STANCE:
        return [files.command("analyze", "stance", *runs, **how, stances=files.stances_path)]
    if part.scores == AGREEMENT:
        return []
    return [files.command("evaluate", *runs, **how, measure=measures_of(files.tables.paper))]


def _read(runs: Sequence[Path]) -> list[Run]:
    """Runs, called by their files: one system's in two parts are two runs."""
    read = [read_run(path) for path in runs]
    return [replace(run, tag=path.stem) for run, path in zip(read, runs, strict=True)]


def _judgments(topics: str, qrels: Path | None = None) -> Judgments:
    return from_benchmark(topics, as_sources([str(qrels)], None) if qrels else [])


def _agreement(row: Row, qrels: Path | None) -> list[Score]:
    """How far a judge agrees with people, over all lines of the release; where nobody judged, what guesses would have."""
    selection = find(row.part.topics)
    [part] = [load(selection.benchmark).part(group) for group in selection.groups]
    # (query id, subtopic, document id) and label of every line that people labelled; a pair that comes twice counts twice
    pairs = part.published["pairs"]
    truth = [label for _, label in pairs]
    if qrels is None:
        found = expectations(truth)
    else:
        labels = {(line.query_id, line.iteration, line.doc_id): line.relevance for line in read_qrels(qrels)}
        found = agreement([None if labels.get(key, -1) < 0 else labels[key] for key, _ in pairs], truth)
    values = {name: getattr(found, name) for name in Agreement._fields if isinstance(getattr(found, name), float)}
    return [Score(row.system.name, "all", "", name, value, found.pairs) for name, value in values.items()]


def underlined(files: RowFiles, cells: Sequence[Compared]) -> list[Compared]:
    """The cells, our numbers (but those from another prompt) with what the test says beside the best of column and kind."""
    tests = files.tables.tests
    with_ours = [place for place, each in enumerate(cells) if each.row and each.value is not None and not each.is_another]
    places = [place for place in with_ours if cells[place].cell.measure in tests]
    ours = [cells[place] for place in places]
    run_of = functools.cache(lambda name: read_run(files.path(files.tables.row(name))))  # the best of a column meets all others
    names = {each.row.part.topics for each in ours}
    of_topics = {topics: p_values(from_benchmark(topics, []), run_of, tests) for topics in names}

    def p_of(best: int, other: int) -> float:
        cell, topics = ours[other].cell.ours, ours[other].row.part.topics
        group = scored_group(cell, find(topics, at_hand=False).groups)
        return of_topics[topics](ours[best].row.name, ours[other].row.name, cell.measure, group, cell.mode)

    columns = [(each.cell.table, each.cell.kind, each.cell.group, each.cell.mode, each.cell.measure) for each in ours]
    numbers = [(column, each.row.system.name, each.value) for column, each in zip(columns, ours, strict=True)]
    found = dict(zip(places, tested(numbers, p_of), strict=True))
    return [each._replace(tested=found[place]) if place in found else each for place, each in enumerate(cells)]
