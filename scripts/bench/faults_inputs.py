"""Inputs of every kind, mutated: commands that read them end with a status that the docs give, one line and bounded memory."""

import gzip
import json
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml
from bench_faults import ROOT, Outcome, command, prepared
from endpoint import Script, serving
from faults_endpoint import WHAT
from faults_endpoint import prepare as prepare_judging

MOST_MEMORY = 6 << 30  # bytes at the peak of the process, which has loaded torch and a JVM
QUERIES, DOCS = 12, 30
TOPICS = [f"q{n}" for n in range(QUERIES)]


class Input(NamedTuple):
    """A kind of input.

    share     of the tries
    files     in the workspace, one of which is mutated
    commands  one of which reads it
    mutate    of bytes
    home      whether the files are of TANDEM_HOME
    """

    share: int
    files: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    mutate: Callable[[bytes, random.Random], bytes]


# mutations of bytes

TOKENS = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\t", b" ", b"\n\n", b"\x1b[31m", "\u2028".encode(), b"\xed\xa0\x80"),
    *(
        b"nan",
        b"inf",
        b"-1",
        b"1e999",
        b"9" * 5_000,
        b"0x10",
        b"1_000",
        b"null",
        b'"',
        b"{",
        b"}",
        b"[",
        b":",
        b",",
        b"#",
        b"--- ",
    ),
    *(b"[" * 30_000, b'{"a":' * 30_000, b"x" * 200_000, b"&a [*a, *a]", b"!!python/name:os.system ", b"../../../etc/passwd"),
]


def text(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, or hostile tokens between them, once to three times."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([1, 2, 10, 100, 10_000]))
        kind = rng.choice(["flip", "token", "token", "cut", "double", "end", "shuffle", "field"])
        if kind == "flip" and data:
            place = min(start, len(data) - 1)
            data = data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        elif kind == "token":
            data = data[:start] + rng.choice(TOKENS) + data[start:]
        elif kind == "cut":
            data = data[:start] + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:end] * rng.choice([1, 50]) + data[end:]
        elif kind == "end":
            data = data[:start]
        elif kind == "shuffle":
            lines = data.splitlines(keepends=True)
            rng.shuffle(lines)
            data = b"".join(lines)
        else:  # a field of a line is another one
            lines = data.split(b"\n")
            place = rng.randrange(len(lines))
            fields = lines[place].split(b" ")
            fields[rng.randrange(len(fields))] = rng.choice(TOKENS)
            lines[place] = b" ".join(fields)
            data = b"\n".join(lines)
    return data


VALUES = [
    *("", "../../x", "/etc/passwd", "\x1b[31m", "\0", "\u202e", "x" * 100_000, "9" * 5_000, "nan", "sha256", "2026-13-45"),
    *(None, True, -1, 0, 1.5, 10**30, float("inf"), float("nan"), [], {}, ["a"], [["a"]], {"a": {"b": [1]}}),
]


def structure(read: Callable, write: Callable, data: bytes, rng: random.Random) -> bytes:
    """A value of a YAML or JSON file is another one, gone, or under another key; or its bytes are mutated."""
    if rng.random() < 0.3:
        return text(data, rng)
    content = read(data)
    for _ in range(rng.randint(1, 2)):
        places = [place for place in _places(content) if place]
        if not places:
            break
        *way, last = rng.choice(places)
        holder = content
        for key in way:
            holder = holder[key]
        kind = rng.choice(["value", "value", "gone", "key"])
        if kind == "gone":
            del holder[last]
        elif kind == "key" and isinstance(holder, dict):
            holder[rng.choice(["x", "../y", "\x1b"])] = holder.pop(last)
        else:
            holder[last] = rng.choice(VALUES)
    return write(content)


def _places(value: object, place: tuple = ()) -> list[tuple]:
    found = [place]
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += _places(value[key], (*place, key))
    return found


def _to_yaml(content: object) -> bytes:
    return yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "replace")


as_yaml = partial(structure, yaml.safe_load, _to_yaml)
as_json = partial(structure, json.loads, lambda content: json.dumps(content).encode())


