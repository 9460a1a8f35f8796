"""FollowIR's kind: from topics with narratives to a benchmark in two modes and several languages that `evaluate` scores."""

import json
import os
import shutil
import unicodedata

import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from review_builds import page_data, saved, write_saved

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.queries.narratives import Choose, narrowed, not_narrowed
from toolkit.construction.review.review_rounds import export_review, import_review
from toolkit.construction.review.review_step import said_of
from toolkit.construction.steps import UNREADABLE, Item
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load

MINI = load("mfollowir-mini")
LANGUAGES = {"fas": "Persian", "rus": "Russian", "zho": "Chinese"}
# edit -> which share of the relevant documents falls with it: none; those that fall in the mini; all
NOTHING, HALF, ALL = "It was written by somebody.", "It meets the second reading.", "It was printed on the moon."
TRANSLATED = {
    "Persian": "سند با خوانش دوم می‌خواند.",  # with a zero-width non-joiner, which is no white space
    "Russian": "Он отвечает второму прочтению: ещё раз.",
    "Chinese": "它符合第二种解读。",
}
STILL = {
    doc.doc_id
    for group in LANGUAGES
    for doc in MINI.docs(group)
    if any(row.relevance > 0 and row.doc_id == doc.doc_id for row in MINI.qrels(group, "changed"))
}
TOPICS = [topic.base_id for topic in MINI.topics("cross-lingual/fas", "og")]  # of one language
PAIRS = len(TOPICS) * 3 * 6  # edits of each and relevant documents of each
NAMED = {doc.contents: doc.doc_id for group in LANGUAGES for doc in MINI.docs(group)}


def prompt_of(messages):
    """What was asked first: a repair follows it."""
    return next(message["content"] for message in messages if message["role"] == "user")


def said(messages, cue):
    return cue in prompt_of(messages)


def versions(messages, *sentences):
    """The narrative that is shown with a sentence more at its end, for each sentence."""
    narrative = prompt_of(messages).partition("What counts as relevant: ")[2].partition("\n\nAll documents")[0]
    return json.dumps([f"{narrative} {sentence}" for sentence in sentences])


def written(messages):
    """What the scripted model answers: edits, verdicts, translations."""
    text = prompt_of(messages)
    if "versions of the description" in text:
        return versions(messages, NOTHING, HALF, ALL)
    if "Change the description in" in text:
        language, _, narrative = text.partition("The same in ")[2].partition("\n")[0].partition(": ")
        changed = unicodedata.normalize("NFD", f"{narrative} {TRANSLATED[language]}")
        return json.dumps({"changed": changed}, ensure_ascii=False)
    document = NAMED[text.partition("Document: ")[2].partition("\n\nThe document met")[0]]
    if ALL in text:
        return "No"
    return "Yes" if NOTHING in text or document in STILL else "No."


