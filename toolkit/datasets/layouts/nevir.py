"""NevIR as MTEB publishes it: pairs of questions that differ in a negation, each with the same two documents to rank.

    corpus        _id, text
    queries       _id (`1000-2_q1`, `1000-2_q2`), text; those of training and validation too
    default       query-id, corpus-id, score: the test questions, one relevant document each (in a copy without the
                  repository's README `qrels/test`)
    top_ranked    query-id, corpus-ids: the two documents of the pair

The core query is the pair (`1000-2`): a system understands the negation where it ranks both questions' documents right, which
is Robustness@1 over the candidates. Columns and files: the dataset card at the pinned revision.
"""

from pathlib import Path

from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import has_table, read_table
from toolkit.datasets.group_data import Group, Part, as_candidates, as_qrels

NEEDED = ("name", "repository", "revision")
JUDGED = ("default", "qrels/test")
TABLES = ("queries", "corpus", *JUDGED, "top_ranked")
OTHER = {"q1": "q2", "q2": "q1"}


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """The judged questions. Candidates keep their published order; their score is 1/rank.

    All that cannot be right (an unknown document or query, a question without its counterpart, text or candidates) is one
    ToolkitError with file and line of each problem.
    """
    problems: list[str] = []
    docs = row_values.documents(folder, "corpus", problems)
    known = row_values.by_id(folder, "queries", ("_id", "id"), "query", problems)
    table = next((name for name in JUDGED if has_table(folder, name)), JUDGED[0])
    judged = row_values.judgments(folder, table, known, docs, problems)
    queries = {query_id: record for query_id, record in known.items() if judged[query_id]}
    ranked: dict[str, list[str]] = {}
    for record in read_table(folder, "top_ranked"):
        if (query_id := row_values.identifier(record, "query-id")) in queries:
            ranked[query_id] = row_values.id_list(record, "corpus-ids", docs, problems)
    for query_id, record in queries.items():
        pair, _, number = query_id.rpartition("_")
        if f"{pair}_{OTHER.get(number)}" not in queries:
            problems.append(f"{record.place}: question {query_id} has no counterpart")
        if not row_values.text(record, "text").strip():
            problems.append(f"{record.place}: question {query_id} has no text")
        if query_id not in ranked:
            problems.append(f"{record.place}: question {query_id} has no candidates")
    row_values.refuse(folder, problems)
    texts = {query_id: row_values.text(record, "text").strip() for query_id, record in queries.items()}
    topics = [Topic(each, text, text, group_id=each.rpartition("_")[0], original_id=each) for each, text in texts.items()]
    qrels = as_qrels({query_id: judged[query_id] for query_id in queries}, spec.name)
    run = as_candidates({query_id: ranked[query_id] for query_id in queries}, "top_ranked")
    return Part(group["name"], {"": topics}, {"": qrels}, list(docs.values()), {"": run})
