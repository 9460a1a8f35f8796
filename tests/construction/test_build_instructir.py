"""The kind `instructir`: from seeds to a benchmark that is evaluated, against a scripted server."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import build_answers
import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from hypothesis import given
from hypothesis import strategies as st

import tandem_ir
from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.kinds import KINDS, kind_module, template
from toolkit.construction.kinds.instructir import STEPS, keywords
from toolkit.construction.steps import UNREADABLE

DOCS = [
    {"id": "d1", "title": "Knives", "text": "Sharpen a knife on a wet stone."},
    {"id": "d2", "text": "Moss grows where mowing is low and light is scarce."},
    {"id": "d3", "text": ""},
    {"id": "d5", "text": "Too long." * 30},
    {"id": "d6", "text": "Too short."},
]
SHORT_SEEDS = {"shortest": 20, "longest": 40, "shortest_document": 30, "longest_document": 100}
TOPICS = [
    ("q1", "how to sharpen a knife"),
    ("q2", "why is there moss in the lawn"),
    ("q3", "How to sharpen  a knife"),
    ("q4", "knives"),
    ("q5", "which moss is the best of all"),
    ("q6", "what is in an empty document"),
    ("q7", "what has no relevant document at all"),
    ("q8", "a query of far too many characters for this"),
    ("q9", "which document is too long"),
    ("q10", "which document is too short"),
]
QRELS = [("q1", "d1"), ("q2", "d2"), ("q3", "d1"), ("q4", "d1"), ("q5", "d1"), ("q5", "d2"), ("q6", "d3"), ("q8", "d1")]
QRELS += [("q9", "d5"), ("q10", "d6")]


@pytest.fixture
def folder(tmp_path, home):
    """A build over three documents."""
    place = tmp_path / "mine"
    assert tandem("build", "new", "instructir", place).returncode == 0
    (place / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    (place / "topics.tsv").write_text("".join(f"{query_id}\t{text}\n" for query_id, text in TOPICS))
    (place / "qrels.txt").write_text("".join(f"{query_id} 0 {doc_id} 1\n" for query_id, doc_id in QRELS))
    seeds = {"docs": "docs.jsonl", "topics": "topics.tsv", "qrels": "qrels.txt"}
    change(place, seeds=seeds, models=build_answers.MODELS, steps={})
    return place


def change(folder, **keys):
    """Other keys of build.yaml; the step `seeds` takes short documents unless something else is said."""
    path = folder / "build.yaml"
    content = yaml.safe_load(path.read_text()) | keys
    content["steps"] = {"seeds": SHORT_SEEDS, **content["steps"]}
    path.write_text(yaml.safe_dump(content))


def run(folder, script, *arguments, status=0):
    env = {**os.environ, "OPENAI_BASE_URL": script.base}
    done = tandem("build", "run", folder, *arguments, env=env)
    assert done.returncode == status, done.stderr
    return done


def items(folder, step):
    return {item.id: item for item in BuildFolder(folder).steps().items(step)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_that_a_kind_begins_with_names_its_steps_with_their_defaults(kind, tmp_path, home):
    content = yaml.safe_load(template(kind))
    known = {step.name: step for step in kind_module(kind).STEPS}
    assert list(content["steps"]) == [name for name in known if name in content["steps"]]
    assert set(known) - set(content["steps"]) <= {name for name, step in known.items() if step.optional}
    for name, row in content["steps"].items():
        defaults = known[name]().parameters()
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in defaults.items()}
        usual = (row or {}) | said_to_be_usual(template(kind), name)
        assert usual or row is not False, name
        assert {key: plain[key] for key in usual} == usual, name


def said_to_be_usual(text, step):
    """The parameters that a comment has above a step where the example needs others."""
    comment = re.search(rf"^  # ({step}:.*(?:\n  #   .*)*)(?:\n  # .*)?\n  {step}:", text, re.MULTILINE)
    return yaml.safe_load(comment[1].replace("\n  # ", "\n"))[step] if comment else {}


def test_seeds_are_queries_of_a_length_with_one_relevant_document_that_has_a_text(folder):
    BuildFolder(folder).run("seeds")
    assert {name: item.rejected for name, item in items(folder, "seeds").items()} == {
        "q1": "",
        "q2": "",
        "q3": "the query of an earlier seed",
        "q4": "fewer than 20 characters",
        "q5": "several relevant documents",
        "q6": "no text of its document",
        "q7": "no relevant document",
        "q8": "more than 40 characters",
        "q9": "its document has more than 100 characters",
        "q10": "its document has fewer than 30 characters",
    }
    fields = {"query": "how to sharpen a knife", "document": "d1", "title": "Knives", "text": DOCS[0]["text"]}
    assert items(folder, "seeds")["q1"].fields == fields
    change(folder, steps={"seeds": {**SHORT_SEEDS, "most": 1, "longest": 100}})
    BuildFolder(folder).run("seeds")
    assert [name for name, item in items(folder, "seeds").items() if not item.rejected] == ["q1"]
    assert items(folder, "seeds")["q8"].rejected == "more than 1 queries"


def test_from_seeds_to_a_benchmark_that_is_evaluated(folder, tmp_path):
    change(folder, steps={"groups": {"smallest": 2}})
    with serving(Script(build_answers.answer)) as script:
        run(folder, script)
        asked = len(script.bodies)
        run(folder, script)
        assert len(script.bodies) == asked
    counts = {state.step.name: state.record for state in BuildFolder(folder).states()}
    assert (counts["scenarios"].entered, counts["scenarios"].left) == (2, 20)
    scores = Counter(item.fields["score"] for item in items(folder, "fit").values())
    assert counts["fit"].figures == {"score": {str(score): scores[score] for score in range(1, 6)}}
    assert counts["fit"].left == scores[4] + scores[5]
    assert counts["choice"].entered == counts["fit"].entered == counts["targets"].left
    for item in items(folder, "choice").values():
        assert (item.rejected == "") == (item.fields["chosen"] == item.id)
        query = item.id.rpartition("_")[0]
        written = [name for name, each in items(folder, "targets").items() if each.is_passed and name.startswith(f"{query}_")]
        assert sorted(item.fields["candidates"]) == sorted(written)  # also those that filter one rejected
    out = tmp_path / "out"
    assert tandem("build", "benchmark", folder, "--to", out).returncode == 0
    checked = tandem("benchmarks", "check", out)
    assert checked.returncode == 0, checked.stderr
    rows = [json.loads(line) for line in (out / "provenance.jsonl").read_text().splitlines()]
    made = {row["id"]: row["made"] for row in rows}
    groups = [item for item in items(folder, "groups").values() if not item.rejected]
    both = {name for name, item in items(folder, "fit").items() if item.is_passed} & {
        name for name, item in items(folder, "choice").items() if item.is_passed
    }
    assert {item.id for item in groups} == both
    assert {step["step"] for step in made[groups[0].id]} == {"scenarios", "targets", "fit", "choice", "groups"}
    topics = [json.loads(line) for line in (out / "topics.all.jsonl").read_text().splitlines()]
    assert [topic["query_id"] for topic in topics] == [item.id for item in groups]
    assert topics[0]["text"] == f"{groups[0].fields['scenario']} [SEP] {groups[0].fields['query']}"
    first = json.loads((out / "topics.query-first.jsonl").read_text().splitlines()[0])
    assert first["text"] == f"{groups[0].fields['query']} [SEP] {groups[0].fields['scenario']}"
    assert {topic["query_id"] for topic in topics} <= set(made)
    ids = [json.loads(line)["id"] for line in (out / "corpus.jsonl").read_text().splitlines()]
    assert ids == [*(item.id for item in groups), "d5", "d6"]  # the documents of seeds without a group are noise
    run_file = tmp_path / "run.trec"
    lines = [
        f"{query} Q0 {doc} 1 1 mine\n" for query, _, doc, _ in map(str.split, (out / "qrels.txt").read_text().splitlines())
    ]
    run_file.write_text("".join(lines))
    scored = tandem("evaluate", run_file, "--benchmark", out, "--format", "json")
    assert scored.returncode == 0, scored.stderr
    assert "Robustness@10" in scored.stdout
    assert tandem("evaluate", run_file, "--benchmark", out).stdout.splitlines()[0].split() == [
        "group",
        "Robustness@10",
        "nDCG@10",
    ]
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert tandem("build", "benchmark", folder, "--to", out).returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_filter_one_sees_query_and_passage_alone(folder):
    with serving(Script(build_answers.answer)) as script:
        run(folder, script, "fit")
    texts = [body["messages"][-1]["content"] for body in script.bodies]
    asked = [text for text in texts if "How relevant is the passage" in text]
    scenarios = [item.fields["scenario"] for item in items(folder, "targets").values()]
    assert len(asked) == len(scenarios)
    assert not any(scenario in text for text in asked for scenario in scenarios)


def test_passages_of_seeds_without_a_group_are_noise_and_rejected_targets_are_not(folder, tmp_path):
    with (folder / "docs.jsonl").open("a") as file:
        file.write(json.dumps({"id": "d4", "title": "Lawns", "text": "Rake it in spring."}) + "\n")
    with (folder / "topics.tsv").open("a") as file:
        file.write("q11\tlawn care\n")
    with (folder / "qrels.txt").open("a") as file:
        file.write("q11 0 d4 1\n")
    change(folder, steps={"groups": {"smallest": 2}})
    with serving(Script(build_answers.answer)) as script:
        run(folder, script)
    assert items(folder, "seeds")["q11"].rejected == "fewer than 20 characters"
    assert tandem("build", "benchmark", folder, "--to", tmp_path / "out").returncode == 0
    docs = [json.loads(line) for line in (tmp_path / "out" / "corpus.jsonl").read_text().splitlines()]
    kept = [item.id for item in items(folder, "groups").values() if item.is_passed]
    assert len(kept) < len(items(folder, "targets"))
    assert [doc["id"] for doc in docs] == [*kept, "d5", "d6", "d4"]
    assert docs[-1]["text"] == "Rake it in spring."


def test_from_python(folder, tmp_path, monkeypatch):
    change(folder, steps={"groups": {"smallest": 2}})
    with serving(Script(build_answers.answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        build = tandem_ir.Build(folder)
        table = build.run(concurrency=4)
    assert list(table["step"]) == [step.name for step in STEPS if not step.optional]
    assert set(table["state"]) == {"up to date"}
    assert table["left"][1] == 20
    assert table["rejected"][0]["the query of an earlier seed"] == 1
    assert [row["step"] for row in build.show("q1_1")][:2] == ["seeds", "scenarios"]
    benchmark = build.benchmark(tmp_path / "out")
    assert benchmark.groups == ("all", "paraphrases", "query-first")
    assert all(topic.group_id in ("q1", "q2") for topic in benchmark.topics("all"))
    with pytest.raises(tandem_ir.ToolkitError, match="is there already"):
        tandem_ir.Build.new("instructir", folder)
    assert tandem_ir.Build.new("instructir", tmp_path / "new").status()["state"][0] == "not run"


def test_a_target_with_the_words_of_its_scenario_is_rejected_where_that_is_asked_for(folder):
    def answer(messages):
        text = messages[-1]["content"]
        if "types exactly this query" in text:
            return json.dumps(["Being a butcher, I want quick daily honing."] + [f"Person {n}." for n in range(9)])
        return "A butcher hones daily; honing is quick."

    with serving(Script(answer)) as script:
        run(folder, script, "targets")
        assert not any(item.rejected for item in items(folder, "targets").values())
        change(folder, steps={"targets": {"most_keywords": 2}})
        run(folder, script, "targets")
    first, second, *_ = items(folder, "targets").values()
    assert first.rejected == "more than 2 keywords of the scenario"
    assert first.fields["keywords"] == ["butcher", "daily", "honing", "quick"]
    assert second.rejected == ""


def test_both_filters_are_asked_of_all_targets_and_counted_on_the_same_base(folder):
    """Filter one refuses the targets of three scenarios, filter two picks the right one of all but one of the others."""
    change(folder, steps={"groups": {"smallest": 2}})
    judged = []

    def answer(messages):
        text = messages[1]["content"]
        if "How relevant is the passage" in text:
            judged.append(text)
            return "3" if len(judged) <= 3 else "4"
        return build_answers.answer(messages)

    with serving(Script(answer)) as script:
        run(folder, script, "--concurrency", "1")
        asked = [body["messages"][1]["content"] for body in script.bodies]
    assert sum("Which passage serves" in text for text in asked) == len(judged) == 20
    refused = [name for name, item in items(folder, "fit").items() if item.rejected]
    groups = items(folder, "groups")
    assert len(refused) == 3
    assert {groups[name].rejected for name in refused if name in groups} == {"filter one has not passed it"}
    kept = {name for name, item in items(folder, "choice").items() if item.is_passed} - set(refused)
    assert {name for name, item in groups.items() if item.is_passed} == kept
    assert all(item.fields["score"] == 4 for item in groups.values() if item.is_passed)
    lines = [line.split() for line in tandem("build", "status", folder).stdout.splitlines()]
    funnel = {line[0]: line[1:] for line in lines if "16,157" in line or (len(line) == 5 and "," in line[3])}
    shares = {"fit": ["15,669", "0.9698"], "choice": ["11,992", "0.7422"], "groups": ["9,906", "0.6131"]}
    assert {step: funnel[step][2:] for step in shares} == shares
    passed = {"fit": 17, "choice": sum(item.is_passed for item in items(folder, "choice").values()), "groups": len(kept)}
    assert {step: funnel[step][:2] for step in shares} == {step: [str(n), f"{n / 20:.4f}"] for step, n in passed.items()}


def test_answers_in_the_forms_of_the_papers_prompts_are_read(folder):
    """Figures 4, 5, 7 and 8: labels, [END] and tags in place of JSON, bare texts and numbers."""

    def answer(messages):
        text, said = messages[1]["content"], build_answers.answer(messages)
        if "types exactly this query" in text:
            return "".join(f"Scenario {number}: {one} [END]\n" for number, one in enumerate(json.loads(said), 1))
        if "How relevant is the passage" in text:
            return f"<Explanation>\nIt fits.\n</Explanation>\n<Score>\n{said}\n</Score>"
        if "Which passage serves" in text:
            return f"<Explanation>\n[1] is short.\n</Explanation>\n<Ranking>\n[{said}]\n</Ranking>"
        return said

    with serving(Script(build_answers.answer)) as script:
        run(folder, script, "groups")
    expected = {name: item.fields for name, item in items(folder, "groups").items()}
    with serving(Script(answer)) as script:
        change(folder, models={"writer": "http:writer", "judge": "http:judge"})
        run(folder, script, "groups")
        assert len(script.bodies) == 2 + 20 * 3  # none was asked for once more
    assert {name: item.fields for name, item in items(folder, "groups").items()} == expected
    assert {step.name: step.published["prompt"] for step in STEPS if getattr(step, "published", None)} == {
        "scenarios": "instructir-figure4",
        "targets": "instructir-figure5",
        "fit": "instructir-figure7",
        "choice": "instructir-figure8",
    }


def by_label(messages):
    """Answers to the paper's prompts, which are known by the labels that answers are to have."""
    text = messages[-1]["content"]
    if "Scenario 10:" in text:
        return "".join(f"Scenario {n}: I am number {n} who asks: {text.rpartition(': ')[2]} [END]\n" for n in range(1, 11))
    if "REVISED DOCUMENT:" in text:
        said, _, document = text.rpartition("SCENARIO: ")[2].partition("\nDOCUMENT: ")
        return f"PLAN: mark it. [END]\nREVISED DOCUMENT: {document} <{said}> [END]"
    if "<Score>" in text:
        return "<Explanation>It is relevant.</Explanation>\n<Score>4</Score>"
    said = build_answers.part(text, "[SCENARIO]", "[QUERY]")
    shown = re.findall(r"^\[(\d+)\] .*?<(.*?)>$", text, re.MULTILINE)
    return f"<Explanation>[1] is none.</Explanation>\n<Ranking>{next(n for n, mark in shown if mark == said)}</Ranking>"