def build(folder, **changes):
    """A build over the mini's English topics, whose candidates are those of a run."""
    steps = {
        "translate": {"to": LANGUAGES, "texts": {group: f"mfollowir-mini-{group}-og" for group in LANGUAGES}},
        "candidates": {"systems": [], "runs": ["found.trec"]},
        **changes.pop("steps", {}),
    }
    content = {
        "kind": "followir",
        "seeds": {"benchmark": "mfollowir-mini-cross-lingual-og"},
        "models": {"writer": "http:writer", "judge": "http:judge"},
        "steps": {name: row for name, row in steps.items() if row is not None},
        **changes,
    }
    folder.mkdir(exist_ok=True)
    (folder / "build.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    rows = []
    for group in LANGUAGES:
        for topic in MINI.topics(f"cross-lingual/{group}", "og"):
            found = [doc.doc_id for doc in list(MINI.docs(group))[:12]]
            rows += [f"{topic.base_id} Q0 {doc_id} {rank} {-rank} first" for rank, doc_id in enumerate(found, 1)]
    (folder / "found.trec").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def answered(home, monkeypatch):
    """A server with these answers, that builds ask."""
    with serving(Script(written)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        yield script


def items(folder, step):
    return list(BuildFolder(folder).steps().items(step))


def test_a_benchmark_in_three_languages_from_seeds_to_scores(tmp_path, answered):
    folder = build(tmp_path / "b")
    for words in (("run", folder), ("benchmark", folder, "--to", tmp_path / "out")):
        done = tandem("build", *words, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
    checked = tandem("benchmarks", "check", tmp_path / "out")
    assert checked.returncode == 0, checked.stderr
    assert f"6 groups, 2 modes, {6 * len(TOPICS)} core queries" in checked.stderr
    out = load(str(tmp_path / "out"))
    assert set(out.spec.selections["cross-lingual"]) == {f"cross-lingual/{group}" for group in LANGUAGES}
    assert set(out.spec.selections[""]) == set(LANGUAGES)
    for group, language in LANGUAGES.items():
        for each in (group, f"cross-lingual/{group}"):
            assert out.spec.group(each)["language"] == MINI.spec.group(each)["language"]
            assert {doc.doc_id for doc in out.docs(each)} == candidates_of(out, each)
            theirs, ours = (relevant(one, each, "changed") for one in (MINI, out))
            assert ours == theirs  # half of each topic's relevant documents, the mini's own
        topic = out.topics(group, "changed")[0]
        source = MINI.topics(group, "og")[0]
        assert (topic.query, topic.instruction) == (source.query, f"{source.instruction} {TRANSLATED[language]}")
        assert unicodedata.is_normalized("NFC", topic.text)
        assert out.topics(f"cross-lingual/{group}", "changed")[0].instruction.endswith(f" {HALF}")
    run = tmp_path / "run.trec"
    rows = [
        f"{topic.query_id} Q0 {doc_id} {rank} {-rank} all"
        for group in out.groups
        for mode in ("og", "changed")
        for topic in out.topics(group, mode)
        for rank, doc_id in enumerate(sorted(candidates_of(out, group)), 1)
    ]
    run.write_text("\n".join(rows) + "\n")
    scored = tandem("evaluate", run, "--benchmark", tmp_path / "out", "--format", "json")
    assert scored.returncode == 0, scored.stderr
    values = {(row["group"], row["measure"], row["mode"]): row["value"] for row in json.loads(scored.stdout)["rows"]}
    assert {measure for _, measure, _ in values} == set(MINI.spec.measures)  # without -m the paper's table
    assert values["average", "pMRR", "paired"] == 0.0  # the same ranking in both modes
    assert 0 < values["fas", "nDCG@20", "og"] < 1


def candidates_of(benchmark, group):
    return {doc.doc_id for _, ranking in benchmark.scoreddocs(group, "og").rankings() for doc in ranking}


def relevant(benchmark, group, mode):
    return {(row.query_id, row.doc_id) for row in benchmark.qrels(group, mode) if row.relevance > 0}


def test_provenance_names_who_wrote_and_judged_a_topic(tmp_path, answered):
    BuildFolder(build(tmp_path / "b")).run()
    BuildFolder(tmp_path / "b").benchmark(tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "provenance.jsonl").read_text().splitlines()]
    made = {(row["role"], row["by"], row["step"]) for row in next(row for row in rows if row["id"] == "fas-01")["made"]}
    assert {("wrote", "writer", "edits"), ("judged", "judge", "rejudge"), ("wrote", "writer", "translate")} <= made


def test_every_relevant_document_is_judged_and_no_other(tmp_path, answered):
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps={"translate": None})
    BuildFolder(folder).run("rejudge")
    relevant_docs = {row.doc_id for row in MINI.qrels("cross-lingual/fas", "og") if row.relevance > 0}
    pairs = items(folder, "rejudge")
    assert {pair.fields["doc_id"] for pair in pairs} == relevant_docs
    assert len(pairs) == PAIRS
    assert sum(said(body["messages"], "Document: ") for body in answered.bodies) == PAIRS


def test_edits_outside_the_shares_are_rejected_with_their_share(tmp_path, answered):
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps={"translate": None})
    BuildFolder(folder).run("choose")
    first = [item for item in items(folder, "choose") if item.fields["topic"] == "cross-lingual-fas-01"]
    assert [(item.id, item.fields["share"], item.rejected) for item in first] == [
        ("cross-lingual-fas-01/1", 0.0, "the share that falls is below 0.25"),
        ("cross-lingual-fas-01", 0.5, ""),
        ("cross-lingual-fas-01/3", 1.0, "the share that falls is above 0.75"),
    ]
    figures = BuildFolder(folder).states()[-2].record.figures
    assert {share: count for share, count in figures["share"].items() if count} == dict.fromkeys(
        ("0.0", "0.5", "1.0"), len(TOPICS)
    )


def weighed(step, *edits):
    """What `choose` makes of (edit, labels of its pairs)."""

    class Given:
        def step(self, name):
            fields = {"topic": "t", "relevant": dict.fromkeys("abcdefghij", 1)}
            return [Item(f"t/{edit}", {**fields, "edit": edit}) for edit, _ in edits]

    pairs = [
        Item(f"t/{edit}/{doc_id}", {"edit_id": f"t/{edit}", "doc_id": doc_id, "relevant": label}, (f"t/{edit}",))
        for edit, labels in edits
        for doc_id, label in zip("abcdefghij", labels, strict=True)
        if label is not None
    ]
    return {item.fields["edit"]: item for item in step.run(pairs, Given())}


