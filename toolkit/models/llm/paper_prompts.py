"""Prompts that others print: where each stands, and how it is cut out of a text that its user has.

`registry/published/prompts.yaml` has of each its place, the number of its words and their SHA-256, and no sentence of it.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import write_text
from toolkit.core.system.yaml_json import dump_yaml, read_yaml
from toolkit.files.texts.lines import read_bytes, source_name, text_lines
from toolkit.registry.loader import FOLDER, did_you_mean

MARKUP = re.compile(r"</?(?:p|pre)>|```")  # what texts that were made of pages have around paragraphs and code
QUOTES = "\"'`"  # around a prompt in a file of code
MODEL, PAPER = "model", "paper"  # whose a prompt is: the model's that was trained on it, or the paper's


@dataclass(frozen=True)
class PublishedPrompt:
    """A prompt that is printed somewhere.

    source     where it is printed: a key of `sources`, which is what `tandem published prompts` is given
    title      what that is called
    text       where that is
    place      `table 16`
    whose      `paper`, or `model` where a model was trained on it
    kind       of prompts, see `toolkit.models.llm.prompts`
    parts      in their order: {role, words, sha256, space, slots}, found one by one; {role, content} and {each} are ours
    sha256     of its messages, slots and all, see `wording_sha256`
    layout     the same with the white space of its file
    otherwise  the name of one that may stand for it
    note       what is ours in it, or what the place leaves out
    """

    name: str
    source: str
    title: str
    text: str
    place: str
    kind: str
    parts: tuple[Mapping[str, Any], ...]
    sha256: str
    layout: str = ""
    whose: str = PAPER
    otherwise: str = ""
    note: str = ""

    @property
    def words(self) -> int:
        """How many words of it are printed."""
        return sum(part.get("words", 0) for part in self.parts)

    @property
    def said(self) -> str:
        """Whose it is, for records: `paper (InfoSearch, table 16)`."""
        return f"{self.whose} ({self.title}, {self.place})"

    def path(self, folder: str | Path) -> Path | None:
        """Its file in a folder of those that were cut, or that of what may stand for it; None where neither is there."""
        paths = (Path(folder) / f"{each}.yaml" for each in (self.name, self.otherwise) if each)
        return next((path for path in paths if path.is_file()), None)


@functools.cache
def published_prompts() -> Mapping[str, PublishedPrompt]:
    """Name -> prompt, in the registry's order."""
    content = read_yaml(FOLDER / "published" / "prompts.yaml")
    found = [
        PublishedPrompt(**{**row, "parts": tuple(row["parts"])}, source=source, title=about["title"], text=about["text"])
        for source, about in content.items()
        for row in about["prompts"]
    ]
    return {each.name: each for each in found}


def published_by(digest: str, name: str = "", layout: str = "") -> PublishedPrompt | None:
    """The published prompt of a digest, by preference that of a layout, then of a name: some differ in white space alone."""
    found = [each for each in published_prompts().values() if each.sha256 == digest]
    return max(found, key=lambda each: (each.layout == layout, each.name == name), default=None)


def wording_sha256(messages: Iterable[tuple[str, str]], *, layout: bool = False) -> str:
    """Of (role, content), slots in braces, without what layouts add or lose, see `_plain`; `layout`: with white space."""
    normal = [[role, _plain(content if layout else " ".join(content.split()))] for role, content in messages]
    return hashlib.sha256(json.dumps(normal, ensure_ascii=False).encode()).hexdigest()


def cut_prompts(source: str, text: str) -> list[tuple[PublishedPrompt, dict[str, Any]]]:
    """The prompts of a source in a text, whatever its lines, each with the content of its file.

    Raises ToolkitError with every prompt that is not there word by word.
    """
    words = MARKUP.sub(" ", text).split()
    plain = [_plain(word) for word in words]
    made = [(prompt, list(_turns(prompt, words, plain))) for prompt in prompts_of(source)]
    if missing := [(prompt, turns.count(None), len(turns)) for prompt, turns in made if None in turns]:
        hint = "each is found by its words, whatever the lines; words that are parted by a hyphen are not mended"
        lacking = [f"{each.name} ({each.place}, {each.words:,} words), {no} of {all} parts" for each, no, all in missing]
        raise ToolkitError(f"{len(missing)} of {len(made)} prompts of {source} are not in the text", hint, problems=lacking)
    about = {prompt.name: f"{prompt.title}, {prompt.place}{f'; {prompt.note}' if prompt.note else ''}" for prompt, _ in made}
    return [(prompt, {"kind": prompt.kind, "source": about[prompt.name], "turns": turns}) for prompt, turns in made]


def write_prompts(source: str, files: Sequence[str | Path], folder: str | Path) -> list[tuple[PublishedPrompt, Path]]:
    """Write `<folder>/<name>.yaml` for every prompt of a source that files have together; none where one is missing."""
    lines = (line for file in files for _, line in text_lines(read_bytes(file), source_name(file)))
    made = cut_prompts(source, "\n".join(lines))
    paths = [Path(folder) / f"{prompt.name}.yaml" for prompt, _ in made]
    for path, (_, content) in zip(paths, made, strict=True):
        write_text(path, dump_yaml(content))
    return [(prompt, path) for path, (prompt, _) in zip(paths, made, strict=True)]


def prompts_of(source: str) -> list[PublishedPrompt]:
    """The prompts of a source, in the registry's order. ToolkitError where there are none of that name."""
    prompts = published_prompts().values()
    if found := [each for each in prompts if each.source == source]:
        return found
    known = list(dict.fromkeys(each.source for each in prompts))
    raise ToolkitError(f"no prompts of {source!r} are registered", f"{did_you_mean(source, known)}known: {', '.join(known)}")


def _turns(prompt: PublishedPrompt, words: Sequence[str], plain: Sequence[str]) -> Iterator[dict[str, Any] | None]:
    """The turns of a prompt as its file has them; None for one that is not in the text."""
    for part in prompt.parts:
        if "words" not in part:
            yield dict(part)
        else:
            found = _passage(words, plain, part["words"], part["sha256"])
            yield found and {"role": part["role"], "content": _content(found, part)}


def _plain(text: str) -> str:
    """A text without what differs between two layouts of one page: apostrophes (some lose them) and how dots are written."""
    return text.replace("'", "").replace("’", "").replace("...", "…")


def _passage(words: Sequence[str], plain: Sequence[str], count: int, digest: str) -> list[str] | None:
    """So many words that have a SHA-256: of them as plain words that are joined by blanks, without quotation marks around."""
    for start in range(len(words) - count + 1):
        passage = " ".join(plain[start : start + count]).strip(QUOTES)
        if hashlib.sha256(passage.encode()).hexdigest() == digest:
            return " ".join(words[start : start + count]).strip(QUOTES).split(" ")
    return None


def _content(words: Sequence[str], part: Mapping[str, Any]) -> str:
    """The words with the white space of the prompt between them, and our slots for its placeholders."""
    space = {place: white for white, places in part.get("space", {}).items() for place in places}
    text = words[0] + "".join(space.get(place, " ") + word for place, word in enumerate(words[1:], 1))
    if slots := part.get("slots"):  # … stands for whatever is between its ends
        printed = "|".join("(" + re.escape(each).replace(r"\ ", r"\s+").replace("…", ".*?") + ")" for each in slots)
        text = re.sub(printed, lambda match: [*slots.values()][match.lastindex - 1], text, flags=re.DOTALL)
    return text + space.get(len(words), "")
