"""A round of review: what of a build people see, which form they get, and the files that are handed to them.

The page is one HTML file that needs no network, keeps progress in the browser and saves a file. Neither ids nor labels of items
are in it: items and options have keys that tell nothing, and each reviewer sees them in an order of their own, which the seed
and the name decide.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.construction.review import review_answers
from toolkit.construction.review.review_forms import Form, Sheet, check_items, find_form, sheet_of
from toolkit.construction.review.review_step import Decision, ReviewStep, answers_of, decide
from toolkit.core.errors import ToolkitError, check_counts
from toolkit.core.system.files import write_text
from toolkit.registry.loader import did_you_mean
from toolkit.reporting import pages

if TYPE_CHECKING:
    from toolkit.construction.build_folder import BuildFolder

FOLDER = Path(__file__).parent  # of the page's parts


@dataclass(frozen=True)
class Review:
    """The review of one step's items.

    form       with `form_source`, its name or file
    sheets     item -> what is seen of it
    reviewers  how many have to answer; 1 where the step is none of review, and its items are only looked at
    decides    whether the step is one of review
    answers    item -> the answers to it as it is now
    outdated   answers to items that have changed since, or are gone
    """

    step: str
    form: Form
    form_source: str
    sheets: Mapping[str, Sheet]
    answers: Mapping[str, Sequence[review_answers.Answer]]
    outdated: int
    reviewers: int
    decides: bool
    seed: int = 0

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """Item -> what its answers decide."""
        return {item: decide(self.form, sheet, self.answers[item], self.reviewers) for item, sheet in self.sheets.items()}

    @property
    def unanswered(self) -> list[Sheet]:
        """What is for further reviewers: items that not enough have answered; all of them where nobody waits for answers."""
        if not self.decides:
            return list(self.sheets.values())
        return [self.sheets[item] for item, decision in self.decisions.items() if decision.waiting and not decision.tied]

    @property
    def unsettled(self) -> list[Sheet]:
        """Ties, and what was decided against a minority, unless a further answer has settled it."""
        return [self.sheets[item] for item, each in self.decisions.items() if each.tied or (each.disputed and not each.settled)]


def review_of(build: BuildFolder, step: str, form: str = "") -> Review:
    """The review of a step's items, with the answers so far.

    form  for items that no step of review keeps waiting: its name or file; otherwise the one of the last export

    Raises ToolkitError where the step was not run, or its items lack what the form shows.
    """
    reviewing = build.config.steps[build.config.step_number(step)]
    items = list(build.files[step].items())
    if isinstance(reviewing, ReviewStep):
        source, found = reviewing.form, find_form(reviewing.form, build.path)
        if form and find_form(form, build.path).sha256 != found.sha256:
            raise ToolkitError(f"the step {step} has the form {reviewing.form}, and not {form}", "change it in build.yaml")
        sheets = reviewing.sheets(found, items)
    else:
        source = _form_of(build, step, form)
        found = find_form(source, build.path)
        passed = [item for item in items if item.is_passed]
        check_items(found, passed, f"step {step}")
        sheets = {item.id: sheet_of(found, step, item) for item in passed}
    answers, outdated = answers_of(sheets, review_answers.read_answers(build.path, step))
    decides = isinstance(reviewing, ReviewStep)
    reviewers, seed = (reviewing.reviewers, reviewing.seed) if decides else (1, 0)
    return Review(step, found, source, sheets, answers, outdated, reviewers, decides, seed)


def reviewed_steps(build: BuildFolder) -> list[str]:
    """The steps that review, and those of which something was exported."""
    exported = {export.step for export in review_answers.exports_of(build.path)}
    return [step.name for step in build.config.steps if isinstance(step, ReviewStep) or step.name in exported]


def export_review(
    build: BuildFolder,
    step: str,
    output: str | Path,
    *,
    form: str = "",
    reviewers: Sequence[str] = (),
    to_settle: bool = False,
    first: int | None = None,
) -> int:
    """Write the page that reviewers get; how many items it has.

    reviewers  who may answer; anybody where none is named
    to_settle  items that reviewers did not agree on, whose answers then decide, instead of those that wait for reviewers
    first      so many items at most

    Raises ToolkitError where there is nothing to review, and for what `review_of` refuses.
    """
    check_counts(first=first)
    if wrong := [name for name in reviewers if name != name.strip() or review_answers.wrong_name(name)]:
        raise ToolkitError(f"{wrong[0]!r} is no name of a reviewer", "1 to 100 characters, no blanks around them")
    if len(set(reviewers)) < len(reviewers):
        raise ToolkitError("a reviewer is named twice", "name each once")
    if changed := [state for state in build.states()[: build.config.step_number(step)] if not state.is_done]:
        what = f"the step {changed[0].step.name} is not up to date ({changed[0].state})"
        raise ToolkitError(f"{what}: reviewers would see outdated items", f"`tandem build run {build.path} {step}` comes first")
    review = review_of(build, step, form)
    # by key, which is a digest: the order of items tells nothing either
    sheets = sorted((review.unsettled if to_settle else review.unanswered)[:first])
    if not sheets:
        what = "no answers to settle" if to_settle else "no items that wait for reviewers"
        raise ToolkitError(f"the step {step} has {what}", f"`tandem build review status {build.path}` says how far it is")
    items = {sheet.key: sheet.id for sheet in sheets}
    export = review_answers.Export(
        step, review.form.name, review.form.sha256, review.form_source, review.seed, tuple(reviewers), to_settle, items
    )
    page = render(review.form, sheets, export)
    review_answers.write_export(build.path, export)  # first: what is handed out can be taken back
    write_text(Path(output), page)
    return len(sheets)


def import_review(build: BuildFolder, files: Sequence[str | Path]) -> review_answers.Imported:
    """Take reviewers' files into a build: all of them or, where there is a problem, none (ToolkitError with every problem)."""

    @cache
    def sheets_of(step: str) -> tuple[Form, Mapping[str, Sheet]]:
        if step not in build.config.names:
            hint = f"{did_you_mean(step, build.config.names)}known: {', '.join(build.config.names)}"
            raise ToolkitError(f"the files are of the step {step!r}, which the build has no more", hint)
        review = review_of(build, step)
        return review.form, review.sheets

    return review_answers.import_files(build.path, files, sheets_of)


