"""InstructIR as it is published: the authors' folder `INSTRUCTIR/`, or MTEB's repository on the hub.

The folder has `corpus`, `queries` (`<instruction> [SEP] <query>`) and `qrels/test`, and files for the other groups; the
repository has `corpus`, `queries` (the core query), `instruction` and `default` (the judgments). What a copy lacks of the
other groups is made from its queries; a copy without a corpus has topics and judgments.

The core query of `<core>_<n>` is `<core>`: it is never guessed from the text (grouped by text, as the released script does
it, every query of its malformed file would be a group of its own).

A form of a query other than `all` is a complete text: its topics have neither a query nor an instruction apart, so that no
template can put the two back into an order of its own. A system gets it as it gets a query without instruction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.templates import SEPARATOR
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import TABLES, Record, folder_with, has_table, read_table
from toolkit.datasets.group_data import Group, Part, as_qrels

Judged = Mapping[str, Mapping[str, int]]  # query id -> document id -> relevance

NEEDED = ("name",)
FOLDERS = (".", "INSTRUCTIR", "instructir")
QRELS = ("qrels/test", "default")
# the groups that the authors publish in files of their own: texts, judgments
AUTHORS_FILES = {
    "instruction-only": ("only_instruction_queries", "qrels/test"),
    "query-only": ("only_queries", "qrels/for_only_query_test"),
    "query-first-released": ("analysis_order_sensitivity/new_queries", "qrels/test"),
    "paraphrases": ("analysis_prompt_sensitivity/5new_queries", "analysis_prompt_sensitivity/qrels/5_test"),
}
# of the hub's repository, all but the corpus, which the groups share
LIGHT = ("*queries*", "*instruction*", "*default*", "*qrels*", "*test*")
PARAPHRASES = "paraphrased_queries"  # what the file of the paraphrases is called outside the authors' folder
NO_CORPUS = (
    "queries and judgments are here; take a copy that has corpus.jsonl too: tandem benchmarks fetch instructir --from DIR"
)


def instructed(query_id: str, group_id: str, query: str, instruction: str) -> Topic:
    """An instructed query as it is published: the instruction, the separator, the query."""
    return Topic(query_id, f"{instruction}{SEPARATOR}{query}", query, instruction, group_id=group_id, original_id=query_id)


def complete(topic: Topic, text: str) -> Topic:
    """The topic as one text, which no template takes apart."""
    return replace(topic, text=text, query="", instruction="")


def query_first(topic: Topic) -> Topic:
    """Query, separator, instruction."""
    return complete(topic, f"{topic.query}{SEPARATOR}{topic.instruction}")


# the groups that have the queries of `all`, one by one, and what becomes of each
FORMS: dict[str, Callable[[Topic], Topic]] = {
    "all": lambda topic: topic,
    "instruction-only": lambda topic: complete(topic, topic.instruction),
    "query-first": query_first,
    # as the authors' released file has it, with a bracket too many at either end
    "query-first-released": lambda topic: complete(topic, f"] {topic.query}{SEPARATOR}{topic.instruction} ["),
}
GROUPS = tuple(dict.fromkeys((*FORMS, *AUTHORS_FILES)))


def tables(group: Group) -> tuple[str, ...]:
    """What is there of: the corpus with `all`; queries and judgments; the group's own file."""
    corpus = ("corpus",) if group["name"] == "all" else ()
    authors = AUTHORS_FILES.get(group["name"], ())
    reworded = (PARAPHRASES,) if group["name"] == "paraphrases" else ()
    return tuple(dict.fromkeys((*corpus, "queries", "instruction", *QRELS, *authors, *reworded)))


def patterns(group: Group) -> tuple[str, ...]:
    """The files of the hub's repository that a group is read from."""
    return TABLES if group["name"] == "all" else LIGHT


def find(root: Path, group: Group) -> Path | None:
    """The folder itself, or `INSTRUCTIR/` or the repository's name in it, where it has what the group is read from."""
    needed = (AUTHORS_FILES["paraphrases"][0], PARAPHRASES) if group["name"] == "paraphrases" else ("queries",)
    return folder_with(root, group, needed, FOLDERS)


