"""InstructIR: from each of its published forms, in every group, with and without a corpus."""

import json
import math
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from command import process, tandem
from hub_layout import hub_files
from serving import serving

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import topic_input
from toolkit.datasets import load, take
from toolkit.datasets.layouts import instructir
from toolkit.datasets.statistics import printed_statistics
from toolkit.evaluation import evaluate
from toolkit.registry import system

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "instructir"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside the checkout")
# core query -> its instructions
ASKED = {
    "7": ("wine cabinets", ["I am a joiner.", "I rent a small flat.", "As a sommelier, I want facts [in tables]."]),
    "31_b": ("plural of ox", ["I teach grammar.", "I am nine years old."]),
}
IDS = [f"{core}_{number}" for core, (_, texts) in ASKED.items() for number in range(1, len(texts) + 1)]


def instances():
    for core, (query, texts) in ASKED.items():
        for number, instruction in enumerate(texts, 1):
            yield f"{core}_{number}", core, query, instruction


def jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def tsv(path, rows, header=("qid", "pid", "score")):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in (header, *rows)))


def write_shared(folder, *, corpus=False):
    """As far as the data beside the checkout go: queries, judgments, paraphrases."""
    jsonl(folder / "queries.jsonl", [{"_id": i, "text": f"{ins} [SEP] {q}"} for i, _, q, ins in instances()])
    tsv(folder / "qrels" / "test.tsv", [(i, f"p{i}", 1) for i in IDS])
    if corpus:
        jsonl(folder / "corpus.jsonl", [{"_id": f"p{i}", "title": "", "text": f"passage {i}"} for i in [*IDS, "other"]])
    return folder


def write_released(root):
    """All of the authors' folder."""
    folder = write_shared(root / "INSTRUCTIR", corpus=True)
    jsonl(folder / "only_queries.jsonl", [{"_id": core, "text": query} for core, (query, _) in ASKED.items()])
    tsv(folder / "qrels" / "for_only_query_test.tsv", [(core, f"p{i}", 1) for i, core, _, _ in instances()])
    alone = [{"_id": i, "text": ins, "metadata": {"origin_query": q}} for i, _, q, ins in instances()]
    jsonl(folder / "only_instruction_queries.jsonl", alone)
    malformed = [{"_id": i, "text": f"] {q} [SEP] {ins} ["} for i, _, q, ins in instances()]
    jsonl(folder / "analysis_order_sensitivity" / "new_queries.jsonl", malformed)
    reworded = [{"_id": f"7_2.{n}", "text": f"in other words {n} [SEP] wine cabinets"} for n in range(1, 6)]
    jsonl(folder / "analysis_prompt_sensitivity" / "5new_queries.jsonl", reworded)
    tsv(folder / "analysis_prompt_sensitivity" / "qrels" / "5_test.tsv", [(f"7_2.{n}", "p7_2", 1) for n in range(1, 6)])
    return root


def write_hub(root):
    """MTEB's repository: query and instruction apart."""
    folder = root / "mteb" / "InstructIR-mteb"
    jsonl(folder / "corpus" / "corpus.jsonl", [{"_id": f"p{i}", "title": "", "text": f"passage {i}"} for i in IDS])
    jsonl(folder / "queries" / "queries.jsonl", [{"_id": i, "text": q} for i, _, q, _ in instances()])
    jsonl(folder / "instruction" / "instruction.jsonl", [{"query-id": i, "instruction": ins} for i, _, _, ins in instances()])
    tsv(folder / "default" / "test.tsv", [(i, f"p{i}", 1) for i in IDS], ("query-id", "corpus-id", "score"))
    return root


def texts(group):
    return [topic.text for topic in load("instructir").topics(group)]


@pytest.mark.parametrize("write", [write_shared, write_released, write_hub])
def test_every_published_form_holds_the_same_queries(tmp_path, home, write):
    take("instructir", write(tmp_path / "copy"))
    topics = load("instructir").topics("all")
    assert [(t.query_id, t.group_id, t.query, t.instruction) for t in topics] == list(instances())
    assert [t.text for t in topics] == [f"{ins} [SEP] {q}" for _, _, q, ins in instances()]
    assert [tuple(row)[:3] for row in load("instructir").qrels("all")] == [(i, f"p{i}", 1) for i in IDS]


@pytest.mark.parametrize("write", [write_shared, write_released, write_hub])
def test_the_other_groups_are_read_or_made_alike(tmp_path, home, write):
    take("instructir", write(tmp_path / "copy"))
    assert texts("instruction-only") == [ins for _, _, _, ins in instances()]
    assert texts("query-first") == [f"{q} [SEP] {ins}" for _, _, q, ins in instances()]
    assert texts("query-first-released") == [f"] {q} [SEP] {ins} [" for _, _, q, ins in instances()]
    assert texts("query-only") == [query for query, _ in ASKED.values()]
    for group in ("instruction-only", "query-first", "query-first-released"):
        found = {t.query_id: t.group_id for t in load("instructir").topics(group)}
        assert found == {i: core for i, core, _, _ in instances()}  # from the reader, whatever the text is
    judged = {(row.query_id, row.doc_id) for row in load("instructir").qrels("query-only")}
    assert judged == {(core, f"p{i}") for i, core, _, _ in instances()}


