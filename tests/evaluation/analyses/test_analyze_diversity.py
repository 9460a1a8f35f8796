"""analyze diversity: ROUGE-L as the rouge-score package has it, and the figure of InstructIR's paper."""

import csv
import io
import itertools
from pathlib import Path

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.datasets import load, resolve_topics
from toolkit.evaluation.analyses.diversity import diversity, histogram, instruction_groups
from toolkit.evaluation.analyses.words import gold_overlap, rouge_l, shared_words, tokens

INSTRUCTIR = Path(__file__).resolve().parents[4] / "shared" / "data" / "instructir"


def test_rouge_l_is_that_of_the_rouge_score_package():
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    texts = [topic.instruction for mode in ("ins", "rev") for topic in load("infosearch-mini").topics("language", mode)]
    texts += ["I'm running 3.5 km; re-running is EASIER!", "The dogs' owners were dying to run, run.", "ran _under_", "", "é"]
    for first, second in itertools.combinations(texts, 2):
        assert rouge_l(tokens(first), tokens(second)) == pytest.approx(scorer.score(first, second)["rougeL"].fmeasure)


def test_mean_is_over_all_pairs_of_a_core_query():
    # (a b c d, a b) -> 2*2/6; (a b c d, x) -> 0; (a b, x) -> 0; (m n, m n o p) -> 2/3
    groups = {"1": ["a b c d", "a b", "x"], "2": ["m n", "m n o p"], "3": ["alone"]}
    scores = diversity("toy", groups)
    means = {row.mode: row.value for row in scores.rows if row.measure == "ROUGE-L"}
    assert means == pytest.approx({"mean": (2 / 3 + 0 + 0 + 2 / 3) / 4, "mean over groups": (2 / 9 + 2 / 3) / 2})
    assert scores.notes == ("1 core queries with one instruction have no pair and are left out",)


def test_instructions_without_words_that_rouge_knows_are_counted():
    notes = diversity("toy", {"1": ["Я учитель.", "Я учитель!", "a b"]}).notes
    assert notes == ("2 instructions have no Latin letter: ROUGE-L of their pairs is 0, however alike they are",)


def test_histogram_counts_every_pair():
    rows = histogram(diversity("toy", {"1": ["a b c d", "a b", "x"]})).rows
    assert rows[0] == ("0.00", 2, "#" * 40)
    assert rows[-1] == ("0.65", 1, "#" * 20)


def test_groups_are_the_core_queries_in_their_mode():
    topics = [
        Topic("a-1-ins", "q i", "q", "i", mode="ins", group_id="a"),
        Topic("a-2-ins", "q j", "q", "j", mode="ins", group_id="a"),
        Topic("a-1-rev", "q k", "q", "k", mode="rev", group_id="a"),
        Topic("a-1-ori", "q", "q", mode="ori", group_id="a"),
    ]
    assert instruction_groups(topics) == {"a-ins": ["i", "j"], "a-rev": ["k"]}


def test_a_benchmark_without_instructions_is_refused():
    with pytest.raises(ToolkitError, match="has no core query with two instructions"):
        diversity("infosearch-mini-ori", instruction_groups(resolve_topics("infosearch-mini-ori").topics))


def test_shared_words_are_stems_without_stop_words():
    assert shared_words("the running of dogs", ["a dog", "it runs with dogs"]) == 1.0
    assert shared_words("the running of dogs", ["a dog"]) == 0.5
    assert shared_words("the of", ["the"]) == 0.0
    assert shared_words("dogs", []) == 0.0


def test_the_command_prints_the_long_table():
    command = ["analyze", "diversity", "--benchmark", "infosearch-mini-ins", "--format", "csv"]
    rows = list(csv.DictReader(io.StringIO(tandem(*command, check=True).stdout)))
    pairs = next(float(row["value"]) for row in rows if row["measure"] == "pairs")
    assert sum(float(row["value"]) for row in rows if row["measure"] == "ROUGE-L pairs") == pairs


def test_topics_of_several_files_are_taken_together(tmp_path):
    (tmp_path / "a.tsv").write_text("1\tq\tfor a teacher\n")
    (tmp_path / "b.jsonl").write_text('{"_id": "2", "group_id": "1", "text": "q", "instruction": "for a nurse"}\n')
    given = [part for name in ("a.tsv", "b.jsonl") for part in ("--topics", tmp_path / name)]
    rows = list(csv.DictReader(io.StringIO(tandem("analyze", "diversity", *given, "--format", "csv", check=True).stdout)))
    assert [(row["run"], row["value"]) for row in rows if row["measure"] == "pairs"] == [("a+b", "1.0")]
    rows = list(csv.DictReader(io.StringIO(tandem("analyze", "dimensions", *given, "--format", "csv", check=True).stdout)))
    assert [row["run"] for row in rows if row["mode"] == "labels"] == ["a", "b"]


@pytest.mark.skipif(not INSTRUCTIR.is_dir(), reason="no shared data beside the checkout")
@pytest.mark.slow
def test_instructir_has_the_papers_figure(home):
    for command in (["benchmarks", "fetch", "instructir-all", "--from", str(INSTRUCTIR)], ["analyze", "diversity"]):
        done = tandem(*command, check=True)
    assert done.stdout.splitlines()[2].split()[:3] == ["instructir", "ROUGE-L", "0.2381"]  # the paper prints 0.238


def test_words_shared_with_the_gold_document_need_its_text(home):
    shares = gold_overlap("instructir-mini")
    assert len(shares) == 72
    assert all(0 <= share <= 1 for share in shares.values())
    assert 0.1 < sum(shares.values()) / 72 < 0.5
    assert gold_overlap("beir/scifact/test") is None  # a collection of ir_datasets: nothing is fetched for an addition
