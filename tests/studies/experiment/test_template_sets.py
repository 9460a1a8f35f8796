"""Experiments with a set of templates: one run each, documents encoded once, ranges, intervals, controls, what is said."""

import json

import numpy as np
import pytest
import tiny
from command import tandem

import tandem_ir
from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.evaluation.scores.evaluation import prepare
from toolkit.metrics.inference import Cores, crossed, estimate
from toolkit.retrieval.instructions import shuffled
from toolkit.studies.experiment import Experiment
from toolkit.studies.template_sets import Variant, movement_notes, read_templates, template_table

BENCHMARK = "infosearch-mini-audience"
TEMPLATES = {
    "plain": "{query} {instruction}",
    "first": "{instruction} {query}",
    "labelled": "Instruct: {instruction}\nQuery: {query}",
    "asked": "{query}? Please note: {instruction}",
    "quoted": 'Find "{query}". {instruction}',
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """BM25 and a tiny encoder under five templates, twice, and how many passages were encoded."""
    from toolkit.models.encoders.towers import TowerEncoder

    folder, encoded, encode = tmp_path_factory.mktemp("templates"), [], TowerEncoder.encode

    def counted(self, inputs, side):
        encoded.extend(each.whole for each in inputs if side == "passage")
        return encode(self, inputs, side)

    tiny.sentence_modules(tiny.tiny_bert(folder / "small"))
    (folder / "t.yaml").write_text(json.dumps(TEMPLATES))
    words = ("bm25", folder / "small", "--benchmarks", BENCHMARK, "--templates", folder / "t.yaml", "-m", "WISE", "nDCG@10")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_HOME", str(folder / "home"))
        patch.setattr(TowerEncoder, "encode", counted)
        first, again = (tandem("experiment", *words, "--output", folder / "out", check=True) for _ in range(2))
        yield folder, first, again, encoded


@pytest.mark.lucene
@pytest.mark.model
def test_each_template_is_a_run_and_documents_are_encoded_once(made):
    folder, _, again, encoded = made
    out = folder / "out" / BENCHMARK
    names = {path.name for path in out.glob("*.trec")}
    wanted = ["", *(f".template-{name}" for name in TEMPLATES), ".placebo", ".shuffled", ".none"]
    assert names == {f"{system}{each}.trec" for system in ("bm25", "small") for each in wanted}
    assert len(set(encoded)) == len(encoded) == len(list(datasets.load("infosearch-mini").docs("audience")))
    assert again.stderr.count("up to date") == len(names)
    # the very bytes of a single run
    for name, system, template in (("bm25", "bm25", "asked"), ("small", folder / "small", "labelled")):
        tag = f"{name}.template-{template}"
        single = folder / f"{tag}.trec"
        how = ("--query-template", TEMPLATES[template].replace("\n", "\\n"), "--tag", tag, "--output", single)
        tandem("search", "--topics", BENCHMARK, "--system", system, *how, check=True)
        assert single.read_bytes() == (out / f"{tag}.trec").read_bytes()


@pytest.mark.lucene
@pytest.mark.model
def test_ranges_intervals_and_controls_are_said(made):
    folder, done, _, _ = made
    table = json.loads((folder / "out" / BENCHMARK / "templates.json").read_text())
    row = next(row for row in table["rows"] if (row["system"], row["measure"]) == ("bm25", "WISE"))
    scores = json.loads((folder / "out" / BENCHMARK / "scores.json").read_text())["rows"]
    values = {each["run"]: each["value"] for each in scores if each["measure"] == "WISE" and each["mode"] == "paired"}
    own = [value for name, value in values.items() if name == "bm25" or name.startswith("bm25.template-")]
    assert row["templates"] == len(own) == 6
    assert (row["smallest"], row["largest"]) == pytest.approx((min(own), max(own)), abs=1e-12)
    assert row["median"] == pytest.approx(np.median(own))
    assert row["from"] < np.mean(own) < row["to"]
    assert row["placebo"] == values["bm25.placebo"]
    assert row["none"] == 0.0
    of = {each["system"]: each["first"] for each in table["rows"] if each["measure"] == "nDCG@10" and each["mode"] == "ins"}
    assert of == {"bm25": 1.0, "small": 0.0}
    assert any("bm25 moves much and gains nothing: RBO 0." in note for note in table["notes"])
    assert "by templates" in done.stdout
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "What the template changes" in page


def test_the_instruction_of_another_core_query_is_the_same_one_in_every_mode():
    topics = datasets.resolve_topics(BENCHMARK).topics
    made = shuffled(topics)
    assert made == shuffled(topics)
    donors = {}
    for topic, other in zip(topics, made, strict=True):
        assert (other.query, other.query_id) == (topic.query, topic.query_id)
        assert (topic.instruction == "") == (other.instruction == "")
        if topic.instruction:
            assert other.instruction != topic.instruction
            assert other.text.endswith(other.instruction)
            assert other.instruction in {each.instruction for each in topics if each.group_id != topic.group_id}
            donors.setdefault(topic.group_id, set()).update(
                each.group_id for each in topics if each.instruction == other.instruction and each.mode == topic.mode
            )
    one = [topic for topic in topics if topic.group_id == topics[0].group_id]
    with pytest.raises(ToolkitError, match="no other core query of its group has another instruction"):
        shuffled(one)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no templates"),
        ("a: 7", "holds no templates"),
        ("a b: '{query}'", "is no name of a template"),
        ("placebo: '{query}'", "is no name of a template"),
        ("a: '{instruction}'", "has no {query}"),
        ("a: '{query} {wish}'", "unknown slot"),
    ],
)
def test_what_is_no_set_of_templates_is_refused(tmp_path, content, said):
    (tmp_path / "t.yaml").write_text(content)
    with pytest.raises(ToolkitError, match=said):
        read_templates(tmp_path / "t.yaml")


