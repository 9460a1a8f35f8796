"""`tandem reproduce`: a paper's tables planned from the registry, made on a tiny copy of the benchmark, and compared."""

import csv
import hashlib
import json
import os
import re
import time
import zipfile
from pathlib import Path

import pytest
from command import process, tandem
from hub_layout import hub_files, write_parquet_tables
from published_layout import tables, write_infosearch
from serving import serving

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.scores import Score
from toolkit.registry.published import cells
from toolkit.registry.published.paper_tables import papers
from toolkit.studies.reproduce import Reproduction, row_scores
from toolkit.studies.reproduce.compared_cells import AGREES, DIFFERS, NEAR, NOT_RUN, compared, state_of
from toolkit.studies.reproduce.dry_run import _memory, speed
from toolkit.studies.reproduce.packed import manifest_of
from toolkit.studies.reproduce.row_files import RowFiles
from toolkit.studies.reproduce.table_rows import tables_of

MEASURES = ("nDCG@10", "Robustness@10")
BM25 = ("reproduce", "infosearch", "--system", "bm25", "--table", "1", "--table", "17")


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """A folder to work in, with a tiny InfoSearch taken."""
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", with_candidates=True))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(value, scale="times 100", text=None):
    """A cell of a paper that has this number."""
    one = next(cell for cell in cells("infosearch") if cell.ours)
    return one._replace(value=value, scale=scale, printed=text)


@pytest.mark.parametrize("paper", papers())
def test_every_printed_system_is_a_row_of_each_table_that_can_be_made(paper):
    tables = tables_of(paper)
    assert {row.system.name for row in tables.rows if row.system.kind} == {
        name for name, spec in registry.systems().items() if paper in spec.printed
    }
    compared_cells = compared(tables, {})
    assert [each.cell for each in compared_cells if not each.row and not each.why] == []
    # what is printed is made, or it is said why it is not; and nothing is both
    shown = {each.cell.table for each in compared_cells}
    assert {cell for cell in cells(paper) if cell.table not in shown and not tables.why_unmade(cell)} == set()
    assert [each.cell for each in compared_cells if each.row and tables.why_unmade(each.cell)] == []


def test_an_index_of_ones_own_makes_the_parts_that_need_it():
    without, with_it = tables_of("berds"), tables_of("berds", indexes={"sphere": "DIR", "sphere/contriever-msmarco": "VECTORS"})
    added = {row.part.name for row in with_it.rows} - {row.part.name for row in without.rows}
    assert added == {"sphere", "sphere-reranking", "sphere-expansion", "sphere-coverage", "sphere-union", "sphere-stance"}
    rows = {row.name: row for row in with_it.rows}
    assert rows["sphere/bm25"].part.search["index"] == "DIR"
    assert rows["sphere-expansion/contriever-msmarco"].part.indexes["contriever-msmarco"] == "VECTORS"
    with pytest.raises(ToolkitError, match="no index 'spheer'"):
        tables_of("berds", indexes={"spheer": "DIR"})


def test_a_row_comes_behind_those_that_it_needs():
    names = [row.name for row in tables_of("berds", ["4", "6"]).rows]
    assert names.index("wikipedia/bm25") < names.index("wikipedia-reranking/bm25")
    assert names[-1] == "wikipedia-union/union"
    # a reranker's first stage is made for it, unless the benchmark's candidates are there
    rows = tables_of("infosearch", ["1"], ["rank-zephyr-7b"]).rows
    assert [(row.name, bool(row.cells)) for row in rows] == [
        ("infosearch/e5-mistral-7b-instruct", False),
        ("infosearch/rank-zephyr-7b", True),
    ]


def test_a_cell_agrees_to_its_printed_digits():
    cell = printed(0.387, text="38.7")
    assert [state_of(cell, value, 0.005) for value in (0.38749, 0.3875, 0.3876, 0.3919, 0.3921, None, float("nan"))] == [
        *[AGREES] * 2,
        *[NEAR] * 2,
        DIFFERS,
        *[NOT_RUN] * 2,
    ]
    rank = printed(12.3, "number", "12.3")
    assert [state_of(rank, value, 0.01) for value in (12.34, 12.42, 12.43)] == [AGREES, NEAR, DIFFERS]


