"""The gate as a user calls it: verdicts, status, files, the fixture, what is refused; its errors in a small simulation."""

import gzip
import json
import re
import shlex
import sys
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
from toolkit.formats import write_run

sys.path.insert(0, str(ROOT / "scripts" / "bench"))
import simulate_gate

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
        assert (made.checks[0].low, made.checks[0].high) == (0, 0)


def test_three_queries_are_enough_for_a_large_loss():
    (check,) = gate([1, 1, 1], [4, 5, 5]).checks
    # RR falls by 0.75, 0.8, 0.8: mean -0.7833, standard error 0.0167, t of 2 degrees of freedom 4.3027
    assert check.difference == pytest.approx(-47 / 60)
    assert (check.low, check.high) == pytest.approx((-47 / 60 - 4.302653 / 60, -47 / 60 + 4.302653 / 60))
    assert check.verdict == "fail"


def test_one_query_decides_nothing():
    made = gate([1], [5])
    assert (made.verdict, made.checks[0].needed) == ("warn", None)
    assert made.passed()
    assert not made.passed(strict=True)


def test_an_undecided_comparison_names_a_number_that_decides_it():
    before, after = [1, 2] * 6, [2, 1] * 5 + [2, 2]
    (check,) = gate(before, after, min_effect=0.1).checks
    assert check.verdict == "warn"
    assert check.needed > check.core_queries == 12
    times = -(-check.needed // 12)
    assert gate(before * times, after * times, min_effect=0.1).verdict == "pass"


def test_a_loss_below_the_smallest_effect_passes_though_it_is_sure():
    before, after = [1] * 200, [1, 1, 1, 2] * 50
    assert gate(before, after, min_effect=0.2).verdict == "pass"
    assert gate(before, after, min_effect=0.05).verdict == "fail"


def test_where_lower_is_better_a_rise_fails():
    modes = {"og": "base", "changed": "instructed", "rev": "reversed"}
    rows = {f"q{number}-{mode}": {"g": 9.0, "x": 8.0, "y": 7.0} for number in range(5) for mode in modes}
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
    many = tandem_ir.gate(BM25, RULES, benchmark="infosearch-mini-keyword", measures=["WISE@20", "nDCG@10"])
    assert (len(alone.checks), len(many.checks)) == (1, 4)
    assert many.checks[0].low < alone.checks[0].low


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
    counts = re.search(r", fail: (\d) of 7 numbers fail, (\d) are undecided", worse.stdout)
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["7", counts[1], counts[2]]
    assert len(list(suite.iter("failure"))) == int(counts[1])
    content = json.loads((tmp_path / "gate.json").read_text())
    assert content["verdict"] == "fail"
    assert len(content["rows"]) == 7
    better = tandem("gate", BM25, RULES, "-m", "WISE@20", cwd=tmp_path)
    assert (better.returncode, better.stdout.count("\nfail ")) == (0, 0)
    strict = tandem("gate", BM25, RULES, "-m", "WISE@20", "--strict", "--junit", "gate.xml", cwd=tmp_path)
    assert strict.returncode == 1
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
    ],
)
def test_wrong_input_is_one_line_and_status_2(words, message, tmp_path):
    done = tandem("gate", BM25, *words, "--benchmark", "infosearch-mini", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}"), done.stderr
    assert not list(tmp_path.iterdir())


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
    for name, ranks in (("a", [1, 1, 1]), ("b", [4, 5, 5]), ("c", [1, 2, 1])):
        write_run(runs_of(ranks, name), tmp_path / f"{name}.trec")
    how = {"qrels": qrels_of(3), "measures": ["RR"]}
    assert tandem_gate(tmp_path / "a.trec", tmp_path / "a.trec", **how).verdict == "pass"
    with pytest.raises(pytest.fail.Exception, match="fail: 1 of 1 numbers fail"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "b.trec", **how)
    with pytest.warns(UserWarning, match=r"undecided with 3 core queries, \d+ would decide it"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "c.trec", **how)
    with pytest.raises(pytest.fail.Exception, match="1 are undecided"):
        tandem_gate(tmp_path / "a.trec", tmp_path / "c.trec", strict=True, **how)
    with pytest.raises(pytest.fail.Exception, match="error: "):
        tandem_gate(tmp_path / "a.trec", tmp_path / "none.trec", **how)


def test_the_workflow_of_the_guide_is_yaml_and_its_gate_is_a_command():
    from toolkit.gate.__main__ import parser

    text = (ROOT / "docs" / "guides" / "gate.md").read_text()
    (workflow,) = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    lines = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "tandem gate" in step.get("run", "")]
    assert [parser().parse_args(shlex.split(line)[2:]).junit for line in lines] == ["gate.xml"]


def test_it_fails_seldom_without_a_difference_and_often_with_one():
    population = {("a", ""): np.random.default_rng(0).normal(0.02, 0.2, 60), ("b", ""): np.repeat([0.0, 0.5, -0.2], 20)}
    shares = simulate_gate.simulate(population, effect=0.1, times=150)
    without = [share for what, share in shares.items() if what.startswith("no true difference")]
    with_one = [share for what, share in shares.items() if what.startswith("twice the smallest effect")]
    assert (len(without), len(with_one)) == (4, 2)
    assert max(without) <= 0.05
    assert min(with_one) >= 0.8  # 90 % of 150, and chance
