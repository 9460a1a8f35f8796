"""Every kind of file that a user gives, made wrong in many ways, through commands that read it: a status, never a traceback."""

import gzip
import os
import pickle
import shutil
from typing import NamedTuple

import cbor2
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import yaml
from command import tandem
from fuzzing import as_json, as_lines, as_yaml, changed_bytes, changed_value
from hypothesis import HealthCheck, settings
from hypothesis import given as given_
from hypothesis import strategies as st

from toolkit.core.system.files import shipped
from toolkit.files.formats.vectors import VectorStore
from toolkit.registry.loader import FOLDER

FUZZ = os.environ.get("FUZZ")  # so many examples of each, drawn anew; without it the same few each time
EXAMPLES = int(FUZZ or "6")
GOOD = {
    "diff": (0, 1),
    "benchmarks": (0, 1),
}  # the status of a command on a good file; 1: there are differences, or nothing is here
STATUSES = (0, 1, 2)  # done; a failure, or differences; wrong input
SCORES = {"7": {"d1": 2.5, "007": 1.5}, "8": {"d1": 0.25}}
ROWS = [(query_id, doc_id, score) for query_id, docs in SCORES.items() for doc_id, score in docs.items()]
TOPICS = {"query_id": "7", "text": "why gears?", "query": "why", "instruction": "gears?", "perspectives": ["good", "bad"]}
BASELINE = "infosearch-mini.bm25.v2.trec.gz"


class Case(NamedTuple):
    """A file that is made wrong, and what reads it.

    content   bytes, or a value and how it is written
    commands  the words of each; F is the file, HERE the folder with the others
    """

    file: str
    content: object
    commands: tuple[str, ...]
    write: object = None


def entry(name):
    return yaml.safe_load((FOLDER / name).read_text())


def columns(delimiter, *names):
    head = [delimiter.join(names)] if len(names) > 3 else []
    rows = (delimiter.join(map(str, row)) for row in (ROWS if len(names) < 4 else [(*row, "t") for row in ROWS]))
    return "".join(f"{line}\n" for line in [*head, *rows]).encode()


def parquet():
    out = pyarrow.BufferOutputStream()
    table = {name: [row[place] for row in ROWS] for place, name in enumerate(("query_id", "doc_id", "score"))}
    pyarrow.parquet.write_table(pyarrow.table(table), out)
    return out.getvalue().to_pybytes()


def lz4(content):
    return memoryview(pyarrow.Codec("lz4").compress(cbor2.dumps(content))).tobytes()


TREC = "".join(f"{q} Q0 {d} {rank} {s} t\n" for rank, (q, d, s) in enumerate(ROWS, 1)).encode()
QRELS = b"7 0 007 1\n8 0 d1 1\n"
SUBTOPICS = b"7 1 007 1\n7 2 d1 0\n8 1 d1 0\n8 2 d1 1\n"
OTHER = {**TOPICS, "query_id": "8", "text": "why wheels?", "instruction": "wheels?", "group_id": "7"}
CORPUS = [{"id": "d1", "text": "one", "title": "t"}, {"_id": "007", "contents": "two"}]
LABELLED = [{"question": "q", "document": "d", "perspective": "p", "label": label} for label in (1,)]
REQUESTS = [
    {"query": {"text": "x", "qid": q}, "candidates": [{"docid": d, "score": s, "doc": {}} for d, s in docs.items()]}
    for q, docs in SCORES.items()
]
SYSTEM = {**next(row for row in entry("systems/dense.yaml") if row.get("recipes")), "name": "mine"}
RECORD = (shipped("runs") / "baselines" / f"{BASELINE}.yaml").read_bytes()