def test_differences_to_another_table_need_the_runs_of_both():
    rows = tables_of("instructir", ["4"], ["bm25"]).rows
    assert [(row.name, len(row.cells)) for row in rows] == [("instruction-first/bm25", 0), ("query-first/bm25", 2)]
    scores = {
        "instruction-first/bm25": [Score("bm25", "all", "paired", measure, 0.75, 1) for measure in MEASURES],
        "query-first/bm25": [Score("bm25", "all", "paired", measure, 0.5, 1) for measure in MEASURES],
    }
    tables = tables_of("instructir", ["4"], ["bm25"])
    ours = [each for each in compared(tables, scores) if each.row in rows]
    assert [(each.cell.printed, each.value, each.shown) for each in ours] == [
        ("-17.62", -0.25, "-25.00"),
        ("-14.69", -0.25, "-25.00"),
    ]
    assert {each.value for each in compared(tables, {"query-first/bm25": scores["query-first/bm25"]})} == {None}


def test_a_relative_change_is_one_of_the_first_value():
    tables = tables_of("berds", ["4"], ["bm25"])
    scores = {
        "wikipedia/bm25": [Score("bm25", "average", "", "PerspectiveP@5", 0.2, 3)],
        "wikipedia-reranking/bm25": [Score("bm25", "average", "", "PerspectiveP@5", 0.19, 3)],
    }
    found = {
        each.cell.measure: each.shown
        for each in compared(tables, scores)
        if each.row and each.row.name == "wikipedia-reranking/bm25" and each.shown
    }
    assert found == {"P@5": "19.00", "relchange:P@5": "-5.0"}


def test_lambdas_are_those_of_table_8():
    files = RowFiles(tables_of("berds"), Path("out"), {}, {})
    found = {row.system.name: files.mmr(row) for row in files.tables.rows if row.part.how == "diversify"}
    assert found == {
        "bm25": (0.99, "wikipedia/bm25"),
        "dpr-single-nq": (0.95, "wikipedia/dpr"),
        "contriever-msmarco": (0.75, "wikipedia/contriever"),
    }


def test_a_dry_run_says_what_it_takes_and_touches_nothing(place):
    done = tandem("reproduce", "infosearch", "--dry-run", "--format", "csv", check=True)
    rows = {row["system"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert len(rows) == 18
    assert rows["bm25"]["state"] == "to be made"
    assert rows["llama-3.1-8b-instruct-pointwise"]["state"] == "cannot be made"
    assert "HF_TOKEN" in rows["llama-3.1-8b-instruct-pointwise"]["remark"]
    assert not (place / "reproduced-infosearch").exists()


def test_what_needs_a_row_that_cannot_be_made_cannot_be_made(place, monkeypatch):
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 4 << 30)
    done = tandem("reproduce", "instructir", "--table", "5", "--dry-run", "--format", "csv", check=True)
    states = {(row["part"], row["system"]): row for row in csv.DictReader(done.stdout.splitlines())}
    first, second = states["instruction-first", "gtr-t5-xl"], states["without-overlap", "gtr-t5-xl"]
    assert (first["state"], second["state"]) == ("cannot be made", "cannot be made")
    assert second["remark"] == f"needs instruction-first/gtr-t5-xl: {first['remark']}"
    assert states["without-overlap", "gtr-t5-base"]["state"] == "to be made"


def planned(*words):
    """`part/system` -> the row of it that the plan has."""
    done = tandem("reproduce", *words, "--dry-run", "--format", "csv", check=True)
    return {f"{row['part']}/{row['system']}": row for row in csv.DictReader(done.stdout.splitlines())}


def test_what_a_server_answers_needs_a_server(place, monkeypatch):
    berds = ("berds", "--table", "7", "--table", "4")
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 1 << 40)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = planned(*berds)
    asked = ("judges/gpt-4-0613-judge", "judges/llama-2-70b-chat-judge", "wikipedia-expansion/bm25")
    for name in asked:
        assert rows[name]["state"] == "cannot be made"
        assert "no server for " in rows[name]["remark"]
        assert "(set OPENAI_BASE_URL to the server's address" in rows[name]["remark"]
    assert rows["judges/zephyr-7b-beta-judge"]["state"] == rows["wikipedia-reranking/bm25"]["state"] == "to be made"
    served = planned(*berds, "--system", "zephyr-7b-beta-judge", "--loader", "endpoint")
    assert "no server for HuggingFaceH4/zephyr-7b-beta" in served["judges/zephyr-7b-beta-judge"]["remark"]
    # with a server, with its answers in the cache, and where what it reranks cannot be made
    assert planned(*berds, "--replay")["judges/gpt-4-0613-judge"]["state"] == "to be made"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    rows = planned(*berds)
    assert {rows[name]["state"] for name in asked} == {"to be made"}
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 1 << 30)
    datasets.take("infosearch", write_infosearch(place / "without candidates"))
    remark = planned("infosearch", "--system", "gpt-4o")["infosearch/gpt-4o"]["remark"]
    assert remark.startswith("needs infosearch/e5-mistral-7b-instruct: e5-mistral-7b-instruct needs 28.4 GB of memory")


