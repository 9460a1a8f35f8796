"""The gate as a user calls it: verdicts, status, files, the fixture, what is refused; its errors in a small simulation."""

import gzip
import json
import re
import shlex
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from command import ROOT, tandem

import tandem_ir
from tandem_ir import pytest_plugin
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.files.formats import write_run

tandem_gate = pytest_plugin.tandem_gate
BASELINES = ROOT / "runs" / "baselines"
BM25, RULES = (BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules"))


def runs_of(moves, tag="run"):
    """A run in which query q<n> has its relevant document at rank moves[n]."""
    rows = {
        f"q{number:03d}": {f"g{number}" if place == rank else f"d{place}": 10.0 - place for place in range(1, 6)}
        for number, rank in enumerate(moves)
    }
    return Run.from_dict(rows, tag=tag)


def qrels_of(count):
    return Qrels.from_rows([Qrel(f"q{number:03d}", f"g{number}", 1) for number in range(count)])


def gate(before, after, **how):
    return tandem_ir.gate(runs_of(before, "a"), runs_of(after, "b"), qrels=qrels_of(len(before)), **{"measures": ["RR"], **how})


def test_identical_rankings_pass_however_few():
    for count in (1, 2, 30):
        made = gate([1] * count, [1] * count)
        assert (made.verdict, made.passed(strict=True)) == ("pass", True)
        assert made.checks[0].verdict == "same"


def test_six_queries_are_enough_for_a_large_loss():
    (check,) = gate([1] * 6, [4, 5, 5] * 2).checks
    # RR falls by 0.75, 0.8, 0.8: mean -0.7833, standard deviation 0.0258, t of 5 degrees of freedom 2.5706
    margin = 2.570582 * np.std([0.75, 0.8, 0.8] * 2, ddof=1) / np.sqrt(6)
    assert check.difference == pytest.approx(-47 / 60)
    assert (check.low, check.high) == pytest.approx((-47 / 60 - margin, -47 / 60 + margin))
    assert check.verdict == "fail"


@pytest.mark.parametrize("count", [1, 5])
def test_five_queries_decide_nothing(count):
    made = gate([1] * count, [5] * count)
    assert (made.verdict, made.checks[0].verdict, made.checks[0].needed) == ("warn", "too few differ", None)
    assert made.passed()
    assert not made.passed(strict=True)


def test_an_undecided_comparison_names_a_number_that_decides_it():
    before, after = [1, 2] * 6, [2, 1] * 5 + [2, 2]
    (check,) = gate(before, after, min_effect=0.1).checks
    assert check.verdict == "undecided"
    assert check.needed > check.core_queries == 12
    times = -(-check.needed // 12)
    assert gate(before * times, after * times, min_effect=0.1).verdict == "pass"


def test_a_loss_below_the_smallest_effect_passes_though_it_is_sure():
    before, after = [1] * 200, [1, 1, 1, 2] * 50
    assert gate(before, after, min_effect=0.2).verdict == "pass"
    assert gate(before, after, min_effect=0.05).verdict == "fail"


def test_where_lower_is_better_a_rise_fails():
    modes = {"og": "base", "changed": "instructed", "rev": "reversed"}
    rows = {f"q{number}-{mode}": {"g": 9.0, "x": 8.0, "y": 7.0} for number in range(6) for mode in modes}
    last = {query_id: {"x": 9.0, "y": 8.0, "g": 7.0} for query_id in rows}
    qrels = Qrels.from_rows([Qrel(query_id, "g", int("rev" not in query_id)) for query_id in rows])
    a, b = Run.from_dict(rows, tag="a"), Run.from_dict(last, tag="b")
    how = {"qrels": qrels, "modes": modes, "measures": ["GoldRank"], "min_effect": {"GoldRank": 1}}
    made = tandem_ir.gate(a, b, **how)
    assert {check.difference for check in made.checks} == {2.0}
    assert {check.mode for check in made.checks} == {"og", "changed"}  # reversed, a gold document is to fall
    assert made.verdict == "fail"
    assert tandem_ir.gate(b, a, **how).verdict == "pass"


def test_ranks_need_a_smallest_effect_of_their_own():
    made = tandem_ir.gate(BM25, BM25, benchmark="infosearch-mini-audience")
    assert "GoldRank" not in {check.measure for check in made.checks}
    assert "left out, as nobody said how many ranks matter (--min-effect GoldRank=1): GoldRank" in made.notes


def test_more_numbers_make_intervals_wider():
    alone = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini-keyword", measures=["WISE@20"])
    how = {"benchmark": "infosearch-mini-keyword", "measures": ["WISE@20", "nDCG@10"]}
    many, one_of_many = tandem_ir.gate(BM25, RULES, **how), tandem_ir.gate(BM25, RULES, **how, primary=["WISE@20"])
    # nDCG@10 is three numbers, one a mode
    assert [len(each.deciding) for each in (alone, many, one_of_many)] == [1, 4, 1]
    assert many.deciding[0].low < alone.deciding[0].low == one_of_many.deciding[0].low


def test_the_leading_number_of_the_average_decides_where_nothing_is_named():
    made = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini")
    assert [check.name for check in made.deciding] == ["average WISE@20"]
    assert len(made.checks) > 60
    every = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini", groups=True)
    assert [check.group for check in every.deciding].count("average") == 1
    assert len(every.deciding) == 7


def test_one_number_has_the_interval_and_p_of_evaluate():
    (check,) = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini").deciding
    scores = tandem_ir.evaluate([BM25, RULES], benchmark="infosearch-mini", baseline="bm25")
    change = scores.changes["bm25+rules", "average", "paired", "WISE@20"]
    assert (check.low, check.high) == (change.low, change.high)


def test_a_benchmarks_own_smallest_effects_are_used():
    from toolkit.evaluation.decisions.decision import smallest_effects

    assert smallest_effects(None, "infosearch-mini") == {"": 0.02, "SICR": 0.01}
    assert smallest_effects({"SICR": 0.1}, "infosearch-mini")["SICR"] == 0.1
    assert smallest_effects(0.03, "infosearch-mini") == {"": 0.03}
    assert smallest_effects(None) == {"": 0.02}


def test_values_are_those_of_evaluate():
    made = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini", measures=["WISE@20", "nDCG@10"])
    for run, name in ((BM25, "baseline"), (RULES, "run")):
        scores = tandem_ir.evaluate(run, benchmark="infosearch-mini", measures=["WISE@20", "nDCG@10"])
        for check in made.checks:
            value = scores.value(check.measure, mode=check.mode, group=check.group)
            assert getattr(check, name) == pytest.approx(value, abs=1e-12)


def test_exit_status_and_files(tmp_path):
    worse = tandem("gate", RULES, BM25, "-m", "WISE@20", "--junit", "gate.xml", "--json", "gate.json", cwd=tmp_path)
    assert worse.returncode == 1, worse.stderr
    assert worse.stdout.startswith("fail, exit status 1: average WISE@20 fail (bm25+rules -> bm25)\n")
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["1", "1", "0"]
    assert len(list(suite.iter("failure"))) == 1
    content = json.loads((tmp_path / "gate.json").read_text())
    assert content["verdict"] == "fail"
    assert len(content["rows"]) == 7
    better = tandem("gate", BM25, RULES, "-m", "WISE@20", cwd=tmp_path)
    assert (better.returncode, better.stdout.partition(":")[0]) == (0, "pass, exit status 0")
    words = ["-m", "SICR", "--strict", "--junit", "gate.xml"]
    strict = tandem("gate", BM25, BASELINES / "infosearch-mini.all-minilm-l6-v2.v2.trec.gz", *words, cwd=tmp_path)
    assert strict.returncode == 1  # two of 84 core queries differ
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite").get("skipped") == "0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.trec"], "no file nothing.trec"),
        ([BM25, "--min-effect", "x"], "--min-effect: 'x' is no number: X, or MEASURE=X"),
        ([BM25, "--min-effect", "-1"], "the smallest effect is -1.0"),
        ([BM25, "--min-effect", "nan"], "the smallest effect is nan"),
        ([BM25, "--min-effect", "AP=0.1"], "AP is not compared"),
        ([BM25, "--json", "-"], "standard output has the table"),
        ([], "one baseline is needed"),
        ([BM25, "--baseline", BM25], "one baseline is needed"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(words, message, tmp_path):
    done = tandem("gate", BM25, *words, "--benchmark", "infosearch-mini", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}"), done.stderr
    assert not list(tmp_path.iterdir())


def test_the_baseline_may_be_an_option_as_elsewhere():
    judged = ("--benchmark", "infosearch-mini", "-m", "WISE@20")
    first = tandem("gate", BM25, RULES, *judged)
    for words in ((RULES, "--baseline", BM25), ("--baseline", BM25, RULES)):
        assert tandem("gate", *words, *judged).stdout == first.stdout
    assert "bm25 -> bm25+rules" in first.stdout


def test_other_ids_are_refused_with_the_shares(tmp_path):
    lines = gzip.decompress(BM25.read_bytes()).decode()
    (tmp_path / "renamed.trec").write_text(lines.replace(" Q0 ", " Q0 new-"))
    done = tandem("gate", BM25, tmp_path / "renamed.trec", "--benchmark", "infosearch-mini")
    assert done.returncode == 2
    assert "the corpus or its ids are others: in common: 100.0 % of the queries, 0.0 % of the documents" in done.stderr
    few = "".join(line for line in lines.splitlines(True) if line.startswith("audience"))
    of_few, of_all = (len({line.split()[0] for line in each.splitlines()}) for each in (few, lines))
    assert 0 < of_few < of_all
    (tmp_path / "few.trec").write_text(few)
    done = tandem("gate", BM25, tmp_path / "few.trec", "--benchmark", "infosearch-mini")
    assert done.returncode == 2
    assert f"the queries are others: in common: {100 * of_few / of_all:.1f} % of the queries" in done.stderr


def test_a_run_that_finds_no_judged_document_any_more_is_refused():
    other = Run.from_dict(
        {f"q{number:03d}": {f"d{place}": 9.0 - place for place in range(1, 6)} for number in range(4)}, tag="b"
    )
    with pytest.raises(ToolkitError, match="the ids of documents are not those of the judgments"):
        tandem_ir.gate(runs_of([1] * 4, "a"), other, qrels=qrels_of(4), measures=["RR"])


def test_the_fixture_fails_with_the_table_and_warns_of_what_is_undecided(tandem_gate, tmp_path):
    for name, ranks in (("a", [1] * 9), ("b", [4, 5, 5] * 3), ("c", [1, 2, 3] * 3)):
        write_run(runs_of(ranks, name), tmp_path / f"{name}.trec")
    how = {"qrels": qrels_of(9), "measures": ["RR"], "min_effect": 0.3}
    assert tandem_gate(tmp_path / "a.trec", tmp_path / "a.trec", **how).verdict == "pass"
    with pytest.raises(pytest.fail.Exception, match="fail, exit status 1: all RR fail"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "b.trec", **how)
    with pytest.warns(UserWarning, match=r"undecided with 9 core queries, \d+ would decide it"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "c.trec", **how)
    with pytest.raises(pytest.fail.Exception, match="warn, exit status 1: all RR undecided"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "c.trec", strict=True, **how)
    with pytest.raises(pytest.fail.Exception, match="error: "):
        tandem_gate(tmp_path / "a.trec", tmp_path / "none.trec", **how)


def test_the_workflow_of_the_guide_is_yaml_and_its_gate_is_a_command():
    from toolkit.gate import parser

    text = (ROOT / "docs" / "guides" / "gate.md").read_text()
    (workflow,) = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    lines = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "tandem gate" in step.get("run", "")]
    assert [parser().parse_args(shlex.split(line)[2:]).junit for line in lines] == ["gate.xml"]
