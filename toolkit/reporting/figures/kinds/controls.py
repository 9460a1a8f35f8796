"""What the instruction adds beyond its length, and what its template does: runs beside those that were sent something else."""

from __future__ import annotations

from toolkit.core.modes import INSTRUCTED, REVERSED
from toolkit.core.system.lazy_names import alt
from toolkit.evaluation.comparison.controls import method_of, replaced
from toolkit.evaluation.comparison.references import BLIND
from toolkit.files.provenance import part
from toolkit.reporting.figures import theme
from toolkit.reporting.figures.charts import Drawn, chart_of, data, plot
from toolkit.reporting.figures.columns import Column, following, keys, relevance, shown_column
from toolkit.reporting.figures.intervals import interval
from toolkit.reporting.report.model import Key, ReportModel, RunFacts, leading
from toolkit.retrieval.instructions import PLACEBO

FEWEST = 3  # runs of one system that were sent different things, for a figure of templates


def applies(model: ReportModel) -> bool:
    """A measure of following, and something to read it against."""
    return following(model) is not None and bool(drawn(model).rows)


def columns(model: ReportModel) -> list[Column]:
    """Relevance in the modes with instructions, where the table has them, and the measure of following."""
    wanted = model.judgments.modes.of(INSTRUCTED, REVERSED)
    measure = relevance(model)[0]
    modes = [column for column in model.columns(model.overall) if column[0] == measure and column[1] in wanted]
    return [*modes, following(model)]


def control(model: ReportModel, facts: RunFacts, column: Column, group: str) -> tuple | None:
    """What a number of a run in a group is read against: the value of its placebo run and its interval, or of its blind
    reference, behind which of the two it is; None where nothing is known.
    """
    placebos = (each for each in model.runs if model.controls.get(each.name) == (PLACEBO, facts.name))
    if other := next(placebos, None):
        value = other.value(*column, group)
        selected = [key for key in keys(model, group, column) if key in other.values]
        if value is not None and selected:
            return PLACEBO, value, *(interval(other, model.judgments, selected) or ("", ""))
    blind = facts.reference(BLIND, Key(group, *column))
    return None if blind is None else (BLIND, blind, "", "")


def drawn(model: ReportModel) -> Drawn:
    """Each run that is drawn by number and group, beside its control."""
    rows = []
    known = {facts.name: facts for facts in model.runs}
    for column in columns(model):
        for name in _runs(model):
            for group in theme.groups_shown(model):
                value, beside = known[name].value(*column, group), control(model, known[name], column, group)
                if beside and value is not None:
                    rows.append((*column, name, group, value, *beside))
    named = ("measure", "mode", "run", "group", "value", "control", "control's value", "low", "high")
    return Drawn(named, tuple(rows))


def _runs(model: ReportModel) -> dict[str, str]:
    placebos = {facts.name for facts in model.runs if replaced(facts.records) == PLACEBO}
    return {name: shown for name, shown in theme.runs_shown(model).items() if name not in placebos}


def draw(model: ReportModel) -> alt.TopLevelMixin:
    """A row a number, a panel a group, a run's mark with a line from its control."""
    shown, groups, numbers, lines = _runs(model), theme.named_groups(model), drawn(model).rows, []
    for column in columns(model):
        rows = [
            {
                "measure": shown_column(column),
                "run": shown[name],
                "group": groups[group],
                "value": round(value, 4),
                "control": kind,
                "control value": round(other, 4),
                **({} if low == "" else {"low": round(low, 4), "high": round(high, 4)}),
                "_between": "-" if low == "" else f"{low:.3f} and {high:.3f}",
            }
            for *of_column, name, group, value, kind, other, low, high in numbers
            if tuple(of_column) == column
        ]
        lines.append(theme.panel_row(model, _layers(model), rows, list(shown.values()), shown_column(column)))
    return alt.vconcat(*lines, spacing=18)


def _layers(model: ReportModel) -> list[alt.Chart]:
    looks, chart = theme.run_looks(model, "color", "shape"), chart_of().encode(opacity=theme.focused())
    across = alt.X("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4, format=".2~f"))
    named = {"value": "value", "control value": "its value"}
    tips = ["run:N", "group:N", "control:N"]
    tips += (alt.Tooltip(f"{field}:Q", title=name, format=".3f") for field, name in named.items())
    tips.append(alt.Tooltip("_between:N", title="95 % interval of the control's value"))
    return [
        chart_of()
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=9, color=theme.GREY, opacity=0.3)
        .encode(x="low:Q", x2="high:Q"),
        chart.mark_rule(strokeWidth=1.5).encode(x=across, x2="control value:Q", color=looks["color"]),
        chart_of().mark_tick(thickness=2, size=11, color=theme.GREY).encode(x="control value:Q"),
        chart.mark_point(filled=True, size=48).encode(x="value:Q", **looks, tooltip=tips),
    ]


CONTROLS = plot("controls", applies, draw, drawn, most=theme.ROWS)


def _families(model: ReportModel) -> list[list[RunFacts]]:
    """Runs that differ in nothing but what was sent of a topic, of each system that has enough of them; with a value each."""
    found: dict[str, list[RunFacts]] = {}
    for facts in model.runs:
        if facts.records and facts.value(*leading(model), model.overall) is not None:
            found.setdefault(repr(method_of(facts.records, "templates", "template digest")), []).append(facts)
    return [own for own in found.values() if len(own) >= FEWEST]


def of_templates(model: ReportModel) -> Drawn:
    """Each run of a system that was sent different things, by the leading number; systems in the order of the report."""
    rows = []
    for own in _families(model):
        system = min((each.name for each in own), key=len)
        for facts in own:
            # what stands in the place of instructions
            sent = {str(part(record, "method").get("instruction") or "template") for record in facts.records}
            rows.append((system, facts.name, ", ".join(sorted(sent)), facts.value(*leading(model), model.overall)))
    return Drawn(("system", "run", "sent", "value"), tuple(rows))


def draw_templates(model: ReportModel) -> alt.TopLevelMixin:
    """A row a system, a mark a run, a tick at the middle one of its templates."""
    rows = of_templates(model).dicts()
    base = chart_of().encode(y=alt.Y("system:N", title=None, sort=list(dict.fromkeys(row["system"] for row in rows))))
    across = alt.X("value:Q", title=shown_column(leading(model)), scale=alt.Scale(zero=False))
    middle = base.transform_filter("datum.sent == 'template'").mark_tick(thickness=2, size=24, color=theme.GREY)
    marks = base.mark_point(filled=True, size=70, opacity=0.75).encode(
        x=across,
        color=alt.Color("sent:N", title="sent"),
        shape=alt.Shape("sent:N", title="sent"),
        tooltip=["run:N", "sent:N", alt.Tooltip("value:Q", format=".4f")],
    )
    return alt.layer(middle.encode(x="median(value):Q"), marks, data=data(rows), width=520, height=alt.Step(44))


TEMPLATES = plot("templates", lambda model: bool(_families(model)), draw_templates, of_templates)
