"""`build run --prompts`: the papers' own prompts, in the place of ours, for the steps that the papers print one of."""

from pathlib import Path

import pytest
import yaml
from command import tandem

from toolkit.construction import BuildFolder, new_build
from toolkit.construction.build_config import PROMPTS, take_prompts
from toolkit.construction.kinds import KINDS, kind_module
from toolkit.core.errors import ToolkitError
from toolkit.models.llm.paper_prompts import published_prompts, write_prompts
from toolkit.models.llm.prompts import PROMPTS as PROMPT_FOLDER
from toolkit.models.llm.prompts import load_prompt, slot_problems

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "papers"
shared = pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prompts")
    for source in ("infosearch", "instructir", "berds"):
        write_prompts(source, [PAPERS / f"{source}.txt"], folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_steps_name_prompts_that_are_registered_for_parameters_that_they_have(kind):
    for step in kind_module(kind).STEPS:
        for parameter, name in step.published.items():
            assert parameter in step().parameters(), step.name
            assert published_prompts()[name].kind in ("build", "judge"), step.name


@shared
@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_prompts_fit_the_steps_that_name_them(kind, prompts):
    for step in kind_module(kind).STEPS:
        for parameter, name in step.published.items():
            prompt = load_prompt(str(prompts / f"{name}.yaml"), published_prompts()[name].kind)
            assert slot_problems(prompt, step.slots[parameter]) == [], (step.name, name)


def _build(folder):
    new_build("instructir", folder)
    path = folder / "build.yaml"
    path.write_text(path.read_text().replace("{folder}", str(folder)))
    return folder


@shared
def test_prompts_of_a_folder_are_copied_into_the_build_and_sent_from_then_on(tmp_path, prompts):
    folder = _build(tmp_path / "mine")
    before = {step.name: step.prompts() for step in BuildFolder(folder).config.steps}
    taken = take_prompts(folder, prompts)
    assert {path.name for path in taken} == {f"instructir-figure{number}.yaml" for number in (4, 5, 7, 8)}
    after = {step.name: step.prompts() for step in BuildFolder(folder).config.steps}
    assert after["scenarios"] == (f"{PROMPTS}/instructir-figure4.yaml",)
    assert {name for name in before if before[name] != after[name]} == {"scenarios", "targets", "fit", "choice"}
    depends = BuildFolder(folder).depends(list(after).index("scenarios"))
    assert f"{PROMPTS}/instructir-figure4.yaml" in depends["prompts"]


@shared
def test_a_prompt_of_ones_own_stays_and_one_that_was_changed_is_refused(tmp_path, prompts):
    folder = _build(tmp_path / "mine")
    take_prompts(folder, prompts)
    changed = folder / PROMPTS / "instructir-figure4.yaml"
    changed.write_text(changed.read_text().replace("Your task", "My task"))
    with pytest.raises(ToolkitError, match="is not word by word what InstructIR prints"):
        BuildFolder(folder)
    changed.write_bytes((prompts / changed.name).read_bytes())
    step = BuildFolder(folder).config.module.STEPS[1]
    (folder / "own.yaml").write_bytes((PROMPT_FOLDER / f"{step().prompt}.yaml").read_bytes())
    config = folder / "build.yaml"
    content = yaml.safe_load(config.read_text())
    content["steps"][step.name] = {**(content["steps"][step.name] or {}), "prompt": "own.yaml"}
    config.write_text(yaml.safe_dump(content))
    assert BuildFolder(folder).config.steps[1].prompts() == ("own.yaml",)


@shared
def test_a_folder_that_lacks_a_prompt_of_the_steps_is_refused_before_anything_is_copied(tmp_path, prompts):
    folder = _build(tmp_path / "mine")
    some = tmp_path / "some"
    some.mkdir()
    (some / "instructir-figure4.yaml").write_bytes((prompts / "instructir-figure4.yaml").read_bytes())
    done = tandem("build", "run", str(folder), "--prompts", str(some))
    assert done.returncode == 2
    assert [line.strip() for line in done.stderr.splitlines()[:4]] == [
        f"error: {some} has not all prompts of the build's steps",
        *(f"no instructir-figure{number}.yaml" for number in (5, 7, 8)),
    ]
    assert not (folder / PROMPTS).exists()


def _set(folder, **steps):
    """Change parameters of steps in a build.yaml."""
    path = folder / "build.yaml"
    content = yaml.safe_load(path.read_text())
    for name, given in steps.items():
        content["steps"][name] = {**(content["steps"].get(name) or {}), **given}
    path.write_text(yaml.safe_dump(content))
    return folder


def _run(folder, prompts, *more):
    return tandem("build", "run", str(folder), "--prompts", str(prompts), *more)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_folder_of_prompts_that_is_not_there_is_said_whatever_is_to_be_done(tmp_path, more):
    folder = _build(tmp_path / "mine")
    for given, said in ((tmp_path / "none", f"no folder {tmp_path / 'none'}"), ("", "no folder ''")):
        done = _run(folder, given, *more)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {said}")


@shared
def test_a_dry_run_counts_the_prompts_as_copied_and_copies_none(tmp_path, prompts):
    folder = _build(tmp_path / "mine")
    some = tmp_path / "some"
    some.mkdir()
    done = _run(folder, some, "--dry-run")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: {some} has not all prompts of the build's steps")
    done = _run(folder, prompts, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (folder / PROMPTS).exists()
    as_copied = [BuildFolder(folder, prompts).depends(number) for number in range(3)]
    assert as_copied != [BuildFolder(folder).depends(number) for number in range(3)]
    take_prompts(folder, prompts)
    assert as_copied == [BuildFolder(folder).depends(number) for number in range(3)]


@shared
def test_what_build_yaml_chooses_goes_before_the_folder_and_a_wrong_name_is_reported(tmp_path, prompts):
    folder = tmp_path / "mine"
    new_build("infosearch", folder)
    _set(folder, anomalies={"people": False}, documents={"audience_prompt": ""}, negatives={"prompt": "build-adversarial.v1"})
    assert len(take_prompts(folder, prompts)) == 5, "two of seven are not sent"
    steps = {step.name: step for step in BuildFolder(folder).config.steps}
    assert (steps["documents"].audience_prompt, steps["negatives"].prompt) == ("", "build-adversarial.v1")
    assert steps["documents"].length_prompt == f"{PROMPTS}/infosearch-table6-length.yaml"
    _set(folder, negatives={"prompt": "build-hard-negative.v9"})
    with pytest.raises(ToolkitError) as raised:
        BuildFolder(folder)
    assert "no prompt 'build-hard-negative.v9'" in str(raised.value.problems)


FIXED = [("instructir", "scenarios", "count", 5, "10"), ("infosearch", "conditions", "words", 3, "1")]
FIXED += [("infosearch", "instructions", "styles", ["plainly"], "none")]


@shared
@pytest.mark.parametrize(("kind", "step", "parameter", "given", "papers"), FIXED)
def test_what_a_papers_prompt_leaves_no_slot_for_is_refused_before_anything_is_asked(
    tmp_path, prompts, kind, step, parameter, given, papers
):
    folder = tmp_path / "mine"
    new_build(kind, folder)
    assert take_prompts(folder, prompts), "the default gives way"
    chosen = BuildFolder(folder).config
    assert getattr(chosen.steps[chosen.step_number(step)], parameter) == chosen.steps[chosen.step_number(step)].fixed[parameter]
    done = _run(_set(folder, **{step: {parameter: given}}), prompts)
    assert done.returncode == 2
    name = f"{PROMPTS}/{chosen.steps[chosen.step_number(step)].published['prompt']}.yaml"
    shown = tuple(given) if isinstance(given, list) else given
    line = f"steps: {step}: {parameter} is {shown!r}, and {name} has no slot for it: it asks for {papers}"
    assert done.stderr.splitlines()[1].strip() == line


@shared
def test_the_folder_of_the_build_may_be_named_and_a_damaged_prompt_is_copied_again(tmp_path, prompts):
    folder = _build(tmp_path / "mine")
    take_prompts(folder, prompts)
    kept = {path.name: path.read_bytes() for path in (folder / PROMPTS).iterdir()}
    assert len(take_prompts(folder, folder / PROMPTS)) == len(kept)
    for damaged in ("kind: build\nturns: [", "kind: build\nturns: []\n", ""):
        (folder / PROMPTS / "instructir-figure5.yaml").write_text(damaged)
        done = tandem("build", "status", str(folder))
        assert done.returncode == 2
        assert f"tandem build run {folder} --prompts DIR" in done.stderr
        assert "Traceback" not in done.stderr
        take_prompts(folder, prompts)
        assert {path.name: path.read_bytes() for path in (folder / PROMPTS).iterdir()} == kept
