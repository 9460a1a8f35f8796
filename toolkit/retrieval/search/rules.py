"""Restrictions of InfoSearch's kind as filters, without a language model: what an instruction's own words demand or exclude.

Understood are language, length, a keyword and code; audience, source, forum posts and manuals are not. The patterns lie in
`registry/rules.yaml`. Neither the benchmark's condition nor its judgments are looked at.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.topics import Topic
from toolkit.models.lucene.language_id import WORDS, script
from toolkit.models.lucene.okapi import stem, stop_words
from toolkit.registry import FOLDER

STEP = 0.001  # between the scores of documents that were put back
HAN_WORD = 0.6  # a Chinese character is about so much of a word
KINDS = ("language", "length", "keyword", "code")  # asked in this order: `mention JavaScript in your code` is a keyword
Pattern = re.Pattern[str]
FENCE = "```"
SENTENCE_END = re.compile(r"[.!?…]+[\"'’”)]*(?=\s+[^a-z\s]|\s*$)|[。！？]+[”」』）]*")


@dataclass(frozen=True)
class Restriction:
    """What an instruction demands of documents: of `kind` (language, length, keyword, code) the `value`, or anything else."""

    kind: str
    value: str
    excluded: bool = False


def apply_rules(run: Run, topics: Sequence[Topic], docs: Mapping[str, Doc]) -> Run:
    """The run with the documents that violate a topic's instruction behind those that fit it, each in their old order.

    docs  those of the run at least

    Documents that fit keep their scores. Where there are any, those behind them get the lowest of these scores less 0.001,
    0.002, and so on (more where 32-bit floats could not tell these apart): write the run without rounding. A topic whose
    instruction no rule understands keeps its ranking; how many there are is said. Raises ToolkitError for a document that is
    not among `docs`.
    """
    restrictions = {topic.query_id: understand(topic.instruction) for topic in topics if topic.instruction}
    kinds = Counter(found.kind for found in restrictions.values() if found)
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none"
    say(f"rules: {kinds.total()} of {len(restrictions)} instructions understood ({counts})")
    if without := [query_id for query_id, found in restrictions.items() if found is None]:
        say(f"note: no rule understands the instructions of {len(without)} queries ({three(without)}): their rankings stay")
    known: dict[tuple[Restriction, str], bool] = {}
    rows: list[ScoredDoc] = []
    for query_id, ranking in run.rankings():
        restriction = restrictions.get(query_id)
        if restriction is None:
            rows += ranking
            continue
        verdicts = []
        for doc_id in (scored.doc_id for scored in ranking):
            if doc_id not in docs:
                what = f"document {doc_id!r} of query {query_id} has no text"
                raise ToolkitError(what, "name the run's own corpus with --index")
            if (restriction, doc_id) not in known:
                known[restriction, doc_id] = fits(docs[doc_id], restriction)
            verdicts.append(known[restriction, doc_id])
        rows += _behind(ranking, verdicts)
    return Run.from_rows(rows, tag=f"{run.tag}+rules", source=run.source)


def understand(instruction: str) -> Restriction | None:
    """What an instruction restricts; None where no rule understands it."""
    rules = _rules()
    clauses = [clause for clause in rules.clauses.split(instruction) if clause.strip()]
    for kind in KINDS:
        value = _keyword(clauses) if kind == "keyword" else _named_first(clauses, rules.named[kind])
        if value:
            naming = [_compiled(re.escape(value))] if kind == "keyword" else rules.named[kind][value]
            return Restriction(kind, value, _is_excluded(clauses, naming))
    return None


def fits(doc: Doc, restriction: Restriction) -> bool:
    """Whether a document is what a restriction demands."""
    return CHECKS[restriction.kind](doc, restriction.value) is not restriction.excluded


def known_values(kind: str) -> tuple[str, ...]:
    """The values that restrictions of a kind have (`sentence`, ...); empty where any word is one."""
    return tuple(_rules().named.get(kind, ()))


def _behind(ranking: Sequence[ScoredDoc], verdicts: Sequence[bool]) -> list[ScoredDoc]:
    """The ranking with the documents that do not fit at its end."""
    fitting = [scored for scored, fit in zip(ranking, verdicts, strict=True) if fit]
    others = [scored for scored, fit in zip(ranking, verdicts, strict=True) if not fit]
    if not fitting:
        return others
    lowest = fitting[-1].score
    # equal in 32 bits would be tied, and then the document ids decide
    step = max(STEP, 4 * float(np.spacing(np.float32(abs(lowest) + len(others)))))
    return fitting + [other._replace(score=round(lowest - step * place, 6)) for place, other in enumerate(others, 1)]


# ----------------------------------------------------------------------------------------------------- instructions


@dataclass(frozen=True)
class _Rules:
    """The patterns of `registry/rules.yaml`, where each is explained.

    named   kind -> value -> what names it
    lines   of code; without `re.IGNORECASE`, as capitals tell SQL from prose
    """

    clauses: Pattern
    neutral: Pattern
    negated: list[Pattern]
    taken_back: list[Pattern]
    named: dict[str, dict[str, list[Pattern]]]
    keyword: list[Pattern]
    ignored: frozenset[str]
    scripts: dict[str, str]
    sizes: dict[str, int]
    lines: list[Pattern]
    share: float


@cache
def _rules() -> _Rules:
    raw = read_yaml(FOLDER / "rules.yaml")
    keyword = raw["keyword"]
    languages = {value: row["words"] for value, row in raw["language"].items()}
    named = {"language": languages, "length": raw["length"], "code": {"code": raw["code"]["words"]}}
    filled = [pattern.replace("DETWORD", keyword["determiner"] + "WORD") for pattern in keyword["patterns"]]
    return _Rules(
        clauses=_compiled("|".join(raw["clauses"])),
        neutral=_compiled("|".join(raw["neutral"])),
        negated=[_compiled(pattern) for pattern in raw["negated"]],
        taken_back=[_compiled(pattern) for pattern in raw["taken_back"]],
        named={kind: {v: [_compiled(p) for p in some] for v, some in values.items()} for kind, values in named.items()},
        keyword=[_compiled(pattern.replace("WORD", keyword["word"])) for pattern in filled],
        ignored=frozenset(keyword["ignored"].split()) | stop_words(),
        scripts={value: row["script"] for value, row in raw["language"].items()},
        sizes=raw["sizes"],
        lines=[re.compile(pattern) for pattern in raw["code"]["lines"]],
        share=raw["code"]["share"],
    )


def _compiled(pattern: str) -> Pattern:
    return re.compile(pattern, re.IGNORECASE)


def _named_first(clauses: Sequence[str], named: Mapping[str, Sequence[Pattern]]) -> str | None:
    """The value that the clauses name first."""
    for clause in clauses:
        found = [(match.start(), value) for value, some in named.items() for p in some if (match := p.search(clause))]
        if found:
            return min(found)[1]
    return None


def _keyword(clauses: Sequence[str]) -> str | None:
    """The keyword that the clauses speak of."""
    for pattern in _rules().keyword:
        for clause in clauses:
            for match in pattern.finditer(clause):
                word = next(found for found in match.groups() if found)
                if word.lower() not in _rules().ignored:
                    return word
    return None


def _is_excluded(clauses: Sequence[str], naming: Sequence[Pattern]) -> bool:
    """Whether a clause that names the value negates it, or a later one takes it back."""
    rules = _rules()
    matches = [(number, match) for number, clause in enumerate(clauses) for p in naming if (match := p.search(clause))]
    for _, match in matches:
        marked = f"{match.string[: match.start()]}VALUE{match.string[match.end() :]}"
        if any(pattern.search(rules.neutral.sub("", marked)) for pattern in rules.negated):
            return True
    later = clauses[matches[0][0] + 1 :]
    return any(pattern.search(clause) for clause in later for pattern in rules.taken_back)


# -------------------------------------------------------------------------------------------------------- documents


def length_class(text: str) -> str:
    """Whether a text is a `sentence`, a `paragraph` or an `article`, by its words, sentences and paragraphs."""
    sizes = _rules().sizes
    words = len(re.findall(r"\w+(?:['’-]\w+)*", WORDS["han"].sub(" ", text))) + HAN_WORD * len(WORDS["han"].findall(text))
    paragraphs = len([part for part in re.split(r"\n\s*\n", text) if part.strip()])
    if words >= sizes["article"] or paragraphs >= sizes["paragraphs"]:
        return "article"
    one = len(SENTENCE_END.findall(text.strip())) <= 1
    return "sentence" if one and words <= sizes["sentence"] else "paragraph"


def _has_keyword(doc: Doc, keyword: str) -> bool:
    if WORDS["han"].search(keyword):
        return keyword in doc.contents
    wanted, terms = _terms(keyword), _terms(doc.contents)
    # a keyword of signs alone is no term: no document has it
    return bool(wanted) and any(terms[place : place + len(wanted)] == wanted for place in range(len(terms)))


def _terms(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"\w+", text.lower().replace("’", "'").replace("'s ", " "))]


def code_share(text: str) -> float:
    """The share of a text's lines that are code, blank ones not counted; all lines of a fenced block are."""
    lines = [line for line in text.splitlines() if line.strip()]
    code, fenced = 0, False
    for line in lines:
        fence = line.lstrip().startswith(FENCE)
        code += fenced or fence or any(pattern.search(line) for pattern in _rules().lines)
        fenced ^= fence
    return code / len(lines) if lines else 0.0


CHECKS: dict[str, Callable[[Doc, str], bool]] = {
    "language": lambda doc, language: script(doc.contents) == _rules().scripts[language],
    "length": lambda doc, size: length_class(doc.text) == size,
    "keyword": _has_keyword,
    "code": lambda doc, _: code_share(doc.text) >= _rules().share,
}
