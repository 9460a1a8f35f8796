"""A tiny copy of every benchmark of the four papers, in its published layout and under its repository's name.

Topics, documents and judgments are parts of the minis, whose texts are cut short; ids are as published ones are written.
`write_datasets(folder)` writes the same each time (Lucene's files alone are never equal byte by byte):

    datasets/jianqunZ/Audience-v1/            a data repository of the hub, as `hub_server` serves it
    InfoSearch/lisewise/dimension/*.json      candidates, in the authors' code repository
    InstructIR/INSTRUCTIR/analysis_.../       paraphrases, in theirs
    berds/perspective_detection.test.jsonl    labelled pairs, in theirs
    indexes/lucene-index.wikipedia-dpr...     archives of prebuilt indexes, and entries with their digests
    ir_datasets/dpr-w100/docs.tsv.gz          the passages of these indexes, as ir_datasets stores them (IR_DATASETS_HOME)
"""

import gzip
import hashlib
import json
import random
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import yaml
from followir_layout import parquet_path
from hub_layout import write_parquet, write_parquet_tables
from published_layout import write_candidates

from toolkit import datasets, registry
from toolkit.core.documents import Doc
from toolkit.files.formats.indexes import NAME as RECORD

CORES, ROWS, DOCUMENTS, LETTERS = 2, 2, 16, 160  # a group's core queries, rows of each, documents; letters of a text
MORE = {"audience": 24}  # documents: more than a window of listwise reranking has
MODES = {"ori": "og", "ins": "changed", "rev": "reversed"}
HIGHEST = 100  # candidates of a query, in InfoSearch
PASSAGES, PAIRED, LABELS = 60, 3, 6  # of Wikipedia; questions that people labelled documents of, and labels of each
DPR_INDEX = "wikipedia-dpr-100w.dpr-single-nq"


def write_datasets(folder):
    """All of it; returns the folder. The checkpoints are there: DPR's makes the vectors of its index."""
    folder = Path(folder)
    for write in (write_infosearch, write_instructir, write_mfollowir, write_berds, write_wikipedia):
        write(folder)
    return folder


def write_infosearch(folder):
    """The six dimensions; candidates of each query and mode are all documents of its dimension, in an order of their own."""
    mini = datasets.load("infosearch-mini")
    for group in registry.benchmark("infosearch").groups:
        part = mini.part(group["name"])
        cores = list(dict.fromkeys(topic.group_id for topic in part.topics["ori"]))[: CORES if group["name"] in MORE else 1]
        rows = [topic.original_id for core in cores for topic in _of_core(part.topics["ori"], core)[:ROWS]]
        topics = {mode: {t.original_id: t for t in part.topics[mode] if t.original_id in rows} for mode in MODES}
        named = {topic.query_id: original for of_mode in topics.values() for original, topic in of_mode.items()}
        labels = {mode: [row for row in part.qrels[mode] if row.query_id in named] for mode in MODES}
        relevant = {row.doc_id for of_mode in labels.values() for row in of_mode if row.relevance > 0}
        docs = _documents(part.docs, relevant, MORE.get(group["name"], DOCUMENTS))
        known = {doc["_id"] for doc in docs}
        tables = {"corpus": docs, "queries": [_infosearch_query(original, topics) for original in topics["ori"]]}
        for mode, published in MODES.items():
            tables[f"qrels_{published}"] = [
                {"query-id": named[row.query_id], "corpus-id": row.doc_id, "score": row.relevance}
                for row in labels[mode]
                if row.doc_id in known
            ]
        write_parquet_tables(folder / "datasets" / group["repository"], tables)
        texts = {doc["_id"]: doc["text"] for doc in docs}
        for mode in MODES:
            ranked = [
                (original, topic.text, _shuffled(texts, original, mode)[:HIGHEST]) for original, topic in topics[mode].items()
            ]
            write_candidates(folder / "InfoSearch", group["repository"], MODES[mode], ranked, texts)


def _infosearch_query(original, topics):
    of = {mode: by_id[original] for mode, by_id in topics.items()}
    return {
        "_id": original,
        "text": of["ori"].query,
        "instruction_og": "Find documents that answer the question.",
        "instruction_changed": of["ins"].instruction,
        "instruction_reversed": of["rev"].instruction,
    }