def test_memory_is_that_of_the_precision_that_is_used(place, monkeypatch):
    rows = {}
    for device in ("cpu", "cuda"):
        reproduction = Reproduction("infosearch", ["1"], ["gritlm-7b"], device=device)
        rows[device] = _memory(reproduction, registry.system("gritlm-7b"))
    assert rows["cpu"] == 2 * rows["cuda"]
    reranker = ("mfollowir", "--table", "3", "--system", "bge-reranker-v2-m3")
    assert planned(*reranker)["cross-lingual/bge-reranker-v2-m3"]["memory"] == "2272000000"
    # where no device is named, it is the one that is computed on; the precision is the recipe's
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 1 << 40)
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run._usual_device", lambda: "cuda:0")
    assert registry.system("bge-reranker-v2-m3").recipes["mfollowir"]["parameters"]["precision"] == "bf16"
    monkeypatch.setattr(
        "toolkit.studies.reproduce.dry_run.weights", lambda spec, precision: {"bf16": 16, "fp16": 17, "fp32": 32}[precision]
    )
    found = planned(*reranker)["cross-lingual/bge-reranker-v2-m3"]
    assert (found["memory"], found["download"]) == ("16", "32")  # it is published in fp32


def test_memory_of_this_machine_says_nothing_of_a_clusters(place, monkeypatch):
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 1 << 30)
    one = ("instructir", "--table", "3", "--system", "gtr-t5-xl")
    states = [planned(*one, *engine)["instruction-first/gtr-t5-xl"]["state"] for engine in ((), ("--engine", "ray:head:6379"))]
    assert states == ["cannot be made", "to be made"]


def test_a_hint_of_the_plan_names_an_option_that_there_is(place, monkeypatch):
    monkeypatch.setattr("toolkit.studies.reproduce.row_files._kind", lambda name: "lucene")
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.free_memory", lambda device: 1 << 40)
    berds = ("berds", "--table", "3", "--own-index", "google=lucene")
    remark = planned(*berds)["google/contriever-msmarco"]["remark"]
    [hint] = re.findall(r"with (--own-index \S+)=DIR", remark)
    assert hint == "--own-index google/contriever-msmarco"
    assert planned(*berds, *f"{hint}=vectors".split())["google/contriever-msmarco"]["state"] == "to be made"


def test_the_speed_of_the_machine_is_measured_once(home, monkeypatch):
    speed.cache_clear()
    first = speed()
    speed.cache_clear()
    monkeypatch.setattr("toolkit.studies.reproduce.dry_run.time.perf_counter", lambda: pytest.fail("measured again"))
    assert speed() == first > 0
    speed.cache_clear()


