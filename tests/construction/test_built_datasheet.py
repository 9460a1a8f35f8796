"""A benchmark that is built comes with its datasheet, and a system that made its items is warned of when it is scored."""

import json

import build_answers
import pytest
import yaml
from command import ROOT, tandem
from endpoint import Script, serving
from review_builds import page_data, write_saved

from toolkit.construction.build_folder import BuildFolder

DOCS = ["Sharpen a knife on a wet stone.", "Moss grows where mowing is low and light is scarce."]
QUERIES = ["how to sharpen a knife", "why is there moss in the lawn"]


@pytest.fixture
def build(tmp_path, home, monkeypatch):
    """A build of two queries by `mistral-large`, judged by `gpt-4o`; two reviewers answer."""
    place = tmp_path / "mine"
    assert tandem("build", "new", "instructir", place).returncode == 0
    (place / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(DOCS)))
    (place / "topics.tsv").write_text("".join(f"q{n}\t{text}\n" for n, text in enumerate(QUERIES)))
    (place / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(2)))
    content = yaml.safe_load((place / "build.yaml").read_text())
    content |= {
        "seeds": {"docs": "docs.jsonl", "topics": "topics.tsv", "qrels": "qrels.txt"},
        "models": {"writer": "http:mistral-large", "judge": "gpt-4o"},
        "steps": {
            "seeds": build_answers.ANY_SEEDS,
            "review": {"reviewers": 2, "share": 1.0, "instances": 10},
            "groups": {"smallest": 2},
        },
    }
    (place / "build.yaml").write_text(yaml.safe_dump(content))
    with serving(Script(build_answers.answer)) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        assert tandem("build", "run", place).returncode == 0
        reviewed(place, tmp_path)
        assert tandem("build", "run", place).returncode == 0
        yield place


def reviewed(place, folder):
    """Two people find all natural and choose the right passages; they differ about one item."""
    assert tandem("build", "review", "export", place, "--step", "review", "--output", folder / "form.html").returncode == 0
    data = page_data(folder / "form.html")
    targets = {item.fields["scenario"]: item.fields["target"] for item in BuildFolder(place).steps().items("review")}
    for name in ("Ada", "Ben"):
        rows = []
        for number, item in enumerate(data["items"]):
            best = next(one["id"] for one in item["choices"]["passage"] if one["text"] == targets[item["texts"][1]])
            valid = "no" if number == 0 or (name == "Ben" and number == 1) else "yes"
            rows.append({"item": item["key"], "choices": {"valid": valid, "natural": "yes", "passage": best}})
        content = {"tandem_review": 1, "export": data["export"], "form": data["form"], "reviewer": name, "answers": rows}
        done = tandem("build", "review", "import", place, write_saved(folder / f"form.{name}.json", content))
        assert done.returncode == 0, done.stderr


def test_the_datasheet_says_how_it_was_made(build, tmp_path):
    assert tandem("build", "benchmark", build, "--to", tmp_path / "out").returncode == 0
    text = (tmp_path / "out" / "datasheet.md").read_text()
    assert "Built by `tandem build`, kind `instructir`." in text
    records = {state.step.name: state.record for state in BuildFolder(build).states()}
    targets = next(line for line in text.splitlines() if line.startswith("| targets |"))
    assert targets.startswith(f"| targets | {records['targets'].entered} | {records['targets'].left} |")
    assert "| &emsp;people find that nobody who searches would say the instruction |" in text
    assert "| mistral-large | mistral |" in text
    assert "| gpt-4o | gpt |" in text
    assert "- seeds, docs: docs.jsonl (" in text
    agreement = [line for line in text.splitlines() if line.startswith("| review | valid | Krippendorff's alpha |")]
    assert len(agreement) == 1
    facts = yaml.safe_load((tmp_path / "out" / "datasheet.yaml").read_text())
    [row] = [row for row in facts["agreement"] if (row["question"], row["measure"]) == ("valid", "Krippendorff's alpha")]
    assert -1 < row["value"] < 1  # they differ about one item
    numbers = {(row["question"], row["measure"]) for row in facts["agreement"]}
    assert ("natural", "majority share") in numbers
    assert ("natural", "Krippendorff's alpha") not in numbers  # which is no number where all chose the same
    assert "nan" not in (tmp_path / "out" / "datasheet.yaml").read_text()


def test_the_same_build_gives_the_same_bytes(build, tmp_path):
    names = ("datasheet.md", "datasheet.yaml")
    assert tandem("build", "benchmark", build, "--to", tmp_path / "out").returncode == 0
    first = [(tmp_path / "out" / name).read_bytes() for name in names]
    for path in (build / "steps").iterdir():
        path.unlink()
    assert tandem("build", "run", build, "--replay").returncode == 0
    assert tandem("build", "benchmark", build, "--to", tmp_path / "out").returncode == 0
    assert [(tmp_path / "out" / name).read_bytes() for name in names] == first


def test_a_system_that_wrote_or_judged_the_items_is_warned_of(build, tmp_path):
    out = tmp_path / "out"
    assert tandem("build", "benchmark", build, "--to", out).returncode == 0
    pairs = [line.split() for line in (out / "qrels.txt").read_text().splitlines()]
    for tag, warned in (("e5-mistral-7b-instruct", "mistral-large, of the family of"), ("gpt-4o", "gpt-4o, the system itself")):
        (tmp_path / "run.trec").write_text("".join(f"{query} Q0 {doc} 1 1 {tag}\n" for query, _, doc, _ in pairs))
        done = tandem("evaluate", tmp_path / "run.trec", "--benchmark", out)
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stdout.splitlines() if line.startswith("warning: ")]
        assert warnings
        assert all(warned in line for line in warnings)
        checked = tandem("build", "check", out, tmp_path / "run.trec")
        assert checked.returncode == 0
        assert warned in checked.stdout


def test_without_the_libraries_of_the_checks_the_benchmark_is_written_all_the_same(build, tmp_path, monkeypatch):
    def missing(folder):
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")

    monkeypatch.setattr("toolkit.construction.datasheet.write_datasheet", missing)
    done = tandem("build", "benchmark", build, "--to", tmp_path / "out")
    assert done.returncode == 0
    hint = f"pip install -e '{ROOT}[build]'"
    assert f"warning: no datasheet: this needs packages that are not installed: {hint}" in done.stderr
    assert (tmp_path / "out" / "corpus.jsonl").is_file()
    assert not (tmp_path / "out" / "datasheet.md").exists()
