"""BERDS' kind: from arguments, statements, answers and surveys to questions whose perspectives `evaluate` counts."""

import contextlib
import json
import os
import shutil
import unicodedata
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from hypothesis import given
from hypothesis import strategies as st
from review_builds import page_data, saved, write_saved

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.queries.contested_questions import FORMS, read_converted, read_question, read_source, statements
from toolkit.construction.review.review_rounds import export_review, import_review
from toolkit.construction.review.review_step import said_of
from toolkit.construction.steps import UNREADABLE, Item
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load
from toolkit.models.llm.paper_prompts import write_prompts

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "papers"
ZOO = "Zoos protect species that are hunted elsewhere, and teach the children of a city what lives on earth beside them."
DOCS = {
    "z1": f"{ZOO} [for]",
    "z2": "An animal that cannot roam suffers in a zoo, however large its cage may be, and however kind the keeper. [against]",
    "z3": f"{ZOO} [for]!",  # near z1
    "t1": "A tax on sugar makes teeth and hearts better, and children drink water where lemonade costs more. [for]",
    "t2": "A tax on sugar takes most from those who have least, and nobody has become thinner by it. [against]",
    "n1": "The weather will be fine tomorrow, with some clouds in the north and a light wind from the sea.",
}
ROWS = {
    "arguments": [{"id": "zoo", "argument": "Zoos save species.", "counter": "Cages hurt."}],
    "statements": [
        {"id": "tax", "statement": "Tax sugar [for]."},
        {"id": "sides", "statements": ["Sugar harms.", "Sugar cheers.", "Sugar feeds."]},
        {"id": "given", "question": "Is rain good?", "statements": ["Rain is good.", "Rain is bad."]},
    ],
    "answers": [{"question": "What is tea for?", "answers": ["waking", "sleeping", "nothing"]}],
    "survey": [
        {"id": "s1", "question": "Should schools serve lemonade?", "choices": ["yes", "no", "no opinion"]},
        {"id": "s2", "question": "How often do you drink lemonade?", "choices": ["daily", "never"]},
    ],
}
# a phrase of the last prompt -> what is answered
ANSWERS = {
    "Argument: Zoos save species.": "Should there be zoos?",
    "Question: Should there be zoos?": "Statement: Zoos should exist [for].\nNegation: Zoos should close [against].",
    "Claim: Tax sugar [for].": "Question: Should sugar be taxed?",
    "One side: Tax sugar [for].": "Do not tax sugar [against].",
    "side by side": "What is sugar?",
    "Answers:\n": "1. Tea wakes [for].\n2. Tea calms [against].\n3. Tea does nothing [none].",
    "of the survey: ": "Should schools serve lemonade?\nSchools should [for].\nSchools should not [against].",
}
RUN = {
    "arguments-zoo": ["z1", "z3", "z2", "n1"],
    "statements-tax": ["t1", "t2"],
    "statements-sides": ["n1"],
    "answers-1": ["z3", "t2"],  # z3 is a copy of z1, which was not found for it
    "survey-s1": ["n1", "t1"],
}


def prompt_of(messages):
    """What was asked, behind examples: a repair follows it."""
    asked = [message["content"] for message in messages if message["role"] == "user"]
    return next(text for text in reversed(asked) if not text.startswith("That is not in the form asked for"))


def written(messages):
    """What the scripted model answers: a passage holds a perspective that ends in the same mark."""
    text = prompt_of(messages)
    if "experience or facts" in text:
        return "Yes." if "do you drink" in text else "No"
    if "Document: " in text:
        document, statement = text.partition("Document: ")[2].split("\n\nStatement: ")
        mark = statement.partition("[")[2].partition("]")[0]
        return "Yes" if mark and f"[{mark}]" in document else "No"
    return next(said for cue, said in ANSWERS.items() if cue in text)