PAPER = Path(__file__).resolve().parents[3] / "shared" / "papers" / "instructir.txt"


@pytest.mark.skipif(not PAPER.is_file(), reason="no shared data beside the checkout")
def test_the_papers_prompts_build_a_benchmark(folder, tmp_path):
    change(folder, steps={"paraphrases": {"count": 1}})
    tandem("published", "prompts", "instructir", "--from", PAPER, "--to", tmp_path / "prompts", check=True)
    with serving(Script(lambda messages: by_label(messages) if len(messages) == 2 else "?")) as script:
        run(folder, script, "groups", "--prompts", tmp_path / "prompts")
    made = {
        step: {row.get("prompt_of") for item in items(folder, step).values() for row in item.made}
        for step in ("scenarios", "targets", "fit", "choice")
    }
    assert made == {step: {f"paper (InstructIR, figure {n})"} for step, n in zip(made, (4, 5, 7, 8), strict=True)}
    assert len([item for item in items(folder, "groups").values() if item.is_passed]) == 20


SEEDS = Path(__file__).resolve().parents[3] / "shared" / "data" / "msmarco-seeds"


@pytest.mark.skipif(not SEEDS.is_dir(), reason="no shared data beside the checkout")
def test_of_the_released_seeds_the_queries_are_within_the_papers_bounds_and_no_passage_is(folder):
    seeds = {"docs": str(SEEDS / "corpus.jsonl"), "topics": str(SEEDS / "topics.tsv"), "qrels": str(SEEDS / "qrels.txt")}
    change(folder, seeds=seeds, steps={"seeds": {"longest_document": 10_000}})
    [state] = BuildFolder(folder).run("seeds")
    assert (state.record.left, state.record.rejected) == (923, {"its document has fewer than 255 characters": 820})
    change(folder, steps={"seeds": {}})
    with pytest.raises(tandem_ir.ToolkitError, match=r"more than 371 characters \(923\); .* fewer than 255 characters \(820\)"):
        BuildFolder(folder).run("seeds")


