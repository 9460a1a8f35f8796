"""What is registered fits together: entries, baselines, pages."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from command import script

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import RegressionSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.files.formats import lint_run
from toolkit.files.provenance import read_record
from toolkit.registry.loader import to_spec
from toolkit.studies.cite import cite_registered
from toolkit.studies.regress import ours, page
from toolkit.studies.regress.registered_entry import entry_text, run_lines

ROOT = Path(__file__).resolve().parents[3]
SPECS = ours().load()
RUNS = [spec for spec in SPECS if spec.run]


def named(specs):
    return pytest.mark.parametrize("spec", specs, ids=lambda spec: spec.name)


def test_bm25_is_registered_for_every_mode_and_for_all_of_them():
    assert {spec.name for spec in RUNS} >= {
        "infosearch-mini.bm25.v2",
        "infosearch-mini.ori.bm25.v2",
        "infosearch-mini.ins.bm25.v2",
        "infosearch-mini.rev.bm25.v2",
    }


@named([spec for spec in RUNS if re.fullmatch("infosearch-mini(-(ori|ins|rev))?", spec.benchmark["name"])])
def test_numbers_stand_for_every_dimension_and_their_average(spec):
    groups = [group["name"] for group in registry.benchmark("infosearch-mini").groups]
    assert list(spec.expected) == [*groups, "average"]
    modes = tuple(spec.run.get("modes", ("ori", "ins", "rev")))
    for measures in spec.expected.values():
        assert tuple(measures["nDCG@10"]) == modes
        assert (len(modes) == 3) == ("WISE@20" in measures)


@pytest.mark.parametrize("benchmark", ["berds-mini", "instructir-mini"])
def test_minis_of_one_group_are_registered_with_the_measures_of_their_benchmark(benchmark):
    for system in ("bm25", "all-minilm-l6-v2"):
        [measures] = registry.regression(f"{benchmark}.{system}.v2").expected.values()
        assert tuple(measures) == registry.benchmark(benchmark).measures


@named(SPECS)
def test_an_entry_is_as_it_was_written_and_called_like_its_file(spec):
    assert ours().entry(spec.name).read_text(encoding="utf-8") == entry_text(spec)


@named(RUNS)
def test_the_digest_of_an_entry_is_that_of_its_baseline(spec):
    path = ours().baselines / spec.run["baseline"]
    lines = run_lines(path, spec.run.get("modes", ()))
    assert hashlib.sha256(lines).hexdigest() == spec.run["sha256"]
    assert lines.count(b"\n") == spec.run["lines"]


@pytest.mark.parametrize("path", sorted(ours().baselines.glob("*.trec.gz")), ids=lambda path: path.name)
def test_a_baseline_is_a_clean_run_with_its_record(path):
    assert lint_run(path) == []
    recorded = read_record(path)["data"]["run"]
    assert recorded["file"] == path.name
    assert recorded["sha256"] == hashlib.sha256(run_lines(path)).hexdigest()


def test_published_numbers_are_never_expected():
    [spec] = [spec for spec in SPECS if spec.needs == "infosearch"]
    assert spec.expected == {}
    assert spec.run == {}
    # table 1 prints 47.5 for nDCG@10 of the original queries, table 17 prints a WISE of -3.0 for audience
    average = next(line for line in page(spec).splitlines() if line.startswith("average"))
    assert "0.4750" in average
    assert "-0.0300" in next(line for line in page(spec).splitlines() if line.startswith("audience"))


def test_a_digit_changed_by_hand_shows_even_where_it_reads_as_the_same_number(tmp_path):
    spec = replace(RUNS[0], expected={"all": {"AP": {"ori": 0.30000000000000004}}})
    text = entry_text(spec).replace("0.30000000000000004", "0.30000000000000005")
    (tmp_path / "changed.yaml").write_text(text, encoding="utf-8")
    changed = to_spec(RegressionSpec, read_yaml(tmp_path / "changed.yaml"), tmp_path / "changed.yaml")
    assert changed.expected == spec.expected
    assert entry_text(changed) != text


def test_the_pages_are_what_the_registry_says():
    done = script("render_docs", "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_citation_has_id_version_and_digest():
    spec = registry.regression("infosearch-mini.ins.bm25.v2")
    *bibtex, blank, line = cite_registered(spec).splitlines()
    assert bibtex[0] == "@misc{infosearch-mini.ins.bm25.v2,"
    assert bibtex[-1] == "}"
    assert blank == ""
    assert line == f"infosearch-mini.ins.bm25.v2, tandem-ir {spec.registered}, sha256:{spec.run['sha256']}"


def test_an_id_without_version_is_its_latest_version(home, capsys):
    folder = home / "registry" / "regressions"
    folder.mkdir(parents=True)
    spec = next(spec for spec in SPECS if spec.name == "infosearch-mini.bm25.v2")
    for version in ("v3", "v10", "v9x"):
        entry = entry_text(replace(spec, name=f"infosearch-mini.bm25.{version}"))
        (folder / f"infosearch-mini.bm25.{version}.yaml").write_text(entry)
    assert registry.regression("infosearch-mini.bm25").name == "infosearch-mini.bm25.v10"
    assert capsys.readouterr().err == "note: infosearch-mini.bm25.v10 is the latest version of infosearch-mini.bm25\n"
    assert registry.regression("infosearch-mini.bm25.v2").name == "infosearch-mini.bm25.v2"
    with pytest.raises(ToolkitError, match=r"no regression 'infosearch-mini.bm26'"):
        registry.regression("infosearch-mini.bm26")


def test_published_numbers_are_cited_by_their_paper():
    with pytest.raises(ToolkitError, match="has no run") as error:
        cite_registered(registry.regression("infosearch.bm25.v1"))
    assert "arXiv 2410.23841" in error.value.hint


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(ToolkitError) as error:
        registry.regression("infosearch-mini.inst.bm25.v2")
    assert error.value.hint.startswith("did you mean 'infosearch-mini.ins.bm25.v2'?")