def build(folder, rows=ROWS, steps=MappingProxyType({}), docs=DOCS, run=RUN, **models):
    """A build over files, whose passages are those of a run."""
    folder.mkdir(exist_ok=True)
    for key, each in rows.items():
        (folder / f"{key}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in each))
    texts = [{"id": doc_id, "title": f"title {doc_id}", "text": text} for doc_id, text in docs.items()]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc, ensure_ascii=False) + "\n" for doc in texts))
    lines = [f"{query} Q0 {doc_id} {rank} {-rank} r" for query, found in run.items() for rank, doc_id in enumerate(found, 1)]
    (folder / "found.trec").write_text("\n".join(lines) + "\n")
    content = {
        "kind": "berds",
        "seeds": {"docs": "docs.jsonl", **{key: f"{key}.jsonl" for key in rows}},
        "models": {"writer": "http:writer", "judge": "http:judge", **models},
        "steps": {"passages": {"systems": [], "runs": ["found.trec"]}, **steps},
    }
    (folder / "build.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return folder


@pytest.fixture
def answered(home, monkeypatch):
    """A server with these answers, that builds ask."""
    with serving(Script(written)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        yield script


def reasons(folder, step):
    return {item.id: item.rejected for item in BuildFolder(folder).steps().items(step)}


def test_every_form_of_seeds_to_a_benchmark_that_is_scored(tmp_path, answered):
    folder, out = build(tmp_path / "b"), tmp_path / "out"
    for words in (("run", folder), ("benchmark", folder, "--to", out)):
        done = tandem("build", *words, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
    checked = tandem("benchmarks", "check", out)
    assert checked.returncode == 0, checked.stdout
    built = load(str(out))
    assert built.groups == ("arguments", "statements", "answers", "survey")
    [tea] = built.topics("answers")
    assert (tea.query, tea.condition, len(tea.perspectives)) == ("What is tea for?", "multi", 3)
    labels = {(row.query_id, row.iteration, row.doc_id): row.relevance for group in built.groups for row in built.qrels(group)}
    assert {pair for pair, label in labels.items() if label} == {
        ("arguments-zoo", "1", "z1"),
        ("arguments-zoo", "2", "z2"),
        ("statements-tax", "1", "t1"),
        ("statements-tax", "2", "t2"),
        ("answers-1", "1", "z1"),
        ("answers-1", "2", "t2"),
        ("survey-s1", "1", "t1"),
    }
    assert labels["answers-1", "3", "z1"] == 0  # a perspective that no passage holds counts, too
    assert {doc.doc_id for doc in built.docs("answers")} == {"z1", "z2", "t1", "t2", "n1"}
    run = tmp_path / "run.trec"
    found = {"arguments-zoo": ["z1", "z2"], "statements-tax": ["t1", "n1"], "answers-1": ["z1", "t2"], "survey-s1": ["t1"]}
    run.write_text("".join(f"{q} Q0 {d} {n} {-n} r\n" for q, docs in found.items() for n, d in enumerate(docs, 1)))
    scored = tandem("evaluate", run, "--benchmark", out, "--format", "json")
    assert scored.returncode == 0, scored.stderr
    values = {(row["group"], row["measure"]): row["value"] for row in json.loads(scored.stdout)["rows"]}
    assert {measure for _, measure in values} == set(load("berds-mini").spec.measures)  # without -m the paper's table
    assert values["arguments", "MRecall@5"] == 1.0
    assert values["statements", "MRecall@5"] == values["answers", "MRecall@5"] == values["survey", "MRecall@5"] == 0.0
    assert values["answers", "PerspectiveP@5"] == 2 / 5


def test_what_each_step_left_out(tmp_path, answered):
    folder = build(tmp_path / "b")
    BuildFolder(folder).run()
    assert {name: why for name, why in reasons(folder, "personal").items() if why} == {
        "survey-s2": "it asks for personal experience"
    }
    assert {name: why for name, why in reasons(folder, "passages").items() if why} == {
        "statements-given": "no passage was found"
    }
    duplicates = reasons(folder, "duplicates")
    assert {name for name, why in duplicates.items() if why} == {"arguments-zoo/z3", "answers-1/z3"}
    assert "answers-1/z1" in duplicates  # in place of its copy
    assert {name: why for name, why in reasons(folder, "covered").items() if why} == {
        "statements-sides": "fewer than 1 perspectives are held by a passage"
    }
    figures = {state.step.name: state.record.figures for state in BuildFolder(folder).states()}
    assert figures["covered"]["perspectives that no passage holds"] == {"0": 2, "1": 2, "3": 1}


def test_survey_questions_alone_are_asked_about_and_a_debate_with_its_question_is_taken_as_it_is(tmp_path, answered):
    folder = build(tmp_path / "b")
    BuildFolder(folder).run("perspectives")
    asked = [prompt_of(body["messages"]) for body in answered.bodies]
    assert sum("experience or facts" in text for text in asked) == 2
    assert not any("Rain" in text for text in asked)
    given = next(item for item in BuildFolder(folder).steps().items("perspectives") if item.id == "statements-given")
    assert (given.fields["question"], given.fields["perspectives"]) == ("Is rain good?", ["Rain is good.", "Rain is bad."])
    assert given.made == ()


def test_provenance_names_who_wrote_a_question_and_who_labelled_it(tmp_path, answered):
    BuildFolder(build(tmp_path / "b")).run()
    BuildFolder(tmp_path / "b").benchmark(tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "provenance.jsonl").read_text().splitlines()]
    made = {(row["role"], row["by"], row["step"]) for row in next(row for row in rows if row["id"] == "survey-s1")["made"]}
    assert {("filtered", "judge", "personal"), ("wrote", "writer", "questions"), ("judged", "judge", "label")} <= made


def test_everything_is_made_again_from_cached_answers_alone(tmp_path, answered):
    folder = build(tmp_path / "b")
    BuildFolder(folder).run()
    made = {path.name: path.read_bytes() for path in sorted((folder / "steps").glob("*.jsonl"))}
    count = len(answered.bodies)
    shutil.rmtree(folder / "steps")
    BuildFolder(folder).run(replay=True)
    assert {path.name: path.read_bytes() for path in sorted((folder / "steps").glob("*.jsonl"))} == made
    assert len(answered.bodies) == count


@pytest.mark.parametrize("answer", ["Zoos.", "Zoos? Perhaps.", "Zoos?\nCages?", "", "Question:"])
def test_a_question_in_another_form_is_rejected_and_never_guessed(tmp_path, answered, answer):
    answered.answer = lambda messages: answer
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]})
    BuildFolder(folder).run("questions")
    assert reasons(folder, "questions") == {"arguments-zoo": UNREADABLE}
    assert len(answered.bodies) == 2  # one repair


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Zoos are good.\n\nZoos are bad.", ""),
        ("1. **Statement:** Zoos are good.\n2. **Negation:** Zoos are bad.", ""),
        ("Statement: Zoos are good. Negation of the statement: Zoos are bad.", ""),
        ("Zoos are good.", UNREADABLE),
        ("Zoos are good.\nZoos are bad.\nZoos are closed.", UNREADABLE),
        ("Zoos are good.\nzoos are  good.", UNREADABLE),
        ("", UNREADABLE),
    ],
)
def test_a_statement_and_its_negation_are_read_with_labels_and_without(tmp_path, answered, answer, reason):
    answered.answer = lambda messages: "Zoos?" if "Argument:" in prompt_of(messages) else answer
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]})
    BuildFolder(folder).run("perspectives")
    [zoo] = BuildFolder(folder).steps().items("perspectives")
    assert (zoo.rejected, zoo.fields.get("perspectives")) == (reason, None if reason else ["Zoos are good.", "Zoos are bad."])