def test_what_a_copy_has_not_is_made_and_said(tmp_path, home):
    parts = take("instructir", write_shared(tmp_path / "copy"))
    assert set(parts) == {"all", "instruction-only", "query-only", "query-first", "query-first-released"}
    assert parts["all"].notes == ("all: no corpus, queries and judgments alone",)
    [note] = parts["query-first-released"].notes
    assert note.endswith("made from the instructed queries, as the copy has no analysis_order_sensitivity/new_queries.jsonl")
    assert take("instructir", write_released(tmp_path / "whole"))["query-first-released"].notes == ()


def test_paraphrases_belong_to_the_instruction_that_they_say_in_other_words(tmp_path, home):
    take("instructir", write_released(tmp_path / "copy"))
    topics = load("instructir").topics("paraphrases")
    assert {t.group_id for t in topics} == {"7_2"}
    assert (topics[0].query, topics[0].instruction) == ("wine cabinets", "in other words 1")


def test_paraphrases_without_judgments_have_those_of_the_instruction(tmp_path, home):
    folder = write_shared(tmp_path / "copy")
    jsonl(folder / "paraphrased_queries.jsonl", [{"_id": "31_b_2.1", "text": "a child asks [SEP] plural of ox"}])
    take("instructir", folder)
    assert [tuple(row)[:3] for row in load("instructir").qrels("paraphrases")] == [("31_b_2.1", "p31_b_2", 1)]


def test_all_groups_share_one_corpus(tmp_path, home):
    take("instructir", write_released(tmp_path / "copy"))
    benchmark = load("instructir")
    docs = [[doc.doc_id for doc in benchmark.docs(group)] for group in benchmark.groups]
    assert docs == [[f"p{i}" for i in [*IDS, "other"]]] * 6


def test_without_a_corpus_only_what_needs_documents_says_so(tmp_path, home):
    write_shared(tmp_path / "copy")
    commands = (["benchmarks", "fetch", "instructir", "--from", "copy"], ["search", "--topics", "instructir", "--output", "x"])
    fetched, searched = (tandem(*command, cwd=tmp_path, env=environment()) for command in commands)
    assert fetched.stdout.startswith("instructir-all: 2 cores, 5 queries")
    assert searched.returncode == 2
    assert searched.stderr.splitlines()[0] == "error: the documents of instructir-all are not on this machine"
    assert searched.stderr.splitlines()[1].startswith(
        "hint:  queries and judgments are here; take a copy that has corpus.jsonl"
    )
    with pytest.raises(ToolkitError, match="the documents of instructir-all are not on this machine"):
        load("instructir").docs("query-first")


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


BROKEN = {
    "expected `<instruction> [SEP] <query>`": ("queries.jsonl", {"_id": "7_9", "text": "no separator"}),
    "query 7_1 for the second time": ("queries.jsonl", {"_id": "7_1", "text": "I am a joiner. [SEP] wine cabinets"}),
    "asks 'red wine'": ("queries.jsonl", {"_id": "7_9", "text": "I am a cook. [SEP] red wine"}),
    "no id of an instructed query": ("queries.jsonl", {"_id": "nine", "text": "I am a cook. [SEP] red wine"}),
    "query 8_1 has no judgment": ("queries.jsonl", {"_id": "8_1", "text": "I am a cook. [SEP] red wine"}),
}


@pytest.mark.parametrize(("problem", "added"), BROKEN.items(), ids=BROKEN)
def test_what_cannot_be_right_is_refused_with_its_place(tmp_path, home, problem, added):
    folder = write_shared(tmp_path / "copy", corpus=True)
    name, row = added
    with (folder / name).open("a") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(ToolkitError) as caught:
        take("instructir", folder, ["all"])
    assert any(problem in line for line in caught.value.lines())
    assert not load("instructir").is_present("all")


def test_judgments_of_unknown_documents_are_refused_where_the_corpus_is_there(tmp_path, home):
    folder = write_shared(tmp_path / "copy", corpus=True)
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("7_1\tnowhere\t1\n")
    with pytest.raises(ToolkitError, match="unknown document nowhere"):
        take("instructir", folder, ["all"])


@pytest.mark.parametrize(
    "template", ["{query}", "{instruction} [SEP] {query}", "{query} {instruction}", "Instruct: {instruction}\nQuery: {query}"]
)
def test_a_template_sends_query_first_as_it_is_in_the_group(template):
    topic = load("instructir-mini").topics("query-first")[0]
    sent = topic_input({"query": template, "plain": "{query}"}, topic).whole
    assert sent == topic.text
    assert sent.index("[SEP]") < sent.index("I am seventy-eight")


