"""BERDS' tables with an index of one's own and a scripted server: expansion, coverage, the union, judges; each step once."""

import csv
import json
import re
from pathlib import Path

import pytest
import yaml
from command import tandem
from endpoint import Script, serving

from toolkit import datasets
from toolkit.files.formats import read_run
from toolkit.models.judges import loading
from toolkit.models.llm.paper_prompts import write_prompts
from toolkit.studies.reproduce.packed import manifest_of
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.row_scores import scores_of
from toolkit.studies.reproduce.table_rows import tables_of

PAPERS = Path(__file__).resolve().parents[4] / "shared" / "papers"
PAPER = Path(__file__).resolve().parents[4] / "shared" / "papers" / "berds.txt"
SETS = ("arguana", "kialo", "opinionqa")
SIDES = ("for", "against")
pytestmark = pytest.mark.lucene
BERDS = ("reproduce", "berds", "--loader", "endpoint", "--output", "out")


def text_of(data_set, question, side, number):
    return f"{data_set} topic{question} argument {side} number{number}"


def answer(messages):
    """Yes where a document takes the side that the statement takes; perspectives where these are asked for."""
    text = messages[-1]["content"]
    if "Statement:" not in text:
        topic = re.search(r"(\w+ topic\d)", text)[1]
        return json.dumps({side: f"{topic} argument {side}" for side in SIDES})
    document, statement = text.split("Statement:")
    return "Yes" if next(side for side in SIDES if f" {side}" in statement) in document.split() else "No"


