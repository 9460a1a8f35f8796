"""A tiny FollowIR and mFollowIR in the published layouts: two queries, five documents, all of them candidates of each query."""

import json
from pathlib import Path

REPOSITORIES = {"core17": "Core17InstructionRetrieval", "news21": "News21InstructionRetrieval"}
MULTILINGUAL, CROSS_LINGUAL = "mFollowIR-parquet-mteb", "mFollowIR-cross-lingual-parquet-mteb"
MODES = ("og", "changed")
QUERIES = {"310": "radio waves and brain cancer", "325": "cult lifestyles"}
WORDS = {"fas": "سرطان مغز", "zho": "脑癌与无线电", "rus": "рак мозга"}
DOCS = ("d1", "d2", "d3", "d4", "d5")
# query -> relevance by document; what the changed instruction makes non-relevant
LABELS = {"310": {"d1": 2, "d2": 1, "d3": 0}, "325": {"d3": 1, "d4": 1, "d5": 0}}
LOST = {"310": ["d2"], "325": ["d4"]}
CANDIDATES = ("d2", "d1", "d3", "d5", "d4")


def words(language):
    return WORDS.get(language, "radio")


def tables(suffix="", language="en", queries_in="en"):
    """Every table of a collection, in today's form, as rows."""
    ids = [(base, mode) for mode in MODES for base in QUERIES]
    label = {mode: {base: {doc: 0 if mode == "changed" and doc in LOST[base] else value for doc, value in docs.items()}
                    for base, docs in LABELS.items()} for mode in MODES}  # fmt: skip
    judged = [(f"{base}-{mode}", doc, value) for base, mode in ids for doc, value in label[mode][base].items()]
    found = {
        "corpus": [{"_id": doc, "title": f"title {doc}", "text": f"{words(language)} {doc}"} for doc in DOCS],
        "queries": [{"_id": f"{base}-{mode}", "text": f"{QUERIES[base]} {words(queries_in)}"} for base, mode in ids],
        "instruction": [{"query-id": f"{base}-{mode}", "instruction": f"{mode} narrative of {base}."} for base, mode in ids],
        "default": [{"query-id": query, "corpus-id": doc, "score": float(value)} for query, doc, value in judged],
        "top_ranked": [{"query-id": f"{base}-{mode}", "corpus-ids": list(CANDIDATES)} for base, mode in ids],
        "qrel_diff": [{"query-id": base, "corpus-ids": docs} for base, docs in LOST.items()],
    }
    return {f"{name}{suffix}": rows for name, rows in found.items()}


SPLITS = {"default": "test"}  # the other tables' split has the table's name


def _split(table):
    name = table.partition("-")[0]
    return SPLITS.get(name, name)


def write_tables(folder, found):
    """`<configuration>/<split>.jsonl`."""
    for name, rows in found.items():
        path = Path(folder) / name / f"{_split(name)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return Path(folder)


def parquet_path(table):
    """Where a repository has a table, without the shard's number: the judgments are in `data/`."""
    return f"{'data' if table == 'default' else table}/{_split(table)}"


def write_followir(root, collections=tuple(REPOSITORIES)):
    """The repositories' folders under `root`; returns it."""
    for collection in collections:
        write_tables(Path(root) / REPOSITORIES[collection], tables())
    return Path(root)


def write_mfollowir(root, languages=tuple(WORDS), repository=MULTILINGUAL):
    """One repository's folder under `root` with these languages; returns `root`."""
    for language in languages:
        queries_in = "en" if repository == CROSS_LINGUAL else language
        write_tables(Path(root) / repository, tables(f"-{language}", language, queries_in))
    return Path(root)


def write_former(folder):
    """A collection in the form of the first release."""
    now = tables()
    queries = [
        {
            "_id": base,
            "text": text,
            "instruction_og": f"og narrative of {base}.",
            "instruction_changed": f"changed narrative of {base}.",
            "keywords": f"keywords {base}",
            "short_query": f"short {base}",
        }
        for base, text in QUERIES.items()
    ]
    found = {"corpus": now["corpus"], "queries": queries}
    for mode in MODES:
        rows = [row for row in now["default"] if row["query-id"].endswith(f"-{mode}")]
        found[f"qrels_{mode}"] = [row | {"query-id": row["query-id"].removesuffix(f"-{mode}")} for row in rows]
    found["top_ranked"] = [{"qid": base, "pid": doc} for base in QUERIES for doc in CANDIDATES]
    return write_tables(folder, found)