def test_the_speed_of_the_machine_is_measured_anew_after_a_week(home):
    speed.cache_clear()
    speed()
    [file] = (home / "speed").iterdir()
    file.write_text("1.0")
    for days, known in ((6, True), (8, False)):
        os.utime(file, (time.time() - days * 86400,) * 2)
        speed.cache_clear()
        assert (speed() == 1) == known
    speed.cache_clear()


def test_the_prompts_of_a_paper_are_not_packed(place):
    out = place / "reproduced-infosearch"
    (out / "prompts").mkdir(parents=True)
    (out / "prompts" / "infosearch-table16.yaml").write_text("kind: listwise")
    (out / "a.trec").touch()
    (out / "a.trec.yaml").touch()
    assert manifest_of(out, "infosearch")["files"].keys() == {"a.trec", "a.trec.yaml"}


@pytest.mark.parametrize("paper", papers())
def test_a_system_that_was_sent_a_prompt_of_ours_says_so_in_each_of_its_cells(paper):
    rows = [row for row in tables_of(paper).rows if row.cells and row.part.has_runs and row.recipe]
    for row in rows:
        used = row.system.with_recipe(row.recipe)
        assert ("prompt: ours" in row.remark) == bool(used.parameters.get("prompt_source")), row.name
    marked = {row.system.name for row in rows if "prompt: ours" in row.remark}
    assert {"infosearch": "gpt-4o", "mfollowir": "followir-7b"}.get(paper, "") in {*marked, ""}