def test_the_api_takes_a_mapping(home, tmp_path):
    made = Experiment(["bm25"], [BENCHMARK], output=tmp_path / "out", templates={"asked": "{query}? {instruction}"})
    assert [run.name for run in made.runs] == ["bm25", "bm25.placebo", "bm25.shuffled", "bm25.none", "bm25.template-asked"]
    with pytest.raises(ToolkitError, match="holds no templates"):
        tandem_ir.experiment("bm25", BENCHMARK, output=tmp_path / "other", templates={})


def test_one_template_moves_and_gains_and_the_other_does_not():
    """Three core queries; the template's lists are the bare ones turned round, which gains nothing."""
    topics = datasets.resolve_topics(BENCHMARK).topics
    docs = [doc.doc_id for doc in datasets.load("infosearch-mini").docs("audience")][:20]
    from toolkit.core.runs import Run

    bare = Run.from_dict({topic.query_id: {doc: 1 / (n + 1) for n, doc in enumerate(docs)} for topic in topics}, tag="bare")
    turned = Run.from_dict(
        {topic.query_id: {doc: 1 / (n + 1) for n, doc in enumerate(docs[::-1])} for topic in topics}, tag="t"
    )
    given = prepare([bare], BENCHMARK, None, None, "tandem")
    said = movement_notes(given, [Variant("s", "", "none", bare), Variant("s", "t", "", turned)], "worst")
    assert len(said) == 1
    assert said[0].startswith("s moves much and gains nothing: RBO 0.")
    assert movement_notes(given, [Variant("s", "", "none", bare), Variant("s", "t", "", bare)], "worst") == []
    table = template_table(given, [Variant("s", "t", "", bare), Variant("s", "u", "", turned)], ["nDCG@10"], "worst")
    assert {row[3] for row in table.rows} == {2}
    assert all(cell is None for row in table.rows for cell in [row[10]])  # one system is not first among several


def test_intervals_over_core_queries_and_templates_hold_what_they_say():
    """24 core queries and 5 templates, with effects of both and of each pair: 95 % of the intervals hold the mean."""
    generator, hit, naive, draws = np.random.default_rng(7), 0, 0, 600
    for _ in range(draws):
        cores, templates = generator.normal(0, 0.2, 24), generator.normal(0, 0.1, 5)
        values = 0.3 + cores + templates[:, None] + generator.normal(0, 0.1, (5, 24))
        of_templates = [[Cores.of(row, np.arange(24))] for row in values]
        low, high = crossed(of_templates).value_interval()
        hit += low <= 0.3 <= high
        mean = [Cores.of(values.mean(axis=0), np.arange(24))]
        low, high = estimate(mean).value_interval()
        naive += low <= 0.3 <= high
    assert 0.93 <= hit / draws <= 0.99
    assert naive / draws < 0.9  # templates are a sample, too


def test_one_template_has_the_interval_of_its_core_queries():
    values = np.random.default_rng(1).normal(size=12)
    own = [Cores.of(values, np.arange(12))]
    assert crossed([own]).error == estimate(own).error
