"""Instruction negatives and adversarial documents in a kind that has no negatives of its own."""

import json

import build_answers
import pytest
import yaml
from command import tandem
from endpoint import Script, serving

from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.documents.negatives import shared_words
from toolkit.datasets.own.own_check import check_folder

QUERY = "how to sharpen a knife"


def answer(messages):
    """What the prompts of the two steps are answered, and else what a good model answers to those of InstructIR."""
    system, text = messages[0]["content"], messages[1]["content"]
    if system.startswith("You write texts for a test"):
        kind = "SONG" if "uses all words" in text else "BREAKS"
        return f"{kind}: sharpen, sharpen a knife, and knife again, for {build_answers.number(text)}."
    if system.startswith("You judge documents"):
        return "No" if "SONG" in text or ("adds" in text and "BREAKS" in text) else "Yes"
    return build_answers.answer(messages)


@pytest.fixture
def made(tmp_path, home, monkeypatch):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "docs.jsonl").write_text(json.dumps({"id": "d", "text": "Sharpen a knife on a wet stone."}) + "\n")
    (place / "topics.tsv").write_text(f"q\t{QUERY}\n")
    (place / "qrels.txt").write_text("q 0 d 1\n")
    content = {"kind": "instructir", "seeds": {"docs": "docs.jsonl", "topics": "topics.tsv", "qrels": "qrels.txt"}}
    content |= {"models": {"writer": "http:gpt-4o", "judge": "http:gpt-4o"}}
    content |= {
        "steps": {"seeds": build_answers.ANY_SEEDS, "groups": {"smallest": 2}, "instruction-negatives": {}, "adversarial": {}}
    }
    (place / "build.yaml").write_text(yaml.safe_dump(content))
    with serving(Script(answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        build = BuildFolder(place)
        build.run()
        yield build


def test_negatives_of_a_scenario_are_judged_in_the_benchmark_and_have_their_makers(made, tmp_path):
    folder = made.benchmark(tmp_path / "out")
    assert check_folder(folder).problems == []
    items = {item.id: item for item in made.files["adversarial"].items() if item.is_passed}
    corpus = {row["id"]: row["text"] for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())}
    labels = {tuple(line.split()[::2]): line.split()[3] for line in (folder / "qrels.txt").read_text().splitlines()}
    made_by = {row["id"]: row["made"] for row in map(json.loads, (folder / "provenance.jsonl").read_text().splitlines())}
    assert items
    for name, item in items.items():
        [breaking] = item.fields["instruction_negatives"]
        assert corpus[breaking["id"]].startswith("BREAKS")
        assert labels[name, breaking["id"]] == "0"
        assert [row["role"] for row in made_by[breaking["id"]]] == ["wrote", "filtered", "filtered"]
        assert {row["step"] for row in made_by[breaking["id"]]} == {"instruction-negatives"}
    # all scenarios of a query have the same prompt, and share the adversarial document
    [shared] = {document["id"] for item in items.values() for document in item.fields["hard_negatives"]}
    assert all(labels[name, shared] == "0" for name in items)
    assert sum(text.startswith("SONG") for text in corpus.values()) == 1


def test_a_build_without_the_steps_has_no_such_documents(made, tmp_path):
    path = made.path / "build.yaml"
    path.write_text(
        yaml.safe_dump(
            yaml.safe_load(path.read_text()) | {"steps": {"seeds": build_answers.ANY_SEEDS, "groups": {"smallest": 2}}}
        )
    )
    assert tandem("build", "run", made.path).returncode == 0
    folder = BuildFolder(made.path).benchmark(tmp_path / "out")
    assert " 0\n" not in (folder / "qrels.txt").read_text()


@pytest.mark.parametrize(
    ("text", "share"), [("Sharpening one knife.", 1.0), ("The knife is here.", 0.5), ("Nothing of it.", 0.0), ("", 0.0)]
)
def test_words_are_shared_by_their_stems_without_stop_words(text, share):
    assert shared_words(QUERY, text) == share
    assert shared_words("what is it", text) == 1.0
