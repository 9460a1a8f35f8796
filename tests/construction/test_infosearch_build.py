import itertools
import json
import re
from pathlib import Path

import pytest
import yaml
from command import tandem
from endpoint import Script, serving
from review_builds import page_data, saved, write_saved

from toolkit import registry
from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.queries.infosearch_steps import SIX
from toolkit.construction.review.review_rounds import export_review, import_review
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load
from toolkit.datasets.own.own_check import check_folder

POST = """\
Rows come twice in my export, so I wrote this and it works:

    rows = set(rows)
    write(rows)

Thanks to all of you!
"""
SEEDS = {
    "q1": (
        "descale a kettle",
        {
            "d1": "Vinegar removes limescale from a kettle. Boil it, say EXPERTs in the NEWS.",
            "d2": "Citric acid cleans kettles.",
        },
    ),
    "q2": (
        "remove duplicate rows",
        {"d3": POST, "d4": "A set drops what comes twice in a spreadsheet. EXPERTs say so in the NEWS."},
    ),
}
KINDS = {  # what a demand is known by -> how the scripted model writes such a text
    "reference manual": "MANUAL text on {query}. The option takes a value.",
    "in Chinese": "这是一篇关于这个问题的中文文章，写得很清楚。",
}
TOGETHER = {  # what one request asks for -> the scripted answer to it
    "Form of the answer:\nBlog": (
        "Blog: BLOG text on {query}.\nI tried it myself.\n\nForum: FORUM text on {query}.\nAnn: I tried it, too."
    ),
    "Form of the answer:\nLayman": "Layman: LAYMAN text on {query}. It is easy to read.",
    "Form of the answer:\nSentence": (
        "Sentence: One sentence is all there is on {query}.\nArticle: First on {query}.\n\nSecond.\n\nThird, its end."
    ),
}
MARKS = {
    "plain words": "LAYMAN",
    "specialists": "EXPERT",
    "entry of a blog": "BLOG",
    "several users": "FORUM",
    "news report": "NEWS",
}
MARKS |= {"reference manual": "MANUAL", "discussion forum, in": "Rows come twice", "calm": "CALM", "angry": "ANGRY"}
NUMBERS = itertools.count()
WORDS = {"d1": "vinegar", "d2": "citric", "d3": "export", "d4": "spreadsheet"}