def test_arguments_take_two_calls_and_the_first_has_two_examples(tmp_path, answered):
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]})
    BuildFolder(folder).run("perspectives")
    question, sides = (body["messages"] for body in answered.bodies)
    assert [turn["role"] for turn in question] == ["system", *["user", "assistant"] * 2, "user"]
    assert "Cages hurt." not in str(sides)  # of the question alone
    [zoo] = BuildFolder(folder).steps().items("perspectives")
    assert zoo.fields["question"] == "Should there be zoos?"
    assert zoo.fields["perspectives"] == ["Zoos should exist [for].", "Zoos should close [against]."]


def test_a_survey_is_converted_by_its_choices_in_brackets_and_an_opinion_is_not_personal(tmp_path, answered):
    folder = build(tmp_path / "b", {"survey": ROWS["survey"]})
    BuildFolder(folder).run("questions")
    asked = [prompt_of(body["messages"]) for body in answered.bodies]
    brackets = "Should schools serve lemonade? ['yes', 'no', 'no opinion']"
    assert sum(brackets in text for text in asked) == 2  # of the filter, and of the conversion
    assert "Of the choices in brackets" in asked[-1]
    [item] = BuildFolder(folder).steps().passed("questions")
    assert item.fields["perspectives"] == ["Schools should [for].", "Schools should not [against]."]
    labelled = [
        "Should schools serve lemonade?",
        "Positive statement: Schools should [for].",
        "Negative statement: Schools should not [against].",
    ]
    for said in ("\n".join(labelled), f"Converted question: {' '.join(labelled)}"):
        assert read_converted(said) == {name: item.fields[name] for name in ("question", "perspectives")}


