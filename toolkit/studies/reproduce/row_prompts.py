"""Whose prompts the numbers of a row rest on: its system's, and those of the judge and the expander of its part."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.files.provenance import read_record, steps_of
from toolkit.models.llm import load_prompt
from toolkit.models.llm.paper_prompts import MODEL, PAPER
from toolkit.models.llm.prompts import FILE, OF_USER, OTHER_SPACE, OURS, PROMPTS, prompt_of_folder

KINDS = {"listwise": "listwise", "yes-no": "pointwise", "monot5": "pointwise", "judge": "judge", "expander": "expander"}
OTHER, NONE = "other", "none"  # a file or examples of the user's; of systems that are sent no prompt
WHOSE = (PAPER, MODEL, OURS, OTHER, NONE)


@dataclass(frozen=True)
class Sent:
    """What a system is sent.

    said     whose prompt it is, as records have it (`prompt_of`)
    file     of a folder of published prompts; empty where the prompt is the registry's own
    lacks    the published prompt that the folder has not; empty where it has, or there is no folder
    sourced  whether it is known where the system's own prompt is published
    trained  whether the system was trained on the published one
    """

    system: str
    said: str
    sha256: str
    file: str = ""
    lacks: str = ""
    sourced: bool = False
    trained: bool = False

    @property
    def whose(self) -> str:
        """One of WHOSE. To a model that was trained on a prompt, white space counts."""
        changed = OF_USER in self.said or (self.trained and OTHER_SPACE in self.said)
        return next((each for each in (PAPER, MODEL, OURS) if self.said.startswith(each) and not changed), OTHER)


def sent(spec: SystemSpec, folder: str, kind: str = "") -> Sent | None:
    """What a system is sent, of a folder of published prompts where that has its own; None for one that is sent no prompt.

    kind  of the prompt, where it is not that of the system's kind

    Raises ToolkitError for a file of the folder that is not word by word what was published.
    """
    kind = kind or KINDS.get(spec.kind, "")
    own, name = spec.parameters.get("prompt"), spec.parameters.get("published_prompt", "")
    if not (own and kind):
        return None
    file = (prompt_of_folder(name, folder) if name and folder else None) or ""
    prompt = load_prompt(file or own, kind)
    lacks = name if folder and not file else ""
    sourced, trained = (bool(spec.parameters.get(key)) for key in ("prompt_source", "trained_on_prompt"))
    return Sent(spec.name, prompt.said_of, prompt.sha256, file, lacks, sourced, trained)


def remarks(prompts: Iterable[Sent], system: str) -> list[str]:
    """What is to be known of the prompts of a row whose own system has this name."""
    return [
        f"{'prompt' if each.system == system else f'prompt of {each.system}'}: {each.said}"
        + (f" (--prompts has no {each.lacks}.yaml)" if each.lacks else "")
        for each in prompts
        if each.sourced
    ]


def whose(prompts: Iterable[Sent]) -> str:
    """Whose prompt a number rests on: of several, the user's before ours, a paper's, and a model's own, which is the system."""
    found = {each.whose for each in prompts}
    return next((each for each in (OTHER, OURS, PAPER, MODEL) if each in found), NONE)


def is_another(prompts: Iterable[Sent]) -> bool:
    """Whether one of the systems was trained on a prompt, and sent neither that nor the one that the paper prints."""
    return any(each.trained and each.whose not in (PAPER, MODEL) for each in prompts)


def as_recorded(prompts: Collection[Sent], files: Iterable[Path]) -> tuple[Sent, ...]:
    """What was sent, as the records of files say, which may be of another time: others of the folder, or ours."""
    records = filter(None, map(read_record, files))
    found = {step.get("name"): step for record in records for step in steps_of(record) if "prompt" in step}
    return tuple(
        replace(each, said=_said(found[each.system], each), file="", lacks="") if each.system in found else each
        for each in prompts
    )


def _said(step: Mapping[str, Any], planned: Sent) -> str:
    """Whose prompt a step of a record was sent. Older records do not say it: their names and digests do."""
    if "prompt_of" in step:
        return str(step["prompt_of"])
    if step.get("prompt_sha256") == planned.sha256:
        return planned.said
    if step["prompt"] == OURS:
        return OURS
    registered = PROMPTS / f"{step['prompt']}.yaml"
    return read_yaml(registered).get("whose", OURS) if registered.is_file() else FILE
