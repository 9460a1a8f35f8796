"""FollowIR and mFollowIR in their published layouts: what a local copy or the hub gives, and what is refused."""

import json
import os

import pytest
from command import process, tandem
from followir_layout import (
    CANDIDATES,
    CROSS_LINGUAL,
    LOST,
    parquet_path,
    tables,
    write_followir,
    write_former,
    write_mfollowir,
    write_tables,
)
from hub_layout import hub_files, write_parquet_tables
from serving import serving

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel
from toolkit.datasets.group_data import counts, totals
from toolkit.datasets.layouts import followir

SPEC = registry.benchmark("followir")


def read(folder, collection="core17"):
    return followir.read(folder, SPEC, SPEC.group(collection))


@pytest.fixture
def folder(tmp_path):
    return write_tables(tmp_path / "Core17InstructionRetrieval", tables())


def run(*arguments, **environment):
    return tandem("benchmarks", *arguments, env=os.environ | environment)


def test_a_query_in_a_mode_is_query_blank_instruction(folder):
    part = read(folder)
    topic = part.topics["changed"][0]
    assert (topic.query_id, topic.original_id, topic.group_id, topic.mode) == (
        "core17-310-changed",
        "310-changed",
        "core17-310",
        "changed",
    )
    assert topic.query == "radio waves and brain cancer radio"
    assert topic.text == "radio waves and brain cancer radio changed narrative of 310."
    assert part.topics["og"][1].instruction == "og narrative of 325."
    assert counts(part) == {"cores": 2, "queries": 2, "documents": 5}


def test_judgments_are_graded_and_of_their_mode(folder):
    part = read(folder)
    assert list(part.qrels["og"])[:3] == [
        Qrel("core17-310-og", "d1", 2),
        Qrel("core17-310-og", "d2", 1),
        Qrel("core17-310-og", "d3", 0),
    ]
    assert [row.relevance for row in part.qrels["changed"]] == [2, 0, 0, 1, 0, 0]


def test_candidates_keep_their_order_with_scores_1_over_rank(folder):
    part = read(folder)
    query_id, ranking = next(part.scoreddocs["changed"].rankings())
    assert query_id == "core17-310-changed"
    assert [(doc.doc_id, doc.score) for doc in ranking] == [(doc, 1 / rank) for rank, doc in enumerate(CANDIDATES, 1)]


def test_the_instruction_may_be_a_column_of_the_queries(folder):
    before, now = read(folder), tables()
    instructions = {row["query-id"]: row["instruction"] for row in now.pop("instruction")}
    now["queries"] = [row | {"instruction": instructions[row["_id"]]} for row in now["queries"]]
    (folder / "instruction" / "instruction.jsonl").unlink()
    write_tables(folder, now)
    assert read(folder).topics == before.topics


def test_parquet_gives_the_same_as_text(folder, tmp_path):
    text, parquet = read(folder), read(write_parquet_tables(tmp_path / "hub", tables(), parquet_path))
    assert (parquet.topics, parquet.docs, parquet.published) == (text.topics, text.docs, text.published)
    for mode in ("og", "changed"):
        assert list(parquet.qrels[mode]) == list(text.qrels[mode])
        assert parquet.scoreddocs[mode].to_dict() == text.scoreddocs[mode].to_dict()


def test_the_first_release_is_read_with_its_shorter_wordings(folder, tmp_path):
    now, former = read(folder), read(write_former(tmp_path / "core17-instructions"))
    assert [list(former.qrels[mode]) for mode in former.qrels] == [list(now.qrels[mode]) for mode in now.qrels]
    assert former.scoreddocs["og"].to_dict() == now.scoreddocs["og"].to_dict()
    assert former.topics["og"][0].query_id == now.topics["og"][0].query_id
    assert former.topics["og"][0].wordings == {"short": "short 310", "keywords": "keywords 310"}
    assert now.topics["og"][0].wordings == {}


def edit(folder, table, change):
    path = next((folder / table).glob("*.jsonl"))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


