"""Posts of forums for programmers: answers as seeds, and what of one is a document (InfoSearch, arXiv 2410.23841, A.2)."""

import codecs
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from xml.parsers import expat

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import open_input
from toolkit.core.system.yaml_json import decode_json
from toolkit.core.topics import Topic
from toolkit.retrieval.search.rules import FENCE, code_share

INDENT = re.compile(r"^(?: {4}|\t)")
HTML = re.compile(r"\s*<(?:p|pre|blockquote|ul|ol|h[1-6])\b", re.IGNORECASE)
# no tag holds `<`: each character is looked at once, whatever is not closed; other names in angle brackets are text
TAG = re.compile(
    r"<(/?)(p|a|pre|code|em|strong|b|i|ul|ol|li|br|blockquote|h[1-6]|hr|su[bp]|img|div|span)(\s[^<>]*)?/?>", re.IGNORECASE
)
APART = ("p", "ul", "ol", *(f"h{n}" for n in range(1, 7)))  # a blank line follows them
HREF = re.compile(r"\shref=[\"']([^\"']*)[\"']", re.IGNORECASE)
URL = re.compile(r"https?://[^\s<>()\[\]\"']+")
CITED = 12  # words of a paragraph that only says where the quotation before it is from
# how the paragraph before or behind a quotation speaks of documentation, in words or in an address
DOCUMENTATION = re.compile(
    r"\b(?:docs?|documentation|manuals?|handbook|reference|man\s?pages?|specification|standard|javadoc|rfc)\b|//(?:man|developer|learn)\.",
    re.IGNORECASE,
)
QUESTION, ANSWER = "1", "2"  # PostTypeId
CHUNK = 1 << 20  # bytes
HINT = "Posts.xml of a dump, or JSON lines in UTF-8 with Id, PostTypeId, Title, Body and ParentId"


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
    """HTML's code fenced, its quotations behind `>`, its links in brackets, other tags left out; other text as it is.

    HTML is what begins with a block of it, or has <pre> that is closed. Code within a quotation parts it in two.
    """
    first, *pieces = TAG.split(text)  # then of each tag `/`, its name, what else is in it, and the text behind it
    tags = [(slash, name.lower(), *rest) for slash, name, *rest in zip(*(pieces[n::4] for n in range(4)), strict=True)]
    if not (HTML.match(text) or any(tag[:2] == ("/", "pre") for tag in tags)):
        return text.strip()
    blocks = [("prose", [_unescaped(first)])]
    code, depth, link = False, 0, (0, "")
    for slash, name, attributes, behind in tags:
        kind, block = blocks[-1]
        if name in ("pre", "blockquote"):
            code = not slash if name == "pre" else code
            depth = max(0, depth + (-1 if slash else 1)) if name == "blockquote" else depth
            blocks.append(("code" if code else "quote" if depth else "prose", []))
            link = (0, "")
        elif kind == "code":  # tags that colour it
            pass
        elif name == "code":
            block.append("`")
        elif name == "a":
            if slash and link[1]:
                block[link[0]] = "["
                block.append(f"]({_unescaped(link[1])})")
            found = HREF.search(attributes or "")
            link = (len(block), found[1] if found else "")
            block.append("")
        elif slash and name in APART:
            block.append("\n\n")
        blocks[-1][1].append(_unescaped(behind))
    return "\n\n".join(_written(kind, "".join(block)) for kind, block in blocks if any(map(str.strip, block)))


def _unescaped(text: str) -> str:
    """A text with its character references read; as it is where one has more digits than Python reads as a number."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def _written(kind: str, block: str) -> str:
    if kind == "code":
        block = re.sub(r"\A(?:[ \t\r]*\n)+", "", block).rstrip()
        return f"{FENCE}\n{block}\n{FENCE}"
    if kind == "quote":
        return re.sub("^", "> ", re.sub(r"\n\s*\n\s*", "\n\n", block.strip()), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", block.strip())


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

    Raises ToolkitError for a file that is neither, for a post that is there twice, and where no question is left.
    """
    titles: dict[str, tuple[str, str]] = {}
    answers: dict[str, list[tuple[bool, int, Doc]]] = {}
    kept: set[str] = set()
    for place, row in (row for path in paths for row in _rows(path)):
        kind, name = row.get("PostTypeId"), row["Id"]
        if kind == QUESTION:
            titles.setdefault(name, (row.get("Title", ""), row.get("AcceptedAnswerId", "")))
        elif kind == ANSWER and (parts := split_post(row.get("Body", ""))).code:
            doc = Doc(name, "", parts.post)
            answers.setdefault(row.get("ParentId", ""), []).append((bool(parts.manual), row["Score"], doc))
        else:
            continue
        if name in kept:
            hint = "a file is named once, and posts of several sites need ids of their own, as JSON lines"
            raise ToolkitError(f"{place}: the post {name} was there before", hint)
        kept.add(name)
    found = []
    for name, (title, accepted) in titles.items():
        if mine := answers.get(name):
            mine.sort(key=lambda one: (not one[0], one[2].doc_id != accepted, -one[1]))
            found.append((not mine[0][0], (Topic(name, title), [doc for *_, doc in mine])))
    if not found:
        raise ToolkitError(f"{', '.join(map(str, paths))}: {len(titles)} questions, and no answer of them that has code", HINT)
    return [question for _, question in sorted(found, key=lambda one: one[0])]


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where it stands, and the attributes, of each post of a file."""
    with open_input(path) as file:
        head = file.read(CHUNK).removeprefix(codecs.BOM_UTF8)
        number, is_xml = 1, head.lstrip()[:1] == b"<"
        try:
            for number, post in _dump(head, file) if is_xml else enumerate(chain(BytesIO(head + file.readline()), file), 1):
                if isinstance(post, bytes) and not post.strip():
                    continue
                row = decode_json(post.decode()) if isinstance(post, bytes) else post
                if not isinstance(row, dict) or row.get("Id") is None:
                    raise ValueError("no Id")
                said = {key: str(value) for key, value in row.items() if value is not None}
                yield f"{path}, line {number}", said | {"Score": int(said.get("Score", 0))}
        except (expat.ExpatError, ValueError) as error:
            raise ToolkitError(f"{path}, line {getattr(error, 'lineno', number)}: no post ({error})", HINT) from error


def _dump(head: bytes, file: BinaryIO) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the attributes of each `row` of XML, which may be larger than the memory. ExpatError for what is none."""
    found: list[tuple[int, dict[str, str]]] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, row: found.append((parser.CurrentLineNumber, row)) if name == "row" else None
    alone = head.lstrip().startswith(b"<row")  # an excerpt without its root
    for chunk in chain([b"<posts>"] * alone, [head], iter(partial(file.read, CHUNK), b""), [b"</posts>"] * alone):
        parser.Parse(chunk)
        yield from found
        found.clear()
    parser.Parse(b"", True)