def test_a_choice_beyond_the_targets_shown_is_asked_for_once_more(folder):
    def answer(messages):
        if "Which passage serves" not in messages[1]["content"]:
            return build_answers.answer(messages[:2])
        return "99" if len(messages) == 2 else build_answers.choice(messages[1]["content"])

    with serving(Script(answer)) as script:
        run(folder, script, "choice")
    record = BuildFolder(folder).states()[4].record
    assert record.asked["judge"].requests == 2 * record.entered
    assert UNREADABLE not in record.rejected
    assert record.left > 0


@given(st.text(), st.text())
def test_keywords_are_words_of_the_scenario_alone(scenario, known):
    found = keywords(scenario, known)
    assert all(len(word) >= 4 and word in scenario.casefold() for word in found)
    assert not found & keywords(known, "")
    assert keywords(scenario, scenario) == set()


def test_groups_that_are_too_small_go_and_one_scenario_of_each_is_reworded(folder):
    change(folder, steps={"groups": {"smallest": 11}})
    with serving(Script(build_answers.answer)) as script:
        run(folder, script, status=1)
    assert not any(item.is_passed for item in items(folder, "groups").values())
    done = tandem("build", "benchmark", folder, "--to", folder / "out")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: the steps left no query")
    change(folder, steps={"groups": {"smallest": 2}, "paraphrases": {"count": 3}})
    with serving(Script(build_answers.answer)) as script:
        run(folder, script)
    reworded = items(folder, "paraphrases")
    groups = items(folder, "groups")
    assert len(reworded) == 6
    for name, item in reworded.items():
        assert item.sources == (name.rpartition(".")[0],)
        assert groups[item.sources[0]].is_passed