def test_of_several_edits_the_nearest_to_the_target_is_chosen_and_of_equal_ones_the_first():
    three, five, seven = ([n >= fell for n in range(10)] for fell in (3, 5, 7))
    made = weighed(Choose(), ("low", three), ("high", seven), ("other", seven))
    assert {edit: item.rejected for edit, item in made.items()} == {
        "low": "",
        "high": "another edit of its topic is nearer to the target",
        "other": "another edit of its topic is nearer to the target",
    }
    made = weighed(Choose(), ("low", three), ("half", five))
    assert (made["half"].id, made["half"].fields["fell"], made["half"].rejected) == ("t", list("abcde"), "")
    assert made["low"].rejected
    made = weighed(Choose(target=0.7), ("half", five), ("high", seven))
    assert made["high"].id == "t"


def test_an_edit_with_a_pair_that_nobody_judged_is_rejected():
    made = weighed(Choose(), ("some", [True] * 5 + [False] * 4 + [None]))
    assert made["some"].rejected == "a relevant document has no judgment"


def test_what_people_say_counts_before_what_the_model_said():
    assert said_of(Item("p", {"relevant": True, "people": {"relevant": "no"}}), "relevant") is False
    assert said_of(Item("p", {"relevant": False, "people": {"relevant": "yes"}}), "relevant") is True
    assert said_of(Item("p", {"relevant": True}), "relevant") is True
    assert said_of(Item("p", {}), "relevant") is None


def test_people_who_judge_the_pairs_overrule_the_model(tmp_path, answered):
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-fas-og"}
    folder = build(tmp_path / "b", seeds=seeds, steps={"translate": None, "review": {"reviewers": 1}})
    made = BuildFolder(folder)
    made.run("review")
    export_review(made, "review", folder / "form.html")

    def reversed_verdict(texts, question):
        changed, document = texts[2:]
        return "Yes" if (NAMED[document] in STILL) == (HALF not in changed) else "No"

    answers = saved(page_data(folder / "form.html"), "Ada", reversed_verdict)
    import_review(made, [write_saved(folder / "answers.json", answers)])
    states = {state.step.name: state.record for state in made.run()}
    assert (states["review"].waiting, states["choose"].left) == (0, len(TOPICS))
    chosen = made.steps().passed("choose")
    assert {item.fields["edit"] for item in chosen} == {NOTHING}  # the first of equal ones: people let half fall with each
    fell = {doc_id for item in made.steps().items("choose") if item.fields["edit"] == HALF for doc_id in item.fields["fell"]}
    assert fell == STILL & {doc_id for item in chosen for doc_id in item.fields["relevant"]}
    [*_, judged] = [row for row in made.steps().made["choose"][chosen[0].id] if row["role"] == "judged"]
    assert (judged["by"], judged["step"]) == ("person", "review")


def test_without_a_model_the_pairs_wait_for_people(tmp_path, answered):
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-fas-og"}
    steps = {"translate": None, "rejudge": {"model": ""}, "review": {"reviewers": 1}}
    folder = build(tmp_path / "b", seeds=seeds, steps=steps)
    states = {state.step.name: state.record for state in BuildFolder(folder).run("choose")}
    assert states["review"].waiting == PAIRS
    assert states["choose"].rejected == {"a relevant document has no judgment": 3 * len(TOPICS)}
    assert not any(said(body["messages"], "Document: ") for body in answered.bodies)


def test_everything_is_made_again_from_cached_answers_alone(tmp_path, answered):
    folder = build(tmp_path / "b")
    BuildFolder(folder).run()
    made = {path.name: path.read_bytes() for path in sorted((folder / "steps").glob("*.jsonl"))}
    count = len(answered.bodies)
    shutil.rmtree(folder / "steps")
    BuildFolder(folder).run(replay=True)
    assert {path.name: path.read_bytes() for path in sorted((folder / "steps").glob("*.jsonl"))} == made
    assert len(answered.bodies) == count


NOTHING_NEW = "it says nothing that the narrative does not"
MALFORMED = {
    "no JSON": "Here are three sentences.",
    "too few": json.dumps([HALF]),
    "twice": json.dumps([HALF, HALF, ALL]),
    "no list": json.dumps({"edits": [NOTHING, HALF, ALL]}),
    "no text": json.dumps([NOTHING, HALF, 3]),
    "nothing": "",
}


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
def test_edits_in_another_form_are_asked_for_once_more_and_then_rejected(tmp_path, answered, answer):
    answered.answer = lambda messages: answer
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps={"translate": None})
    BuildFolder(folder).run("edits")
    assert [(item.id, item.rejected) for item in items(folder, "edits")] == [(topic, UNREADABLE) for topic in TOPICS]
    assert len(answered.bodies) == 2 * len(TOPICS)


