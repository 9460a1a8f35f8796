"""A post of a forum for programmers, split into its prose and its code (InfoSearch, arXiv 2410.23841, section 2.2)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from toolkit.search.rules import FENCE, code_share

INDENT = re.compile(r"^(?: {4}|\t)")
HTML_CODE = re.compile(r"<pre[^>]*>\s*(?:<code[^>]*>)?(.*?)(?:</code>)?\s*</pre>", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"</?(?:p|code|a|em|strong|b|i|ul|ol|li|br|blockquote|h[1-6])(?:\s[^>]*)?/?>", re.IGNORECASE)
BLANKS = re.compile(r"\n{3,}")


class Post(NamedTuple):
    """The two parts of a post, either of them empty where it has none."""

    prose: str
    code: str


def split_post(text: str) -> Post:
    """Blocks of code and what stands around them, each in its order, joined by a blank line.

    Code is what stands between ``` or in <pre>, and what is indented by four blanks or a tab, if at least half of its lines
    look like code (`registry/rules.yaml`): a quotation is indented, too.
    """
    parts = list(_blocks(_fenced(text)))
    prose = BLANKS.sub("\n\n", "\n".join(block for block, is_code in parts if not is_code)).strip()
    return Post(prose, "\n\n".join(block.strip("\n") for block, is_code in parts if is_code and block.strip()))


def _fenced(text: str) -> str:
    """HTML's blocks of code as fenced ones, its other tags left out; a text without any is left as it is."""
    if not HTML_CODE.search(text):
        return text
    pieces = HTML_CODE.split(text)  # prose, code, prose, ...
    prose = [html.unescape(TAG.sub("", piece)) for piece in pieces[::2]]
    code = [f"\n{FENCE}\n{html.unescape(piece)}\n{FENCE}\n" for piece in pieces[1::2]]
    return "".join(part for pair in zip(prose, [*code, ""], strict=True) for part in pair)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """(lines, whether they are code), fences left out."""
    fenced, lines = False, []
    for line in text.splitlines():
        if line.lstrip().startswith(FENCE):
            fenced = not fenced
            lines.append(("fence", ""))
        else:
            lines.append(("code" if fenced else "indented" if INDENT.match(line) else "prose", line))
    for kind, group in groupby(lines, key=lambda line: line[0]):
        block = "\n".join(line for _, line in group)
        if kind != "fence":
            yield block, kind == "code" or (kind == "indented" and code_share(block) >= 0.5)