def test_status_and_show_tell_what_happened(folder):
    with serving(Script(build_answers.answer)) as script:
        run(folder, script, "fit")
    status = tandem("build", "status", folder)
    lines = [line.split("  ") for line in status.stdout.splitlines()]
    assert lines[0][0] == "step"
    assert any(line[0] == "seeds" for line in lines)
    assert "the query of an earlier seed" in status.stdout
    assert "not run" in status.stdout
    assert "16,157" in status.stdout
    assert "15,669  0.9698" in status.stdout
    assert "fit: score" in status.stdout
    shown = tandem("build", "show", folder, "q1_3")
    assert shown.stdout.startswith("seeds: q1 (ancestor)\n  query: how to sharpen a knife\n")
    assert "\nscenarios: q1_3\n" in shown.stdout
    assert "wrote by gpt-4o, prompt build-scenarios.v2 (" in shown.stdout
    rows = [json.loads(line) for line in tandem("build", "show", folder, "q1", "--format", "json").stdout.splitlines()]
    assert {row["relation"] for row in rows} == {"itself", "descendant"}
    assert sum(row["step"] == "scenarios" for row in rows) == 10
    dry = tandem("build", "run", folder, "--dry-run")
    assert dry.stdout.splitlines()[-1] == "paraphrases (other wordings of one scenario of each query): not run"