def test_a_change_is_small_new_in_the_script_of_the_narrative_and_anywhere_in_it(tmp_path, answered):
    topics = {topic.query: topic.instruction for topic in MINI.topics("cross-lingual/fas", "og")}

    def answer(messages):
        narrative = topics[prompt_of(messages).partition("Search: ")[2].partition("\n")[0]]
        inside = narrative.replace("A relevant document", "A relevant document of this year", 1)
        return json.dumps([narrative.partition(". ")[0], TRANSLATED["Russian"], f"It is about anything. {HALF}", inside])

    answered.answer = answer
    steps = {"translate": None, "edits": {"count": 4}}
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps=steps)
    BuildFolder(folder).run("edits")
    made = items(folder, "edits")[:4]
    reasons = [NOTHING_NEW, "not in the script of the narrative", "more than 0.5 of the narrative differs", ""]
    assert [item.rejected for item in made] == reasons
    narrative, fields = topics[made[3].fields["query"]], made[3].fields
    assert fields["narrative"] == narrative
    assert fields["changed"].replace(" of this year", "") == narrative
    assert fields["edit"] == fields["changed"].partition(". ")[0] + "."  # the sentence that was changed


@pytest.mark.parametrize("group", LANGUAGES)
def test_the_changes_of_the_mini_are_small_ones(group):
    for og, changed in zip(MINI.topics(group, "og"), MINI.topics(group, "changed"), strict=True):
        assert not_narrowed(og.instruction, changed.instruction) == ""
        assert not_narrowed(og.instruction, og.instruction) == NOTHING_NEW
        edit = narrowed(og.instruction, changed.instruction)["edit"]
        assert 0 < len(edit) <= len(changed.instruction)


@pytest.mark.parametrize("verdict", ["Perhaps", "Yes and no", "", "true"])
def test_a_verdict_that_is_neither_yes_nor_no_is_no_judgment(tmp_path, answered, verdict):
    answered.answer = lambda messages: verdict if said(messages, "Document: ") else written(messages)
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-fas-og"}
    folder = build(tmp_path / "b", seeds=seeds, steps={"translate": None})
    BuildFolder(folder).run("choose")
    assert {pair.rejected for pair in items(folder, "rejudge")} == {UNREADABLE}
    assert {edit.rejected for edit in items(folder, "choose")} == {"a relevant document has no judgment"}


TRANSLATIONS = {
    "no JSON": ("Gladly!", UNREADABLE),
    "another key": (json.dumps({"edit": "x"}), UNREADABLE),
    "as it was": (json.dumps({"changed": MINI.topics("fas", "og")[0].instruction}), NOTHING_NEW),
    "another script": (json.dumps({"changed": TRANSLATED["Russian"]}), "not in the script of the narrative"),
    "another text": (json.dumps({"changed": TRANSLATED["Persian"]}), "more than 0.5 of the narrative differs"),
}


@pytest.mark.parametrize(("answer", "reason"), TRANSLATIONS.values(), ids=TRANSLATIONS)
def test_a_translation_that_is_none_is_rejected_and_the_topic_stays(tmp_path, answered, answer, reason):
    answered.answer = lambda messages: answer if said(messages, "Change the description in") else written(messages)
    steps = {"translate": {"to": {"fas": "Persian"}, "texts": {"fas": "mfollowir-mini-fas-og"}}}
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps=steps)
    BuildFolder(folder).run("translate")
    found = {item.id: item.rejected for item in items(folder, "translate")}
    assert {name for name, why in found.items() if not why} == set(TOPICS)
    assert found["fas-01"] == reason
    assert {why for why in found.values() if why} <= {reason, "more than 0.5 of the narrative differs"}


def test_without_texts_query_and_narrative_are_translated_too(tmp_path, answered):
    texts = {"query": "درخت", "narrative": "سند درباره درخت است.", "changed": "سند درباره درخت بلند است."}
    answered.answer = lambda messages: (
        json.dumps(texts) if said(messages, "these three texts into Persian") else written(messages)
    )
    steps = {"translate": {"to": {"fas": "Persian"}}}
    folder = build(tmp_path / "b", seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps=steps)
    BuildFolder(folder).run("translate")
    [first, *_] = [item for item in items(folder, "translate") if item.fields["group"] == "fas"]
    assert (first.id, {name: first.fields[name] for name in texts}) == ("fas-01", texts)