def questions(folder):
    """A copy of the test questions, two of each data set, with two perspectives each."""
    copy = folder / "copy"
    copy.mkdir()
    for data_set in SETS:
        topics = [f"{data_set} topic{number} argument" for number in range(2)]
        rows = [
            {"id": number, "question": f"{topic}?", "perspectives": [f"{topic} {side}" for side in SIDES]}
            for number, topic in enumerate(topics)
        ]
        (copy / f"{data_set}.test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return copy


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """Two questions of each data set, with an index of eight documents each, and pairs that people labelled."""
    copy = questions(tmp_path)
    documents = [
        {"id": f"{data_set}-{number}-{side}-{n}", "contents": text_of(data_set, number, side, n)}
        for data_set in SETS
        for number in range(2)
        for side in SIDES
        for n in range(4)
    ]
    labelled = [
        {"question": "q?", "document": f"document {n} {side}", "perspective": f"one is {other}", "label": int(side == other)}
        for n in range(3)
        for side in SIDES
        for other in SIDES
    ]
    labelled.append(labelled[0])  # the release has pairs that come twice
    (copy / "perspective_detection.test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    datasets.take("berds", copy)
    monkeypatch.chdir(tmp_path)
    tandem("index", "corpus.jsonl", "--output", "sphere", check=True)
    with serving(Script(answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield script


def compared(folder, **wanted):
    with (folder / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_expansion_coverage_and_union_of_ones_own_index(place, tmp_path, monkeypatch):
    loaded = []
    real = loading.load_judge

    def counted(spec, **how):
        loaded.append(spec.name)
        return real(spec, **how)

    monkeypatch.setattr("toolkit.jobs.judge_jobs.load_judge", counted)
    command = (*BERDS, "--own-index", "sphere=sphere", "--system", "bm25", "--table", "3", "--table", "5", "--table", "4")
    done = tandem(*command)
    # Wikipedia's index cannot be fetched here, and MMR's encoder neither: what needs them fails alone
    assert done.returncode == 1
    out = tmp_path / "out"
    parts = ("sphere", "sphere-expansion", "sphere-coverage")
    assert {row["part"] for row in compared(out) if row["ours"]} == set(parts)
    assert loaded == ["berds-mistral-evaluator"]  # once for all that it judges
    # a list for each perspective, merged round robin: both sides among the first two of every question
    for _, docs in read_run(out / "sphere-expansion" / "bm25.trec").rankings():
        assert {doc.doc_id.split("-")[2] for doc in docs[:2]} == set(SIDES)
    [mrecall] = compared(out, part="sphere-expansion", measure="MRecall@5")
    assert (mrecall["ours"], mrecall["group"]) == ("100.00", "average/sphere")
    base = compared(out, table="4", part="sphere", measure="MRecall@5")[0]["ours"]
    change = compared(out, part="sphere-expansion", measure="relchange:MRecall@5")
    assert [row["ours"] for row in change] == [f"{(1 / (float(base) / 100) - 1) * 100:+.1f}" if float(base) else ""]
    [covered] = compared(out, part="sphere-coverage", measure="MRecall@100")
    assert covered["ours"] == "100.0"
    [prefix] = compared(out, part="sphere-coverage", measure="mean_size_to_cover")
    assert 2 <= float(prefix["ours"]) <= 8
    asked = len(place.bodies)
    assert sum("Statement:" not in body["messages"][-1]["content"] for body in place.bodies) == 6  # a question is asked once
    again = tandem(*command)
    assert len(place.bodies) == asked
    assert "not there yet" not in [line for line in again.stderr.splitlines() if "out/sphere" in line]
    for name in ("sphere/bm25.trec", "sphere/bm25.qrels", "sphere-expansion/queries.jsonl", "sphere-expansion/bm25.trec"):
        assert f"out/{name}: up to date" in again.stderr


def test_a_run_that_is_another_one_now_is_expanded_merged_and_judged_again(place, tmp_path):
    command = (*BERDS, "--own-index", "sphere=sphere", "--system", "bm25", "--table", "4")
    tandem(*command)
    lists = tmp_path / "out" / "sphere-expansion" / "bm25.lists.trec"
    lists.unlink()
    again = tandem(*command)
    assert "bm25.lists.trec: not there yet" in again.stderr
    assert "out/sphere-expansion/bm25.trec: up to date" in again.stderr  # made of the same bytes
    (tmp_path / "out" / "sphere" / "bm25.trec").unlink()
    (tmp_path / "out" / "sphere" / "bm25.trec.yaml").unlink()
    assert "out/sphere/bm25.qrels: up to date" in tandem(*command).stderr


def test_a_union_is_of_all_runs_or_not_made(place, tmp_path):
    tandem(*BERDS, "--own-index", "sphere=sphere", "--system", "union", "--table", "6")
    rows = compared(tmp_path / "out", part="sphere-union")
    assert {(row["state"], row["known"].split(":")[0]) for row in rows} == {("not run", "needs sphere/contriever-msmarco")}
    assert not (tmp_path / "out" / "sphere-union").exists()


def test_a_union_covers_what_its_runs_cover_together(home, tmp_path):
    datasets.take("berds", questions(tmp_path))
    tables = tables_of("berds", ["6"], indexes={"sphere": "DIR"})
    files, row = RowFiles(tables, tmp_path, {}, {}), tables.row("sphere-union/union")
    # of every question one run finds the first side alone, the other the second, but of the last one neither
    ids = [f"{data_set}-{number}" for data_set in SETS for number in range(2)]
    for name, side in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.trec").write_text("".join(f"{query_id} Q0 doc{side} 1 1 {name}\n" for query_id in ids))
    labels = [f"{query_id} {side} doc{side} {int(query_id != ids[-1])}\n" for query_id in ids for side in (1, 2)]
    (tmp_path / "union.qrels").write_text("".join(labels))
    scores = scores_of(files, row, [tmp_path / "a.trec", tmp_path / "b.trec"], tmp_path / "union.qrels")
    found = {score.group: round(score.value, 4) for score in scores if score.measure == "Covered@100"}
    assert found == {"arguana/test": 1.0, "kialo/test": 1.0, "opinionqa/test": 0.5, "average": 0.8333}


JUDGES = ("gpt-4-0613-judge", "gpt-4-0613-judge-one-shot", "zephyr-7b-beta-judge", "random")


def test_judges_are_compared_with_people(place, tmp_path):
    systems = [word for name in JUDGES for word in ("--system", name)]
    place.answer = lambda messages: "Yes" if " for" in messages[-1]["content"].split("Statement:")[1] else "No"
    tandem(*BERDS, "--table", "7", *systems, check=True)
    out = tmp_path / "out"
    values = {(row["system"], row["measure"]): row["ours"] for row in compared(out) if row["ours"]}
    # 7 of 13 lines are positive; the judge says yes to the 7 lines about the first side, 4 of them rightly
    assert values[("zephyr-7b-beta-judge", "pct_positive")] == "53.8"
    assert values[("zephyr-7b-beta-judge", "accuracy")] == "53.8"
    assert values[("zephyr-7b-beta-judge", "F1")] == "57.1"
    assert {name for name, _ in values} == set(JUDGES)
    asked = len(place.bodies)
    tandem(*BERDS, "--table", "7", *systems, check=True)
    assert len(place.bodies) == asked
    # the row with one example is a row of its own, and is asked with one example
    modes = {row["system"]: row["mode"] for row in compared(out, **{"as printed": "GPT-4 (judge)"})}
    assert modes == {"gpt-4-0613-judge": "zero-shot", "gpt-4-0613-judge-one-shot": "one-shot"}
    roles = {tuple(turn["role"] for turn in body["messages"]) for body in place.bodies if body["model"] == "gpt-4"}
    assert roles == {("system", "user"), ("system", "user", "assistant", "user")}


def test_what_judged_each_run_is_counted_for_it_alone(place, tmp_path):
    tandem(*BERDS, "--own-index", "sphere=sphere", "--system", "bm25", "--table", "3", "--table", "5")
    pairs = [
        int(re.search(r"pairs: (\d+)", (tmp_path / "out" / part / "bm25.qrels.yaml").read_text())[1])
        for part in ("sphere", "sphere-coverage")
    ]
    # six questions of two perspectives: ten documents of each, then all that were found
    lines = [len(read_run(tmp_path / "out" / "sphere" / "bm25.trec").head(depth)) for depth in (10, 100)]
    assert pairs == [2 * number for number in lines]


def test_vectors_are_searched_in_the_index_that_is_named():
    tables = tables_of("berds", ["3"], indexes={"sphere": "LUCENE", "sphere/dpr-single-nq": "VECTORS"})
    rows = {row.name: row for row in tables.rows}
    files = RowFiles(tables, Path("out"), {}, {})
    assert files.index_of(rows["sphere/dpr-single-nq"]) == "VECTORS"
    assert files.index_of(rows["sphere/bm25"]) == "LUCENE"
    assert files.index_of(rows["wikipedia/dpr-single-nq"]) == "wikipedia-dpr-100w.dpr-single-nq"
    assert files.index_of(rows["wikipedia/contriever-msmarco"]) == "out/indexes/dpr-w100.contriever-msmarco"


def test_figure_2_has_shares_of_questions_by_the_side_that_is_retrieved(place, tmp_path):
    def answered(messages):
        """Of Kialo the second side supports, and is held; of Arguana it opposes, and is held; of OpinionQA both, or neither."""
        text = messages[-1]["content"]
        if "Perspective 1: " in text:
            return "Perspective 2" if "kialo" in text else "Perspective 1"
        if "opinionqa topic1" in text or (" for" in text.split("Statement:")[1] and "opinionqa" not in text):
            return "No"
        return answer(messages)

    place.answer = answered
    command = (*BERDS, "--own-index", "sphere=sphere", "--system", "bm25", "--table", "figure2")
    planned = json.loads(tandem(*command, "--dry-run", "--format", "json").stdout)["rows"]
    assert [row["inputs"].partition("; ")[0] for row in planned if "questions" in row["inputs"]] == ["2,406 questions"]  # once
    tandem(*command)
    out = tmp_path / "out"
    rows = compared(out, table="figure2", part="sphere-stance")
    assert {row["measure"]: (row["published"], row["ours"], row["difference"], row["state"]) for row in rows} == {
        "SupportingOnly": ("", "33.3", "", "not printed"),
        "OpposingOnly": ("", "33.3", "", "not printed"),
        "Both": ("", "16.7", "", "not printed"),
        "Neither": ("", "16.7", "", "not printed"),
    }
    with (out / "claims.csv").open(encoding="utf-8") as file:
        claims = {row["id"]: row for row in csv.DictReader(file)}
    assert claims["berds-supporting"]["holds"] == "-"  # the evaluator was sent another prompt than it was trained on
    assert claims["berds-supporting"]["note"].endswith("numbers from another prompt are left out")
    page = (out / "comparison.html").read_text(encoding="utf-8")
    assert "Figure 2" in page
    assert "tandem judge --task stance --topics berds-test --judge gpt-4-0613-judge --output stances.tsv" in page
    asked = len(place.bodies)
    assert sum("Perspective 1: " in body["messages"][-1]["content"] for body in place.bodies) == 6
    again = tandem(*command, "--table", "3")
    assert len(place.bodies) == asked  # what was judged for the figure is judged for the tables
    assert "out/stances.tsv: up to date" in again.stderr
    assert {"stances.tsv", "stances.tsv.yaml", "sphere/bm25.qrels"} <= manifest_of(out, "berds")["files"].keys()


@pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")
def test_with_the_papers_prompts_every_model_is_asked_as_the_paper_asked(place, tmp_path):
    def answered(messages):
        text = messages[-1]["content"]
        return "Perspective 1" if "Perspective 2: " in text else "No" if "Statement:" in text else answer(messages)

    place.answer = answered
    write_prompts("berds", [PAPERS / "berds.txt"], tmp_path / "prompts")
    tables = [word for table in ("3", "4", "7", "figure2") for word in ("--table", table)]
    systems = ("--system", "gpt-4-0613-judge-one-shot", "--system", "bm25")
    tandem(*BERDS, *tables, *systems, "--own-index", "sphere=sphere", "--prompts", "prompts")
    cues = {
        "generate similar perspectives": ("user",),  # table 13
        "for Example 1:": ("system", "user", "assistant", "user"),  # table 15 with its example
        "which perspective is supporting": ("user",),  # table 16
        "Only consider the information": ("user",),  # table 15, to the evaluator, whose template has no system turn
    }
    for body in place.bodies:
        cue = next(cue for cue in cues if cue in str(body["messages"]))
        assert tuple(turn["role"] for turn in body["messages"]) == cues[cue]
    assert sum("which perspective is supporting" in str(body["messages"]) for body in place.bodies) == 6
    record = yaml.safe_load((tmp_path / "out" / "stances.tsv.yaml").read_text())
    assert record["method"]["judging"][0]["prompt_of"] == "paper (BERDS, table 16)"
    made = [row for row in compared(tmp_path / "out") if row["ours"]]
    assert {row["part"] for row in made} == {"judges", "sphere", "sphere-expansion", "sphere-stance"}
    assert {row["prompt"] for row in made} == {"paper"}
    assert {row["state"] for row in made} <= {
        "agrees",
        "near",
        "differs",
        "not printed",
    }  # the evaluator was sent what it learned
