"""`reproduce --prompts`: whose prompt each number rests on, in records, cells, page and counts."""

import csv
import re
from pathlib import Path

import pytest
import yaml
from command import tandem
from endpoint import Script, serving, shown
from published_layout import write_infosearch

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models.llm.paper_prompts import published_prompts, write_prompts
from toolkit.studies.reproduce.compared_cells import AGREES, DIFFERS, NEAR, OTHER_PROMPT, Compared, claims_csv, claims_of
from toolkit.studies.reproduce.row_prompts import Sent, as_recorded, is_another, sent, whose
from toolkit.studies.reproduce.table_rows import tables_of

PAPERS = Path(__file__).resolve().parents[4] / "shared" / "papers"
shared = pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")
VERDICTS = {AGREES, NEAR, DIFFERS}
COMMAND = ("reproduce", "infosearch", "--loader", "endpoint", "--table", "2", "--system")


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """A tiny InfoSearch with candidates, and a server that leaves every list as it is."""
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", with_candidates=True))
    monkeypatch.chdir(tmp_path)
    with serving(Script(lambda messages: " > ".join(f"[{number}]" for number in shown(messages)))) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield script


@pytest.fixture
def prompts(tmp_path):
    write_prompts("infosearch", [PAPERS / "infosearch.txt"], tmp_path / "prompts")
    return tmp_path / "prompts"


def compared(system):
    with Path("reproduced-infosearch", "comparison.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["system"] == system and row["ours"]]


def record(system):
    return read_yaml(f"reproduced-infosearch/infosearch/{system}.trec.yaml")["method"]["reranking"][-1]


def test_a_number_rests_on_the_least_published_of_its_prompts():
    ours, paper, model = (Sent("s", said, "") for said in ("ours", "paper (Mine, table 1)", "model"))
    assert [whose(each) for each in ((ours, paper), (paper, model), (model,), ())] == ["ours", "paper", "model", "none"]
    trained = Sent("s", "ours", "", trained=True)
    assert [is_another(each) for each in ((trained, paper), (ours,), (Sent("s", "model (Mine, code)", "", trained=True),))] == [
        *(True, False, False)
    ]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("a file", ("other", "other")),
        ("paper (Mine, table 1), with 2 examples of the user's", ("other", "other")),
        ("ours, with 1 example of the user's", ("other", "other")),
        ("paper (Mine, table 1, other white space)", ("paper", "other")),
        ("model (Mine, code)", ("model", "model")),
    ],
)
def test_what_a_user_made_of_a_prompt_is_no_papers_and_gives_a_trained_model_no_verdict(said, found):
    untrained, trained = (Sent("s", said, "0", trained=trained) for trained in (False, True))
    assert (whose([untrained]), whose([trained])) == found
    assert not is_another([untrained])
    assert is_another([trained]) == (found[1] == "other")
    assert whose([untrained, Sent("t", "ours", "")]) == ("other" if found[0] == "other" else "ours")


PLANNED = Sent("s", "paper (Mine, table 1)", "1", file="p.yaml", trained=True)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"prompt": "mine.yaml", "prompt_sha256": "0", "prompt_of": "a file"}, "a file"),
        ({"prompt": "ours", "prompt_name": "listwise.v1", "prompt_sha256": "0"}, "ours"),  # before records had prompt_of
        ({"prompt": "judge-support.v1", "prompt_sha256": "0"}, "ours"),
        ({"prompt": "pointwise-monot5.v1", "prompt_sha256": "0"}, "model"),
        ({"prompt": "mine.yaml", "prompt_sha256": "0"}, "a file"),
        ({"prompt": "p.yaml", "prompt_sha256": "1"}, "paper (Mine, table 1)"),
        ({}, "paper (Mine, table 1)"),  # it was sent none
    ],
)
def test_a_record_says_what_was_sent_whatever_would_be_sent_now(tmp_path, step, said):
    (tmp_path / "a.trec").touch()
    (tmp_path / "a.trec.yaml").write_text(yaml.safe_dump({"method": {"reranking": [{"name": "s", **step}]}}))
    [sent_then] = as_recorded([PLANNED], [tmp_path / "a.trec", tmp_path / "a.qrels"])
    assert sent_then.said == said


def test_claims_rest_on_no_number_from_another_prompt_and_say_how_many_are_left_out():
    cells = [Compared(cell, row, cell.value, AGREES) for row in tables_of("infosearch").rows for cell in row.cells]
    claims = {claim.id: (holds, claim.note) for claim, holds in claims_of("infosearch", cells)}
    count = sum(each.is_another for each in cells)
    assert count
    assert claims["infosearch-rankzephyr"] == (None, f"by WISE and SICR; {count} numbers from another prompt are left out")
    assert not any("left out" in note for holds, note in claims.values() if holds is False and "RankZephyr" not in note)
    lines = claims_csv(claims_of("infosearch", cells))
    assert f"{count} numbers from another prompt are left out" in lines
    of_others = [each for each in cells if not each.is_another]
    assert not any("left out" in claim.note for claim, _ in claims_of("infosearch", of_others))


def test_models_that_were_trained_on_a_prompt_are_named():
    trained = {name for name, spec in registry.systems().items() if spec.parameters.get("trained_on_prompt")}
    assert trained == {
        *("followir-7b", "rank-zephyr-7b", "rank-vicuna-7b", "berds-mistral-evaluator", "berds-mistral-evaluator-lora")
    }


