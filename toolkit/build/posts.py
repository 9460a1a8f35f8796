"""Posts of forums for programmers: answers as seeds, and what of an answer is a document (InfoSearch, arXiv 2410.23841, A.2).

The complete answer is one document, its code alone another, and what it quotes of official documentation a third.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.topics import Topic
from toolkit.core.yaml_json import Malformed, decode_json
from toolkit.search.rules import FENCE, code_share

INDENT = re.compile(r"^(?: {4}|\t)")
HTML = re.compile(r"\s*<(?:p|pre|blockquote|ul|ol|h[1-6])\b", re.IGNORECASE)
HTML_CODE = re.compile(r"<pre[^>]*>\s*(?:<code[^>]*>)?(.*?)(?:</code>)?\s*</pre>", re.DOTALL | re.IGNORECASE)
LINK = re.compile(r"<a\s[^>]*?href=[\"']([^\"']*)[\"'][^>]*>(.*?)</a>", re.DOTALL | re.IGNORECASE)
QUOTE = re.compile(r"<blockquote[^>]*>(.*?)</blockquote>", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"</?(?:p|a|em|strong|b|i|ul|ol|li|br|blockquote|h[1-6]|hr|su[bp]|img|div|span)(?:\s[^>]*)?/?>", re.IGNORECASE)
URL = re.compile(r"https?://[^\s<>()\[\]\"']+")
CITED = 12  # words of a paragraph that only says where the quotation before it is from
# how the paragraph before or behind a quotation speaks of documentation, in words or in an address
DOCUMENTATION = re.compile(
    r"\b(?:docs?|documentation|manuals?|handbook|reference|man\s?pages?|specification|standard|javadoc|rfc)\b|//(?:man|developer|learn)\.",
    re.IGNORECASE,
)
QUESTION, ANSWER = "1", "2"  # PostTypeId


class Post(NamedTuple):
    """The parts of a post, each empty where it has none.

    manual  what it quotes of documentation
    source  the address of the documentation, or the words that speak of it
    """

    post: str
    code: str
    manual: str
    source: str


def split_post(text: str) -> Post:
    """The complete post, its blocks of code, and its quotations of documentation, each in their order, a blank line between.

    Code is what stands between ``` or in <pre>, and what is indented by four blanks or a tab, if at least half of its lines
    look like code (`registry/rules.yaml`): a quotation may be indented, too. Documentation is what stands behind `>` or in
    <blockquote>, where the paragraph before it, or a short one behind it, speaks of documentation.
    """
    text = as_markdown(text)
    parts = list(_blocks(text))
    code = "\n\n".join(block.strip("\n") for block, kind in parts if kind == "code" and block.strip())
    sources = [_source(parts, number) if kind == "quote" else "" for number, (_, kind) in enumerate(parts)]
    quoted = [block for (block, _), source in zip(parts, sources, strict=True) if source]
    manual = "\n\n".join("\n".join(line.lstrip("> ") for line in block.splitlines()).strip() for block in quoted)
    return Post(text, code, manual, next(filter(None, sources), ""))


def as_markdown(text: str) -> str:
    """HTML's code fenced, its quotations behind `>`, its links in brackets, other tags left out; other text as it is."""
    if not (HTML.match(text) or HTML_CODE.search(text)):
        return text.strip()
    pieces = HTML_CODE.split(text)  # prose, code, prose, ...
    prose = [_without_tags(piece) for piece in pieces[::2]]
    code = [f"\n{FENCE}\n{html.unescape(piece).rstrip()}\n{FENCE}\n" for piece in pieces[1::2]]
    whole = "".join(part for pair in zip(prose, [*code, ""], strict=True) for part in pair)
    return re.sub(r"\n{3,}", "\n\n", whole).strip()


def _without_tags(markup: str) -> str:
    linked = re.sub(r"</?code[^>]*>", "`", LINK.sub(r"[\2](\1)", markup))
    apart = re.sub(r"</(?:p|ul|ol|blockquote|h[1-6])>", r"\g<0>\n\n", linked)
    return html.unescape(TAG.sub("", QUOTE.sub(_quoted, apart)))