@pytest.mark.parametrize(
    ("answer", "reason"), [("Perhaps", UNREADABLE), ("", UNREADABLE), ("no.", ""), ("YES", "it asks for personal experience")]
)
def test_a_survey_question_is_left_out_where_the_answer_is_yes_or_none(tmp_path, answered, answer, reason):
    answered.answer = lambda messages: answer
    folder = build(tmp_path / "b", {"survey": ROWS["survey"][:1]})
    BuildFolder(folder).run("personal")
    assert reasons(folder, "personal") == {"survey-s1": reason}


def test_questions_need_as_many_held_perspectives_as_are_asked_for(tmp_path, answered):
    folder = build(tmp_path / "b", steps={"covered": {"least": 2}})
    BuildFolder(folder).run()
    left_out = {name for name, why in reasons(folder, "covered").items() if why}
    assert left_out == {"statements-sides", "survey-s1"}  # two of tea's three perspectives are held


def test_runs_are_read_to_a_depth_and_pools_have_a_size(tmp_path, answered):
    run = {"arguments-zoo": ["z1", "n1", "z2", "t1"], "arguments-zoo.2": ["z2", "t2"]}
    for limits, found in (({"depth": 2, "size": 9}, ["z1", "z2", "n1", "t2"]), ({"depth": 9, "size": 3}, ["z1", "z2", "n1"])):
        steps = {"passages": {"systems": [], "runs": ["found.trec"], **limits}}
        folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]}, steps=steps, run=run)
        BuildFolder(folder).run("passages")
        assert [item.fields["doc_id"] for item in BuildFolder(folder).steps().passed("passages")] == found


def test_a_question_that_comes_again_is_rejected(tmp_path, answered):
    answered.answer = lambda messages: "Should there  be ZOOS?"
    folder = build(tmp_path / "b", {"arguments": [ROWS["arguments"][0] | {"id": n} for n in (1, 2)]})
    BuildFolder(folder).run("questions")
    assert reasons(folder, "questions") == {"arguments-1": "", "arguments-2": "the question of an earlier source"}


def test_a_passage_with_an_unclear_label_is_left_out_for_its_question(tmp_path, answered):
    def answer(messages):
        text = prompt_of(messages)
        return "I would rather not say" if "Statement: Zoos should close" in text and "[for]" in text else written(messages)

    answered.answer = answer
    folder = build(tmp_path / "b")
    BuildFolder(folder).run()
    assert {name: why for name, why in reasons(folder, "label").items() if why} == {"arguments-zoo/z1#2": UNREADABLE}
    zoo = next(item for item in BuildFolder(folder).steps().passed("covered") if item.id == "arguments-zoo")
    assert zoo.fields["labels"] == {"z2": [0, 1], "n1": [0, 0]}


