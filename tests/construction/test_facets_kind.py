"""The kind `facets`: from tagged lines of JSON to a benchmark that is searched and evaluated."""

import json
import shutil

import pytest
import yaml
from command import ROOT, tandem

from toolkit.construction.build_folder import BuildFolder
from toolkit.core.errors import ToolkitError

WORDS = {"use": "{name}", "works-with": "{name}"}
ANIMALS = ("insects", "birds", "fish")
USES = ("viewing", "counting")


VOCABULARY = "works-with::insects: Insects and Spiders\n"


def packages() -> str:
    """For each animal and use two packages of wood and two of brass, one without a word for it, one without any tag."""
    found = []
    for animal in ANIMALS:
        for use in USES:
            for number, made in enumerate(("wood", "wood", "brass", "brass", "TODO", "")):
                tags = [f"use::{use}", f"works-with::{animal}", f"made-in::{made}"] if made else []
                row = {
                    "id": f"{use}-{animal}-{number}",
                    "title": f"{use} {animal}",
                    "text": f"Made of {made}, number {number}.",
                }
                found.append(json.dumps({**row, "tags": tags}) + "\n")
    return "".join(found)


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "zoo"
    folder.mkdir()
    (folder / "packages.jsonl").write_text(packages())
    (folder / "vocabulary.yaml").write_text(VOCABULARY)
    write_config(folder)
    return folder


def write_config(folder, seeds=None, **queries):
    config = {
        "kind": "facets",
        "seeds": seeds or {"tagged": "packages.jsonl", "vocabulary": "vocabulary.yaml"},
        "steps": {
            "topics": {
                "least": 2,
                "wordings": WORDS,
                "conditions": {"made-in": {"wood": ["made of wood"], "brass": ["of brass"]}},
            },
            "queries": {"count": 3, "instructed": ["Only toys {condition}."], "reversed": ["No toys {condition}."], **queries},
        },
    }
    (folder / "build.yaml").write_text(yaml.safe_dump(config))


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_example_of_debian_has_its_facets(tmp_path):
    folder = tmp_path / "debian"
    folder.mkdir()
    shutil.copy(ROOT / "scripts" / "debian_packages.yaml", folder / "build.yaml")
    (folder / "packages.jsonl").write_text("")
    (folder / "vocabulary.yaml").write_text("{}")
    topics, queries = BuildFolder(folder).config.steps[1:]
    assert set(topics.conditions) == {"implemented-in", "interface", "uitoolkit", "role"}
    assert topics.conditions["implemented-in"]["python"][0] == "written in Python"
    assert (queries.count, len(queries.instructed), len(queries.reversed)) == (100, 8, 8)


def test_from_packages_to_a_benchmark_that_is_evaluated(build):
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    corpus = rows(build.parent / "out" / "corpus.made-in.jsonl")
    # nobody said what the fifth of each six is made of, and the sixth has no tags
    assert len(corpus) == len(ANIMALS) * len(USES) * 4
    assert corpus[0] == {"id": "counting-birds-0", "title": "counting birds", "text": "Made of wood, number 0."}
    topics = rows(build.parent / "out" / "topics.jsonl")
    assert [topic["id"] for topic in topics] == ["made-in-001", "made-in-002", "made-in-003"]
    assert {topic["condition"] for topic in topics} == {"made-in::wood", "made-in::brass"}
    for topic in topics:
        way = {"made-in::wood": "made of wood", "made-in::brass": "of brass"}[topic["condition"]]
        assert topic["instructions"] == {"with": f"Only toys {way}.", "without": f"No toys {way}."}
    assert "24 documents, 48 judgments: no problems" in tandem("benchmarks", "check", "out").stderr


def test_judgments_are_the_tags(build):
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    judged = {mode: lines(build.parent / "out" / f"qrels.{mode}.txt") for mode in ("base", "with", "without")}
    for topic in rows(build.parent / "out" / "topics.jsonl"):
        kinds = set(topic["query"].lower().replace(",", "").split()) - {"and", "spiders"}
        numbers = {"made-in::wood": "01", "made-in::brass": "23"}[topic["condition"]]
        relevant = {doc for doc in names() if kinds <= set(doc.split("-")[:2])}
        met = {doc for doc in relevant if doc[-1] in numbers}
        assert judged["base"][topic["id"]] == dict.fromkeys(relevant, "1")
        assert judged["with"][topic["id"]] == {doc: str(int(doc in met)) for doc in relevant}
        assert judged["without"][topic["id"]] == {doc: str(int(doc not in met)) for doc in relevant}