SEARCH = "search --topics HERE/topics.jsonl --index infosearch-mini-audience --dry-run --output HERE/out.trec"
DOCUMENTS = (
    "rerank --run HERE/run.trec --topics HERE/topics.jsonl --docs F --system bge-reranker-v2-m3 --dry-run --output HERE/out",
)
OF_RUNS = (
    "evaluate F --qrels HERE/qrels --by-query -m nDCG@10 AP --format json",
    "diff HERE/run.trec F --qrels HERE/qrels -m P@1",
    "diff F HERE/run.trec --rankings",
    "runs show F",
    "runs verify F",
    "runs convert F --to parquet --output HERE/out.parquet",
    "fuse F HERE/run.trec --output -",
    "analyze coverage F --qrels HERE/subtopics",
)
OF_QRELS = (
    "evaluate HERE/run.trec --qrels F -m nDCG@10 AP Judged@10 Robustness@10",
    "diff HERE/run.trec HERE/other.trec --qrels F -m P@1",
    "runs verify HERE/run.trec --qrels F",
    "analyze order HERE/run.trec HERE/other.trec --qrels F",
)
OF_SUBTOPICS = (
    "evaluate HERE/run.trec --qrels F --by-type --unjudged negative",
    "analyze stance HERE/run.trec --qrels F",
    "analyze coverage HERE/run.trec HERE/other.trec --qrels F",
    "judge --score F --reference HERE/subtopics",
)
OF_TOPICS = (
    "analyze dimensions --topics F --by-query --format csv",
    "systems explain bm25 --topics F --query 7",
    SEARCH.replace("HERE/topics.jsonl", "F"),
)
OF_RECORDS = (
    "evaluate F -m nDCG@10 WISE@20",
    "runs show F",
    "runs verify F",
    "diff F HERE/other.trec --rankings",
    "fuse F HERE/run.trec --output HERE/out.trec",
    "report F --format csv",
    "rerank --run F --system bge-reranker-v2-m3 --dry-run --output HERE/out.trec",
)
OF_SYSTEMS = ("systems show mine --systems F", f"{SEARCH} --system mine --systems F")

CASES = {
    "trec": Case("run", TREC, OF_RUNS),
    "trec in gzip": Case("run.gz", gzip.compress(TREC, mtime=0), OF_RUNS[:1] + OF_RUNS[3:5]),
    "json": Case("run", as_json(SCORES), OF_RUNS),
    "json values": Case("run", SCORES, OF_RUNS, as_json),
    "jsonl": Case("run", [{"query_id": q, "doc_id": d, "score": s} for q, d, s in ROWS], OF_RUNS, as_lines),
    "parquet": Case("run", parquet(), OF_RUNS),
    "csv": Case("run", columns(",", "query_id", "doc_id", "score", "tag"), OF_RUNS),
    "msmarco": Case("run", b"7\td1\t1\n7\t007\t2\n8\td1\t1\n", OF_RUNS),
    "tsv": Case("run", columns("\t", "q", "d", "s"), OF_RUNS),
    "mteb": Case("run", {"mteb_model_meta": {"model_name": "e5"}, "default": {"test": SCORES}}, OF_RUNS, as_json),
    "rank-llm": Case("run", REQUESTS, OF_RUNS, as_json),
    "rank-llm lines": Case("run", REQUESTS, OF_RUNS, as_lines),
    "lz4": Case("run", lz4(SCORES), OF_RUNS),
    "lz4 values": Case("run", SCORES, OF_RUNS, lz4),
    "pickle": Case("run", pickle.dumps(SCORES, 2), OF_RUNS),
    "pickle values": Case("run", SCORES, OF_RUNS, pickle.dumps),
    "qrels": Case("qrels", QRELS, OF_QRELS),
    "beir qrels": Case("qrels", b"query-id\tcorpus-id\tscore\n7\t007\t1\n8\td1\t1\n", OF_QRELS),
    "subtopic qrels": Case("qrels", SUBTOPICS, OF_SUBTOPICS),
    "topics": Case(
        "topics",
        [TOPICS, OTHER],
        (*OF_TOPICS, "analyze diversity --topics F", "expand topics --topics F --from given --output -"),
        as_lines,
    ),
    "trec topics": Case("topics", b"<top>\n<num> Number: 7\n<title> why gears\n<desc> x\n</top>\n\n", OF_TOPICS[1:]),
    "tsv topics": Case("topics", b"qid\ttext\tinstruction\n7\twhy\tgears\n8\tb\t\n", OF_TOPICS),
    "perspectives": Case(
        "perspectives",
        [{"query_id": name, "perspectives": ["a", {"text": "b"}]} for name in "78"],
        ("expand topics --topics HERE/topics.jsonl --from F --output -",),
        as_lines,
    ),
    "corpus": Case("corpus", CORPUS, DOCUMENTS, as_lines),
    "tsv corpus": Case("corpus", b"d1\tone\n007\ttwo\n", DOCUMENTS),
    "trec corpus": Case(
        "corpus", b"<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>one</TEXT>\n</DOC>\n<DOC><DOCNO>007</DOCNO>two</DOC>\n", DOCUMENTS
    ),
    "record": Case(f"{BASELINE}.yaml", yaml.safe_load(RECORD), OF_RECORDS, as_yaml),
    "record bytes": Case(f"{BASELINE}.yaml", RECORD, OF_RECORDS),
    "system": Case("my.yaml", SYSTEM, OF_SYSTEMS, as_yaml),
    "system bytes": Case("my.yaml", as_yaml(SYSTEM), OF_SYSTEMS),
    "stances": Case("stances", b"7\t1\n8\t2\n", ("analyze stance HERE/run.trec --qrels HERE/subtopics --stances F",)),
    "labelled": Case("labelled", LABELLED, ("judge --score F --reference HERE/labelled.jsonl",), as_lines),
    "labelled bytes": Case("labelled", as_lines(LABELLED), ("judge --score F --reference HERE/labelled.jsonl",)),
}
INDEX = {
    "name": "mine",
    "description": "d",
    "kind": "lucene",
    "urls": ["https://example.org/a.tar.gz"],
    "md5": "0" * 32,
    "size": 5,
}
HOMES = {
    "systems": (SYSTEM, ("systems list", "systems show mine", f"{SEARCH} --system mine")),
    "benchmarks": (
        {**entry("benchmarks/nevir.yaml"), "name": "mine"},
        ("benchmarks list", "benchmarks show mine", "benchmarks verify mine"),
    ),
    "regressions": (
        {**entry("regressions/infosearch-mini.bm25.v2.yaml"), "name": "infosearch-mini.bm25.v7"},
        ("regress list", "regress show infosearch-mini.bm25.v7", "regress cite infosearch-mini.bm25.v7"),
    ),
    "indexes": (INDEX, ("index list", "search --topics HERE/topics.jsonl --index mine --dry-run --output HERE/out.trec")),
}