@pytest.mark.parametrize(
    ("opposing", "why"),
    [("Rain ruins harvests [n].", ""), ("Negative Statement: Rain ruins harvests [n].", ""), ("rain  feeds us.", UNREADABLE)],
)
def test_the_question_and_the_statement_of_a_debate_are_taken_as_they_are(opposing, why, tmp_path, answered):
    rows = {"statements": [{"id": "k", "question": "Is rain good?", "statement": "Rain feeds us."}]}
    answered.answer = lambda messages: opposing if "One side: Rain" in prompt_of(messages) else "No"
    BuildFolder(build(tmp_path / "b", rows, run={"statements-k": ["z1"]})).run()
    [item] = BuildFolder(tmp_path / "b").steps().items("perspectives")
    assert (item.fields["question"], item.rejected) == ("Is rain good?", why)
    assert item.fields.get("perspectives") == (None if why else ["Rain feeds us.", "Rain ruins harvests [n]."])


def test_a_list_of_answers_gives_as_many_statements_and_keeps_its_question(tmp_path, answered):
    folder = build(tmp_path / "b", {"answers": ROWS["answers"]})
    BuildFolder(folder).run("perspectives")
    [tea] = BuildFolder(folder).steps().passed("perspectives")
    assert (tea.fields["question"], len(tea.fields["perspectives"])) == ("What is tea for?", 3)
    answered.answer = lambda messages: "Tea wakes.\nTea calms."
    other = build(tmp_path / "c", {"answers": [{"question": "What is it for?", "answers": ["waking", "sleeping", "nothing"]}]})
    BuildFolder(other).run("perspectives")
    assert reasons(other, "perspectives") == {"answers-1": UNREADABLE}


def test_texts_of_other_scripts_come_through_in_normal_form(tmp_path, answered):
    question, sides = "آیا باغ‌وحش خوب است؟", ["باغ‌وحش خوب است.", "Ещё один взгляд.", "动物园不好。"]
    given = [unicodedata.normalize("NFD", text) for text in (question, *sides)]
    rows = {"statements": [{"id": "fa", "question": given[0], "statements": given[1:]}]}
    docs = {"d1": unicodedata.normalize("NFD", "Ещё й текст о зоопарке"), "d2": "动物园里的动物很难过"}
    answered.answer = lambda messages: "Yes"
    folder = build(tmp_path / "b", rows, docs=docs, run={"statements-fa": ["d1", "d2"]})
    BuildFolder(folder).run()
    built = load(str(BuildFolder(folder).benchmark(tmp_path / "out").absolute()))
    [topic] = built.topics("statements")
    assert (topic.query, list(topic.perspectives)) == (question, sides)
    assert {doc.doc_id: doc.text for doc in built.docs("statements")} == {"d1": "Ещё й текст о зоопарке", "d2": docs["d2"]}


def test_without_a_judge_pairs_wait_for_people(tmp_path, answered):
    folder = build(tmp_path / "b", steps={"label": {"model": ""}, "review": {}})
    states = {state.step.name: state.record for state in BuildFolder(folder).run()}
    assert states["review"].waiting == states["label"].left > 0
    assert not any("Statement: " in prompt_of(body["messages"]) for body in answered.bodies)
    assert said_of(Item("p", {"holds": True, "people": {"holds": "no"}}), "holds") is False
    assert said_of(Item("p", {"holds": False}), "holds") is False
    assert said_of(Item("p", {}), "holds") is None


def test_people_who_label_the_pairs_overrule_the_judge(tmp_path, answered):
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]}, steps={"review": {"reviewers": 1}})
    made = BuildFolder(folder)
    made.run("review")
    export_review(made, "review", folder / "form.html")
    labels = {("z1", "for"): "No", ("n1", "against"): "Yes"}

    def label(texts, question):
        perspective, document = texts[1:]
        doc_id = next(doc_id for doc_id, text in DOCS.items() if text in document)
        return labels.get((doc_id, perspective.partition("[")[2][:-2]), "Yes" if doc_id == "z2" else "No")

    import_review(made, [write_saved(folder / "answers.json", saved(page_data(folder / "form.html"), "Ada", label))])
    made.run()
    [zoo] = made.steps().passed("covered")
    assert zoo.fields["labels"] == {"z1": [0, 0], "z2": [1, 1], "n1": [0, 1]}