TREC = """<top>
<num> Number: 301
<title> old bridges
<desc> Description:
Which old bridges were repaired?
<narr> Narrative:
A relevant document names
a bridge that was repaired.
</top>
<top>
<num> Number: 302
<title> no narrative
</top>
"""


def test_trec_topics_with_their_narratives_and_qrels_of_files(tmp_path, answered):
    def answer(messages):
        if said(messages, "versions of the description"):
            return versions(messages, "The bridge is of stone.")
        return "Yes" if said(messages, "Document: stone") else "No"

    answered.answer = answer
    kinds = ["stone", "stone", "wood", "wood"]
    docs = [{"id": f"d{n}", "text": f"{kind} bridge {n} was repaired"} for n, kind in enumerate(kinds)] + [
        {"id": "x", "text": "none"}
    ]
    folder = build(
        tmp_path / "b",
        seeds={"topics": "topics.trec", "qrels": "qrels.txt", "docs": "docs.jsonl"},
        steps={"translate": None, "edits": {"count": 1}, "topics": {"language": "en"}},
    )
    (folder / "topics.trec").write_text(TREC)
    (folder / "qrels.txt").write_text("".join(f"301 0 d{n} {1 + n % 2}\n" for n in range(4)) + "301 0 x 0\n302 0 d0 1\n")
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "found.trec").write_text("301 Q0 x 1 2 r\n301 Q0 d0 2 1 r\n")
    BuildFolder(folder).run()
    assert {item.id: item.rejected for item in items(folder, "topics")} == {"301": "", "302": "no narrative"}
    out = load(str(BuildFolder(folder).benchmark(tmp_path / "out").absolute()))
    [group] = out.groups
    [topic] = out.topics(group, "changed")
    assert topic.instruction == "A relevant document names a bridge that was repaired. The bridge is of stone."
    labels = {mode: {row.doc_id: row.relevance for row in out.qrels(group, mode)} for mode in ("og", "changed")}
    assert labels["og"] == {"d0": 1, "d1": 2, "d2": 1, "d3": 2, "x": 0}
    assert labels["changed"] == {"d0": 1, "d1": 2, "d2": 0, "d3": 0, "x": 0}
    # what was found comes first, relevant documents that no run found behind it
    assert [doc.doc_id for _, docs in out.scoreddocs(group, "og").rankings() for doc in docs] == ["x", "d0", "d1", "d2", "d3"]


def test_topics_need_some_relevant_documents_and_not_too_many(tmp_path, answered):
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-fas-og"}
    for counts, reason in (({"least": 7}, "fewer than 7"), ({"most": 5}, "more than 5"), ({"least": 6, "most": 6}, "")):
        folder = build(tmp_path / "b", seeds=seeds, steps={"translate": None, "topics": counts})
        BuildFolder(folder).run("topics")
        assert {item.rejected for item in items(folder, "topics")} == {reason and f"{reason} relevant documents"}


def test_a_writer_sees_all_relevant_documents_an_equal_part_of_each(tmp_path, answered):
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-fas-og"}
    folder = build(tmp_path / "b", seeds=seeds, steps={"translate": None, "edits": {"characters": 6 * 40}})
    BuildFolder(folder).run("edits")
    docs = {doc.doc_id: doc.contents[:40] for doc in MINI.docs("fas")}
    prompts = [prompt_of(body["messages"]) for body in answered.bodies]
    for item in items(folder, "topics"):
        shown = [f"[{n}] {docs[doc_id]}" for n, doc_id in enumerate(item.fields["relevant"], 1)]
        [asked] = [each for each in prompts if f"Search: {item.fields['query']}\n" in each]
        assert "\n\n".join([*shown, "Write 3 versions"]) in asked
    assert {body["model"] for body in answered.bodies} == {"writer"}


