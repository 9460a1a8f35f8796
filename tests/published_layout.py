"""A tiny InfoSearch in the published layout: all six dimensions, two core queries each, two rows a core query."""

import json
from pathlib import Path

REPOSITORIES = {
    "audience": "Audience-v1",
    "keyword": "Clarity-v1",
    "format": "Format-v1",
    "language": "Language-v1",
    "length": "Length-v1",
    "source": "Source-v1",
}
CORES = {"q1": "how do vaccines work", "q2": "why do bridges fall"}
MODES = {"og": "og", "changed": "ch", "reversed": "re"}  # names of the tables, and of the files of candidates
WORDS = {"a": "plain", "b": "expert"}


def rows():
    """(query id, core query, gold document, the other row's gold document), in the published order."""
    for core, text in CORES.items():
        for row in WORDS:
            yield f"{core}_{row}", text, f"{core}-gold-{row}", f"{core}-gold-{'b' if row == 'a' else 'a'}"


def corpus():
    """Four documents a row."""
    for core, text in CORES.items():
        for row, word in WORDS.items():
            yield {"_id": f"{core}-gold-{row}", "title": f"{word} title", "text": f"{text}, {word} answer"}
            for number in (1, 2, 3):
                yield {"_id": f"{core}-other-{row}{number}", "title": "", "text": f"{word} text {number}"}


def queries(dimension):
    for query_id, text, _, _ in rows():
        word = WORDS[query_id[-1]]
        yield {
            "_id": query_id,
            "text": text,
            "instruction_og": "Find documents.",
            "instruction_changed": f"{text} Only {word} pages of {dimension}.",  # begins with the core query
            "instruction_reversed": f"No {word} pages.",
            "note": "a column nobody knows",
        }


def qrels(mode):
    """(query id, document id, score): all three modes list the same pairs."""
    for query_id, _, gold, other in rows():
        labels = {"og": (1, 1), "changed": (1, 0), "reversed": (0, 1)}[mode]
        yield from ((query_id, doc, label) for doc, label in zip((gold, other), labels, strict=True))


def candidates(mode):
    """(query id, text, documents best first): every gold document of the core query."""
    for query_id, text, gold, other in rows():
        yield query_id, text, [other, gold] if mode == "reversed" else [gold, other]


def write_candidates(root, repository, mode, ranked, texts=None):
    """The authors' requests of a dimension and mode, as rows of `candidates`; texts: of the documents, by id."""
    path = Path(root) / "lisewise" / "dimension" / f"{repository.rpartition('/')[2]}_{MODES[mode]}_retrieval_results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    requests = [
        {
            "query": {"text": text, "qid": query_id},
            "candidates": [
                {"docid": doc, "score": 0.9 - rank / 10, "doc": {"content": (texts or {}).get(doc, doc)}}
                for rank, doc in enumerate(docs)
            ],
        }
        for query_id, text, docs in ranked
    ]
    path.write_text(json.dumps(requests), encoding="utf-8")


def write_dimension(folder, dimension):
    """One dimension as JSONL and TSV into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_jsonl(folder / "corpus.jsonl", corpus())
    _write_jsonl(folder / "queries.jsonl", queries(dimension))
    for mode in MODES:
        path = folder / f"qrels_{mode}" / "test.tsv"
        path.parent.mkdir(exist_ok=True)
        lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels(mode))]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_infosearch(root, dimensions=tuple(REPOSITORIES), *, with_candidates=False, owner=""):
    """The published folders (`Audience-v1/`, ...) under `root`; returns it. owner: an owner's folder between."""
    root = Path(root)
    for dimension in dimensions:
        write_dimension(root / owner / REPOSITORIES[dimension], dimension)
        for mode in MODES if with_candidates else ():
            write_candidates(root, REPOSITORIES[dimension], mode, candidates(mode))
    return root


def tables(dimension):
    """The rows of every table of a dimension, by its name."""
    names = ("query-id", "corpus-id", "score")
    labels = {f"qrels_{mode}": [dict(zip(names, row, strict=True)) for row in qrels(mode)] for mode in MODES}
    return {"corpus": list(corpus()), "queries": list(queries(dimension)), **labels}


def _write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
