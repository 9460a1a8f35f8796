"""What a host of repositories reads: the workflow, the action, the forms, and the files for coding assistants."""

import configparser
import os
import re
import subprocess
import sys

import pytest
import yaml
from command import ROOT
from packaging.requirements import Requirement

from toolkit import __version__, registry

HOST = ROOT / ".github"
ACTION = yaml.safe_load((HOST / "actions" / "gate" / "action.yml").read_text(encoding="utf-8"))
FORMS = sorted(path for path in (HOST / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
BASELINES = ROOT / "runs" / "baselines"
BM25, RULES = (BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in ("bm25", "bm25+rules"))


def test_the_workflow_runs_what_a_change_has_to_pass():
    content = yaml.safe_load((HOST / "workflows" / "test.yaml").read_text(encoding="utf-8"))
    run = [step["run"] for job in content["jobs"].values() for step in job["steps"] if "run" in step]
    assert run == ["./.ci/run", "./scripts/test --lowest", "./scripts/test --fresh"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert content["permissions"] == {"contents": "read"}


def test_classifiers_name_the_versions_that_are_tested_and_no_others():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    named = re.findall(r"Python :: (3\.\d+)$", setup["metadata"]["classifiers"], re.MULTILINE)
    content = yaml.safe_load((HOST / "workflows" / "test.yaml").read_text(encoding="utf-8"))
    assert content["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert "Operating System :: POSIX :: Linux" in setup["metadata"]["classifiers"]


def test_everything_that_is_needed_has_a_lowest_version():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    needed = setup["options"]["install_requires"]
    needed += "".join(each for name, each in setup["options.extras_require"].items() if name != "test")
    lines = [line for line in needed.splitlines() if line and not line.startswith(("#", "tandem-ir["))]
    assert [line for line in lines if not Requirement(line).specifier] == []


def stepped(folder, **given):
    """The status of the last step that ran, as a host would run them: shell by shell, with inputs in the environment."""
    inputs = {name: each.get("default") for name, each in ACTION["inputs"].items()} | given
    assert None not in inputs.values()
    assert set(inputs) == set(ACTION["inputs"])
    tandem = folder / "bin" / "tandem"
    tandem.parent.mkdir(exist_ok=True)
    tandem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolkit "$@"\n')
    tandem.chmod(0o755)
    env = {**os.environ, "PATH": f"{tandem.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for step in ACTION["runs"]["steps"]:
        if "if" in step:
            name = re.fullmatch(r"inputs\.([\w-]+) != ''", step["if"])[1]
            if not inputs[name]:
                continue
        own = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)
            for name, text in step["env"].items()
        }
        assert "${{" not in step["run"]  # an input is no part of a script
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=folder, env=env | own, capture_output=True, text=True
        )
        if done.returncode:
            break
    return done


@pytest.mark.process
def test_the_action_passes_a_run_that_is_no_worse_and_fails_one_that_is(tmp_path):
    given = {"benchmark": "infosearch-mini", "primary": "WISE@20 nDCG@10-ins", "min-effect": "0.02 WISE@20=0.05"}
    better = stepped(tmp_path, baseline=str(BM25), run=str(RULES), **given)
    assert better.returncode == 0, better.stderr
    assert better.stdout.startswith("pass, exit status 0: ")
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "gate.xml", "gate.json"}
    worse = stepped(tmp_path, baseline=str(RULES), run=str(BM25), report="worse of two.xml", **given)
    assert worse.returncode == 1
    assert (tmp_path / "worse of two.json").is_file()


@pytest.mark.process
def test_the_action_takes_no_input_for_a_command(tmp_path):
    done = stepped(tmp_path, baseline=str(BM25), run="$(touch taken)", benchmark="infosearch-mini")
    assert done.returncode == 2
    assert not (tmp_path / "taken").exists()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_the_host_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "title", "labels", "body"} == set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids) > 2
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert {"label", "description"} <= set(field["attributes"])
        assert isinstance(field["validations"]["required"], bool)


def test_there_are_forms_for_numbers_benchmarks_and_systems():
    assert [path.stem for path in FORMS] == ["benchmark", "system", "wrong-number"]


def test_what_assistants_read_names_what_is_there():
    listed = (ROOT / "llms.txt").read_text(encoding="utf-8")
    named = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S.*[.?]$", listed, re.MULTILINE)
    assert len(named) == len(re.findall(r"^- \[", listed, re.MULTILINE)) > 80
    agents = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    named += [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", agents)]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert "./scripts/test" in agents


def test_the_citation_is_of_this_version_and_of_every_paper_whose_tables_are_made():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["cff-version"], citation["type"], citation["version"]) == ("1.2.0", "software", __version__)
    assert all({"title", "authors", "type", "url"} <= set(each) for each in citation["references"])
    cited = {
        number["value"].removeprefix("arXiv:") for each in citation["references"] for number in each.get("identifiers", ())
    }
    made = ("infosearch", "instructir", "mfollowir", "berds")
    papers = {re.search(r"\d{4}\.\d{5}", str(registry.benchmarks()[name].source["paper"]))[0] for name in made}
    assert len(papers) == len(made)
    assert papers - cited == set()
