"""`tandem cite`: BibTeX of runs, benchmarks, measures and systems."""

import re
from contextlib import chdir

import pytest
import yaml
from command import ROOT, tandem

import tandem_ir
from toolkit import registry
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER
from toolkit.studies.cite import cite, entry

ENTRY = re.compile(r"@(\w+)\{([^,\s]+),\n((?:  \w+ *= \{.*\},?\n)+)\}\n")
PAPERS = read_yaml(FOLDER / "papers.yaml")


def keys(*arguments, **how):
    done = tandem("cite", *arguments, check=True, **how)
    return [key for _, key, _ in ENTRY.findall(done.stdout)]


def test_an_entry_is_escaped_and_leaves_out_what_is_empty():
    made = entry("misc", "k", title="A & B", author="", url="https://x.org/a_b", note="50 % of a_b")
    assert made == "@misc{k,\n  title = {{A \\& B}},\n  url   = {https://x.org/a_b},\n  note  = {50 \\% of a\\_b}\n}\n"


def test_tandem_comes_first_and_every_line_is_an_entry_or_a_comment():
    done = tandem(
        "cite", "--benchmark", "infosearch-mini-ins", "berds", "-m", "WISE", "nDCG@10", "--system", "bm25+rules", check=True
    )
    assert [key for _, key, _ in ENTRY.findall(done.stdout)] == ["tandem-ir", "infosearch", "berds"]
    rest = ENTRY.sub("", done.stdout).split("\n")
    assert [line for line in rest if line and not line.startswith("% ")] == []
    assert [line.split()[1] for line in rest if line] == ["infosearch-mini", "nDCG@10", "bm25:"]
    assert keys() == ["tandem-ir"]


def test_a_paper_is_cited_once_by_whatever_name():
    assert keys("--benchmark", "followir", "--system", "followir-7b", "-m", "pMRR") == ["tandem-ir", "followir", "mfollowir"]
    assert keys("--system", "e5-large-v2", "e5-mistral-7b-instruct") == ["tandem-ir", "wang2022text", "wang2023text"]


def test_a_system_without_a_verified_paper_is_its_checkpoint():
    text = cite(systems=["colbertv2"]).text
    assert f"url          = {{https://huggingface.co/{registry.system('colbertv2').checkpoint}}}" in text
    assert registry.system("colbertv2").revision in text
    assert text.endswith("% colbertv2: no paper of it was verified\n")


def test_a_run_is_cited_by_its_record(tmp_path):
    run = tmp_path / "okapi.trec"
    tandem_ir.search("infosearch-mini-audience", system="bm25", recipe="infosearch", output=run)
    digest = yaml.safe_load((tmp_path / "okapi.trec.yaml").read_text())["data"]["run"]["sha256"]
    cited = tandem_ir.cite(run, measures="WISE")
    assert list(cited.entries) == ["tandem-ir", f"run-{digest[:12]}", "infosearch"]
    assert "Run bm25 on infosearch-mini-audience" in cited.text
    assert keys(run) == list(cited.entries)
    run.write_text(run.read_text() + "q Q0 d 1 1 t\n")
    assert "is not the run of its record" in tandem("cite", run).stderr
    (tmp_path / "okapi.trec.yaml").unlink()
    assert "has no record beside it" in tandem("cite", run).stderr
    assert tandem("cite", tmp_path / "none.trec").returncode == 2


def test_a_folder_and_runs_over_it_are_cited_as_its_file_says(tmp_path):
    tandem("benchmarks", "new", "mine", cwd=tmp_path, check=True)
    run = tmp_path / "okapi.trec"
    with chdir(tmp_path):
        tandem_ir.search("mine", system="bm25", recipe="infosearch", output=run)
    assert "% mine: its entry names no citation" in tandem("cite", run, cwd=tmp_path, check=True).stdout
    with (tmp_path / "mine" / "benchmark.yaml").open("a") as file:
        file.write("source: {citation: '@misc{mine, title = {{A benchmark}}}'}\n")
    assert "@misc{mine, title" in tandem("cite", run, cwd=tmp_path, check=True).stdout
    assert "@misc{mine, title" in tandem("cite", "--benchmark", "mine", cwd=tmp_path, check=True).stdout


def test_unknown_names_are_refused():
    for name, said in (
        (("--benchmark", "infosearh"), "did you mean 'infosearch'"),
        (("--system", "bm26"), "did you mean 'bm25'"),
    ):
        done = tandem("cite", *name)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert tandem("cite", "-m", "nothing").returncode == 2


@pytest.mark.parametrize("key", PAPERS)
def test_papers_are_of_systems_that_there_are(key):
    assert set(PAPERS[key]["systems"]) <= set(registry.systems())
    assert PAPERS[key].keys() >= {"title", "author", "year"}
    assert PAPERS[key].keys() & {"eprint", "booktitle", "doi"}


def test_every_published_benchmark_names_its_authors():
    cited = {name: spec.source.get("citation", "") for name, spec in registry.benchmarks().items() if not spec.mini}
    assert [name for name, citation in cited.items() if "author = {" not in citation] == []


def test_the_citation_file_has_the_authors_of_the_entries():
    papers = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    for paper in papers:
        number = paper["url"].rpartition("/")[2]
        [citation] = [
            spec.source["citation"]
            for spec in registry.benchmarks().values()
            if f"{{{number}}}" in spec.source.get("citation", "")
        ]
        names = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in paper["authors"])
        assert f"author = {{{names}}}" in citation
