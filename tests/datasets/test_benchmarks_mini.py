"""The minis: from a readable source to topics and qrels in the published layout's form."""

from pathlib import Path

import pytest
from command import script

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets import load
from toolkit.datasets.group_data import counts
from toolkit.datasets.minis.infosearch import read_source
from toolkit.files.formats import read_qrels, read_topics

ROOT = Path(__file__).resolve().parents[2]
MODES = ("ori", "ins", "rev")
SOURCE = """\
dimension: audience
topics:
  - number: 1
    query: how do vaccines
      work
    rows:
      - condition: layman
        ins: For everyone.
        rev: Not for everyone.
        gold: {id: d1, title: Plain, text: plain answer}
      - condition: expert
        ins: For doctors.
        rev: Not for doctors.
        gold: {id: d3, text: expert answer}
    adversarial:
      - {id: d2, condition: layman, text: other one}
      - {id: d4, condition: expert, title: null, text: other two}
unrelated:
  - {id: d0, condition: layman, text: far away}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "audience.yaml"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def labels(part, mode):
    found = {}
    for row in part.qrels[mode]:
        found.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    return found


def test_the_gold_document_of_a_row_is_what_its_instruction_asks_for_and_what_is_unrelated_is_not_judged(source):
    part = read_source(source, registry.benchmark("infosearch").modes)
    assert labels(part, "ori")["audience-001-1-ori"] == {"d1": 1, "d3": 1, "d2": 0, "d4": 0}
    assert labels(part, "ins") == {
        "audience-001-1-ins": {"d1": 1, "d3": 0, "d2": 0, "d4": 0},
        "audience-001-2-ins": {"d1": 0, "d3": 1, "d2": 0, "d4": 0},
    }
    assert labels(part, "rev") == {
        "audience-001-1-rev": {"d1": 0, "d3": 1, "d2": 0, "d4": 0},
        "audience-001-2-rev": {"d1": 1, "d3": 0, "d2": 0, "d4": 0},
    }


def test_texts_are_one_line_and_documents_in_order_of_their_ids(source):
    part = read_source(source, registry.benchmark("infosearch").modes)
    assert [topic.text for topic in part.topics["rev"]] == [
        "how do vaccines work Not for everyone.",
        "how do vaccines work Not for doctors.",
    ]
    assert [topic.condition for topic in part.topics["ori"]] == ["layman", "expert"]
    assert [doc.contents for doc in part.docs] == ["far away", "Plain plain answer", "other one", "expert answer", "other two"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id: d4", "id: d1", "document ids used twice: d1"),
        ("id: d0", "id: d2", "document ids used twice: d2"),
        ("number: 1", "number: 2", "audience: topic 2 stands at place 1"),
        ("        rev: Not for doctors.\n", "", "an entry lacks 'rev'"),
        ("unrelated:", "related:", "an entry lacks 'unrelated'"),
        ("    adversarial:", "    others:", "an entry lacks 'adversarial'"),
        ("unrelated:", "unrelated:\nrelated:", "an entry has not the form of the others"),
        ("unrelated:", "unrelated: [one]\nrelated:", "an entry has not the form of the others"),
    ],
)
def test_a_slip_in_a_source_is_named(source, old, new, message):
    source.write_text(SOURCE.replace(old, new), encoding="utf-8")
    with pytest.raises(ToolkitError, match=message):
        read_source(source, registry.benchmark("infosearch").modes)


def test_infosearch_mini_has_the_registered_counts():
    benchmark = load("infosearch-mini")
    spec = registry.benchmark("infosearch-mini")
    assert {group["name"]: counts(benchmark.part(group["name"])) for group in spec.groups} == {
        group["name"]: group["counts"] for group in spec.groups
    }
    assert spec.counts == {what: sum(group["counts"][what] for group in spec.groups) for what in spec.counts}


def test_every_instructed_query_has_one_gold_document_and_the_modes_judge_the_same_pairs():
    benchmark = load("infosearch-mini")
    for group in benchmark.groups:
        part = benchmark.part(group)
        pairs = [{(row.query_id[:-4], row.doc_id) for row in part.qrels[mode]} for mode in MODES]
        assert pairs[0] == pairs[1] == pairs[2]
        relevant = {mode: labels(part, mode) for mode in MODES}
        for topic in part.topics["ins"]:
            base = topic.query_id[:-4]
            golds = {doc for doc, label in relevant["ori"][f"{base}-ori"].items() if label}
            wanted = {doc for doc, label in relevant["ins"][f"{base}-ins"].items() if label}
            unwanted = {doc for doc, label in relevant["rev"][f"{base}-rev"].items() if label}
            assert len(wanted) == 1
            assert wanted | unwanted == golds
            assert not wanted & unwanted


@pytest.mark.lucene
def test_the_shipped_files_are_what_the_sources_say():
    done = script("build_minis", "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_shipped_files_read_back_as_the_benchmark():
    benchmark = load("infosearch-mini")
    for mode in MODES:
        stem = f"infosearch-mini-length.{mode}"
        topics = read_topics(ROOT / "topics" / f"topics.{stem}.trec")
        assert [(t.query_id, t.text) for t in topics] == [(t.query_id, t.text) for t in benchmark.topics("length", mode)]
        assert list(read_qrels(ROOT / "qrels" / f"qrels.{stem}.txt")) == list(benchmark.qrels("length", mode))


@pytest.mark.parametrize("name", [name for name, spec in registry.benchmarks().items() if spec.mini])
def test_a_mini_is_cc0_wherever_its_licence_stands(name):
    spec = registry.benchmark(name)
    assert spec.source["licence"] == "CC0-1.0"
    assert "| licence | CC0-1.0 |" in (ROOT / "docs" / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
    headers = {path.name: path.open(encoding="utf-8").readline() for path in (ROOT / spec.source["url"]).glob("*.yaml")}
    assert headers
    assert [name for name, header in headers.items() if "CC0-1.0" not in header] == []
    for page, said in (
        ("README.md", "the mini corpora: CC0"),
        ("CITATION.cff", "the mini benchmarks in toolkit/datasets/corpora are CC0-1.0"),
    ):
        assert said in (ROOT / page).read_text(encoding="utf-8")