def test_what_is_wrong_on_the_command_line_is_one_line(folder, tmp_path):
    for arguments, message in (
        (("new", "instructr", tmp_path / "x"), "error: no kind 'instructr'"),
        (("new", "instructir", folder), f"error: {folder / 'build.yaml'} is there already"),
        (("run", tmp_path / "none"), f"error: no folder {tmp_path / 'none'}"),
        (("status", tmp_path), f"error: {tmp_path} has no build.yaml"),
        (("benchmark", folder, "--to", tmp_path / "out"), "error: the step seeds is not done: not run"),
    ):
        done = tandem("build", *arguments)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, message)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_was_not_built_is_not_replaced(folder, tmp_path):
    with serving(Script(build_answers.answer)) as script:
        change(folder, steps={"groups": {"smallest": 2}})
        run(folder, script)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    done = tandem("build", "benchmark", folder, "--to", tmp_path / "out")
    assert done.stderr.splitlines()[0] == f"error: {tmp_path / 'out'} is there and was not built"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_seeds_may_be_a_benchmark_or_a_folder(tmp_path, home):
    place = tmp_path / "mini"
    assert tandem("build", "new", "instructir", place).returncode == 0
    assert BuildFolder(place).run("seeds")[0].record.left == 12
    change(place, steps={"seeds": dict(zip(build_answers.ANY_SEEDS, (24, 40, 255, 371), strict=True))})
    with pytest.raises(tandem_ir.ToolkitError, match=r"no query is left: the query of an earlier seed \(60\)"):
        BuildFolder(place).run("seeds")
    change(place, steps={"seeds": build_answers.ANY_SEEDS})
    states = BuildFolder(place).run("seeds")
    assert (states[0].record.entered, states[0].record.left) == (72, 12)
    change(place, seeds={"benchmark": "instructir-mni"})
    done = tandem("build", "status", place)
    assert "seeds: no benchmark 'instructir-mni' (did you mean 'instructir-mini'?" in done.stderr


def test_every_step_says_what_it_does():
    assert all(step.about and step.__doc__ for step in STEPS)