def test_a_relevant_document_without_text_cannot_be_judged(tmp_path, answered):
    answered.answer = lambda messages: (
        versions(messages, "It is of stone.") if said(messages, "versions of the description") else "Yes"
    )
    seeds = {"topics": "topics.trec", "qrels": "qrels.txt", "docs": "docs.jsonl"}
    folder = build(tmp_path / "b", seeds=seeds, steps={"translate": None, "edits": {"count": 1}})
    (folder / "topics.trec").write_text(TREC)
    (folder / "qrels.txt").write_text("".join(f"301 0 d{n} 1\n" for n in range(4)))
    (folder / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": f"bridge {n}"}) + "\n" for n in range(3)))
    BuildFolder(folder).run("choose")
    assert {pair.fields["doc_id"]: pair.rejected for pair in items(folder, "rejudge")} == {
        **dict.fromkeys(("d0", "d1", "d2"), ""),
        "d3": "no text of the document",
    }
    assert [edit.rejected for edit in items(folder, "choose")] == ["a relevant document has no judgment"]


def test_a_share_of_exactly_a_bound_is_within_it():
    three, seven = ([n >= fell for n in range(10)] for fell in (3, 7))
    made = weighed(Choose(min=0.3, max=0.7), ("low", three), ("high", seven))
    assert made["low"].id == "t"
    made = weighed(Choose(min=0.31, max=0.69), ("low", three), ("high", seven))
    assert [item.rejected for item in made.values()] == [
        "the share that falls is below 0.31",
        "the share that falls is above 0.69",
    ]


TEXTS = {group: f"mfollowir-mini-{group}-og" for group in LANGUAGES}


def translating(folder, *, reviewers=1, **more):
    """A build over the mini's topics whose changes people translate into Persian; run until it waits for them."""
    steps = {"translate": {"model": "", "to": {"fas": "Persian"}, "texts": {"fas": TEXTS["fas"]}, **more}}
    steps["translation-review"] = {"reviewers": reviewers}
    folder = build(folder, seeds={"benchmark": "mfollowir-mini-cross-lingual-fas-og"}, steps=steps)
    made = BuildFolder(folder)
    made.run()
    export_review(made, "translation-review", folder / "form.html")
    return made, page_data(folder / "form.html")


def test_people_translate_the_changes_and_the_benchmark_has_their_words(tmp_path, answered):
    made, data = translating(tmp_path / "b")
    assert not any(said(body["messages"], "Persian") for body in answered.bodies)
    states = {state.step.name: state.record for state in made.states()}
    assert (states["translation-review"].waiting, states["translation-review"].left) == (len(TOPICS), len(TOPICS))
    topics = {topic.instruction: topic for topic in MINI.topics("fas", "og")}
    for item in data["items"]:
        search, before, after, language, narrative = item["texts"]
        assert (after, language, search) == (f"{before} {HALF}", "Persian", topics[narrative].query)
    answers = saved(data, "Ada", lambda texts, question: f"{texts[4]} {TRANSLATED['Persian']} ", written=True)
    assert import_review(made, [write_saved(tmp_path / "Ada.json", answers)]).new == len(TOPICS)
    made.run()
    for topic in load(str(made.benchmark(tmp_path / "out").absolute())).topics("fas", "changed"):
        assert topic.instruction.endswith(f" {TRANSLATED['Persian']}")
        assert topic.instruction.removesuffix(f" {TRANSLATED['Persian']}") in topics
    rows = [json.loads(line) for line in (tmp_path / "out" / "provenance.jsonl").read_text().splitlines()]
    made_by = {(row["by"], row["step"]) for row in next(row for row in rows if row["id"] == "fas-01")["made"]}
    assert ("person", "translation-review") in made_by
    assert tandem("build", "review", "status", made.path).returncode == 0


def test_what_people_write_replaces_what_a_model_wrote_and_has_to_be_a_small_change(tmp_path, answered):
    made, data = translating(tmp_path / "b", model="writer")
    assert sum(said(body["messages"], "in Persian") for body in answered.bodies) == len(TOPICS)
    written = [lambda texts: "Not in Persian.", lambda texts: texts[4], lambda texts: f"{texts[4]} و کوتاه"]
    places = {item["texts"][4]: number for number, item in enumerate(data["items"])}
    answers = saved(data, "Ada", lambda texts, question: written[min(places[texts[4]], 2)](texts), written=True)
    import_review(made, [write_saved(tmp_path / "Ada.json", answers)])
    made.run()
    record = made.files["translation-review"].record()
    assert record.rejected == {"not in the script of the narrative": 1, NOTHING_NEW: 1}
    assert {item.fields["changed"].split()[-1] for item in made.steps().passed("translation-review")[len(TOPICS) :]} == {
        "کوتاه"
    }


def test_a_translation_of_blanks_is_refused_and_two_that_differ_are_settled(tmp_path, answered):
    made, data = translating(tmp_path / "b", reviewers=2)
    for wrong in ("  ", "x" * 10_001, "a\x07", 3):
        answers = saved(data, "Ada", lambda texts, question, wrong=wrong: wrong, written=True)
        with pytest.raises(ToolkitError, match="cannot be imported"):
            import_review(made, [write_saved(tmp_path / "Ada.json", answers)])
    for name in ("Ada", "Ben", "Cleo"):
        if name == "Cleo":
            export_review(made, "translation-review", tmp_path / "settle.html", to_settle=True)
            data = page_data(tmp_path / "settle.html")
        answers = saved(
            data, name, lambda texts, question, name=name: f"{texts[4]} {TRANSLATED['Persian']} {name}", written=True
        )
        import_review(made, [write_saved(tmp_path / f"{name}.json", answers)])
        made.run()
        counts = made.files["translation-review"].record()
        assert (counts.waiting, counts.left) == ((10, 10) if name != "Cleo" else (0, 20))
    assert {item.fields["changed"][-1] for item in made.steps().passed("translation-review")[10:]} == {"o"}


def test_what_could_not_come_out_is_said_before_anything_is_asked(tmp_path, answered):
    seeds = {"benchmark": "mfollowir-mini-cross-lingual-og"}

    def problems(translate, **steps):
        with pytest.raises(ToolkitError) as error:
            BuildFolder(build(tmp_path / "b", seeds=seeds, steps={"translate": translate, **steps}))
        return "\n".join(map(str, error.value.problems))

    assert "bm25 finds words of one language, and topics of cross-lingual/fas, cross-" in problems(None, candidates={})
    assert "topics of cross-lingual/zho, cross-lingual/rus are" in problems({"to": {"fas": "Persian"}}, candidates={})
    assert "name the step translation-review" in problems(
        {"to": {"fas": "Persian"}, "texts": {"fas": TEXTS["fas"]}, "model": ""}
    )
    people = {"translation-review": {}}
    assert "`texts` has no topics of fas" in problems({"to": {"fas": "Persian"}, "model": ""}, **people)
    for system in ("bge-m3", tmp_path / "mine"):  # a multilingual one, and one of which nothing is known
        BuildFolder(build(tmp_path / "b", seeds=seeds, steps={"translate": None, "candidates": {"systems": [str(system)]}}))
    assert answered.bodies == []


RUSSIAN = "Документ о каменном мосте."


def test_topics_of_one_language_are_translated_into_any_over_the_same_documents(tmp_path, answered):
    def answer(messages):
        if said(messages, "versions of the description"):
            return versions(messages, "The bridge is of stone.")
        if said(messages, "these three texts into Russian"):
            return json.dumps({"query": "старые мосты", "narrative": "Документ о мосте.", "changed": RUSSIAN})
        if said(messages, "Change the description in Persian"):
            return json.dumps({"changed": f"{written['instruction']} {TRANSLATED['Persian']}"})
        return "Yes" if said(messages, "Document: stone") else "No"

    answered.answer = answer
    seeds = {"topics": "topics.trec", "qrels": "qrels.txt", "docs": "docs.jsonl"}
    translate = {"to": {"rus": "Russian", "fas": "Persian"}, "texts": {"fas": "persian.jsonl"}}
    folder = build(tmp_path / "b", seeds=seeds, steps={"translate": translate, "edits": {"count": 1}})
    written = {"id": "301", "query": "پل‌ها", "instruction": "سند درباره پل است."}
    (folder / "persian.jsonl").write_text(json.dumps(written), encoding="utf-8")
    docs = [{"id": f"d{n}", "text": f"{'stone' if n < 2 else 'wood'} bridge {n}"} for n in range(4)]
    docs += [{"id": "x", "text": "another bridge"}]
    (folder / "topics.trec").write_text(TREC)
    (folder / "qrels.txt").write_text("".join(f"301 0 d{n} 1\n" for n in range(4)))
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "found.trec").write_text("301 Q0 d3 1 2 r\n301 Q0 x 2 1 r\nrus-301 Q0 d1 1 2 r\n")
    BuildFolder(folder).run()
    out = load(str(BuildFolder(folder).benchmark(tmp_path / "out").absolute()))
    assert (out.groups, out.spec.selections) == (("all", "fas", "rus"), {})
    assert out.topics("fas", "changed")[0].text == f"{written['query']} {written['instruction']} {TRANSLATED['Persian']}"
    assert out.topics("rus", "changed")[0].text == f"старые мосты {RUSSIAN}"
    pools = {group: [doc.doc_id for _, docs in out.scoreddocs(group, "og").rankings() for doc in docs] for group in out.groups}
    # the first of both runs, then the relevant documents that none of them has
    assert pools == {group: ["d3", "d1", "x", "d0", "d2"] for group in ("all", "rus", "fas")}
    assert sorted(doc.doc_id for doc in out.docs("rus")) == ["d0", "d1", "d2", "d3", "x"]