def safetensors(data: bytes, rng: random.Random) -> bytes:
    """The header (a length and JSON) or the bytes behind it."""
    length = int.from_bytes(data[:8], "little")
    kind = rng.choice(["header", "length", "bytes"])
    if kind == "header":
        header = as_json(data[8 : 8 + length], rng)
        return len(header).to_bytes(8, "little") + header + data[8 + length :]
    if kind == "length":
        return rng.choice([0, 1, length - 1, 2**31, 2**63, 2**64 - 1]).to_bytes(8, "little") + data[8:]
    return text(data, rng)


def sqlite(data: bytes, rng: random.Random, folder: Path) -> bytes:
    """The file's bytes, or what its table says."""
    if rng.random() < 0.4:
        return text(data, rng)
    path = folder / "mutated.sqlite"
    path.write_bytes(data)
    with sqlite3.connect(path) as database:
        [columns] = [[row[1] for row in database.execute(f"pragma table_info({TABLE})")]]
        column = rng.choice(columns)
        value = rng.choice([b"", b"\0" * 50, b"{}", b"[" * 30_000, "text", None, 5, 1.5, os.urandom(200), b'{"text": 5}'])
        statement = rng.choice(
            [
                (f"update {TABLE} set {column} = ?", (value,)),
                (f"delete from {TABLE}", ()),
                (f"drop table {TABLE}", ()),
                (f"alter table {TABLE} add column more", ()),
                (f"alter table {TABLE} rename column {column} to other", ()),
                ("pragma user_version = 99", ()),
            ]
        )
        try:
            database.execute(*statement)
            database.commit()
        except sqlite3.Error:
            return text(data, rng)
    database.close()
    return path.read_bytes()


TABLE = "entries"