def test_any_language_model_labels_with_the_options_of_the_build(tmp_path, answered):
    judge = {"system": "http:judge", "temperature": 0.5, "max_tokens": 7}
    BuildFolder(build(tmp_path / "b", {"arguments": ROWS["arguments"]}, judge=judge)).run()
    asked = [body for body in answered.bodies if "Statement: " in prompt_of(body["messages"])]
    assert {(body["temperature"], body["max_tokens"]) for body in asked} == {(0.5, 7)}


@pytest.mark.model
def test_a_classifier_of_entailment_labels_pairs_and_is_sent_no_prompt(tmp_path, answered):
    from tiny import tiny_bert

    tiny_bert(tmp_path / "nli", "BertForSequenceClassification", num_labels=3, id2label={0: "no", 1: "entailment", 2: "maybe"})
    entry = {"name": "nli", "description": "a tiny classifier", "kind": "judge", "checkpoint": str(tmp_path / "nli")}
    entry |= {"loader": "transformers", "parameters": {"positive": "entailment", "length": 64}}
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]}, judge="nli")
    content = yaml.safe_load((folder / "build.yaml").read_text()) | {"systems": ["mine.yaml"]}
    (folder / "build.yaml").write_text(yaml.safe_dump(content))
    (folder / "mine.yaml").write_text(yaml.safe_dump([entry]))
    BuildFolder(folder).run("label")
    pairs = BuildFolder(folder).steps().passed("label")
    assert len(pairs) == 6
    assert all(isinstance(pair.fields["holds"], bool) and "prompt" not in pair.made[0] for pair in pairs)
    assert BuildFolder(folder).states()[6].record.asked["judge"].requests == 6
    assert len(answered.bodies) == 2  # the question and its sides


def test_a_judge_of_the_registry_is_asked_as_its_entry_says(tmp_path, answered):
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]}, judge="gpt-4-0613-judge")
    BuildFolder(folder).run()
    asked = [body for body in answered.bodies if "Statement: " in prompt_of(body["messages"])]
    assert {body["model"] for body in asked} == {"gpt-4-0613"}
    assert f"Document: {DOCS['z2']} title z2" in asked[-1]["messages"][-1]["content"] or any(
        f"{DOCS['z2']} title z2" in prompt_of(body["messages"]) for body in asked
    )
    record = BuildFolder(folder).states()[6].record
    assert record.asked["judge"].requests == record.entered * 2 == len(asked)


def test_rows_that_are_none_are_all_named(tmp_path, answered):
    rows = {
        "arguments": [{"argument": "a"}, {"argument": "a", "counter": 3}],
        "survey": [{"id": "a b", "question": "Q?", "choices": ["1", "2"]}],
    }
    folder = build(tmp_path / "b", rows)
    with (folder / "arguments.jsonl").open("a") as file:
        file.write('not JSON\n{"id": "a", "argument": "a", "counter": "b"}\n{"id": "a", "argument": "c", "counter": "d"}\n')
    with pytest.raises(ToolkitError) as error:
        BuildFolder(folder).run("sources")
    said = [str(problem).partition("line ")[2] for problem in error.value.problems]
    assert said[0] == "1: it has none of argument, counter"
    assert said[1] == "2: counter is no text"
    assert said[2].startswith("3: not JSON")
    assert said[3] == "5: the id 'a' comes again"
    assert said[4] == "1: the id 'a b' is no text without white space"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
)
KEYS = st.sampled_from(
    ["id", "question", "perspectives", "argument", "counter", "statement", "statements", "answers", "choices"]
)


@given(st.text() | st.dictionaries(KEYS, JSON).map(json.dumps) | JSON.map(json.dumps))
def test_no_answer_and_no_row_is_read_as_something_that_it_is_not(text):
    with contextlib.suppress(ValueError):
        assert read_question(text)["question"].endswith(("?", "？", "؟"))
    with contextlib.suppress(ValueError):
        made = read_converted(text)
        assert made["question"].endswith(("?", "？", "؟"))
        assert len(set(made["perspectives"])) == 2
        assert all(side.strip() for side in made["perspectives"])
    for key, forms in FORMS.items():
        with contextlib.suppress(ValueError):
            item = read_source(key, 1, text)
            assert all(item.fields[name] for name in forms[item.fields["form"]])