def write_instructir(folder):
    """MTEB's repository: core queries and instructions apart, a passage for each instruction, and some for none."""
    part = datasets.load("instructir-mini").part("all")
    cores = list(dict.fromkeys(topic.group_id for topic in part.topics[""]))[: CORES + 1]
    topics = [topic for topic in part.topics[""] if topic.group_id in cores]
    ids = {topic.query_id for topic in topics}
    labels = [row for row in part.qrels[""] if row.query_id in ids]
    tables = {
        "corpus": _documents(part.docs, {row.doc_id for row in labels}, 2 * DOCUMENTS),
        "queries": [{"_id": topic.query_id, "text": topic.query} for topic in topics],
        "instruction": [{"query-id": topic.query_id, "instruction": _short(topic.instruction)} for topic in topics],
        "default": [{"query-id": row.query_id, "corpus-id": row.doc_id, "score": row.relevance} for row in labels],
    }
    # the letters backwards in one gold document of each core query, which BM25 cannot find then: table 5 is of such
    of_core = {row.query_id: row.doc_id for row in labels}
    unseen = {topic.group_id: of_core[topic.query_id] for topic in topics}.values()
    tables["corpus"] = [{**doc, "text": doc["text"][::-1]} if doc["_id"] in unseen else doc for doc in tables["corpus"]]
    write_parquet_tables(folder / "datasets" / "mteb" / "InstructIR-mteb", tables)
    reworded = datasets.load("instructir-mini").part("paraphrases")
    chosen = [topic for topic in reworded.topics[""] if topic.group_id in ids]
    label = {row.query_id: row.doc_id for row in reworded.qrels[""]}
    authors = folder / "InstructIR" / "INSTRUCTIR" / "analysis_prompt_sensitivity"
    texts = [{"_id": topic.query_id, "text": f"{topic.instruction} [SEP] {topic.query}"} for topic in chosen]
    _write_jsonl(authors / "5new_queries.jsonl", texts)
    lines = ["qid\tpid\tscore", *(f"{topic.query_id}\t{label[topic.query_id]}\t1" for topic in chosen)]
    (authors / "qrels").mkdir()
    (authors / "qrels" / "5_test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_mfollowir(folder):
    """Three languages in two repositories, one of them with English queries; all documents are candidates of each query."""
    mini = datasets.load("mfollowir-mini")
    tables = {}
    for group in registry.benchmark("mfollowir").groups:
        part, suffix = mini.part(group["name"]), f"-{group['subset']}"
        cores = list(dict.fromkeys(topic.group_id for topic in part.topics["og"]))[:CORES]
        topics = [topic for mode in part.topics for topic in part.topics[mode] if topic.group_id in cores]
        named = {topic.query_id: topic.original_id for topic in topics}
        rows = {mode: [row for row in part.qrels[mode] if row.query_id in named] for mode in part.topics}
        wanted = {row.doc_id for of_mode in rows.values() for row in of_mode if row.relevance > 0}
        docs = _documents(mini.docs(group["name"]), wanted)
        known = [doc["_id"] for doc in docs]
        labels = [
            (named[row.query_id], row.doc_id, row.relevance) for mode in rows for row in rows[mode] if row.doc_id in known
        ]
        relevant = {pair[:2] for pair in labels if pair[2] > 0}
        lost = {}
        for query, doc in sorted(relevant):
            base, _, mode = query.rpartition("-")
            if mode == "og" and (f"{base}-changed", doc) not in relevant:
                lost.setdefault(base, []).append(doc)
        found = {
            "corpus": docs,
            "queries": [{"_id": topic.original_id, "text": topic.query} for topic in topics],
            "instruction": [{"query-id": topic.original_id, "instruction": topic.instruction} for topic in topics],
            "default": [{"query-id": query, "corpus-id": doc, "score": float(label)} for query, doc, label in labels],
            "top_ranked": [{"query-id": topic.original_id, "corpus-ids": _shuffled(known, topic.group_id)} for topic in topics],
            "qrel_diff": [{"query-id": base, "corpus-ids": docs} for base, docs in lost.items()],
        }
        tables.setdefault(group["repository"], {}).update({f"{name}{suffix}": rows for name, rows in found.items()})
    for repository, of_repository in tables.items():
        write_parquet_tables(folder / "datasets" / repository, of_repository, parquet_path)


def write_berds(folder):
    """Three data sets of two splits, question types for Kialo alone; and labelled pairs of document and perspective."""
    part = datasets.load("berds-mini").part("test")
    docs = {doc.doc_id: doc.text for doc in datasets.load("berds-mini").docs("test")}
    for name, topics in zip(("Arguana", "Kialo", "OpinionQA"), _questions(part), strict=True):
        rows = [
            {"id": topic.original_id, "question": topic.text, "perspectives": list(topic.perspectives)}
            | ({"type": topic.condition} if name == "Kialo" else {})
            for topic in topics
        ]
        for split, of_split in {"validation": rows[:1], "test": rows}.items():
            path = folder / "datasets" / "timchen0618" / name / "data" / f"{split}-00000-of-00001.parquet"
            write_parquet(path, of_split)
    pairs = []
    for topic in part.topics[""][-PAIRED:]:
        labels = [row for row in part.qrels[""] if row.query_id == topic.query_id][:LABELS]
        pairs += [
            {
                "question": topic.text,
                "document": _short(docs[row.doc_id]),
                "perspective": topic.perspectives[int(row.iteration) - 1],
                "label": int(row.relevance > 0),
            }
            for row in labels
        ]
    _write_jsonl(folder / "berds" / "perspective_detection.test.jsonl", pairs)


def _questions(part):
    """Three questions for each of the three data sets."""
    topics = part.topics[""]
    return topics[:3], topics[3:6], topics[6:9]


def write_wikipedia(folder):
    """Passages, their Lucene index, and DPR's vectors of them: archives as their publisher's are packed, with their entries."""
    from toolkit.files.texts.documents import corpus_from_docs
    from toolkit.retrieval.index import build_index

    part = datasets.load("berds-mini").part("test")
    asked = {topic.query_id for topics in _questions(part) for topic in topics}
    wanted = sorted({row.doc_id for row in part.qrels[""] if row.query_id in asked and row.relevance > 0})[:PASSAGES]
    passages = [doc for doc in datasets.load("berds-mini").docs("test") if doc.doc_id in wanted]
    docs = [Doc(str(number), doc.title, _short(doc.text)) for number, doc in enumerate(passages, 1)]
    build_index(corpus_from_docs("wikipedia", docs), folder / "lucene")
    (folder / "lucene" / RECORD).unlink()  # Pyserini's have none
    _write_dpr_vectors(docs, folder, folder / "faiss")
    entries = [_pack(folder, "wikipedia-dpr-100w", folder / "lucene"), _pack(folder, DPR_INDEX, folder / "faiss")]
    (folder / "indexes" / "rehearsal.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    table = folder / "ir_datasets" / "dpr-w100" / "docs.tsv.gz"
    table.parent.mkdir(parents=True)
    lines = ["id\ttext\ttitle", *(f'{doc.doc_id}\t"{doc.text}"\t{doc.title}' for doc in docs)]
    table.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def _write_dpr_vectors(docs, folder, index):
    """`index` and `docid`, as Pyserini's FAISS indexes have them."""
    import faiss

    from toolkit.core.templates import doc_input
    from toolkit.models.encoders import load_encoder

    spec = registry.system("dpr-single-nq")
    places = {name: str(folder / "models" / getattr(spec, name)) for name in ("checkpoint", "passage_checkpoint")}
    vectors = load_encoder(replace(spec, **places, revision="")).encode(
        [doc_input(spec.templates, doc) for doc in docs], "passage"
    )
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    index.mkdir()
    faiss.write_index(flat, str(index / "index"))
    (index / "docid").write_text("".join(f"{doc.doc_id}\n" for doc in docs), encoding="utf-8")


def _pack(folder, name, built):
    """The archive of an index under its publisher's name, and the entry with its own digest and size."""
    spec = registry.prebuilt()[name]
    archive = folder / "indexes" / spec.urls[0].rpartition("/")[2]
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(built, archive.name.removesuffix(".tar.gz"))
    shutil.rmtree(built)
    known = {
        "name": spec.name,
        "description": spec.description,
        "kind": spec.kind,
        "corpus": spec.corpus,
        "urls": list(spec.urls),
    }
    digest = hashlib.md5(archive.read_bytes()).hexdigest()
    return {**known, "md5": digest, "size": archive.stat().st_size, "override": True}


def _of_core(topics, core):
    return [topic for topic in topics if topic.group_id == core]


def _documents(docs, wanted, most=DOCUMENTS):
    """Those that are wanted and others up to a number, in the corpus's order, cut short."""
    docs = list(docs)
    others = [doc.doc_id for doc in docs if doc.doc_id not in wanted]
    chosen = wanted | set(others[: max(0, most - len(wanted))])
    return [{"_id": doc.doc_id, "title": doc.title, "text": _short(doc.text)} for doc in docs if doc.doc_id in chosen]


def _short(text):
    """The beginning, to a whole word where there are blanks."""
    return text if len(text) <= LETTERS else text[:LETTERS].rsplit(" ", 1)[0]


def _write_jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _shuffled(names, *seed):
    names = sorted(names)
    random.Random(json.dumps(seed)).shuffle(names)
    return names