@pytest.mark.parametrize("name", ["contriever-msmarco", "bm25", "colbertv2", "gtr-t5-base"])
def test_the_recipes_of_the_paper_send_the_published_text(name):
    spec: SystemSpec = system(name).with_recipe("instructir")
    topic = load("instructir-mini").topics("all")[0]
    assert topic_input(spec.templates, topic).whole == topic.text


@needs_shared
@pytest.mark.slow
def test_the_data_beside_the_checkout_have_the_papers_counts(home):
    take("instructir", SHARED)
    topics = load("instructir").topics("all")
    sizes = Counter(Counter(topic.group_id for topic in topics).values())
    assert (len(topics), sizes) == (9906, {6: 239, 7: 309, 8: 302, 9: 277, 10: 140})
    assert [topics[place].query_id for place in (0, 4953, -1)] == ["1078446_1", "613318_3", "544277_10"]
    assert len(load("instructir").topics("query-only")) == 1267
    assert len({topic.group_id for topic in load("instructir").topics("paraphrases")}) == 1267


@needs_shared
def test_table_2_and_the_length_of_instructions_are_met(home):
    take("instructir", SHARED, ["all"])
    found = {row.place: row for row in printed_statistics(load("instructir"), ["all"], ["all"])}
    assert {name.removeprefix("instructir "): row.value for name, row in found.items()} == {
        "mean_instructions_per_query": pytest.approx(7.82, abs=0.005),  # table 2 prints 7.81, a list of the package says so
        "n_queries": 1267,
        "n_instructed_queries": 9906,
        "n_docs": None,  # the corpus is not beside the checkout
        "mean_instruction_tokens": pytest.approx(59.27, abs=0.005),  # 64.47 of a tokenizer that is not named
    }
    assert [row.problem for row in found.values() if row.value is not None] == [""] * 4


@needs_shared
def test_robustness_of_any_run_is_the_mean_of_the_groups_minima(home):
    take("instructir", SHARED, ["all"])
    random.seed(4)
    qrels = load("instructir").qrels("all")
    docs = qrels.doc_ids.to_pylist()
    run = {}
    for row in qrels:
        if random.random() < 0.99:  # some are absent
            ranking = random.sample(docs, 14)
            ranking[random.choice([0, 0, 0, 1, 4, 9, 12])] = row.doc_id
            run[row.query_id] = {doc: 20.0 - place for place, doc in reversed(list(enumerate(ranking)))}
    scores = evaluate(Run.from_dict(run, tag="random"), benchmark="instructir")
    groups: dict[str, list[float]] = {}
    for row in qrels:
        ranking = sorted(run.get(row.query_id, {}), key=run.get(row.query_id, {}).get, reverse=True)[:10]
        value = 1 / math.log2(ranking.index(row.doc_id) + 2) if row.doc_id in ranking else 0.0
        groups.setdefault(row.query_id.rpartition("_")[0], []).append(value)
    minima = [min(values) for values in groups.values()]
    everything = [value for values in groups.values() for value in values]
    assert scores.value("Robustness@10", mode="") == pytest.approx(sum(minima) / 1267, abs=1e-12)
    assert scores.value("nDCG@10", mode="") == pytest.approx(sum(everything) / 9906, abs=1e-12)


def fetched(name, hub):
    """Fetch a group from a local hub that has MTEB's repository; its files that were got, and what the command printed."""
    repository = load("instructir").spec.group("all")
    with serving(hub_files(hub, repository)) as files:
        env = environment() | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        command = ["benchmarks", "fetch", name]
        done = process(*command, env=env)
    assert done.returncode == 0, done.stderr
    return {path.rpartition("/")[2] for path, _ in files.requests if "/resolve/" in path}, done.stdout


@pytest.mark.process
def test_the_hub_gives_queries_and_the_shared_corpus_once(tmp_path, home):
    hub = write_hub(tmp_path / "hub") / "mteb" / "InstructIR-mteb"
    got, said = fetched("instructir", hub)
    assert said.startswith("instructir-all: 2 cores, 5 queries, 5 documents")
    assert "corpus.jsonl" in got
    got, said = fetched("instructir-query-first", hub)
    assert said == "instructir-query-first: 2 cores, 5 queries\n"
    assert "corpus.jsonl" not in got
    assert [doc.doc_id for doc in load("instructir").docs("query-first")] == [f"p{i}" for i in IDS]


def test_a_group_that_instructir_has_not_is_refused(tmp_path):
    with pytest.raises(ToolkitError, match="benchmark instructir: InstructIR has no group 'of-mine'"):
        instructir.read(tmp_path, load("instructir").spec, {"name": "of-mine"})


def test_paraphrases_are_on_no_hub(home):
    with pytest.raises(ToolkitError, match="instructir-paraphrases is in no repository of the hub"):
        load("instructir").topics("paraphrases")
