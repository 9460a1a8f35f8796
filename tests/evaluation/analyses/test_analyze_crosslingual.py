"""Cross-lingual and multilingual runs side by side."""

import json

import pytest
from command import tandem

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.evaluation import evaluate
from toolkit.evaluation.analyses.crosslingual import both_settings, crosslingual
from toolkit.files.formats import write_run

LANGUAGES = ("fas", "zho", "rus")


def run_of(name: str, tag: str, *, backwards: bool) -> Run:
    """Candidates in the order of their ids; in the changed mode the other way round."""
    selection = datasets.find(name)
    benchmark, lists = datasets.load(selection.benchmark), {}
    for group in selection.groups:
        docs = sorted(doc.doc_id for doc in benchmark.docs(group))
        for mode, sign in (("og", -1.0), ("changed", 1.0)):
            sign = -sign if backwards else sign
            ranking = {doc: sign * place for place, doc in enumerate(docs)}
            lists |= {topic.query_id: ranking for topic in benchmark.topics(group, mode)}
    return Run.from_dict(lists, tag=tag)


@pytest.fixture(scope="module")
def runs():
    name = "mfollowir-mini"
    return run_of(name, "multi", backwards=False), run_of(f"{name}-cross-lingual", "cross", backwards=True)


def test_each_side_is_what_evaluate_says_and_the_difference_is_cross_minus_multi(runs):
    scores = crosslingual(*runs, both_settings("mfollowir-mini"))
    sides = (
        ("multilingual", "", evaluate(runs[0], benchmark="mfollowir-mini")),
        ("cross-lingual", "cross-lingual/", evaluate(runs[1], benchmark="mfollowir-mini-cross-lingual")),
    )
    for measure, mode in (("nDCG@20", "og"), ("pMRR", "paired")):
        for group in (*LANGUAGES, "average"):
            values = []
            for setting, prefix, expected in sides:
                values.append(scores.value(measure, mode=setting, group=group))
                theirs = group if group == "average" else prefix + group
                assert values[-1] == expected.value(measure, mode=mode, group=theirs)
            assert scores.value(measure, mode="difference", group=group) == values[1] - values[0]
    assert len(scores.rows) == 2 * 4 * 3
    assert {row.run for row in scores.rows} == {"multi / cross"}
    assert any(row.value for row in scores.rows if row.mode == "difference")


def test_the_command_prints_a_line_a_language_and_measure(runs, tmp_path):
    for run in runs:
        write_run(run, tmp_path / f"{run.tag}.trec")
    line = ["analyze", "crosslingual", "multi.trec", "cross.trec", "--benchmark", "mfollowir-mini"]
    done = tandem(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, _, *rows = done.stdout.split("\n\n")[0].splitlines()
    assert head.split() == ["run", "group", "measure", "multilingual", "cross-lingual", "difference"]
    assert [row.split()[3:5] for row in rows] == [
        [group, measure] for group in (*LANGUAGES, "average") for measure in ("nDCG@20", "pMRR")
    ]
    found = json.loads(tandem(*line, "--format", "json", cwd=tmp_path).stdout)
    assert len(found["rows"]) == 24
    every = len(runs[0].query_ids)
    assert f"multilingual, multi: {every} queries judged, {every} in the run, {every} scored, 0 absent" in found["notes"]


def test_a_run_of_the_other_setting_is_refused(runs):
    with pytest.raises(ToolkitError, match="has no query of mfollowir-mini"):
        crosslingual(runs[1], runs[0], both_settings("mfollowir-mini"))


def test_a_benchmark_of_one_setting_is_refused():
    with pytest.raises(ToolkitError, match="infosearch-mini is not searched across languages"):
        both_settings("infosearch-mini")