def slot(text, name):
    found = re.search(rf"^{name}: (.*?)(?:\n\n|\n[A-Z][a-z ]*: |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def answer(messages):
    """What a good model answers, by what the system turn asks for."""
    system, text = messages[0]["content"], messages[1]["content"]
    query, document = slot(text, "Search"), slot(text, "Document") or slot(text, "Text")
    if system.startswith("You pick out words"):
        known = next(name for name, (_, docs) in SEEDS.items() if any(doc in text for doc in docs.values()))
        doc = next(name for name, body in SEEDS[known][1].items() if body[:30] in text)
        return f"the\n1. {SEEDS[known][0].split()[0]}\n- zebra\n- {WORDS[doc]}\n- boil"
    if system.startswith("You say a search as a person"):
        return f"Tell me, {query}! What I need is {slot(text, 'Wanted')}."
    if system.startswith("You turn a wish"):
        return f"Anything is fine except {slot(text, 'What the wish asks for')}."
    if system.startswith("You rewrite"):
        query = re.search(r"(?:answer|answers) this search: (.*?)\.(?: Add|\n)", text)[1]
        return next(written for known, written in (TOGETHER | KINDS).items() if known in text).format(query=query)
    if system.startswith("You write texts for a test"):
        if "neighbouring" in text:
            return f"A story near {query} that OMITS it, number {next(NUMBERS)}."
        if "uses all words" in text:
            return f"The words {query} and again {query} are in a song that OMITS the rest."
        return f"This BREAKS the wish on {query}. It is number {len(text)}."
    if system.startswith("You check what kind"):
        demand = text.rpartition("Is the document ")[2]
        return "Yes" if next(mark for known, mark in MARKS.items() if known in demand) in document else "No."
    if "adds" in text:
        return "No" if "BREAKS" in document else "Yes"
    return "No" if "OMITS" in document else "Yes"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Makes a build in a folder: `build(steps, answer)`."""
    folder = tmp_path / "mine"
    folder.mkdir()
    docs = [{"id": doc_id, "text": text} for _, mine in SEEDS.values() for doc_id, text in mine.items()]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "topics.tsv").write_text("".join(f"{name}\t{query}\n" for name, (query, _) in SEEDS.items()))
    (folder / "qrels.txt").write_text("".join(f"{name} 0 {doc} 1\n" for name, (_, mine) in SEEDS.items() for doc in mine))
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))

    def make(steps=None, more=None, **files):
        content = {"kind": "infosearch", "seeds": {"topics": "topics.tsv", "qrels": "qrels.txt", "docs": "docs.jsonl"}}
        content |= {"models": {"writer": "http:scripted", "judge": "http:scripted"}}
        content |= {"steps": {"anomalies": False, **(steps or {})}, **(more or {})}
        (folder / "build.yaml").write_text(yaml.safe_dump(content))
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text)
        return BuildFolder(folder)

    return make


@pytest.fixture
def server(monkeypatch):
    with serving(Script(answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        yield script


def rejected(build, step):
    """item -> why, of a step."""
    return {item.id: item.rejected for item in build.files[step].items() if item.rejected}


def items_of(build, step):
    return {item.id: item for item in build.files[step].items()}


def passed(build, step):
    return {item.id: item for item in build.files[step].items() if item.is_passed}


def oracle(benchmark, place):
    """A run that lists first what is relevant in its mode; hard negatives last."""
    lines = []
    for group in benchmark.groups:
        docs = [doc.doc_id for doc in benchmark.docs(group)]
        for mode in benchmark.spec.modes:
            judged = {(row.query_id, row.doc_id): row.relevance for row in benchmark.qrels(group, mode)}
            for topic in benchmark.topics(group, mode):
                order = sorted(docs, key=lambda doc: (-judged.get((topic.query_id, doc), -1), doc))
                lines += [f"{topic.query_id} Q0 {doc} {rank} {1 / rank:.6f} oracle" for rank, doc in enumerate(order, 1)]
    place.write_text("\n".join(lines) + "\n")
    return place


def test_from_seeds_to_a_benchmark_that_evaluate_scores(build, server, tmp_path):
    made = build({"instruction-negatives": {}, "adversarial": {}})
    states = made.run()
    assert all(state.is_done for state in states)
    folder = made.benchmark(tmp_path / "out")
    checked = check_folder(folder)
    assert checked.problems == []
    benchmark = load(str(folder))
    assert set(benchmark.groups) == set(SIX)
    assert dict(benchmark.spec.modes) == {"ori": "base", "ins": "instructed", "rev": "reversed"}
    scored = tandem(
        *("evaluate", oracle(benchmark, tmp_path / "run.trec"), "--benchmark", folder, "--format", "json"), check=True
    )
    values = {
        (row["measure"], row["mode"]): row["value"] for row in json.loads(scored.stdout)["rows"] if row["group"] == "average"
    }
    assert values["nDCG@10", "ins"] == pytest.approx(1.0)
    assert values["nDCG@10", "rev"] == pytest.approx(1.0)
    assert values["pMRR", "paired"] > 0
    assert 0 < values["WISE@20", "paired"] <= 1
    assert {measure for measure, _ in values} >= set(load("infosearch-mini").spec.measures)  # without -m the paper's table


def test_labels_are_those_of_gold_instruction_negatives_and_hard_negatives(build, server, tmp_path):
    made = build({"conditions": {"dimensions": ["source"]}, "instruction-negatives": {}, "adversarial": {}})
    made.run()
    folder = made.benchmark(tmp_path / "out")
    items = passed(made, "adversarial")
    item = items["source-q1-1"]
    labels = {
        mode: {
            line.split()[2]: int(line.split()[3])
            for line in (folder / f"qrels.{mode}.txt").read_text().splitlines()
            if line.startswith("source-q1-1 ")
        }
        for mode in ("ori", "ins", "rev")
    }
    [gold] = [document["id"] for document in item.fields["gold"]]
    breaking = [document["id"] for document in item.fields["instruction_negatives"]]
    hard = [document["id"] for document in item.fields["hard_negatives"]]
    assert (len(breaking), len(hard)) == (
        3,
        4,
    )  # two other sources and Promptriever's; three hard negatives, an adversarial one
    assert labels["ori"] == {gold: 1, **dict.fromkeys(breaking, 1), **dict.fromkeys(hard, 0)}
    assert labels["ins"] == {gold: 1, **dict.fromkeys(breaking, 0), **dict.fromkeys(hard, 0)}
    assert labels["rev"] == {gold: 0, **dict.fromkeys(breaking, 1), **dict.fromkeys(hard, 0)}
    row = next(json.loads(line) for line in (folder / "topics.jsonl").read_text().splitlines())
    assert row["condition"] == "blog"
    assert row["core"] == "q1"
    assert row["query"] == "descale a kettle"
    assert row["wordings"]["rephrased"] == f"Tell me, descale a kettle! {row['instructions']['ins']}"
    assert row["instructions"]["ins"].startswith("What I need is an entry of a blog, with a title")
    assert row["instructions"]["rev"].startswith("Anything is fine except an entry of a blog, with a title")


def test_every_query_and_document_has_its_provenance(build, server, tmp_path):
    made = build({"conditions": {"dimensions": ["keyword", "source"]}})
    made.run()
    folder = made.benchmark(tmp_path / "out")
    rows = {row["id"]: row["made"] for row in map(json.loads, (folder / "provenance.jsonl").read_text().splitlines())}
    queries = [json.loads(line)["id"] for line in (folder / "topics.jsonl").read_text().splitlines()]
    docs = [json.loads(line)["id"] for path in folder.glob("corpus.*.jsonl") for line in path.read_text().splitlines()]
    assert set(rows) == {*queries, *docs}
    assert rows["d1"] == []  # a seed's document: nobody here made it
    steps = {row["step"] for row in rows["source-q1-1"] if row["by"] == "scripted"}
    assert steps == {"instructions", "documents", "screening", "reversal", "negatives"}
    assert {(rows[doc][0]["role"], rows[doc][0]["by"]) for doc in docs if rows[doc]} == {
        ("wrote", "scripted"),
        ("wrote", "rule"),
    }
    news = next(item for item in passed(made, "negatives").values() if item.fields["condition"] == "news")
    assert [row["by"] for row in rows[news.fields["gold"][0]["id"]]] == ["rule"]  # as it was found


def test_keywords_are_unique_among_the_documents_of_their_query(build, server):
    made = build({"conditions": {"dimensions": ["keyword"]}})
    made.run("conditions")
    assert {item.fields["condition"]: item.fields["documents"] for item in passed(made, "conditions").values()} == {
        "vinegar": ["d1"],
        "citric": ["d2"],
        "export": ["d3"],
        "spreadsheet": ["d4"],
    }
    reasons = sorted(rejected(made, "conditions").values())
    assert set(reasons) == {"a stop word", "a word of the query", "not in the document", "another word is taken"}
    assert reasons.count("a stop word") == 4


def test_a_word_that_another_document_has_is_no_condition(build, server):
    server.answer = lambda messages: "kettle\nlimescale" if "Vinegar" in messages[1]["content"] else "kettles\nacid"
    made = build({"conditions": {"dimensions": ["keyword"]}, "seeds": {"queries": 1}})
    made.run("conditions")
    assert sorted(item.fields["condition"] for item in passed(made, "conditions").values()) == ["acid", "limescale"]
    assert sorted(rejected(made, "conditions").values()) == ["a word of the query"] * 2


def test_a_post_is_split_and_what_is_no_post_is_rejected(build, server):
    made = build({"conditions": {"dimensions": ["format"]}})
    made.run("documents")
    texts = {
        item.fields["condition"]: item.fields["gold"][0]["text"]
        for item in passed(made, "documents").values()
        if item.fields["core"] == "q2"
    }
    assert texts["code"] == "    rows = set(rows)\n    write(rows)"
    assert texts["post"] == POST.strip()  # the complete answer
    assert texts["manual"].startswith("MANUAL")
    assert rejected(made, "documents") == {"format-q1-2": "no code in the post"}
    manual = next(item for item in passed(made, "documents").values() if item.id == "format-q2-3")
    assert (manual.fields["source"], manual.made[0]["by"]) == ("", "scripted")  # the post quotes none


def test_a_document_that_meets_its_condition_by_a_rule_is_not_rewritten(build, server):
    made = build({"conditions": {"dimensions": ["language"]}})
    made.run("documents")
    english = [item for item in passed(made, "documents").values() if item.fields["condition"] == "English"]
    assert [item.fields["gold"][0]["text"] for item in english] == [SEEDS["q1"][1]["d1"], POST]
    assert not any(
        "in English" in body["messages"][1]["content"] for body in server.bodies if "rewrite" in body["messages"][0]["content"]
    )


@pytest.mark.parametrize(
    ("system", "said", "step", "why"),
    [
        ("You pick out words", "Here are some words: a, b.", "conditions", "no answer in the form asked for"),
        ("You say a search", "One sentence only.", "instructions", "no answer in the form asked for"),
        ("You rewrite", "Sure! Here is it.", "documents", "no answer in the form asked for"),
        ("You check what kind", "Perhaps", "screening", "no answer in the form asked for"),
        ("You check what kind", "No", "screening", "does not meet its condition"),
        ("You check what kind", "Yes", "screening", "meets another condition of its query, too"),
        ("You judge documents", "No", "screening", "does not answer the query"),
        ("You turn a wish", "", "reversal", "no answer in the form asked for"),
    ],
)
def test_what_a_model_answers_otherwise_is_rejected_by_its_step(build, server, system, said, step, why):
    server.answer = lambda messages: said if messages[0]["content"].startswith(system) else answer(messages)
    dimension = "keyword" if step == "conditions" else "source"
    made = build({"conditions": {"dimensions": [dimension]}})
    made.run(step)
    assert set(rejected(made, step).values()) == {why}
    kept = {"source-q1-3", "source-q2-3"} if system in ("You rewrite", "You judge documents") else set()  # news, as found
    assert set(passed(made, step)) == kept


@pytest.mark.parametrize(
    ("system", "said", "why"),
    [
        ("You write texts for a test", "Of course! A text.", "no answer in the form asked for"),
        ("You judge documents", "Maybe", "no answer in the form asked for"),
        ("You judge documents", "Yes", "it answers the query"),
    ],
)
def test_a_hard_negative_that_is_none_is_rejected_and_its_query_stays(build, server, system, said, why):
    def scripted(messages):
        is_last = "OMITS" in messages[1]["content"] or "neighbouring" in messages[1]["content"]
        return said if messages[0]["content"].startswith(system) and is_last else answer(messages)

    server.answer = scripted
    made = build({"conditions": {"dimensions": ["source"]}, "seeds": {"queries": 1}})
    made.run()
    assert rejected(made, "negatives") == {f"source-q1-{n}.negatives-{m}": why for n in (1, 2, 3) for m in (1, 2, 3)}
    assert [item.fields["hard_negatives"] for item in passed(made, "negatives").values()] == [[], [], []]


def test_an_instruction_negative_has_to_answer_the_query_and_break_the_instruction(build, server):
    def scripted(messages):
        text = messages[1]["content"]
        if "BREAKS" in text and slot(text, "Search") == "descale a kettle":
            return "Yes"  # it does what was asked for
        if "BREAKS" in text and "adds" not in text:
            return "No"  # it does not answer the query
        return answer(messages)

    server.answer = scripted
    made = build({"conditions": {"dimensions": ["audience"]}, "instruction-negatives": {}})
    made.run()
    why = rejected(made, "instruction-negatives")
    assert {name.split("-")[1]: reason for name, reason in why.items()} == {
        "q1": "it does what the instruction asks for",
        "q2": "it does not answer the query",
    }


def test_an_adversarial_document_has_to_have_the_words_of_the_query(build, server):
    server.answer = lambda messages: (
        "A song of other things that OMITS all." if "uses all words" in messages[1]["content"] else answer(messages)
    )
    made = build({"conditions": {"dimensions": ["audience"]}, "adversarial": {}})
    made.run()
    assert list(rejected(made, "adversarial").values()) == ["it has too few words of the query"] * 4


def test_a_second_document_of_the_same_text_is_rejected(build, server):
    made = build({"conditions": {"dimensions": ["audience"]}, "adversarial": {"count": 2}, "seeds": {"queries": 1}})
    made.run()
    assert rejected(made, "adversarial") == {f"audience-q1-{n}.adversarial-2": "the same text as another" for n in (1, 2)}
    [shared] = {each["id"] for item in passed(made, "adversarial").values() for each in item.fields["hard_negatives"][3:]}
    assert shared.startswith("q1-")


def test_a_query_whose_other_conditions_fell_has_no_instruction_negative(build, server):
    server.answer = lambda messages: (
        "No" if "BLOG" in messages[1]["content"] or "NEWS" in messages[1]["content"] else answer(messages)
    )
    made = build({"conditions": {"dimensions": ["source"]}})
    made.run()
    assert set(rejected(made, "negatives").values()) == {"no other condition of its query is left"}
    with pytest.raises(ToolkitError, match="no item is left"):
        made.benchmark(made.path / "out")


def test_a_reversed_instruction_that_a_rule_reads_as_the_same_is_rejected(build, server):
    same = "Please give me a text in Chinese only."
    server.answer = lambda messages: same if messages[0]["content"].startswith("You turn") else answer(messages)
    made = build({"conditions": {"dimensions": ["language"]}})
    made.run()
    why = rejected(made, "reversal")
    assert {why[name] for name in why if name.endswith("-1")} == {"the reversed instruction asks for the same"}


def test_a_dimension_of_ones_own_needs_a_few_lines(build, server, tmp_path):
    tone = """\
name: tone
satisfy: rewrite
check: model
conditions: {angry: an angry text, calm: a calm text}
wordings:
  instructed: ["Only {demand} will do. The tone is to be {condition}."]
  reversed: ["Anything but {demand}. No {condition} ones."]
"""
    KINDS_TONE = {"an angry": "ANGRY text on it all!", "a calm": "CALM text on it all."}

    def scripted(messages):
        if messages[0]["content"].startswith("You rewrite"):
            return (
                next(text for known, text in KINDS_TONE.items() if known in messages[1]["content"])
                + messages[1]["content"][-90:]
            )
        return answer(messages)

    server.answer = scripted
    made = build({"conditions": {"dimensions": ["tone.yaml"]}}, tone=tone)
    made.run()
    assert not any("You say a search" in body["messages"][0]["content"] for body in server.bodies)
    topics = [json.loads(line) for line in (made.benchmark(tmp_path / "out") / "topics.jsonl").read_text().splitlines()]
    assert topics[0]["instructions"] == {
        "ins": "Only an angry text will do. The tone is to be angry.",
        "rev": "Anything but an angry text. No angry ones.",
    }


def test_what_a_dimension_leaves_to_people_waits_for_them(build, server, tmp_path):
    tone = "name: tone\nsatisfy: rewrite\ncheck: person\nconditions: {angry: an angry text, calm: a calm text}\n"
    rewritten = {"an angry": "ANGRY text on it, with rage!", "a calm": "CALM text on it, with ease."}

    def scripted(messages):
        written = next((text for known, text in rewritten.items() if known in messages[1]["content"]), "")
        return written if written and messages[0]["content"].startswith("You rewrite") else answer(messages)

    server.answer = scripted
    made = build({"conditions": {"dimensions": ["tone.yaml", "language"]}, "review": {"reviewers": 1}}, tone=tone)
    made.run()
    assert {name for name, item in items_of(made, "review").items() if item.waiting} == {
        f"tone-q{n}-{m}" for n in (1, 2) for m in (1, 2)
    }
    assert set(passed(made, "review")) == {"language-q1-1", "language-q1-2", "language-q2-1", "language-q2-2"}
    page = tmp_path / "form.html"
    export_review(made, "review", page)
    data = page_data(page)
    assert sorted(each["texts"][3] for each in data["items"]) == sorted([*rewritten.values()] * 2)

    def choose(texts, question):
        return "No" if question == "follows" and texts[:1] == ["descale a kettle"] and "ANGRY" in texts[3] else "Yes"

    import_review(made, [write_saved(tmp_path / "form.json", saved(data, "Ada", choose))])
    made.run()
    assert rejected(made, "review") == {
        "tone-q1-1": "people find that the document is not as the instruction asks",
        "tone-q1-2": "no instruction negative is left",
    }
    assert {"tone-q2-1", "tone-q2-2"} <= set(passed(made, "review"))


def test_nothing_is_asked_again_when_all_is_made_again(build, server, tmp_path):
    made = build()
    made.run()
    before, asked = {path.name: path.read_bytes() for path in made.path.glob("steps/*.jsonl")}, len(server.bodies)
    for path in made.path.glob("steps/*"):
        path.unlink()
    made.run(replay=True)
    assert {path.name: path.read_bytes() for path in made.path.glob("steps/*.jsonl")} == before
    assert len(server.bodies) == asked


def test_seeds_without_documents_and_doubled_queries_are_counted(build, server):
    made = build()
    folder = made.path
    (folder / "topics.tsv").write_text(
        "q1\tdescale a kettle\nq2\tremove duplicate rows\nq3\tDescale a kettle\nq4\tno document\nq5\tlost document\n"
    )
    (folder / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d3 1\nq2 0 d4 0\nq3 0 d1 1\nq5 0 gone 1\n")
    made = BuildFolder(folder)
    made.run("seeds")
    assert rejected(made, "seeds") == {
        "q3": "the same query as another one",
        "q4": "no relevant document",
        "q5": "no text of its relevant documents",
    }
    assert [document["id"] for document in passed(made, "seeds")["q2"].fields["documents"]] == ["d3"]


def test_what_is_kept_is_rewritten_and_one_request_asks_for_all_of_a_dimension(build, server):
    made = build({"conditions": {"dimensions": ["audience", "length", "source"]}})
    made.run("screening")
    kept = {item.id: item for item in passed(made, "screening").values() if item.fields["satisfy"] == "keep"}
    texts = {name: [document["text"] for document in item.fields["gold"]] for name, item in kept.items()}
    paragraph, other = SEEDS["q1"][1]["d1"], SEEDS["q2"][1]["d4"]
    assert texts == {"audience-q1-2": [paragraph], "length-q1-2": [paragraph], "source-q1-3": [paragraph]} | {
        "audience-q2-2": [other],  # not the first one, which is no text for experts
        "length-q2-2": [other],
        "source-q2-3": [other],
    }
    asked = [
        body["messages"][1]["content"] for body in server.bodies if body["messages"][0]["content"].startswith("You rewrite")
    ]
    assert len(asked) == 6  # a query and dimension each
    assert sum("Paragraph: Vinegar" in text for text in asked) == 1
    both = {
        item.fields["gold"][0]["text"].split()[0] for name, item in passed(made, "screening").items() if "source-q1" in name
    }
    assert both == {"BLOG", "FORUM", "Vinegar"}


def test_each_dimension_may_have_seeds_of_its_own(build, server, tmp_path):
    rows = [
        {"Id": "1", "PostTypeId": 1, "Title": "remove duplicate rows"},
        {
            "Id": "2",
            "PostTypeId": 2,
            "ParentId": 1,
            "Body": POST.replace("Thanks", "The manual says:\n\n> Rows come twice.\n\nThanks"),
        },
    ]
    build()
    (tmp_path / "mine" / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {"topics": "topics.tsv", "qrels": "qrels.txt", "docs": "docs.jsonl"}
    seeds = {"format": {"posts": "posts.jsonl"}, "language": files}
    made = build({"conditions": {"dimensions": ["format", "language"]}}, {"seeds": seeds})
    made.run("documents")
    assert set(passed(made, "conditions")) == {
        *("format-1-1", "format-1-2", "format-1-3"),
        *("language-q1-1", "language-q1-2", "language-q2-1", "language-q2-2"),
    }
    manual = passed(made, "documents")["format-1-3"]
    assert (manual.fields["gold"][0]["text"], manual.fields["source"]) == ("Rows come twice.", "manual")
    assert [row["by"] for row in manual.made] == ["rule"]
    assert set(made.config.seeds.facts()) == {"format, posts", *(f"language, {key}" for key in files)}


@pytest.mark.parametrize(
    ("seeds", "problem"),
    [
        ({"language": {"docs": "gone.jsonl"}}, "seeds: language: docs: no file"),
        ({"language": {"doc": "docs.jsonl"}}, "seeds: language: unknown key 'doc'"),
        ({"language": {"posts": "docs.jsonl", "topics": "topics.tsv"}}, "seeds: language: topics and posts: name one of them"),
        ({"language": {"docs": "docs.jsonl"}, "qrels": "qrels.txt"}, "seeds: qrels and seeds of groups"),
    ],
)
def test_what_is_wrong_with_the_seeds_of_a_dimension_is_said(build, seeds, problem):
    with pytest.raises(ToolkitError) as error:
        build(more={"seeds": seeds})
    assert any(problem in str(each) for each in error.value.problems), error.value.problems


def test_a_dimension_without_seeds_names_those_of_the_paper(build):
    files = {"topics": "topics.tsv", "qrels": "qrels.txt", "docs": "docs.jsonl"}
    with pytest.raises(ToolkitError) as error:
        build({"conditions": {"dimensions": ["audience", "length"]}}, {"seeds": {"length": files, "tone": files}})
    [audience, tone] = error.value.problems
    assert audience.startswith("steps: conditions: no seeds are named for audience (InfoSearch took SciFact: {'ir_datasets'")
    assert tone == "steps: conditions: seeds of tone, which is none of audience, length"


def test_each_instruction_has_four_documents_of_its_own(build, server, tmp_path):
    made = build({"conditions": {"dimensions": ["source"]}})
    made.run()
    folder = made.benchmark(tmp_path / "out")
    rows = (folder / "topics.jsonl").read_text().splitlines()
    docs = (folder / "corpus.source.jsonl").read_text().splitlines()
    assert (len(rows), len(docs)) == (6, 24)  # table 9: 300 instructions, 1,200 documents
    asked = [body["messages"][1]["content"] for body in server.bodies if "neighbouring" in body["messages"][1]["content"]]
    assert not any("BLOG" in text or "a blog" in text for text in asked)  # the core query alone


def paper(messages):
    """Answers in the form that the paper's prompts ask for, with what they were given repeated."""
    text = answer(messages)
    system = messages[0]["content"]
    if system.startswith("You say a search"):
        return f"Core query: {slot(messages[1]['content'], 'Search')}\nCondition: any\nQuery_with_Instruction: {text}"
    if system.startswith("You turn a wish"):
        return f"Reverse Instruction: {text}"
    if system.startswith("You pick out words"):
        return f"Condition: {text.splitlines()[-2].removeprefix('- ')}"
    if "neighbouring" in messages[1]["content"]:
        return f"Core query: any\nHard negative document: {text}"
    return f"Query: any\n{text}" if text.startswith("Layman:") else text


def test_answers_in_the_form_of_the_papers_prompts_are_read(build, server):
    made = build({"conditions": {"dimensions": ["audience", "keyword"]}})
    server.answer = paper
    made.run()
    items = passed(made, "review")
    assert sorted(item.fields["condition"] for item in items.values()) == sorted(
        [*WORDS.values(), "layman", "expert", "layman", "expert"]
    )
    for item in items.values():
        texts = [item.fields["instruction"], item.fields["reversed"], item.fields["rephrased"]]
        texts += [document["text"] for document in (*item.fields["gold"], *item.fields["hard_negatives"])]
        assert not any(label in text for text in texts for label in ("Query", "query:", "Instruction:", "document:", "Layman:"))


RUNS = ("one.trec", "two.trec")


def found_by(made, *lost):
    """Runs over the draft in which each query's own documents are first, but those of these items are not there."""
    for name in RUNS:
        lines = [
            f"{item.id}-ori Q0 {document['id']} {rank} {30 - rank} x"
            for item in passed(made, "negatives").values()
            for rank, document in enumerate([] if item.id in lost else item.fields["gold"], 1)
        ]
        (made.path / name).write_text("\n".join(lines) + "\n")


def test_people_look_at_anomalies_and_replace_their_documents(build, server, tmp_path):
    steps = {"conditions": {"dimensions": ["source"]}, "review": {"reviewers": 1}}
    made = build(steps | {"anomalies": {"systems": [], "runs": list(RUNS), "least": 2}})
    made.run("negatives")
    found_by(made, "source-q1-1", "source-q1-2")
    made.run()
    # nobody has looked yet: they are in no benchmark, and their documents break no other instruction
    waiting = {name for name, item in items_of(made, "review").items() if item.waiting}
    assert waiting == {"source-q1-1", "source-q1-2", "source-q1-3"}  # of the third no instruction negative is left
    assert made.files["anomalies"].record().figures == {"found": {"outside the first 50 in 50% of the runs or more": 2}}
    assert set(passed(made, "review")) == {"source-q2-1", "source-q2-2", "source-q2-3"}
    page = tmp_path / "form.html"
    export_review(made, "review", page)
    data = page_data(page)
    assert sorted(each["texts"][3].split()[0] for each in data["items"]) == ["BLOG", "FORUM"]

    def choose(texts, question):
        return "No" if question == "relevant" and "BLOG" in texts[3] else "Yes"

    import_review(made, [write_saved(tmp_path / "form.json", saved(data, "Ada", choose))])
    made.run()
    assert rejected(made, "review") == {"source-q1-1": "people find that the document does not answer the query"}
    forum = next(item for item in passed(made, "review").values() if item.id == "source-q1-2")
    assert [document["text"].split()[0] for document in forum.fields["instruction_negatives"]] == ["Vinegar"]

    # somebody finds another blog, and people look at that
    (made.path / "replacements.jsonl").write_text(
        json.dumps({"id": "source-q1-1", "text": "A BLOG on kettles that I found."}) + "\n"
    )
    made.run()
    assert {name for name, item in items_of(made, "review").items() if item.waiting} == {"source-q1-1"}
    export_review(made, "review", page)
    [shown] = page_data(page)["items"]
    assert shown["texts"][3] == "A BLOG on kettles that I found."
    import_review(made, [write_saved(tmp_path / "again.json", saved(page_data(page), "Ada", lambda texts, question: "Yes"))])
    made.run()
    done = passed(made, "review")
    assert len(done) == 6
    [gold] = done["source-q1-1"].fields["gold"]
    assert [(row["role"], row["by"], row["step"]) for row in gold["made"]] == [("wrote", "person", "review")]
    assert gold["id"] in {document["id"] for document in done["source-q1-2"].fields["instruction_negatives"]}
    folder = made.benchmark(tmp_path / "out")
    assert check_folder(folder).problems == []


def test_a_replacement_for_an_item_that_is_not_there_is_named(build, server):
    made = build({"conditions": {"dimensions": ["source"]}})
    (made.path / "replacements.jsonl").write_text('{"id": "source-q9-1", "text": "A text."}\n')
    with pytest.raises(ToolkitError, match=r"replacements\.jsonl: no item source-q9-1"):
        made.run()


@pytest.mark.parametrize("text", ["", " \n\u3000"])
def test_a_replacement_without_text_is_an_error(build, server, text):
    made = build({"conditions": {"dimensions": ["source"]}})
    line = json.dumps({"id": "source-q1-1", "text": text})
    (made.path / "replacements.jsonl").write_text(f"{line}\n")
    with pytest.raises(ToolkitError, match=r"replacements\.jsonl: no text for source-q1-1"):
        made.run()


def test_replacements_are_no_folder(build, server):
    made = build({"conditions": {"dimensions": ["source"]}})
    (made.path / "replacements.jsonl").mkdir()
    with pytest.raises(ToolkitError, match=r"replacements\.jsonl is a folder"):
        made.run()


def test_twelve_systems_look_for_anomalies_unless_it_is_said_otherwise(build):
    [step] = [step for step in build({"anomalies": None}).config.steps if step.name == "anomalies"]
    assert len(step.systems) == step.least == 12
    assert set(step.systems) <= set(registry.systems())
    assert "anomalies" not in build({"anomalies": False}).config.names


def test_each_published_prompt_of_the_construction_has_its_place_in_a_step(build):
    named = {name for step in build().config.steps for name in step.published.values()}
    assert named == {f"infosearch-table{n}" for n in ("3", "5", "6-source", "6-audience", "6-length", "7", "8")}


def by_label(messages):
    """Answers to the paper's prompts, which are known by the labels that answers are to have."""
    text = messages[-1]["content"]
    if not text.startswith("### "):
        return answer(messages)
    number = next(NUMBERS)
    if "Query_with_Instruction:" in text:
        return f"Query_with_Instruction: Tell me of number {number}! I want that one."
    if "Reverse Instruction:" in text:
        return f"Reverse Instruction: I want any number but {number}."
    if "Hard negative document:" in text:
        return f"Hard negative document: It OMITS all, number {number}."
    if "Layman:" in text:
        return "Layman: LAYMAN text that is easy to read."
    if "Forum:" in text:
        return "Blog: BLOG text, as I tried it.\nForum: FORUM text.\nAnn: I tried it, too."
    if "Article:" in text:
        return "Sentence: One sentence is all there is.\nArticle: First.\n\nSecond.\n\nThird, its end."
    return f"Condition: {next(word for name, word in WORDS.items() if ALL[name][:30] in text)}"


ALL = {name: text for _, docs in SEEDS.values() for name, text in docs.items()}
PAPER = Path(__file__).resolve().parents[3] / "shared" / "papers" / "infosearch.txt"


@pytest.mark.skipif(not PAPER.is_file(), reason="no shared data beside the checkout")
def test_the_papers_prompts_build_a_benchmark(build, server, tmp_path):
    server.answer = by_label
    made = build({"conditions": {"dimensions": ["audience", "keyword", "length", "source"]}, "screening": {"others": False}})
    tandem("published", "prompts", "infosearch", "--from", PAPER, "--to", tmp_path / "prompts", check=True)
    tandem("build", "run", made.path, "--prompts", tmp_path / "prompts", check=True)
    made = BuildFolder(made.path)
    names = {
        row["prompt"] for step in made.config.names for item in made.files[step].items() for row in item.made if "prompt" in row
    }
    papers = {f"infosearch-table{n}.yaml" for n in ("3", "5", "6-source", "6-audience", "6-length", "7", "8")}
    assert {name for name in names if name.startswith("infosearch")} == papers
    assert names - papers == {"build-is-kind.v1", "build-answers-search.v1"}  # screening, which the paper leaves to people
    assert made.files["review"].record().left == 4 + 4 + 6 + 6