WORD = st.from_regex(r"\A[a-zäß]{1,8}\Z")
SENTENCE = st.lists(WORD, min_size=2, max_size=6).map(lambda words: " ".join(words) + ".")


@given(st.lists(SENTENCE, min_size=1, max_size=5), st.sampled_from(["", "- ", "{}. ", "Statement {}: ", "**Statement {}:** "]))
def test_statements_are_read_whole_whatever_stands_before_them(sides, before):
    text = "\n".join(before.format(number) + side for number, side in enumerate(sides, 1))
    wanted = [unicodedata.normalize("NFC", side) for side in sides]
    if len(set(wanted)) < len(wanted):
        with pytest.raises(ValueError, match="a statement comes twice"):
            statements(len(sides))(text)
    else:
        assert statements(len(sides))(text) == {"perspectives": wanted}


@pytest.mark.lucene
def test_passages_of_a_benchmark_are_found_by_question_and_by_each_perspective(tmp_path, answered):
    rows = {
        "statements": [
            {"id": "x", "question": "Is it raining?", "statements": ["Fines bring books back.", "Fines keep readers away."]}
        ]
    }
    answered.answer = lambda messages: "Yes"
    folder = build(tmp_path / "b", rows, steps={"passages": {"systems": ["bm25"], "depth": 3, "size": 4}})
    content = yaml.safe_load((folder / "build.yaml").read_text())
    content["seeds"] = {"statements": "statements.jsonl", "benchmark": "berds-mini-test"}
    (folder / "build.yaml").write_text(yaml.safe_dump(content))
    BuildFolder(folder).run()
    passages = BuildFolder(folder).steps().passed("passages")
    assert len(passages) == 4
    assert any("fine" in item.fields["text"].lower() for item in passages)  # which the question does not ask for


@pytest.mark.lucene
def test_passages_of_an_index_are_searched_and_read(tmp_path, answered):
    folder = build(tmp_path / "b", {"arguments": ROWS["arguments"]}, steps={"passages": {"systems": ["bm25"], "size": 3}})
    built = tandem("index", folder / "docs.jsonl", "--output", folder / "passages", env=dict(os.environ))
    assert built.returncode == 0, built.stderr
    content = yaml.safe_load((folder / "build.yaml").read_text())
    content["seeds"] = {"arguments": "arguments.jsonl", "index": "passages"}
    (folder / "build.yaml").write_text(yaml.safe_dump(content))
    (folder / "docs.jsonl").unlink()
    BuildFolder(folder).run()
    [zoo] = BuildFolder(folder).steps().passed("covered")
    assert {doc_id: held for doc_id, held in zoo.fields["labels"].items() if any(held)} == {"z2": [0, 1]} | {
        each: [1, 0] for each in ("z1", "z3") if each in zoo.fields["labels"]
    }
    assert len(zoo.fields["labels"]) == 2  # z1 and z3 are one


def test_adversarial_passages_are_judged_to_hold_no_perspective(tmp_path, answered):
    def scripted(messages):
        text = prompt_of(messages)
        if "uses all words" in text:
            return f"SONG {text.partition('Search: ')[2].partition('?')[0]} again and again."
        return "No" if "SONG" in text else written(messages)

    answered.answer = scripted
    folder = build(tmp_path / "b", rows={"arguments": ROWS["arguments"]}, steps={"adversarial": {}})
    made = BuildFolder(folder)
    made.run()
    out = made.benchmark(tmp_path / "out")
    [passage] = [row for row in map(json.loads, (out / "corpus.jsonl").read_text().splitlines()) if "SONG" in row["text"]]
    judged = [line.split() for line in (out / "qrels.txt").read_text().splitlines() if passage["id"] in line]
    assert judged == [["arguments-zoo", number, passage["id"], "0"] for number in ("1", "2")]
    made_by = {row["id"]: row["made"] for row in map(json.loads, (out / "provenance.jsonl").read_text().splitlines())}
    assert {row["step"] for row in made_by[passage["id"]]} == {"adversarial"}
    assert tandem("benchmarks", "check", out).returncode == 0


