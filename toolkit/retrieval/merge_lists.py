"""The lists of a question's queries as one: the first of each, then the second of each, and so on (BERDS, section 5)."""

import re
from collections.abc import Mapping, Sequence

from toolkit.core.errors import ToolkitError, check_counts, three
from toolkit.core.runs import Run, ScoredDoc, round_robin
from toolkit.core.system.progress import say
from toolkit.retrieval.steps import Results, Step, Tools

DEPTH = 100
MOST = 10_000  # lists of a question: no one has as many perspectives, and each that is left out is taken as empty
LIST_ID = re.compile(r"(.+)\.([1-9][0-9]*)")


def merge_lists(lists: Sequence[Sequence[str]], depth: int = DEPTH, duplicates: bool = False) -> list[str]:
    """The best `depth` documents of several lists, each best first, in order of generation.

    duplicates  False, the paper: `round_robin`, of which fewer than `depth` may result; True, the release: whole rounds with
                duplicate documents, until `depth` are there

    The release raises ToolkitError where a later list is shorter than a round, and where the first list ends too early.
    """
    check_counts(depth=depth)
    if not duplicates:
        return round_robin(lists, depth)
    rounds = -(-depth // len(lists))
    for number, one in enumerate(lists, start=1):
        if len(one) < min(rounds, len(lists[0])):
            raise ToolkitError(f"list {number} has {len(one)} documents, and round {len(one) + 1} is needed", RELEASE_HINT)
    if len(lists[0]) < rounds:
        message = f"the first list has {len(lists[0])} documents, which gives {len(lists[0]) * len(lists)} of {depth}"
        raise ToolkitError(message, RELEASE_HINT)
    return [one[rank] for rank in range(rounds) for one in lists][:depth]


RELEASE_HINT = "the released script stops here, too: search deeper, merge less deep, or merge without --keep-duplicates"


def merge(run: Run, depth: int = DEPTH, duplicates: bool = False) -> dict[str, list[str]]:
    """question -> its merged documents, best first, of a run whose query ids are `<question>.<n>`; see `merge_lists`.

    A number that is left out (a query that found nothing) is an empty list. Raises ToolkitError, which names the questions,
    for other ids and for lists that the release cannot merge.
    """
    merged, problems = {}, []
    for question, lists in question_lists(run).items():
        try:
            merged[question] = merge_lists(lists, depth, duplicates)
        except ToolkitError as error:
            if not duplicates or depth < 1:
                raise
            problems.append(f"{question}: {error.message}")
    if problems:
        message = f"{run.called}: the lists of {len(problems)} of {len(merged) + len(problems)} questions cannot be merged"
        raise ToolkitError(message, RELEASE_HINT, problems=problems)
    return merged


def question_lists(run: Run) -> dict[str, list[list[str]]]:
    """question -> the document ids of its lists, best first, list n at position n - 1."""
    lists_of: dict[str, dict[int, list[str]]] = {}
    for query_id, docs in run.rankings():
        match = LIST_ID.fullmatch(query_id)
        if not match or len(match[2]) > len(str(MOST)) or int(match[2]) > MOST:
            hint = "the lists of a question are `<question>.1`, `<question>.2`, ...; `tandem expand topics` writes such ids"
            raise ToolkitError(f"{run.called}: query id {query_id!r} names no list of a question", hint)
        lists_of.setdefault(match[1], {})[int(match[2])] = [doc.doc_id for doc in docs]
    if gaps := [question for question, lists in lists_of.items() if len(lists) < max(lists)]:
        say(f"note: {run.called} lacks lists of {len(gaps)} of {len(lists_of)} questions ({three(gaps)}): taken as empty")
    return {question: [lists.get(n, []) for n in range(1, max(lists) + 1)] for question, lists in lists_of.items()}


class MergeLists(Step):
    """The lists of each question of a run, whose query ids are `<question>.<n>`, as one list.

    depth, duplicates  see `merge_lists`
    """

    tag = "expanded"

    def __init__(self, depth: int = DEPTH, duplicates: bool = False):
        self.depth, self.duplicates = depth, duplicates

    @property
    def name(self) -> str:
        """`expanded.depth-10`."""
        return self.tag if self.depth == DEPTH else f"{self.tag}.depth-{self.depth}"

    def plan(self, results: Results) -> list[str]:
        """One line."""
        return [f"merge {self.depth} documents a question"]

    def apply(self, results: Results, tools: Tools) -> Results:
        """Merge; scores are 1 / rank."""
        made, duplicates = results.one, "kept" if self.duplicates else "skipped"
        merged, tag = merge(made.run, self.depth, self.duplicates), f"{made.run.tag or 'run'}.{self.tag}"
        run = merged_run(merged, tag=tag, source=made.run.source)
        facts = {"name": run.tag, "method": "round-robin", "depth": self.depth, "duplicates": duplicates}
        return results.with_run(run, made.provenance.inherited().step("merging", facts).having(made_of=dict(made.facts)))


def merged_run(merged: Mapping[str, Sequence[str]], *, tag: str, source: str = "") -> Run:
    """The merged documents as a run, scored by 1 / rank."""
    rows = (ScoredDoc(q, doc_id, 1 / rank) for q, docs in merged.items() for rank, doc_id in enumerate(docs, start=1))
    return Run.from_rows(rows, tag=tag, source=source)