def _quoted(found: re.Match[str]) -> str:
    return re.sub("^", "> ", re.sub(r"\n\s*\n\s*", "\n\n", TAG.sub("", found[1]).strip()), flags=re.MULTILINE)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """(lines, `code`, `quote` or `prose`), fences left out."""
    fenced, lines = False, []
    for line in text.splitlines():
        if line.lstrip().startswith(FENCE):
            fenced = not fenced
            lines.append(("fence", ""))
        else:
            outside = "indented" if INDENT.match(line) else "quote" if line.startswith(">") else "prose"
            lines.append(("code" if fenced else outside, line))
    for kind, group in groupby(lines, key=lambda line: line[0]):
        block = "\n".join(line for _, line in group)
        if kind == "indented":
            kind = "code" if code_share(block) >= 0.5 else "prose"
        if kind != "fence":
            yield block, kind


def _source(parts: Sequence[tuple[str, str]], number: int) -> str:
    """Where a quotation is from, as the paragraphs next to it say; empty where they name no documentation."""
    before = parts[number - 1][0].strip().split("\n\n")[-1] if number and parts[number - 1][1] == "prose" else ""
    behind = parts[number + 1][0].strip().split("\n\n")[0] if number + 1 < len(parts) else ""
    behind = behind if len(URL.sub("", behind).split()) <= CITED else ""
    for said in (before, behind):
        if named := DOCUMENTATION.search(said):
            addresses = URL.findall(said)
            return next((one for one in addresses if DOCUMENTATION.search(one)), (addresses or [named[0]])[0])
    return ""


def read_posts(paths: Sequence[Path]) -> list[tuple[Topic, list[Doc]]]:
    """The questions with their answers that have code: first those with an answer that quotes documentation, else as they come.

    Of a question's answers those that quote documentation are first, then the accepted one, then they go by their score.

    paths  `Posts.xml` of the public dumps of Stack Exchange, or JSON lines of the same attributes: Id, PostTypeId (1 question,
           2 answer), Title, Body, and ParentId, AcceptedAnswerId, Score. Answers without a question are passed over.

    Raises ToolkitError for a file that is neither.
    """
    titles: dict[str, tuple[str, str]] = {}
    answers: dict[str, list[tuple[bool, int, Doc]]] = {}
    for row in (row for path in paths for row in _rows(path)):
        kind, name = row.get("PostTypeId"), row["Id"]
        if kind == QUESTION:
            titles[name] = (row.get("Title", ""), row.get("AcceptedAnswerId", ""))
        elif kind == ANSWER and (parts := split_post(row.get("Body", ""))).code:
            doc = Doc(name, "", parts.post)
            answers.setdefault(row.get("ParentId", ""), []).append((bool(parts.manual), row["Score"], doc))
    found = []
    for name, (title, accepted) in titles.items():
        if mine := answers.get(name):
            mine.sort(key=lambda one: (not one[0], one[2].doc_id != accepted, -one[1]))
            found.append((not mine[0][0], (Topic(name, title), [doc for *_, doc in mine])))
    return [question for _, question in sorted(found, key=lambda one: one[0])]


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The attributes of each post of a file; a dump, which may be larger than the memory, has one a line."""
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line.lstrip().startswith(("<row", "{")):
                    row = ElementTree.fromstring(line).attrib if "<row" in line[:20] else decode_json(line)
                    said = {key: str(value) for key, value in row.items() if value is not None}
                    yield said | {"Id": said["Id"], "Score": int(said.get("Score", 0))}
                elif line.strip() and not line.lstrip().startswith("<"):
                    raise KeyError("Id")
            except (ElementTree.ParseError, Malformed, KeyError, ValueError) as error:
                hint = "Posts.xml of a dump, or JSON lines with Id, PostTypeId, Title, Body and ParentId"
                raise ToolkitError(f"{path}, line {number}: no post ({error!r})", hint) from error