BROKEN = {
    "a query without its counterpart": (
        "queries",
        lambda rows: rows.pop(3),  # 325-changed
        "queries/queries.jsonl, line 2: query 325-og has no counterpart 325-changed",
    ),
    "an id without a mode": (
        "queries",
        lambda rows: rows[0].update(_id="310"),
        "queries/queries.jsonl, line 1: query 310 ends neither in -og nor in -changed",
    ),
    "a query twice": (
        "queries",
        lambda rows: rows.append(rows[0]),
        "queries/queries.jsonl, line 5: query 310-og for the second time",
    ),
    "an empty query": (
        "queries",
        lambda rows: rows[1].update(text=" "),
        "queries/queries.jsonl, line 2: query 325-og has no text",
    ),
    "no instruction": (
        "instruction",
        lambda rows: rows.pop(1),
        "queries/queries.jsonl, line 2: query 325-og has no instruction",
    ),
    "an instruction of nobody": (
        "instruction",
        lambda rows: rows.append({"query-id": "1-og", "instruction": "x"}),
        "instruction/instruction.jsonl, line 5: unknown query 1-og",
    ),
    "a document twice": (
        "corpus",
        lambda rows: rows.append(rows[0]),
        "corpus/corpus.jsonl, line 6: document d1 for the second time",
    ),
    "an unknown document judged": (
        "default",
        lambda rows: rows[0].update({"corpus-id": "d9"}),
        "default/test.jsonl, line 1: unknown document d9",
    ),
    "no judgments": (
        "default",
        lambda rows: rows.__delitem__(slice(0, 3)),
        "queries/queries.jsonl, line 1: query 310-og has no judgments",
    ),
    "half a relevance": (
        "default",
        lambda rows: rows[0].update(score=0.5),
        "default/test.jsonl, line 1: score 0.5 is no whole number",
    ),
    "a relevance beyond all numbers": (
        "default",
        lambda rows: rows[0].update(score=10**400),
        f"default/test.jsonl, line 1: score {10**400} is no whole number",
    ),
    "a relevance that is true": (
        "default",
        lambda rows: rows[0].update(score=True),
        "default/test.jsonl, line 1: score True is no whole number",
    ),
    "no candidates": ("top_ranked", lambda rows: rows.pop(0), "queries/queries.jsonl, line 1: query 310-og has no candidates"),
    "a candidate twice": (
        "top_ranked",
        lambda rows: rows[0]["corpus-ids"].append("d1"),
        "top_ranked/top_ranked.jsonl, line 1: a document twice in 'corpus-ids'",
    ),
    "an unknown candidate": (
        "top_ranked",
        lambda rows: rows[2]["corpus-ids"].append("d9"),
        "top_ranked/top_ranked.jsonl, line 3: unknown document d9",
    ),
    "no list": (
        "top_ranked",
        lambda rows: rows[0].update({"corpus-ids": "d1"}),
        "top_ranked/top_ranked.jsonl, line 1: expected a list of ids in 'corpus-ids', found d1",
    ),
    "a difference for nobody": (
        "qrel_diff",
        lambda rows: rows[0].update({"query-id": "310-og"}),
        "qrel_diff/qrel_diff.jsonl, line 1: unknown query 310-og",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_right_names_file_and_line(folder, case):
    table, change, message = BROKEN[case]
    edit(folder, table, change)
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert f"{folder}/{message}" in (caught.value.problems or (caught.value.message,))


@pytest.mark.parametrize("table", ["corpus", "queries", "default", "top_ranked", "qrel_diff"])
def test_a_missing_table_is_named(folder, table):
    next((folder / table).iterdir()).unlink()
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert caught.value.message == f"{folder} has no table '{table}'"


def problems(part):
    return {check: problem for check, problem in followir.checks(part, {"candidates": 5}) if problem}


def test_a_sound_copy_has_nothing_to_tell(folder):
    assert problems(read(folder)) == {}


def gain(rows):
    rows[8].update(score=1.0)  # d3 of 310-changed


def keep(rows):
    rows[7].update(score=1.0)  # d2 of 310-changed, which the narrative takes out


CHECKED = {
    "qrel_diff": ("qrel_diff", lambda rows: rows[0]["corpus-ids"].append("d1"), {"qrel_diff": "core17-310"}),
    "a missing difference": ("qrel_diff", lambda rows: rows.pop(1), {"qrel_diff": "core17-325"}),
    "a document that stays": ("default", keep, {"qrel_diff": "core17-310"}),
    "a document gained": ("default", gain, {"relevance gained": "core17-310"}),
    "candidates": ("top_ranked", lambda rows: rows[1]["corpus-ids"].pop(), {"candidates": "core17-325-og"}),
}


@pytest.mark.parametrize("case", CHECKED)
def test_each_defect_is_told_with_its_query(folder, case):
    table, change, expected = CHECKED[case]
    edit(folder, table, change)
    found = problems(read(folder))
    assert list(found) == list(expected)
    assert all(f"({expected[check]})" in problem for check, problem in found.items())


def test_local_copies_are_taken_under_any_of_their_names(home, tmp_path):
    write_followir(tmp_path / "copy", ("news21",))
    write_former(tmp_path / "copy" / "jhu-clsp" / "core17-instructions")
    (tmp_path / "copy" / "jhu-clsp" / "core17-instructions").rename(tmp_path / "copy" / "core17-instructions")
    assert list(datasets.take("followir", tmp_path / "copy")) == ["core17", "news21"]
    topics = datasets.resolve_topics("followir-og")
    assert [part.group for part in topics.parts] == ["core17", "news21"]
    assert topics.parts[0].topics[0].wordings["keywords"] == "keywords 310"
    assert datasets.find("followir").absent == ("robust04",)


def test_languages_may_be_absent_and_the_two_settings_stay_apart(home, tmp_path):
    write_mfollowir(tmp_path, ("fas", "rus"))
    write_mfollowir(tmp_path, ("fas",), CROSS_LINGUAL)
    benchmark = datasets.load("mfollowir")
    assert list(datasets.take("mfollowir", tmp_path)) == ["fas", "rus", "cross-lingual/fas"]
    assert datasets.resolve_topics("mfollowir-og").topics[0].query_id == "fas-310-og"
    across = datasets.resolve_topics("mfollowir/cross-lingual/og")
    assert [topic.query_id for topic in across.topics] == ["cross-lingual-fas-310-og", "cross-lingual-fas-325-og"]
    assert benchmark.docs("cross-lingual/fas") is not None
    assert "سرطان" in next(benchmark.docs("fas")).text
    assert "سرطان" not in across.topics[0].query


def test_topics_and_judgments_do_not_wait_for_the_documents(home, tmp_path):
    write_mfollowir(tmp_path, ("rus",))
    datasets.take("mfollowir", tmp_path)
    next(home.rglob("corpus-rus.jsonl")).write_text("broken")
    read_again = datasets.Benchmark(registry.benchmark("mfollowir"))
    assert len(read_again.topics("rus", "og")) > 0
    assert len(read_again.qrels("rus", "changed")) > 0
    with pytest.raises(ToolkitError, match="not JSON"):
        list(read_again.docs("rus"))
    done = run("export", "mfollowir-rus", "--to", tmp_path / "out")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "hint:  the copy has changed: tandem cache remove benchmarks/mfollowir/rus.09eecbe45c54, and fetch it again",
    )


def test_a_folder_of_tables_is_what_was_asked_for(home, tmp_path):
    folder = write_tables(tmp_path / "mine", tables("-zho", "zho", "zho"))
    shown = "{}: 2 cores, 2 queries, 5 documents, candidates in og, changed\n"
    assert run("fetch", "mfollowir", "--from", folder).stdout == shown.format("mfollowir-zho")
    assert run("fetch", "mfollowir-cross-lingual", "--from", folder).stdout == shown.format("mfollowir-cross-lingual-zho")
    folder = write_tables(tmp_path / "other", tables())
    assert run("fetch", "followir-news21", "--from", folder).stdout == shown.format("followir-news21")
    done = run("fetch", "followir", "--from", folder)
    assert done.returncode == 2
    known = "followir-core17, followir-news21, followir-robust04"
    assert done.stderr.splitlines()[0] == f"error: {folder} could be any of {known}"


def test_the_index_of_a_language_is_made_with_its_analyzer(home, tmp_path, monkeypatch):
    from toolkit.retrieval.index import build, locate

    write_mfollowir(tmp_path, ("fas", "zho", "rus"))
    write_mfollowir(tmp_path, ("rus",), CROSS_LINGUAL)
    datasets.take("mfollowir", tmp_path)
    languages = {}
    monkeypatch.setattr(
        build, "build_index", lambda corpus, folder, *, language, **how: languages.update({folder.name: language})
    )
    for group in ("fas", "zho", "rus", "cross-lingual/rus"):
        benchmark = datasets.load("mfollowir")
        locate.build_corpus_index(benchmark, group, tmp_path / locate.corpus_name(benchmark, group))
    assert languages == {
        "mfollowir-fas": "fa",
        "mfollowir-zho": "zh",
        "mfollowir-rus": "ru",
        "mfollowir-cross-lingual-rus": "ru",
    }


@pytest.mark.process
def test_the_hub_gives_one_language_without_the_others(home, tmp_path):
    group = registry.benchmark("mfollowir").group("fas")
    hub = tmp_path / "hub"
    write_parquet_tables(hub, {**tables("-fas", "fas", "fas"), **tables("-zho", "zho", "zho")}, parquet_path)
    with serving(hub_files(hub, group)) as files:
        hub = {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process("benchmarks", "fetch", "mfollowir-fas", env=os.environ | hub)
        got = [path for path, _ in files.requests]
    assert done.returncode == 0, done.stderr
    assert done.stdout == "mfollowir-fas: 2 cores, 2 queries, 5 documents, candidates in og, changed\n"
    assert any("corpus-fas" in path for path in got)
    assert not any("corpus-zho" in path for path in got)
    assert (home / "benchmarks" / "mfollowir" / "fas.09eecbe45c54").is_dir()


def test_ir_datasets_has_groups_and_selections(home, tmp_path):
    import ir_datasets

    write_mfollowir(tmp_path)
    write_mfollowir(tmp_path, ("fas",), CROSS_LINGUAL)
    datasets.take("mfollowir", tmp_path)
    assert len(list(ir_datasets.load("mfollowir/og").queries_iter())) == 6
    across = ir_datasets.load("mfollowir/cross-lingual/og")
    assert [query.query_id for query in across.queries_iter()] == ["cross-lingual-fas-310-og", "cross-lingual-fas-325-og"]
    dataset = ir_datasets.load("mfollowir/cross-lingual/fas/changed")
    assert next(dataset.scoreddocs_iter()) == ("cross-lingual-fas-310-changed", "d2", 1.0)
    assert dataset.qrels_dict()["cross-lingual-fas-310-changed"] == {"d1": 2, "d2": 0, "d3": 0}
    assert dataset.has_docs()


def test_verify_tells_what_is_wrong_of_a_kept_copy(home, tmp_path):
    folder = write_followir(tmp_path, ("news21",)) / "News21InstructionRetrieval"
    edit(folder, "qrel_diff", lambda rows: rows[0].update({"corpus-ids": LOST["325"]}))
    datasets.take("followir", tmp_path)
    done = run("verify", "followir")
    assert done.returncode == 1
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert ["news21", "checksums", "OK"] in rows
    assert ["news21", "qrel_diff", "1 queries: not what is relevant in og and not in changed (news21-310)"] in rows
    assert ["news21", "relevance gained", "OK"] in rows
    assert [
        "news21",
        "candidates",
        "4 queries: not 1000 candidates (news21-310-og, news21-325-og, news21-310-changed, ...)",
    ] in (rows)


def test_totals_count_both_modes_as_mteb_does(tmp_path):
    part = read(write_tables(tmp_path / "core17", tables()))
    # two queries in two modes; 4 relevant documents with the original instructions, 2 with the changed ones
    assert totals(part) == {"queries": 4, "qrels": 6, "documents": 5}