def test_a_changed_entry_or_prompt_of_a_system_is_noticed_under_the_same_name(tmp_path, home):
    steps = {"passages": {"systems": ["mine"], "runs": []}}
    folder = build(tmp_path / "b", steps=steps, judge="asked")
    prompt = {"kind": "judge", "turns": [{"role": "user", "content": "{document} {statement}"}]}
    entries = [
        {"name": "mine", "kind": "bm25", "description": "ours", "parameters": {"k1": 0.9, "b": 0.4}},
        {
            "name": "asked",
            "kind": "judge",
            "description": "ours",
            "loader": "endpoint",
            "parameters": {"model": "j", "prompt": "own.yaml"},
        },
    ]
    content = yaml.safe_load((folder / "build.yaml").read_text())
    (folder / "build.yaml").write_text(yaml.safe_dump({**content, "systems": ["systems.yaml"]}))

    def depends(step):
        (folder / "systems.yaml").write_text(yaml.safe_dump(entries))
        (folder / "own.yaml").write_text(yaml.safe_dump(prompt))
        opened = BuildFolder(folder)
        return opened.depends(opened.config.step_number(step))

    passages, label = depends("passages"), depends("label")
    assert (depends("passages"), depends("label")) == (passages, label)
    entries[0]["parameters"]["k1"] = 1.2
    assert depends("passages")["systems"] != passages["systems"]
    assert depends("label") == label
    prompt["turns"][0]["content"] = "{statement} {document}"
    assert depends("label")["prompts"] != label["prompts"]


def test_a_judge_that_is_not_there_ends_the_run(tmp_path, answered):
    folder = build(tmp_path / "b", steps={"label": {"model": "absent"}}, absent="http:m@http://127.0.0.1:1/v1")
    with pytest.raises(ToolkitError, match="none of its requests was answered: http://127"):
        BuildFolder(folder).run(retries=0)
    assert not (folder / "steps" / "label.jsonl").exists()


@pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")
def test_the_papers_own_prompts_are_sent_and_answers_in_their_form_are_read(tmp_path, answered):
    said = {
        "generate a question where both": "Should there be zoos?",
        "generate the negation": "Statement: Zoos should exist.\n\nNegation: Zoos should not exist.",
        "Reply with only": "No",
        "Converted question:": "Should schools serve lemonade?\n\nPositive: Schools should.\nNegative: Schools should not.",
        "Positive Statement: Rain feeds us.": "Negative Statement: Rain drowns us.",
        "followed by a newline": "Tea is for waking.\nTea is for sleeping.\nTea is for nothing.",
    }
    answered.answer = lambda messages: next(each for cue, each in said.items() if cue in messages[-1]["content"])
    kialo = [{"id": "k", "question": "Is rain good?", "statement": "Rain feeds us."}]
    rows = {"statements": kialo, **{name: ROWS[name][:1] for name in ("arguments", "answers", "survey")}}
    folder = build(tmp_path / "b", rows)
    write_prompts("berds", [PAPERS / "berds.txt"], tmp_path / "prompts")
    done = tandem("build", "run", folder, "perspectives", "--prompts", tmp_path / "prompts", env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    made = {item.id: item for item in BuildFolder(folder).steps().items("perspectives")}
    assert {name: item.fields["perspectives"] for name, item in made.items()} == {
        "arguments-zoo": ["Zoos should exist.", "Zoos should not exist."],
        "statements-k": ["Rain feeds us.", "Rain drowns us."],
        "answers-1": ["Tea is for waking.", "Tea is for sleeping.", "Tea is for nothing."],
        "survey-s1": ["Schools should.", "Schools should not."],
    }
    assert {item.made[0]["prompt_of"].partition(",")[0] for item in made.values() if item.made} == {"paper (BERDS"}
    [survey] = [body for body in answered.bodies if "Converted question:" in body["messages"][-1]["content"]]
    assert "Should schools serve lemonade? ['yes', 'no', 'no opinion']" in survey["messages"][-1]["content"]