@pytest.mark.parametrize("kind", HOMES)
@pytest.mark.parametrize("form", ["values", "bytes"])
def test_an_entry_of_ones_own_made_wrong_ends_in_a_status(kind, form, here):
    content, commands = HOMES[kind]
    home = here / f"home {kind} {form}"
    path = home / "registry" / kind / "x.yaml"
    path.parent.mkdir(parents=True)
    env = {**os.environ, "TANDEM_HOME": str(home)}
    wrong(path, *((content, as_yaml) if form == "values" else (as_yaml(content), None)), commands, here, env=env)


@pytest.mark.parametrize("file", ["tandem.yaml", "tandem.yaml bytes", "vectors-00000.npy", "ids-00000.txt"])
def test_vectors_made_wrong_end_in_a_status(file, here):
    folder = here / f"vectors {file}"
    store = VectorStore(folder, {"system": "mine", "side": "passage", "dimension": 2})
    store.add(["d1", "007"], np.ones((2, 2), np.float32), "0" * 64)
    store.finish({"corpus": {"name": "c"}})
    path = folder / file.split()[0]
    content, write = (yaml.safe_load(path.read_text()), as_yaml) if file == "tandem.yaml" else (path.read_bytes(), None)
    commands = (
        "index F --type faiss --output HERE/index",
        "diversify HERE/run.trec --lam 0.5 --vectors F --output HERE/out.trec",
    )
    wrong(path, content, write, commands, here, given=folder)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with one good file of each kind."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "run.trec").write_bytes(TREC)
    (folder / "other.trec").write_bytes(TREC.replace(b"2.5", b"0.5"))
    (folder / "qrels").write_bytes(QRELS)
    (folder / "subtopics").write_bytes(SUBTOPICS)
    (folder / "topics.jsonl").write_bytes(as_lines([TOPICS, OTHER]))
    (folder / "labelled.jsonl").write_bytes(as_lines(LABELLED))
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_file_made_wrong_ends_in_a_status(name, here):
    case = CASES[name]
    path = here / f"wrong {name}" / case.file
    path.parent.mkdir()
    if name.startswith("record"):
        shutil.copy(shipped("runs") / "baselines" / BASELINE, path.parent)
    given = path.with_name(BASELINE) if name.startswith("record") else path
    wrong(path, case.content, case.write, case.commands, here, given=given)


def wrong(path, content, write, commands, here, *, given=None, env=None):
    """Run commands on a good file, and then one of them on each of many bad ones.

    write  how a value is written, which is changed as a value; None for bytes
    given  what a command is given as F, where it is not the path
    """

    def run(command):
        words = (str(given or path) if word == "F" else word.replace("HERE", str(here)) for word in command.split())
        return tandem(*words, env=env)

    @settings(
        derandomize="FUZZ" not in os.environ, database=None, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck)
    )
    @given_(st.randoms(use_true_random=False), st.sampled_from(commands))
    def check(random, command):
        path.write_bytes(write(changed_value(random, content)) if write else changed_bytes(random, content))
        done = run(command)
        assert done.returncode in STATUSES, done.stderr
        if done.returncode == 2:
            assert done.stderr.splitlines()[-1].startswith(("hint: ", "error: ")), done.stderr
        assert "\x1b" not in done.stderr

    path.write_bytes(write(content) if write else content)
    for command in commands:  # what is refused as it is shows nothing
        done = run(command)
        assert done.returncode in GOOD.get(command.split()[0], (0,)), (command, done.stderr)
    check()