MODEL = ("--system", "tiny", "--systems", "tiny.yaml")
TINY = "{name: tiny, description: a small model, kind: dense, checkpoint: model, parameters: {pooling: cls, similarity: cos}}"
RUNS = ("run.trec", "run.json", "run.parquet", "run.trec.gz")
JUDGED = ("--qrels", "qrels.txt", "-m", "nDCG@10")
INPUTS: dict[str, Input] = {
    "run": Input(
        500,
        RUNS,
        (
            ("evaluate", "{}", *JUDGED),
            ("diff", "{}", "other.trec", *JUDGED),
            ("runs", "verify", "{}"),
            ("runs", "show", "{}"),
            ("runs", "convert", "{}", "--to", "json", "--output", "made.json"),
            ("fuse", "{}", "other.trec", "--output", "made.trec"),
            ("search", "--topics", "topics.tsv", "--index", "index", "--candidates", "{}", "--output", "made.trec"),
        ),
        text,
    ),
    "qrels": Input(
        250,
        ("qrels.txt",),
        (("evaluate", "run.trec", *JUDGED), ("diff", "run.trec", "other.trec", *JUDGED), ("report", "run.trec", *JUDGED)),
        text,
    ),
    "topics": Input(
        250,
        ("topics.tsv", "topics.trec", "topics.jsonl"),
        (("search", "--topics", "{}", "--index", "index", "--output", "made.trec"),),
        text,
    ),
    "corpus": Input(
        150,
        ("corpus.jsonl", "corpus.tsv", "corpus.trec"),
        (("index", "{}", "--output", "made"), ("encode", "{}", *MODEL, "--output", "made")),
        text,
    ),
    "record of a run": Input(
        250,
        ("run.trec.yaml",),
        (
            ("runs", "verify", "run.trec"),
            ("fuse", "run.trec", "other.trec", "--output", "made.trec"),
            ("evaluate", "run.trec"),
            ("report", "run.trec", *JUDGED),
            ("regress", "add", "run.trec"),
        ),
        as_yaml,
    ),
    "registry entry": Input(
        300,
        (
            "home/registry/systems/mine.yaml",
            "home/registry/benchmarks/mine.yaml",
            "home/registry/regressions/mine.yaml",
            "home/registry/indexes/mine.yaml",
        ),
        (
            *(("systems", "list"), ("systems", "show", "mine"), ("benchmarks", "list"), ("benchmarks", "show", "mine-set")),
            *(("regress", "list"), ("regress", "show", "berds-mini.mine.v2"), ("doctor",), ("index", "list")),
        ),
        as_yaml,
    ),
    "config of a model": Input(
        150,
        ("model/config.json", "model/tokenizer_config.json", "model/tokenizer.json"),
        (("encode", "corpus.jsonl", *MODEL, "--output", "made"), ("systems", "show", "model")),
        as_json,
    ),
    "weights": Input(70, ("model/model.safetensors",), (("encode", "corpus.jsonl", *MODEL, "--output", "made"),), safetensors),
    "vectors": Input(
        80,
        ("vectors/tandem.yaml", "vectors/ids-00000.txt", "vectors/vectors-00000.npy"),
        (
            ("index", "vectors", "--type", "faiss", "--output", "made"),
            ("encode", "corpus.jsonl", *MODEL, "--output", "vectors"),
        ),
        text,
    ),
    "index": Input(
        80,
        ("index/tandem.yaml",),
        (("index", "verify", "index"), ("search", "--topics", "topics.tsv", "--index", "index", "--output", "made.trec")),
        as_yaml,
    ),
    "cache of answers": Input(
        150, ("home/llm/answers.sqlite",), (("judge", *WHAT, "--replay", "--output", "made.txt"), ("cache", "verify")), sqlite
    ),
    "record of a benchmark's copy": Input(
        70,
        ("home/benchmarks/nevir/test.eab99575c01c/kept.yaml",),
        (("benchmarks", "verify", "nevir"), ("cache", "verify"), ("benchmarks", "show", "nevir")),
        as_yaml,
    ),
}


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One mutated file and one command each."""
    whole = prepared(folder, prepare)
    for number in numbers:
        yield outcome(number, random.Random(f"{seed} {number}"), whole, folder / "inputs")


def outcome(number: int, rng: random.Random, whole: Path, folder: Path) -> Outcome:
    kind = rng.choices(list(INPUTS), [each.share for each in INPUTS.values()])[0]
    given = INPUTS[kind]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    name = rng.choice(given.files)
    path = folder / name
    data = path.read_bytes()
    mutate = partial(given.mutate, folder=folder) if given.mutate is sqlite else given.mutate
    packed = name.endswith(".gz") and rng.random() < 0.7
    mutated = gzip.compress(mutate(gzip.decompress(data), rng)) if packed else mutate(data, rng)
    path.write_bytes(mutated)
    words = [name if word == "{}" else word for word in rng.choice(given.commands)]
    home = str(folder / "home")
    done, problems = command(*words, cwd=folder, env={**os.environ, "TANDEM_HOME": home, "OPENAI_BASE_URL": ""})
    if done.returncode in (1, 2) and b"error: " not in done.stderr and words[0] not in SAY_NO and words[1:2] != ["verify"]:
        problems.append(f"status {done.returncode} without a line")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    problems += [f"{memory / 1e9:.1f} GB of memory"] if memory > MOST_MEMORY else []
    outside = sorted({each.name for each in folder.parent.iterdir()} - EXPECTED)
    problems += [f"outside: {outside[0]}"] if outside else []
    ending = {0: "read", 1: "failed in a line", 2: "refused in a line"}.get(done.returncode, "")
    ending = "found by verify" if done.returncode == 1 and "verify" in words else ending
    detail = f"{' '.join(words)}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    return Outcome(number, f"mutated: {kind}", "; ".join(problems) or ending, not problems, detail)


SAY_NO = ("diff", "doctor")  # whose status 1 is an answer
EXPECTED = {"whole", "prepared", "inputs", "home"}


def prepare(folder: Path) -> None:
    """One good file of each kind, made by the commands themselves."""
    prepare_judging(folder)  # topics.jsonl, docs.jsonl, run.trec, mine.yaml
    from tiny import tiny_bert

    home = folder / "home"
    env = {**os.environ, "TANDEM_HOME": str(home)}

    def tandem(*words: object, **changes: str) -> None:
        done, problems = command(*words, cwd=folder, env=env | changes)
        if problems or done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: {problems} {done.stderr.decode()}")

    with serving(Script(lambda messages: "Yes")) as script:
        tandem("judge", *WHAT, "--output", "judged.txt", OPENAI_BASE_URL=script.base)
    documents = [{"id": f"d{n}", "text": f"the {word} of the house number {n}"} for n, word in enumerate(_words(DOCS))]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in documents))
    (folder / "corpus.tsv").write_text("".join(f"{doc['id']}\t{doc['text']}\n" for doc in documents))
    trec = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
    (folder / "corpus.trec").write_text("".join(trec.format(**doc) for doc in documents))
    queries = dict(zip(TOPICS, _words(QUERIES), strict=True))
    (folder / "topics.tsv").write_text("".join(f"{name}\t{query} house\n" for name, query in queries.items()))
    trec = "<top>\n<num> Number: {}\n<title> {}\n<desc> Description:\nall of {}\n</top>\n"
    (folder / "topics.trec").write_text("".join(trec.format(n, query, query) for n, query in enumerate(queries.values())))
    tiny_bert(folder / "model")
    (folder / "tiny.yaml").write_text(TINY)
    tandem("index", "corpus.jsonl", "--output", "index")
    tandem("encode", "corpus.jsonl", *MODEL, "--output", "vectors")
    for name, more in (("run", ()), ("other", ("--k1", "1.5"))):
        tandem("search", "--topics", "topics.tsv", "--index", "index", *more, "--output", f"{name}.trec")
    tandem("search", "--topics", "infosearch-mini-audience", "--output", "mini.trec")
    tandem("runs", "convert", "run.trec", "--to", "json", "--output", "run.json")
    tandem("runs", "convert", "run.trec", "--to", "parquet", "--output", "run.parquet")
    (folder / "run.trec.gz").write_bytes(gzip.compress((folder / "run.trec").read_bytes()))
    (folder / "qrels.txt").write_text("".join(f"{query} 0 d{n} {n % 3 - 1}\n" for query in TOPICS for n in range(0, DOCS, 3)))
    _registry(home / "registry")
    _copy(folder, tandem)


def _words(count: int) -> Sequence[str]:
    return [["cat", "dog", "bird", "query", "passage", "document"][n % 6] for n in range(count)]


def _registry(folder: Path) -> None:
    shipped = ROOT / "toolkit" / "registry"
    [system] = [
        each
        for each in yaml.safe_load((shipped / "systems" / "dense.yaml").read_text())
        if each["name"].startswith("bge-large")
    ]
    benchmark = yaml.safe_load((shipped / "benchmarks" / "nevir.yaml").read_text())
    regression = yaml.safe_load((shipped / "regressions" / "berds-mini.bm25.v2.yaml").read_text())
    index = {"description": "d", "kind": "lucene", "urls": ["http://127.0.0.1:1/x.tar.gz"], "md5": "0" * 32, "size": 17}
    entries = {"systems": system | {"name": "mine"}, "benchmarks": benchmark | {"name": "mine-set"}}
    entries |= {"regressions": regression | {"name": "berds-mini.mine.v2"}, "indexes": index | {"name": "mine"}}
    for kind, entry in entries.items():
        path = folder / kind / "mine.yaml"
        path.parent.mkdir(parents=True)
        path.write_bytes(_to_yaml(entry))


def _copy(folder: Path, tandem: Callable) -> None:
    """A local copy of a benchmark, in its published layout, and what is stored of it."""
    source = folder / "source"
    source.mkdir()
    pairs = [f"{n}-1" for n in range(3)]
    queries = [(f"{pair}_q{n}", f"{pair}_doc{n}", [f"{pair}_doc1", f"{pair}_doc2"]) for pair in pairs for n in (1, 2)]
    tables = {
        "corpus": [{"_id": doc, "title": "", "text": f"text of {doc}"} for _, doc, _ in queries],
        "queries": [{"_id": query, "text": f"question {query}"} for query, _, _ in queries],
        "default": [{"query-id": query, "corpus-id": doc, "score": 1} for query, doc, _ in queries],
        "top_ranked": [{"query-id": query, "corpus-ids": both} for query, _, both in queries],
    }
    for name, rows in tables.items():
        (source / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tandem("benchmarks", "fetch", "nevir", "--from", source)
