"""CSFCube: a paper is the query, once for each facet in which other papers should be like it.

The authors' repository, with the file of abstracts that its README links:

    abstracts-csfcube-preds            paper_id, title, abstract (a list of sentences)
    test-pid2anns-csfcube-<facet>      query paper -> cands, relevance_adju (parallel lists; labels 0 to 3)
    evaluation_splits                  facet -> fold1_test, fold2_test: `<paper>_<facet>`

A group is a fold: the mean over the two is the paper's number. The candidates of a query and facet are its judged pool. The
paper has no words for a facet that a system could be sent: `FACETS` are Tandem's own.

Sources: the authors' README, datasheet and `eval_scripts/ranking_eval.py`, and the JSON files. The file of abstracts was not
read.
"""

from pathlib import Path

from toolkit.core.documents import Doc
from toolkit.core.modes import join_mode
from toolkit.core.specs import BenchmarkSpec
from toolkit.core.topics import Topic
from toolkit.datasets.copies import row_values
from toolkit.datasets.copies.data_files import Record, read_table
from toolkit.datasets.group_data import Group, Part, as_candidates, as_qrels, topic_in_mode

NEEDED = ("name",)
ABSTRACTS, SPLITS = "abstracts-csfcube-preds", "evaluation_splits"
FOLDERS = ("CSFCube", ".")
EXPECTED = f"{ABSTRACTS}.jsonl with {SPLITS}.json and test-pid2anns-csfcube-<facet>.json"
# written for Tandem: nobody published instructions
FACETS = {
    "background": "Find papers that work on the same problem, with a similar background and objective.",
    "method": "Find papers that use a similar method.",
    "result": "Find papers with similar results and findings.",
}
ANNOTATIONS = {facet: f"test-pid2anns-csfcube-{facet}" for facet in FACETS}
TABLES = (SPLITS, ABSTRACTS, *ANNOTATIONS.values())
LABELS = range(4)  # irrelevant, related, similar, identical


def read(folder: Path, spec: BenchmarkSpec, group: Group) -> Part:
    """A fold. A topic's query is title and abstract of the paper, its mode the facet, its instruction what `FACETS` says.

    All that cannot be right (a paper without abstract, a label that is none, lists of different length) is one ToolkitError
    with each problem's place.
    """
    problems: list[str] = []
    docs = {doc.doc_id: doc for doc in (_doc(record, problems) for record in read_table(folder, ABSTRACTS))}
    name, notes = group["name"], []
    topics: dict[str, list[Topic]] = {facet: [] for facet in FACETS}
    judged: dict[str, dict[str, dict[str, int]]] = {facet: {} for facet in FACETS}
    splits = row_values.by_id(folder, SPLITS, ("_id",), "facet", problems)
    for facet, instruction in FACETS.items():
        annotated = row_values.by_id(folder, ANNOTATIONS[facet], ("_id",), "paper", problems)
        wanted = splits[facet].values.get(f"{name}_test") if facet in splits else None
        if not isinstance(wanted, list):
            problems.append(f"{folder / SPLITS}: no list {name}_test of {facet}")
            continue
        for published in map(str, wanted):
            paper = published.removesuffix(f"_{facet}")
            if paper not in annotated or paper not in docs:
                where = ANNOTATIONS[facet] if paper not in annotated else ABSTRACTS
                problems.append(f"{splits[facet].place}: paper {paper} is not in {where}")
                continue
            query = f"{docs[paper].title} {docs[paper].text}".strip()
            topic = topic_in_mode(paper, facet, query, instruction, original_id=published)
            topics[facet].append(topic)
            judged[facet][topic.query_id] = labels = _labels(annotated[paper], docs, problems)
            if paper in labels:
                notes.append(f"{name}: paper {paper} is in its own pool for {facet}; it stays, as in the authors' evaluation")
    row_values.refuse(folder, problems)
    qrels = {facet: as_qrels(judged[facet], join_mode(name, facet)) for facet in FACETS}
    pools = {facet: as_candidates({each: list(pool) for each, pool in judged[facet].items()}, "pool") for facet in FACETS}
    return Part(name, topics, qrels, None if "corpus" in group else list(docs.values()), pools, tuple(notes))


def _doc(record: Record, problems: list[str]) -> Doc:
    sentences = record.values.get("abstract")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        problems.append(f"{record.place}: expected a list of sentences in 'abstract', found {str(sentences)[:40]}")
        sentences = []
    return Doc(row_values.identifier(record, "paper_id"), row_values.optional(record, "title"), " ".join(sentences))


def _labels(record: Record, docs: dict[str, Doc], problems: list[str]) -> dict[str, int]:
    """Document -> adjudicated label, in the order of the pool."""
    pool = row_values.id_list(record, "cands", docs, problems)
    labels = record.values.get("relevance_adju")
    if not isinstance(labels, list) or len(labels) != len(pool) or any(label not in LABELS for label in labels):
        problems.append(f"{record.place}: expected {len(pool)} labels from 0 to 3 in 'relevance_adju'")
        return {}
    return dict(zip(pool, map(int, labels), strict=True))
