"""The same needs in the language of the documents and in English: mFollowIR's two settings side by side."""

from collections.abc import Collection
from dataclasses import replace

from toolkit.core.errors import ToolkitError
from toolkit.core.modes import BASE
from toolkit.core.runs import Run
from toolkit.core.scores import AVERAGE, PAIRED, Score, Scores
from toolkit.datasets import find
from toolkit.evaluation.analyses.instances import FOUND, found_of
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.judgments import Judgments, check, from_benchmark
from toolkit.evaluation.scores.paired_values import paired, run_values
from toolkit.evaluation.scores.score_output import Shown, shown
from toolkit.files.formats import read_run
from toolkit.metrics.inference import Cores, Estimate, estimate

MULTI, CROSS = SETTINGS = ("multilingual", "cross-lingual")
DIFFERENCE = "difference"


def both_settings(benchmark: str) -> tuple[Judgments, Judgments]:
    """The judgments of a benchmark and of its cross-lingual groups, those of the languages that both have here.

    Groups are called by their language. Raises ToolkitError for a benchmark without a cross-lingual setting, and where no
    language has both.
    """
    settings = []
    for name in (benchmark, f"{benchmark}-{CROSS}"):
        selection = find(name)
        if selection is None:
            raise ToolkitError(f"{benchmark} is not searched across languages: there is no {name}", "mfollowir is")
        judged, groups = from_benchmark(selection.reference), [group.removeprefix(f"{CROSS}/") for group in selection.groups]
        parts = tuple(replace(part, group=group) for part, group in zip(judged.parts, groups, strict=True))
        settings.append(replace(judged, parts=parts))
    shared = {part.group for part in settings[0].parts} & {part.group for part in settings[1].parts}
    if not shared:
        message = f"no language of {benchmark} is on this machine in both settings"
        raise ToolkitError(message, f"`tandem benchmarks fetch {benchmark}`")
    return _of_groups(settings[0], shared), _of_groups(settings[1], shared)


def _of_groups(judgments: Judgments, groups: Collection[str]) -> Judgments:
    parts = tuple(part for part in judgments.parts if part.group in groups)
    without = [part.group for part in judgments.parts if part.group not in groups]
    notes = [f"left out, as they are on this machine in one setting only: {', '.join(without)}"] if without else []
    return replace(judgments, parts=parts, notes=(*judgments.notes, *notes))


def crosslingual(multi: Run, cross: Run, judgments: tuple[Judgments, Judgments]) -> Scores:
    """The benchmark's measures in both settings, and cross-lingual minus multilingual, by language and on average.

    multi, cross  runs of the queries in the documents' language, and in English
    judgments     as `both_settings` gives them

    Measures of one mode are of the base mode (`og`). The difference has its 95 % interval and p over the core queries,
    which both settings share; none where fewer than six differ. Raises ToolkitError for a run of other queries.
    """
    shown = (*judgments[0].modes.of(BASE), PAIRED)
    by_setting, notes = [], {}
    for setting, run, judged in zip(SETTINGS, (multi, cross), judgments, strict=True):
        check(run, run.source or run.tag, judged)
        scores = Evaluation((run,), judged).scores(None)
        by_setting.append({(row.group, row.measure): row for row in scores.rows if row.mode in shown})
        tags = {row.run for row in scores.rows}
        notes |= {f"{setting}, {note}" if note.partition(":")[0] in tags else note: None for note in scores.notes}
    name = multi.tag if multi.tag == cross.tag else f"{multi.tag} / {cross.tag}"
    differences = _differences((multi, cross), judgments, shown)
    rows = []
    for place, first in by_setting[0].items():
        second, (group, measure) = by_setting[1][place], place
        rows += [Score(name, group, MULTI, measure, first.value, first.queries)]
        rows += [Score(name, group, CROSS, measure, second.value, second.queries)]
        rows += [Score(name, group, DIFFERENCE, measure, second.value - first.value, first.queries)]
        for mode, value in zip(FOUND, found_of(differences[place]), strict=True) if place in differences else ():
            rows.append(Score(name, group, mode, measure, value, first.queries))
    return Scores(tuple(rows), tuple(notes))


def tables(multi: str, cross: str, benchmark: str) -> Shown:
    """`crosslingual` of two run files."""
    return shown(crosslingual(read_run(multi), read_run(cross), both_settings(benchmark)))


def _differences(
    runs: tuple[Run, Run], judgments: tuple[Judgments, Judgments], shown: Collection[str]
) -> dict[tuple[str, str], Estimate]:
    """(group, measure) -> the difference over core queries, of what is a mean over queries in both settings."""
    chosen = [Evaluation((run,), judged).measure_set(None, "worst") for run, judged in zip(runs, judgments, strict=True)]
    second = {part.group: run_values(runs[1], part, chosen[1]) for part in judgments[1].parts}
    groups: dict[str, dict[str, list[Cores]]] = {}
    for part in judgments[0].parts:
        for (measure, mode), values in paired(run_values(runs[0], part, chosen[0]), second[part.group], part).items():
            if mode in shown:
                groups.setdefault(measure, {})[part.group] = [values.sums]
    for of_measure in groups.values():
        if len(of_measure) > 1:
            of_measure[AVERAGE] = [cores for of_group in of_measure.values() for cores in of_group]
    return {(group, measure): estimate(cores) for measure, of_measure in groups.items() for group, cores in of_measure.items()}