@pytest.mark.parametrize("shares", [{"min": 0.0}, {"max": 1.0}, {"min": 0.6}, {"target": 0.8}])
def test_shares_have_an_order(shares):
    with pytest.raises(ToolkitError, match=r"min .*, target .*, max"):
        Choose(**shares)


def test_all_that_is_wrong_with_the_parameters_is_said_at_once(tmp_path):
    steps = {"choose": {"min": 0.9}, "candidates": {"systems": []}, "translate": {"texts": {"fas": "x"}}}
    with pytest.raises(ToolkitError) as error:
        BuildFolder(build(tmp_path / "b", steps=steps))
    said = "\n".join(map(str, error.value.problems))
    assert [part in said for part in ("min 0.9", "nothing is pooled", "texts of fas")] == [True] * 3


def test_a_pool_of_relevant_documents_alone_is_an_error_and_one_such_topic_is_rejected(tmp_path, answered):
    folder = build(tmp_path / "b")
    lines = (folder / "found.trec").read_text().splitlines(keepends=True)
    topics = sorted({line.split()[0] for line in lines})
    (folder / "found.trec").write_text("".join(line for line in lines if line.split()[0] != topics[0]))
    BuildFolder(folder).run()
    why = {item.fields["topic"]: item.rejected for item in items(folder, "candidates")}
    assert why == dict.fromkeys(topics[1:], "") | {topics[0]: "nothing but relevant documents was pooled"}
    other = build(tmp_path / "c")
    (other / "found.trec").write_text("nobody Q0 d 1 1 r\n")
    with pytest.raises(ToolkitError, match="step candidates: nothing but relevant documents was pooled"):
        BuildFolder(other).run()