def expected(group: Group) -> str:
    """For a message."""
    if group["name"] == "paraphrases":
        return f"{AUTHORS_FILES['paraphrases'][0]}.jsonl or {PARAPHRASES}.jsonl"
    return "INSTRUCTIR/queries.jsonl with qrels/test.tsv"


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A group of InstructIR.

    All that cannot be right (a duplicate id, a text without its separator, a query without judgment, a judgment of an unknown
    query or document, two core queries in one group) is one ToolkitError with file and line of each problem.
    """
    name, problems, notes = group["name"], [], []
    if name not in GROUPS:
        raise ToolkitError(f"benchmark {spec.name}: InstructIR has no group {name!r}", f"known: {', '.join(GROUPS)}")
    docs = None
    if name == "all" and has_table(folder, "corpus"):
        docs = row_values.documents(folder, "corpus", problems)
    elif name == "all":
        notes.append("all: no corpus, queries and judgments alone")
    if name == "paraphrases":
        topics, judged = _paraphrases(folder, problems)
    else:
        topics = _instructed(folder, problems)
        judged = _judged(folder, QRELS, topics, docs, problems)
        topics, judged = _form(folder, name, topics, judged, problems, notes)
    problems += (f"{folder}: query {topic.query_id} has no judgment" for topic in topics if not judged[topic.query_id])
    row_values.refuse(folder, problems)
    qrels, corpus = as_qrels(judged, f"{spec.name}-{name}"), None if docs is None else list(docs.values())
    return Part(name, {"": topics}, {"": qrels}, corpus, notes=tuple(notes), lacks={"documents": NO_CORPUS})


def _instructed(folder: Path, problems: list[str]) -> list[Topic]:
    """All instructed queries, from either form of the tables."""
    apart: dict[str, Record] | None = None
    if has_table(folder, "instruction"):
        apart = row_values.by_id(folder, "instruction", ("query-id",), "the instruction of query", problems)
    topics, cores = [], {}
    for query_id, record in row_values.by_id(folder, "queries", ("_id", "id"), "query", problems).items():
        core = query_id.rpartition("_")[0]
        if not core:
            problems.append(f"{record.place}: {query_id} is no id of an instructed query (<core>_<n>)")
            continue
        if apart is None:
            instruction, query = _split(record, problems)
        elif query_id in apart:
            instruction = row_values.text(apart[query_id], "instruction").strip()
            query = row_values.text(record, "text").strip()
        else:
            problems.append(f"{record.place}: query {query_id} has no instruction")
            continue
        if cores.setdefault(core, query) != query:
            problems.append(f"{record.place}: {query_id} asks {query!r}, others of its group {cores[core]!r}")
        topics.append(instructed(query_id, core, query, instruction))
    return topics


def _split(record: Record, problems: list[str]) -> tuple[str, str]:
    """Instruction and query of a published text; a text with another number of separators is a problem."""
    text = row_values.text(record, "text")
    parts = text.split(SEPARATOR)
    if len(parts) != 2 or not all(part.strip() for part in parts):
        problems.append(f"{record.place}: expected `<instruction>{SEPARATOR}<query>`, found {text[:60]!r}")
        return "", ""
    return parts[0], parts[1]


def _judged(
    folder: Path, names: Sequence[str], topics: Iterable[Topic], docs: Mapping[str, object] | None, problems: list[str]
) -> dict[str, dict[str, int]]:
    """The judgments in the first of these tables that is there (the last one is said to be missing)."""
    table = next((name for name in names if has_table(folder, name)), names[-1])
    released = "qid" in next(read_table(folder, table)).values
    columns = ("qid", "pid") if released else ("query-id", "corpus-id")
    return row_values.judgments(folder, table, [topic.query_id for topic in topics], docs, problems, columns)


def _form(
    folder: Path, name: str, topics: list[Topic], judged: Judged, problems: list[str], notes: list[str]
) -> tuple[list[Topic], Judged]:
    """The queries of a group and their judgments: the authors' own file where the copy has it, else made from `all`."""
    made, labels = ([FORMS[name](topic) for topic in topics], judged) if name in FORMS else query_only(topics, judged)
    if name not in AUTHORS_FILES:
        return made, labels
    texts, qrels = AUTHORS_FILES[name]
    if not has_table(folder, texts):
        notes.append(f"{name}: made from the instructed queries, as the copy has no {texts}.jsonl")
        return made, labels
    groups = {topic.query_id: topic.group_id for topic in made}
    published = row_values.by_id(folder, texts, ("_id", "id"), "query", problems)
    problems += (f"{record.place}: unknown query {each}" for each, record in published.items() if each not in groups)
    written = {query_id: row_values.text(record, "text") for query_id, record in published.items()}
    topics = [Topic(each, text, group_id=groups.get(each, ""), original_id=each) for each, text in written.items()]
    if name == "query-only" and has_table(folder, qrels):
        labels = _judged(folder, (qrels,), topics, None, problems)
    return topics, {topic.query_id: labels.get(topic.query_id, {}) for topic in topics}


def _paraphrases(folder: Path, problems: list[str]) -> tuple[list[Topic], dict[str, dict[str, int]]]:
    """Five other wordings of one instruction of each core query; `<core>_<n>.<p>` is one of `<core>_<n>`. A copy without their
    judgments has those of the instructions that they say in other words."""
    texts, qrels = AUTHORS_FILES["paraphrases"]
    table = texts if has_table(folder, texts) else PARAPHRASES
    published = row_values.by_id(folder, table, ("_id", "id"), "paraphrase", problems)
    topics = []
    for query_id, record in published.items():
        original = query_id.rpartition(".")[0]
        if not original:
            problems.append(f"{record.place}: {query_id} is no id of a paraphrase (<core>_<n>.<p>)")
            continue
        instruction, query = _split(record, problems)
        topics.append(instructed(query_id, original, query, instruction))
    if has_table(folder, qrels):
        return topics, _judged(folder, (qrels,), topics, None, problems)
    judged = _judged(folder, QRELS, _instructed(folder, problems), None, problems)
    return topics, {topic.query_id: judged.get(topic.group_id, {}) for topic in topics}


def query_only(topics: Sequence[Topic], judged: Judged) -> tuple[list[Topic], dict[str, dict[str, int]]]:
    """The core queries, under their own ids, and what is relevant to any of their instructions."""
    cores: dict[str, Topic] = {}
    merged: dict[str, dict[str, int]] = {}
    for topic in topics:
        core = topic.group_id
        cores.setdefault(core, replace(complete(topic, topic.query), query_id=core, original_id=core))
        labels = merged.setdefault(core, {})
        for doc_id, label in judged[topic.query_id].items():
            labels[doc_id] = max(label, labels.get(doc_id, label))
    return list(cores.values()), merged
