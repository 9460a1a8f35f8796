"""InstructIR's review by people, from the items that a scripted server wrote to a benchmark that says who judged it."""

import json
from collections import Counter

import build_answers
import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from review_builds import page_data, write_saved

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.queries.target_filters import Review
from toolkit.construction.steps import Item

DOCS = ["Sharpen a knife on a wet stone.", "Moss grows where mowing is low and light is scarce."]
QUERIES = ["how to sharpen a knife", "why is there moss in the lawn"]


@pytest.fixture
def build(tmp_path, home, monkeypatch):
    """A build of two queries, of which every item waits for one reviewer."""
    place = tmp_path / "mine"
    assert tandem("build", "new", "instructir", place).returncode == 0
    (place / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(DOCS)))
    (place / "topics.tsv").write_text("".join(f"q{n}\t{text}\n" for n, text in enumerate(QUERIES)))
    (place / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(2)))
    steps = {
        "seeds": build_answers.ANY_SEEDS,
        "review": {"reviewers": 1, "share": 1.0, "instances": 10},
        "groups": {"smallest": 2},
    }
    content = yaml.safe_load((place / "build.yaml").read_text())
    content |= {"seeds": {"docs": "docs.jsonl", "topics": "topics.tsv", "qrels": "qrels.txt"}, "steps": steps}
    content["models"] = build_answers.MODELS
    (place / "build.yaml").write_text(yaml.safe_dump(content))
    with serving(Script(build_answers.answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        assert tandem("build", "run", place).returncode == 0
        yield BuildFolder(place)


def items(build, step):
    return {item.id: item for item in build.steps().items(step)}


def test_people_see_the_scenario_and_targets_of_its_query_alone(build, tmp_path):
    reviewed = items(build, "review")
    assert len(reviewed) > 4
    assert all(item.waiting or item.rejected for item in reviewed.values())
    for item in reviewed.values():
        shown = [passage["id"] for passage in item.fields["passages"]]
        assert item.fields["right_passage"] in shown
        assert len(shown) == 3
        assert {name.rpartition("_")[0] for name in shown} == {item.id.rpartition("_")[0]}
    assert (
        tandem("build", "review", "export", build.path, "--step", "review", "--output", tmp_path / "form.html").returncode == 0
    )
    for sheet in page_data(tmp_path / "form.html")["items"]:
        assert sheet["texts"][1] in {item.fields["scenario"] for item in reviewed.values()}


def drawn(queries, **parameters):
    """Query -> how many of its five scenarios people see."""
    items = [Item(f"q{query}_{number}", {"target": f"text {number}"}) for query in range(queries) for number in range(1, 6)]
    step = Review(**parameters)
    prepared = list(step.prepared(items))
    assert [item.id for item in prepared] == [item.id for item in items]
    return Counter(item.id.partition("_")[0] for item in prepared if step.is_reviewed(item))


def test_people_see_two_scenarios_of_eight_percent_of_the_queries_rounded_up():
    counts = drawn(100)
    assert (len(counts), set(counts.values())) == (8, {2})
    assert drawn(100) == counts != drawn(100, seed=1)
    assert (len(drawn(3)), set(drawn(10, share=1.0, instances=9).values())) == (1, {5})


def test_what_people_let_pass_becomes_the_benchmark_and_says_so(build, tmp_path):
    form = tmp_path / "form.html"
    assert tandem("build", "review", "export", build.path, "--step", "review", "--output", form).returncode == 0
    data = page_data(form)
    targets = {item.fields["scenario"]: item.fields["target"] for item in items(build, "review").values()}
    rows = []
    for number, item in enumerate(data["items"]):
        best = next(one["id"] for one in item["choices"]["passage"] if one["text"] == targets[item["texts"][1]])
        choices = {"valid": "no" if number == 0 else "yes", "natural": "yes", "passage": best}
        rows.append({"item": item["key"], "choices": choices})
    content = {"tandem_review": 1, "export": data["export"], "form": data["form"], "reviewer": "Ada", "answers": rows}
    done = tandem("build", "review", "import", build.path, write_saved(tmp_path / "form.Ada.json", content))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"{len(rows)} answers by Ada; 0 were there already\n")
    assert tandem("build", "run", build.path).returncode == 0
    record = build.files["review"].record()
    assert (record.waiting, record.left) == (0, len(rows) - 1)
    assert record.rejected == {"people find that nobody who searches would say the instruction": 1}
    status = tandem("build", "review", "status", build.path, "--format", "json")
    assert (status.returncode, status.stderr) == (0, "")
    assert "top-1 accuracy" in status.stdout
    out = tmp_path / "out"
    assert tandem("build", "benchmark", build.path, "--to", out).returncode == 0
    made = [json.loads(line)["made"] for line in (out / "provenance.jsonl").read_text().splitlines()]
    judged = [step for rows in made for step in rows if step["step"] == "review"]
    assert judged
    assert {(step["role"], step["by"], step["prompt"]) for step in judged} == {("judged", "person", "instructir-quality")}


def test_a_build_of_which_nothing_is_reviewed_says_so(tmp_path, home):
    assert tandem("build", "new", "instructir", tmp_path / "mine").returncode == 0
    done = tandem("build", "review", "status", tmp_path / "mine")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: nothing of {tmp_path / 'mine'} is reviewed")
