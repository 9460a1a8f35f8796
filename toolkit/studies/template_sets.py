"""Systems under several templates: how far their numbers depend on how query and instruction are put to them.

A system's number under one template is one draw of many. What is said of a system is the range of its numbers, their mean with
an interval over core queries and templates, and for how many of the templates it is first.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.modes import INSTRUCTED, REVERSED
from toolkit.core.runs import Run
from toolkit.core.scores import SIGNIFICANT
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.tables.aligned_table import Column, Number, Table, labels
from toolkit.core.templates import SLOT, check_template
from toolkit.evaluation.comparison.comparison import compare
from toolkit.evaluation.comparison.primary import leading_number
from toolkit.evaluation.scores.evaluation import Evaluation
from toolkit.evaluation.scores.paired_values import Key, numbers_of, paired, run_values
from toolkit.metrics.inference import Cores, crossed, estimate
from toolkit.registry.system_kinds import NAME
from toolkit.reporting.diff.rankings import likeness
from toolkit.retrieval.instructions import PLACEBO, SHUFFLED

CONTROLS = (PLACEBO, SHUFFLED, "none")  # what stands in an instruction's place, beside the templates
ALIKE = 0.9  # mean RBO below which an instruction is said to move the rankings
HEADS = ("mode", "templates", "smallest", "median", "largest", "mean", "from", "to", "first")
NOTES = (
    "from, to: 95 % of the mean over core queries and templates, both as samples (two-way random effects)",
    "templates: the system's own and those of the set; first: the share of them with which it is the best one, ties shared",
)


class Variant(NamedTuple):
    """One run of a system. template: its name; control: `placebo`, `shuffled` or `none`, empty for a template."""

    system: str
    template: str
    control: str
    run: Run


def template_table(given: Evaluation, variants: Sequence[Variant], measures: Sequence[str] | None, missing: str) -> Table:
    """A row for each system, measure and mode, over all groups; beside the templates what the controls give.

    given     the benchmark's judgments
    variants  of every system the same templates; those with a control are shown, and enter no range
    """
    chosen = given.measure_set(measures, missing)
    cores: dict[tuple[str, str, str], dict[Key, list[Cores]]] = {}  # by system, template and control
    for each in variants:
        tables = []
        for part in given.judgments.parts:
            own = run_values(each.run, part, chosen)
            # a value beside itself has its core queries
            tables.append((part, {key: Cores.of(pair.a, pair.cores) for key, pair in paired(own, own, part).items()}))
        numbers = numbers_of(tables, per_group=chosen.per_group)
        last = next(reversed(numbers))[0] if numbers else ""
        of_last = {key: groups for (group, key), groups in numbers.items() if group == last}
        cores[each.system, each.template, each.control] = of_last
    systems = list(dict.fromkeys(each.system for each in variants))
    controls = list(dict.fromkeys(each.control for each in variants if each.control))
    rows = []
    for key in dict.fromkeys(key for numbers in cores.values() for key in numbers):
        by_system: dict[str, dict[str, list[Cores]]] = {system: {} for system in systems}
        beside: dict[tuple[str, str], float] = {}
        for (system, template, control), numbers in cores.items():
            if control and key in numbers:
                beside[system, control] = float(estimate(numbers[key]).mean)
            elif key in numbers:
                by_system[system][template] = numbers[key]
        shares = _first(key, by_system)
        for system, found in by_system.items():
            if found:
                values = [float(estimate(groups).mean) for groups in found.values()]
                bounds = crossed(list(found.values())).value_interval() or (None, None)
                shown = [min(values), float(np.median(values)), max(values), float(np.mean(values)), *bounds]
                shown += [shares.get(system), *(beside.get((system, control)) for control in controls)]
                rows.append((system, *key, len(found), *(None if value is None else Number(value) for value in shown)))
    return Table((*labels("system", "measure"), *map(Column, (*HEADS, *controls))), rows, NOTES)


def _first(key: Key, by_system: Mapping[str, Mapping[str, list[Cores]]]) -> dict[str, float]:
    """The share of templates with which each system has the best number; none of a single system, or without a direction."""
    spec = registry.measure(key[0])
    if len(by_system) < 2 or spec.direction == "none":
        return {}
    templates = set.intersection(*(set(found) for found in by_system.values()))
    sign, shares = (-1 if spec.direction == "lower" else 1), dict.fromkeys(by_system, 0.0)
    for name in templates:
        values = {system: sign * float(estimate(found[name]).mean) for system, found in by_system.items()}
        best = [system for system, value in values.items() if value == max(values.values())]
        for system in best:
            shares[system] += 1 / len(best)
    return {system: share / len(templates) for system, share in shares.items()} if templates else {}


def movement_notes(given: Evaluation, variants: Sequence[Variant], missing: str) -> list[str]:
    """Of each system whose instructions move the rankings and gain nothing, a line: likeness to the ranking without; change.

    The template of the middle value stands for the system; without a run without instructions nothing is said.
    """
    chosen, modes = given.measure_set(None, missing), given.judgments.modes
    notes = []
    for system in dict.fromkeys(each.system for each in variants):
        own = [each for each in variants if each.system == system]
        bare = next((each.run for each in own if each.control == "none"), None)
        full = [each.run for each in own if not each.control]
        if bare is None or not full:
            continue
        compared = [compare(bare, run, given.judgments, chosen) for run in full]
        number = leading_number(list(dict.fromkeys((c.measure, c.mode) for c in compared[0].changes)), modes)
        last = compared[0].changes[-1].group
        changes = [next(c for c in each.changes if (c.group, c.measure, c.mode) == (last, *number)) for each in compared]
        change = sorted(changes, key=lambda each: each.difference)[len(changes) // 2]
        # the mean RBO over the queries of modes with instructions, of all where there are none
        wanted = tuple(f"-{mode}" for mode in modes.of(INSTRUCTED, REVERSED))
        every = likeness(bare, full[changes.index(change)])
        rbos = [each.rbo for each in every if not wanted or each.query_id.endswith(wanted)]
        alike = float(np.mean(rbos)) if rbos else 1.0
        sign = -1 if registry.measure(number[0]).direction == "lower" else 1
        gains = sign * change.difference > 0 and change.p < SIGNIFICANT
        if alike < ALIKE and not gains:
            between = f"({change.untested})" if np.isnan(change.low) else f"({change.low:+.4f} to {change.high:+.4f})"
            moved = f"{system} moves much and gains nothing: RBO {alike:.2f} to its ranking without instructions"
            notes.append(f"{moved}, {' '.join(filter(None, number))} {change.difference:+.4f} {between}")
    return notes


def read_templates(given: str | Path | Mapping[str, str]) -> dict[str, str]:
    """Name -> text of a file (YAML), or of a mapping. ToolkitError for what is no template of a topic, and for a name that
    cannot be a part of a file's name."""
    found = dict(given) if isinstance(given, Mapping) else read_yaml(Path(given))
    where = "templates" if isinstance(given, Mapping) else str(given)
    if not isinstance(found, dict) or not found or not all(isinstance(text, str) for text in found.values()):
        raise ToolkitError(f"{where} holds no templates", "NAME: 'Instruct: {instruction} Query: {query}', a line each")
    for name, text in found.items():
        if not (isinstance(name, str) and NAME.fullmatch(name)) or name in CONTROLS:
            hint = f"letters, digits, . _ -; not {', '.join(CONTROLS)}"
            raise ToolkitError(f"{where}: {name!r} is no name of a template", hint)
        check_template("query", text)
        if not set(SLOT.findall(text)) & {"query", "question"}:
            raise ToolkitError(f"{where}: template {name} has no {{query}}", "every template holds the query")
    return found