@pytest.mark.lucene
def test_candidates_are_pooled_from_systems_over_documents_of_files(tmp_path, answered):
    def answer(messages):
        if said(messages, "versions of the description"):
            return versions(messages, "The bridge is of stone.")
        return "Yes" if said(messages, "Document: stone") else "No"

    answered.answer = answer
    docs = [{"id": f"d{n}", "text": f"{'stone' if n < 2 else 'wood'} bridge {n} was repaired"} for n in range(4)]
    docs += [{"id": "x", "text": "another bridge"}, {"id": "y", "text": "nothing of it"}]
    steps = {"translate": None, "edits": {"count": 1}, "candidates": {"systems": ["bm25"], "size": 5}}
    folder = build(tmp_path / "b", seeds={"topics": "topics.trec", "qrels": "qrels.txt", "docs": "docs.jsonl"}, steps=steps)
    (folder / "topics.trec").write_text(TREC)
    (folder / "qrels.txt").write_text("".join(f"301 0 d{n} 1\n" for n in range(4)))
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    BuildFolder(folder).run()
    [topic] = BuildFolder(folder).steps().passed("candidates")
    assert set(topic.fields["candidates"]) == {"d0", "d1", "d2", "d3", "x"}
    assert not list(folder.glob(".search*"))


def test_what_was_written_to_break_the_edit_falls_with_it_and_is_a_candidate(tmp_path, answered):
    def scripted(messages):
        text = prompt_of(messages)
        if "just what the searcher does not want" in text:
            return f"BREAKS it, and is about {text.partition('Search: ')[2].splitlines()[0]}."
        if "uses all words" in text:
            return f"SONG of {text.partition('Search: ')[2].splitlines()[0]}."
        if "SONG" in text or "BREAKS" in text:
            return "No" if "SONG" in text or "adds" in text else "Yes"
        return written(messages)

    answered.answer = scripted
    folder = build(tmp_path / "b", steps={"translate": None, "instruction-negatives": {}, "adversarial": {}})
    made = BuildFolder(folder)
    made.run()
    out = made.benchmark(tmp_path / "out")
    assert tandem("benchmarks", "check", out).returncode == 0
    texts = {
        row["id"]: row["text"] for path in out.glob("corpus*.jsonl") for row in map(json.loads, path.read_text().splitlines())
    }
    added = {doc_id: text.split()[0] for doc_id, text in texts.items() if text.startswith(("BREAKS", "SONG"))}
    assert set(added.values()) == {"BREAKS", "SONG"}
    labels = {
        (mode, added[line.split()[2]]): line.split()[3]
        for mode in ("og", "changed")
        for path in out.glob(f"qrels*{mode}.txt")
        for line in path.read_text().splitlines()
        if line.split()[2] in added
    }
    assert labels == {("og", "BREAKS"): "1", ("changed", "BREAKS"): "0", ("og", "SONG"): "0", ("changed", "SONG"): "0"}
    listed = {line.split()[2] for path in out.glob("candidates*") for line in path.read_text().splitlines()}
    assert set(added) <= listed