def test_the_prompt_of_a_paper_is_sent_to_a_model_that_learned_another_in_that_papers_rows_alone():
    trained = {name: spec for name, spec in registry.systems().items() if spec.parameters.get("trained_on_prompt")}
    prompts = published_prompts()
    for name, spec in trained.items():
        own = prompts[spec.parameters["published_prompt"]]
        for prompt in filter(None, (own, prompts.get(own.otherwise))):
            assert prompt.whose == "model" or spec.printed.keys() <= {prompt.source}, name


def test_every_table_of_berds_rests_on_a_judge_that_was_trained_on_a_prompt():
    rows = [row for row in tables_of("berds").rows if row.part.judge and row.cells]
    assert rows
    assert all(is_another(row.sent) for row in rows)
    assert all("prompt of berds-mistral-evaluator: ours" in row.remark for row in rows)


def test_a_form_without_sentences_is_the_models_own():
    for name in ("mt5-13b-mmarco-100k", "true-nli-t5-xxl"):
        assert sent(registry.system(name), "").whose == "model"
    assert sent(registry.system("bge-reranker-v2-m3"), "") is None


def test_without_the_prompt_that_a_model_was_trained_on_there_is_no_verdict(place):
    done = tandem(*COMMAND, "rank-zephyr-7b", "--system", "gpt-4o", check=True)
    rows = compared("rank-zephyr-7b")
    assert rows
    assert {(row["state"], row["prompt"]) for row in rows} == {(OTHER_PROMPT, "ours")}
    assert all("prompt: ours" in row["known"] for row in rows)
    assert {row["state"] for row in compared("gpt-4o")} <= VERDICTS  # it was not trained on one
    assert record("rank-zephyr-7b")["prompt_of"] == "ours"
    counts = done.stdout[done.stdout.index("cells by prompt") :].splitlines()
    assert counts[1].split() == ["table", "paper", "model", "ours", "other", "none"]
    assert counts[3].split() == ["2", "0", "0", str(len(rows) + len(compared("gpt-4o"))), "0", "0"]


@shared
def test_a_folder_of_prompts_is_sent_said_of_each_cell_and_made_anew(place, prompts):
    tandem(*COMMAND, "rank-zephyr-7b", check=True)
    asked = len(place.bodies)
    done = tandem(*COMMAND, "rank-zephyr-7b", "--prompts", str(prompts), check=True)
    assert "prompt was listwise.v1, is infosearch-table16.yaml" in done.stderr
    assert "You are RankGPT" in place.bodies[asked]["messages"][0]["content"]
    rows = compared("rank-zephyr-7b")
    assert {row["prompt"] for row in rows} == {"paper"}
    assert {row["state"] for row in rows} <= VERDICTS
    assert record("rank-zephyr-7b")["prompt_of"] == "paper (InfoSearch, table 16)"
    page = Path("reproduced-infosearch", "comparison.html").read_text(encoding="utf-8")
    assert f"Numbers by prompt: paper {len(rows)}." in page
    assert re.search(r"tandem rerank .* --prompts \.\./prompts", page)
    asked = len(place.bodies)
    again = tandem(*COMMAND, "rank-zephyr-7b", "--prompts", str(prompts), check=True)
    assert (len(place.bodies), "rank-zephyr-7b.trec: up to date" in again.stderr) == (asked, True)
    # of what is not made now, the record says what was sent
    tandem(*COMMAND, "bm25", check=True)
    rows = compared("rank-zephyr-7b")
    assert rows
    assert {row["prompt"] for row in rows} == {"paper"}
    assert all("prompt: paper (InfoSearch, table 16)" in row["known"] for row in rows)


@shared
def test_white_space_counts_to_a_model_that_was_trained_on_a_prompt_and_to_no_other(prompts):
    file = prompts / "infosearch-table16.yaml"
    content = read_yaml(file)
    for turn in (turn for entry in content["turns"] for turn in entry.get("each", [entry])):
        turn["content"] = " ".join(turn["content"].split())
    file.write_text(yaml.safe_dump(content))
    rows = {row.system.name: row for row in tables_of("infosearch", prompts=str(prompts)).rows if row.cells}
    for name, found in (("rank-zephyr-7b", ("other", True)), ("gpt-4o", ("paper", False))):
        row = rows[name]
        assert (whose(row.sent), is_another(row.sent)) == found
        assert row.sent_to(name).said == "paper (InfoSearch, table 16, other white space)"


@shared
def test_what_the_folder_lacks_is_sent_ours_and_says_so(prompts):
    rows = {row.system.name: row for row in tables_of("infosearch", prompts=str(prompts)).rows if row.cells}
    assert rows["followir-7b"].remark.startswith("prompt: ours (--prompts has no followir-7b.yaml)")
    assert rows["rank-vicuna-7b"].sent_to("rank-vicuna-7b").said == "paper (InfoSearch, table 16)"
    changed = prompts / "infosearch-table16.yaml"
    changed.write_text(changed.read_text().replace("RankGPT", "a ranker"))
    with pytest.raises(ToolkitError, match="is not word by word what InfoSearch prints"):
        tables_of("infosearch", prompts=str(prompts))


def test_a_folder_that_is_not_there_is_refused():
    done = tandem("reproduce", "infosearch", "--prompts", "nowhere", "--dry-run")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no folder nowhere")