def lines(path):
    found = {}
    for query, _, doc, label in map(str.split, path.read_text().splitlines()):
        found.setdefault(query, {})[doc] = label
    return found


def names():
    return [f"{use}-{animal}-{number}" for use in USES for animal in ANIMALS for number in range(4)]


def test_the_vocabulary_names_tags_and_others_are_called_by_their_words(build):
    tandem("build", "run", build)
    texts = {item.fields["query"] for item in BuildFolder(build).steps().items("topics")}
    assert {"Insects and Spiders", "birds", "viewing, fish", "counting, Insects and Spiders"} <= texts


def test_every_document_that_is_left_out_has_its_reason(build):
    tandem("build", "run", build)
    reasons = [item.rejected for item in BuildFolder(build).steps().items("documents")]
    assert reasons.count("no tags") == len(ANIMALS) * len(USES)
    assert reasons.count("") == len(reasons) - reasons.count("no tags")


def test_of_documents_with_one_text_the_first_by_id_is_taken(build):
    rows = [{"id": name, "title": "t", "text": "x", "tags": ["a::b"]} for name in "cab"]
    (build / "tagged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_config(build, {"tagged": "tagged.jsonl"})
    tandem("build", "run", build, "documents")
    found = {item.id: item.rejected for item in BuildFolder(build).steps().items("documents")}
    assert found == {"a": "", "b": "the same title and text as another", "c": "the same title and text as another"}


def test_the_order_of_lines_changes_nothing(build):
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    first = content(build.parent / "out")
    lines = (build / "packages.jsonl").read_text().splitlines(keepends=True)
    (build / "packages.jsonl").write_text("".join(reversed(lines)))
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    assert content(build.parent / "out") == first


@pytest.mark.parametrize("text", ["[a]", "a::b: 1", "- x"])
def test_what_is_no_vocabulary_is_refused(build, text):
    (build / "vocabulary.yaml").write_text(text)
    with pytest.raises(ToolkitError, match=r"vocabulary\.yaml is no vocabulary"):
        BuildFolder(build).run()


def content(folder):
    """Its files without the datasheet, which names the seeds."""
    return {name: text for name, text in files(folder).items() if not name.startswith("datasheet")}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(build):
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    first = files(build.parent / "out")
    (build / "steps" / "queries.jsonl").unlink()
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    assert files(build.parent / "out") == first
    write_config(build, seed=2)
    tandem("build", "run", build)
    tandem("build", "benchmark", build, "--to", "out")
    assert files(build.parent / "out")["topics.jsonl"] != first["topics.jsonl"]


def test_other_lists_are_another_input(build):
    tandem("build", "run", build)
    path = build / "packages.jsonl"
    path.write_text(path.read_text().replace("number 0", "number nought"))
    assert not BuildFolder(build).states()[0].is_done


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "a", "text": "x"}', "expected id, text and tags"),
        ('{"id": "a", "text": "x", "tags": ["y"]}', "expected id, text and tags"),
        ('{"id": 1, "text": "x", "tags": []}', "expected id, text and tags"),
        ('{"id": "a"', "not JSON"),
    ],
)
def test_a_wrong_tagged_line_is_named(build, line, problem):
    (build / "tagged.jsonl").write_text(f'{{"id": "z", "text": "x", "tags": ["a::b"]}}\n{line}\n')
    write_config(build, {"tagged": "tagged.jsonl"})
    with pytest.raises(ToolkitError) as raised:
        BuildFolder(build).run()
    (found,) = raised.value.problems
    assert found.startswith("line 2: ")
    assert problem in found


def test_wrong_parameters_are_named_together(build):
    write_config(build, seed=1, count=0, overlap=2, instructed=["no slot"])
    with pytest.raises(ToolkitError) as raised:
        BuildFolder(build)
    assert [str(problem) for problem in raised.value.problems] == [
        "steps: queries: instructed: 1: expected a text with {condition}: 'no slot'",
        "steps: queries: count is 0: expected 1 or more",
        "steps: queries: overlap is 2: expected more than 0, up to 1",
    ]


def test_a_facet_of_topics_is_no_condition(build):
    content = yaml.safe_load((build / "build.yaml").read_text())
    content["steps"]["topics"]["wordings"]["made-in"] = "{name}"
    (build / "build.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(ToolkitError) as raised:
        BuildFolder(build)
    assert [str(problem) for problem in raised.value.problems] == [
        "steps: topics: conditions: made-in is a facet of topics, too"
    ]
