"""BERDS as it is published: questions with the perspectives that documents may hold, a table a data set and split.

A row has `id`, `question`, `perspectives` (a list of statements), on the hub for Kialo also `type` (`binary` or `multi`), and
in the development files of the release `expansions` (name and text of what GPT-4 wrote for query expansion). Columns of the
hub's tables were read from public code that uses them (`datasets.load_dataset`), splits `validation` and `test`.

The group without a split is the paper's human-labelled pairs of documents and perspectives, read as a collection.
"""

from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies.data_files import Record, folder_with, has_table, read_table
from toolkit.datasets.copies.row_values import identifier, optional, refuse, text
from toolkit.datasets.group_data import Group, Part, topic_in_mode

NEEDED = ("name",)
HUB_SPLITS = {"dev": "validation", "test": "test"}
PAIRS = "perspective_detection.test"  # the table of labelled pairs
BINARY, MANY = "binary", "multi"  # the published names of types
LACKS = {
    "documents": "BERDS names corpora and has none: search one with --index (wikipedia-dpr, a folder)",
    "qrels": "`tandem judge RUN --judge NAME` makes them",
}


def tables(group: Group) -> tuple[str, ...]:
    """The names under which the one table of a group is found: the release's files, and the split of a hub repository."""
    data_set, _, split = group["name"].partition("/")
    if not split:
        return (PAIRS,)
    if split not in HUB_SPLITS:
        raise ToolkitError(f"BERDS has no split {split!r} (group {group['name']})", f"known: {', '.join(HUB_SPLITS)}")
    return (f"{data_set}.{split}", f"{data_set}_generated.{split}", HUB_SPLITS[split])


def find(root: Path, group: Group) -> Path | None:
    """The folder itself where it has the release's files, or that of the hub's repository in it (`Kialo`)."""
    *named, last = tables(group)
    return root if any(has_table(root, name) for name in named or [last]) else folder_with(root, group, tables(group), ())


def expected(group: Group) -> str:
    """The file that a local copy should hold."""
    return f"{tables(group)[0]}.jsonl"


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """The questions of a data set and split, without documents and judgments; or the labelled pairs as a collection.

    `Part.published["expansions"]` has (name, text) pairs by query id, where the file has them.
    The type of a question (`Topic.condition`) is the published one; where there is none, `binary` for two perspectives and
    `multi` for any other number. ToolkitError for an id that comes twice, and a question without text or perspectives.
    """
    if "/" not in group["name"]:
        return _labelled(folder, group["name"])
    table = next((name for name in tables(group) if has_table(folder, name)), tables(group)[0])
    problems: list[str] = []
    topics, expansions = {}, {}
    for record in read_table(folder, table):
        topic = _question(record, group["name"].partition("/")[0], problems)
        if topic.query_id in topics:
            problems.append(f"{record.place}: question {topic.original_id} for the second time")
        topics[topic.query_id] = topic
        rows = record.values.get("expansions") or []
        pairs = [(row.get("name"), row.get("text")) if isinstance(row, dict) else (None, None) for row in rows]
        if any(not (isinstance(name, str) and isinstance(content, str) and content.strip()) for name, content in pairs):
            problems.append(f"{record.place}: an expansion is not a `name` and a `text`")
        elif pairs:
            expansions[topic.query_id] = tuple(pairs)
    refuse(folder, problems)
    untyped = sum(not record.values.get("type") for record in read_table(folder, table))
    note = f"{group['name']}: {untyped} questions have no type; it follows from the number of their perspectives"
    notes = (note,) if untyped else ()
    return Part(group["name"], {"": list(topics.values())}, {}, published={"expansions": expansions}, notes=notes, lacks=LACKS)


def _question(record: Record, data_set: str, problems: list[str]) -> Topic:
    original, question = identifier(record, "id", "_id"), text(record, "question").strip()
    given = record.values.get("perspectives")
    perspectives = tuple(each.strip() if isinstance(each, str) else "" for each in (given if isinstance(given, list) else ()))
    if not question:
        problems.append(f"{record.place}: question {original} has no text")
    if not perspectives or not all(perspectives) or len(set(perspectives)) < len(perspectives):
        problems.append(f"{record.place}: the perspectives of question {original} are not different texts, one at least")
    return as_topic(f"{data_set}-{original}", question, perspectives, optional(record, "type"), original)


def _labelled(folder: Path, name: str) -> Part:
    """Documents `P000`, questions `Q00`, and a question's perspectives 1, 2, each in order of first appearance.
    `Part.published["pairs"]` has every line, ((query id, subtopic, document id), label), those that come twice too."""
    documents: dict[str, str] = {}
    questions: dict[str, dict[str, int]] = {}
    labels: dict[tuple[str, int, str], int] = {}
    pairs: list[tuple[tuple[str, str, str], int]] = []
    problems: list[str] = []
    numbers: dict[str, str] = {}
    for record in read_table(folder, PAIRS):
        question, document, perspective = (text(record, column) for column in ("question", "document", "perspective"))
        doc_id = documents.setdefault(document, f"P{len(documents):03d}")
        query_id = numbers.setdefault(question, f"Q{len(numbers):02d}")
        known = questions.setdefault(question, {})
        pair = (query_id, known.setdefault(perspective, len(known) + 1), doc_id)
        value = record.values.get("label")
        if value not in (0, 1):
            problems.append(f"{record.place}: label {value!r} is neither 0 nor 1")
        elif labels.setdefault(pair, value) != value:
            problems.append(f"{record.place}: {document[:40]!r} and {perspective!r} have another label before")
        else:
            pairs.append(((query_id, str(pair[1]), doc_id), int(value)))
    refuse(folder, problems)
    topics = [as_topic(numbers[question], question, tuple(known)) for question, known in questions.items()]
    rows = [Qrel(query_id, doc_id, value, str(number)) for (query_id, number, doc_id), value in labels.items()]
    docs = [Doc(doc_id, "", document) for document, doc_id in documents.items()]
    return Part(name, {"": topics}, {"": Qrels.from_rows(rows, f"berds-{name}")}, docs, published={"pairs": pairs})


def as_topic(query_id: str, question: str, perspectives: tuple[str, ...], kind: str = "", original_id: str = "") -> Topic:
    """A question with its perspectives; their number says the type (`kind`) of one that was published without."""
    kind = kind or (BINARY if len(perspectives) == 2 else MANY)
    return topic_in_mode(query_id, "", question, condition=kind, original_id=original_id, perspectives=perspectives)