def _form_of(build: BuildFolder, step: str, form: str) -> str:
    """The name or file of the one form that a step's items are looked at with: `form`, or what it was exported with. A form
    that goes by several names is one."""
    exports = [each for each in review_answers.exports_of(build.path) if each.step == step]
    names = [*filter(None, [form]), *(each.form_source for each in exports)]
    if not names:
        hint = f"`tandem build review export {build.path} --step {step} --form NAME --output F` hands it out"
        raise ToolkitError(f"the step {step} is none of review", hint)
    forms: dict[str, str] = {}
    for name in names:
        with suppress(ToolkitError):  # one that is not there any more does no harm beside one that is
            forms.setdefault(find_form(name, build.path).sha256, name)
    if len(forms) > 1:
        files = [f"{each.form_source}: {build.path}/{review_answers.FOLDER}/exports/{each.digest}.json" for each in exports]
        hint = "all answers to a step are to one form: delete the exports of the other"
        raise ToolkitError(f"the step {step} has the forms {', '.join(forms.values())}", hint, problems=files)
    return form or [*forms.values(), *names][0]


def render(form: Form, sheets: Sequence[Sheet], export: review_answers.Export) -> str:
    """The page as HTML. Raises ToolkitError where it would be larger than pages are."""
    from markupsafe import Markup

    style = _file(Path(pages.__file__).parent / "page.css") + _file(FOLDER / "review_page.css")
    script = _file(FOLDER / "review_page.js")
    page = pages.template(FOLDER, "review_page.html").render(
        title=form.title,
        introduction=form.introduction,
        form=form.name,
        export=export.digest,
        version=__version__,
        style=Markup(style),
        style_sha256=_source(style),
        script=Markup(script),
        script_sha256=_source(script),
        data=Markup(pages.script_json(_data(form, sheets, export))),
    )
    if len(page.encode()) > pages.LIMIT:
        message = f"the page would have {len(page.encode()) / 1e6:.1f} MB with its {len(sheets):,} items"
        raise ToolkitError(message, "--first N exports a part of them")
    return page


def _data(form: Form, sheets: Sequence[Sheet], export: review_answers.Export) -> dict[str, Any]:
    options = [question.id for question in form.questions if question.options]
    items = []
    for sheet in sheets:
        choices = {name: [{"id": key, "text": text} for key, _, text in sheet.choices[name]] for name in options}
        items.append({"key": sheet.key, "texts": sheet.texts, "choices": choices})
    return {
        "export": export.digest,
        "form": form.name,
        "seed": export.seed,
        "reviewers": export.reviewers,
        "fields": [field["label"] for field in form.fields],
        "questions": [
            {"id": each.id, "text": each.text, "choices": list(each.choices) or None, "written": each.written}
            for each in form.questions
        ],
        "items": items,
    }


def _file(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The digest of an element's text by which a Content Security Policy names it: no other script or style counts."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