def test_runs_are_made_once_and_compared_cell_by_cell(place):
    first = tandem(*BM25, check=True)
    assert "reproduced-infosearch/infosearch/bm25.trec: not there yet" in first.stderr
    with (place / "reproduced-infosearch" / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    of_bm25 = [cell for cell in cells("infosearch") if cell.ours and cell.system == "BM25" and cell.table in ("1", "17")]
    assert [(row["table"], row["group"], row["mode"], row["measure"], row["published"]) for row in rows] == [
        (cell.table, cell.group, cell.mode, cell.measure, cell.printed) for cell in of_bm25
    ]
    assert all(row["ours"] and row["state"] in (AGREES, NEAR, DIFFERS) for row in rows)
    record = (place / "reproduced-infosearch" / "infosearch" / "bm25.trec.yaml").read_text(encoding="utf-8")
    assert "okapi" in record  # the paper's recipe
    assert "bm25.trec: up to date" in tandem(*BM25, check=True).stderr
    assert tandem(*BM25, "--dry-run", check=True).stdout.count("made  ") == 1
    record = place / "reproduced-infosearch" / "infosearch" / "bm25.trec.yaml"
    record.write_text(record.read_text(encoding="utf-8").replace("k1: 1.5", "k1: 1.2"), encoding="utf-8")
    assert tandem(*BM25, "--dry-run", check=True).stdout.count("to be made") == 1


def test_one_systems_failure_ends_no_other(place):
    done = tandem("reproduce", "infosearch", "--system", "gpt-4o", "--system", "bm25", "--table", "1")
    assert done.returncode == 1
    assert "error: reproduced-infosearch/infosearch/gpt-4o.trec: no server for gpt-4o" in done.stderr
    with (place / "reproduced-infosearch" / "comparison.csv").open(encoding="utf-8") as file:
        states = {(row["system"], row["state"] == NOT_RUN) for row in csv.DictReader(file)}
    assert states == {("bm25", False), ("gpt-4o", True)}


def test_a_table_that_has_not_one_number_is_an_error(place, monkeypatch):
    tandem(*BM25, check=True)
    nothing = {"17": None, "1": float("nan")}  # no score, and a mean over nothing
    scored = row_scores.scores_of
    for table, value in nothing.items():
        monkeypatch.setattr(
            row_scores, "scores_of", lambda *a, value=value: [each._replace(value=value) for each in scored(*a) if value]
        )
        done = tandem("reproduce", "infosearch", "--system", "bm25", "--table", table)
        assert done.returncode == 1
        assert f"error: table {table}: it has not one number\nhint:  `known` of each of its cells in" in done.stderr
        with (place / "reproduced-infosearch" / "comparison.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found = {(row["ours"], row["difference"], row["state"], row["known"].partition("; ")[0]) for row in rows}
        assert found == {("", "", NOT_RUN, "no score of it")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("infosearch-mini",), "no tables of 'infosearch-mini' to reproduce"),
        (("infosearch", "--table", "9"), "table 9 of the infosearch paper cannot be made: counts of the data"),
        (("infosearch", "--table", "99"), "table 99 of the infosearch paper cannot be made, as it has none"),
        (("infosearch", "--system", "bm2"), "did you mean 'bm25'?"),
    ],
)
def test_what_is_not_there_is_one_error(words, message, place):
    done = tandem("reproduce", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (place / "reproduced-infosearch").exists()


def test_a_file_is_no_folder(place):
    (place / "reproduced-infosearch").touch()
    with pytest.raises(ToolkitError, match="is a file"):
        Reproduction("infosearch")


def test_an_archive_is_the_same_bytes_and_is_checked_file_by_file(place):
    archives = [place / "a.zip", place / "b.zip"]
    for archive in archives:
        tandem(*BM25, "--export", archive, check=True)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    unpacked = place / "unpacked"
    with zipfile.ZipFile(archives[0]) as packed:
        packed.extractall(unpacked)
    digest = hashlib.sha256((unpacked / "manifest.json").read_bytes()).hexdigest()
    for sound in (unpacked, archives[0]):
        assert tandem("reproduce", "--verify", sound, check=True).stdout == f"all files are those of the manifest {digest}\n"
    manifest = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    assert {"comparison.html", "comparison.csv", "claims.csv", "infosearch/bm25.trec"} < manifest["files"].keys()
    assert sum(manifest["cells"].values()) == sum(
        cell.system == "BM25" and cell.table in ("1", "17") for cell in cells("infosearch")
    )
    assert "arXiv 2410.23841" in manifest["of"]
    (unpacked / "infosearch" / "bm25.trec").write_text("changed")
    (unpacked / "infosearch" / "bm25.trec.yaml").unlink()
    (unpacked / "more.py").touch()
    done = tandem("reproduce", "--verify", unpacked)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "infosearch/bm25.trec: not the file of the manifest",
        "infosearch/bm25.trec.yaml: missing",
        "more.py: not in the manifest",
    ]
    # an archive that was changed, and one that is cut off
    with zipfile.ZipFile(archives[1], "a") as packed:
        packed.writestr("more.py", "")
    done = tandem("reproduce", "--verify", archives[1])
    assert (done.returncode, done.stdout) == (1, "more.py: not in the manifest\n")
    archives[1].write_bytes(archives[0].read_bytes()[:-100])
    assert "neither a folder nor a zip archive" in tandem("reproduce", "--verify", archives[1]).stderr
    (unpacked / "manifest.json").write_text("[]")
    assert tandem("reproduce", "--verify", unpacked).returncode == 2
    assert tandem("reproduce", "--verify", place / "nowhere").returncode == 2
    assert "no paper named" in tandem("reproduce").stderr


@pytest.mark.process
def test_a_fetch_that_was_interrupted_is_completed_first(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", ("audience",)))
    group = registry.benchmark("infosearch").group("keyword")
    with serving(hub_files(write_parquet_tables(tmp_path / "hub", tables("keyword")), group)) as files:
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process(*BM25, env=env)
    assert done.returncode == 1  # four other data sets are nowhere
    assert done.stderr.count("fetching jianqunZ/") == 5
    assert "error: data of infosearch: cannot fetch jianqunZ/Format-v1" in done.stderr
    assert {path.name.partition(".")[0] for path in (home / "benchmarks" / "infosearch").iterdir()} == {"audience", "keyword"}
