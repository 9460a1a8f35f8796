"""A small build that people review: a kind whose first step reads items from a file, and whose second one is a review."""

import json
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import pytest

from toolkit.construction import kinds
from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.review.review_step import ReviewStep
from toolkit.construction.steps import Item, Step

FORM = {
    "title": "Kettles",
    "introduction": "Read first.",
    "fields": [{"name": "query", "label": "Query"}, {"name": "instruction", "label": "Instruction"}],
    "questions": [
        {
            "id": "valid",
            "text": "Would somebody say it?",
            "choices": [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}],
            "accepted": ["yes"],
            "reason": "people find it invalid",
        },
        {
            "id": "best",
            "text": "Which passage?",
            "options": "passages",
            "right": "target",
            "accepted": ["right"],
            "reason": "another passage",
        },
    ],
}
WRITTEN = {**FORM, "questions": [FORM["questions"][0], {"id": "better", "text": "Say it better.", "written": True}]}
PASSAGES = [
    {"id": "gold-doc", "text": "descale with vinegar"},
    {"id": "neg-1", "text": "a red one"},
    {"id": "neg-2", "text": "boil eggs"},
]


@dataclass(frozen=True)
class Given(Step):
    """Items from `items.json` in the build's folder."""

    name: ClassVar[str] = "given"

    def files(self, folder):
        return [folder / "items.json"]

    def run(self, items, tools):
        for row in json.loads((tools.folder / "items.json").read_text()):
            yield Item(row["id"], row["fields"])


@dataclass(frozen=True)
class Last(Step):
    """Passes on what it is given."""

    name: ClassVar[str] = "last"

    def run(self, items, tools):
        return [item.passed() for item in items]


def fields(number):
    return {
        "query": f"kettle {number}",
        "instruction": f"I have lime scale {number}",
        "passages": PASSAGES,
        "target": "gold-doc",
    }


@pytest.fixture
def kettles(tmp_path, monkeypatch):
    """`kettles(count, **review)`: a build of so many items that was run up to its review."""
    module = ModuleType("toolkit.construction.kinds.kettles")
    module.STEPS = (Given, ReviewStep, Last)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(kinds.KINDS, "kettles", "for tests")

    def made(count=3, form=FORM, /, **review):
        folder = tmp_path / "kettles"
        folder.mkdir(exist_ok=True)
        steps = {"review": {"form": "form.yaml", "reviewers": 2, **review}}
        config = {"kind": "kettles", "seeds": {"benchmark": "infosearch-mini"}, "steps": steps}
        for name, content in (("build.yaml", config), ("form.yaml", form)):
            (folder / name).write_text(json.dumps(content))
        rows = [{"id": f"k{number}-gold", "fields": fields(number)} for number in range(count)]
        (folder / "items.json").write_text(json.dumps(rows))
        build = BuildFolder(folder)
        build.run()
        return build

    return made


def page_data(path):
    """What a page holds."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])


def saved(data, reviewer, choose, *, written=False, **more):
    """The file that a reviewer's page saves: `choose(texts, question)` gives the text of what is chosen, or what is written."""
    rows = []
    for item in data["items"]:
        choices = {}
        for question in data["questions"]:
            if written:
                choices[question["id"]] = choose(item["texts"], question["id"])
                continue
            known = {choice["text"]: choice["id"] for choice in question["choices"] or item["choices"][question["id"]]}
            choices[question["id"]] = known[choose(item["texts"], question["id"])]
        rows.append({"item": item["key"], "choices": choices, "comment": ""})
    return {"tandem_review": 1, "export": data["export"], "form": data["form"], "reviewer": reviewer, "answers": rows, **more}


def agreeing(texts, question):
    """Answers with which every item passes."""
    return {"valid": "Yes", "best": "descale with vinegar"}[question]


def write_saved(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
