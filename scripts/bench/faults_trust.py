"""Code that nobody asked for, named by entries, records, builds and checkpoints. It writes a file when it is imported, and no
command may make that file appear before the user has named the object (or the file of an entry), or said that it is trusted.
"""

import hashlib
import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml
from bench_faults import ROOT, Outcome, command, drawn, prepared
from faults_endpoint import prepare as prepare_judging

OBJECT = "python:trap:Trap"
TRAP = """
import os
open(os.environ["TRAPPED"], "w").close()
"""
METHODS = """

class Trap:
    def encode(self, texts, kind):
        return [[1.0 + len(text), 1.0] for text in texts]

    def score(self, pairs):
        return [float(len(document)) for _, document in pairs]

    def rank(self, query, docs):
        return list(range(len(docs)))

    def generate(self, messages):
        return "Yes"
"""
# a checkpoint's own code: what its classes would be does not matter
CODE = {"AutoConfig": "modeling_trap.Config", "AutoTokenizer": ["modeling_trap.Tokenizer", None]}
CODE |= dict.fromkeys(("AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification"), "modeling_trap.Model")
TRUST = {"trust_remote_code": True}
OPTIONS = [TRUST, *({name: TRUST} for name in ("model_kwargs", "tokenizer_kwargs", "config_kwargs", "model_args"))]
OPTIONS += [
    {"model_kwargs": {"config": TRUST}},
    {"model_kwargs": TRUST, "tokenizer_kwargs": TRUST},
    {"kwargs": {"model_kwargs": TRUST}},
]
OPTIONS += [{"model_kwargs": {**TRUST, "code_revision": "main"}}, {"model_kwargs": {"trust_remote_code": "yes"}}]
PARAMETERS = {"dense": {"similarity": "cos", "pooling": "cls"}, "yes-no": {"tokens": ["yes", "no"]}}
OWN = {kind: {"kind": kind, "checkpoint": OBJECT} for kind in ("dense", "cross-encoder", "listwise", "judge", "expander")}
ENTRIES = {f"object, {kind}": entry for kind, entry in OWN.items()}
ENTRIES |= {
    f"code, {folder}, {kind}": {"kind": kind, "checkpoint": f"./{folder}", "parameters": PARAMETERS.get(kind, {}), **more}
    for folder, kind, more in (
        *itertools.product(("code", "modules", "bare"), ("dense", "cross-encoder", "yes-no"), ({}, {"remote_code": True})),
    )
}
ENTRIES |= {
    f"rerankers, {type_name}, {json.dumps(options)}": {
        "kind": "rerankers",
        "parameters": {"type": type_name, "model": "./code", "options": options},
    }
    for type_name, options in itertools.product(("cross-encoder", "t5", "colbert", "upr"), OPTIONS)
}
WHAT = ("--topics", "topics.jsonl", "--docs", "docs.jsonl")
RERANK = ("rerank", "--run", "run.trec", *WHAT, "--output", "out")
EXPERIMENT = ("experiment", "{}", "--benchmarks", "mine", "--output", "made")
# kind -> what runs a system of it; all but these have nothing to run
RUNNING = {
    "dense": (
        ("encode", "docs.jsonl", "--system", "{}", "--output", "out"),
        ("index", "docs.jsonl", "--system", "{}", "--output", "out"),
        ("search", "--topics", "mine", "--system", "{}", "--output", "out"),
        EXPERIMENT,
        ("diversify", "run.trec", *WHAT, "--lam", "0.5", "--system", "{}", "--output", "out"),
    ),
    "judge": (("judge", "run.trec", *WHAT, "--judge", "{}", "--output", "out"),),
    "expander": (("expand", "topics", "--topics", "topics.jsonl", "--from", "{}", "--output", "out"),),
}
RERANKING = (
    (*RERANK, "--system", "{}"),
    ("search", "--topics", "mine", "--system", "bm25", "--rerank", "{}", "--output", "out"),
)
LOOKING = (
    ("systems", "list"),
    ("systems", "show", "{}"),
    ("systems", "explain", "{}", "--topics", "topics.jsonl", "--query", "q0"),
    ("doctor",),
)
# what reads data that name the object: a run's record, a registered run, an index, a build, an archive
DATA = (
    *(("runs", "show", "run.trec"), ("runs", "verify", "run.trec"), ("evaluate", "run.trec", "--qrels", "qrels.txt")),
    *(
        ("report", "run.trec", "--qrels", "qrels.txt", "--output", "out.html"),
        ("fuse", "run.trec", "run.trec", "--output", "out"),
    ),
    *(
        ("regress", "add", "over.trec", "--id", "mine.x.v1"),
        ("cite", "run.trec"),
        ("runs", "convert", "run.trec", "--to", "json"),
    ),
    *(("regress", "list"), ("regress", "show", "berds-mini.trap.v1"), ("regress", "cite", "berds-mini.trap.v1")),
    *(("regress", "run", "berds-mini.trap.v1"), ("reproduce", "--verify", "archive")),
    *(("benchmarks", "check", "mine"), ("benchmarks", "show", "mine"), ("benchmarks", "list"), ("index", "verify", "index")),
    ("search", "--topics", "topics.jsonl", "--index", "index", "--output", "out"),
    ("search", "--topics", "topics.jsonl", "--index", "index", "--dry-run"),
    ("index", "vectors", "--type", "faiss", "--output", "out"),
    ("diff", "run.trec", "over.trec", "--qrels", "qrels.txt"),
    *(("build", word, "build") for word in ("status", "check", "benchmark", "datasheet")),
    *(("build", "run", "build", "--dry-run"), ("rerank", "--run", "run.trec", "--system", "bm25", "--dry-run")),
    (*EXPERIMENT[:1], "bm25", *EXPERIMENT[2:-1], "experiment"),
)


class Try(NamedTuple):
    """A command.

    entry    its name in ENTRIES, or the object; empty where data name it
    place    where the entry stands
    words    with `{}` for its name
    may_run  whether code has to run: the user asked for it
    """

    entry: str
    place: str
    words: tuple[str, ...]
    may_run: bool = False


def _cases() -> Iterator[Try]:
    for (name, entry), place in itertools.product(ENTRIES.items(), ("home", "file", "folder", "like")):
        own, library = entry.get("checkpoint") == OBJECT, entry["kind"] == "rerankers"
        if (place == "folder" and (own or library)) or (place == "like" and library):
            continue
        running = RUNNING.get(entry["kind"], RERANKING)
        looking = (*LOOKING, *((*words[:-2], "--dry-run") for words in running if words[-2] in ("--output",)))
        looking = (*looking, *((*words, "--dry-run") for words in running if words[-2] not in ("--output",)))
        # the file that has an object was named: it may run what it names
        for number, words in enumerate((*looking, *(running if not (own and place == "file") else ()))):
            if not library or number >= len(looking):
                yield Try(name, place, words)
    for words in DATA:
        yield Try("", "data", words)
    for kind, words in itertools.chain(
        ((k, w) for k, all_of in RUNNING.items() for w in all_of), (("cross-encoder", w) for w in RERANKING)
    ):
        yield Try(OBJECT, kind, words, may_run=True)
    yield Try("code, code, dense", "home", (*RUNNING["dense"][0], "--trust-remote-code"), may_run=True)


CASES = list(_cases())


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One command each."""
    whole = prepared(folder, prepare)
    for number, case in drawn(CASES, seed, numbers):
        yield outcome(number, case, whole, folder / "trust")


def outcome(number: int, case: Try, whole: Path, folder: Path) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    named, more = _placed(case, folder)
    words = [named if word == "{}" else word for word in case.words] + more
    forget()
    trapped = folder / "trapped"
    env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "HF_HOME": str(folder / "hf"), "TRAPPED": str(trapped)}
    done, problems = command(*words, cwd=folder, env=env)
    ran = trapped.exists()
    problems += ["code ran"] if ran and not case.may_run else ["the trap does not work"] if case.may_run and not ran else []
    problems += ["no error: line"] if done.returncode == 2 and b"error: " not in done.stderr else []
    ending = "code runs that was named" if ran else ["done without it", "a line", "refused in a line"][min(done.returncode, 2)]
    detail = (
        f"{case.entry or 'data'} in {case.place}: {' '.join(words)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    )
    return Outcome(
        number, f"trust: {case.place if not case.may_run else 'named'}", "; ".join(problems) or ending, not problems, detail
    )


def _placed(case: Try, folder: Path) -> tuple[str, list[str]]:
    """The system's name in the command, and what is said beside it."""
    if case.place == "data" or case.entry == OBJECT:
        return case.entry, []
    entry = {"name": "mine-own", "description": "d", **ENTRIES[case.entry]}
    rows = [entry] if case.place != "like" else [entry, {"name": "like-it", "like": "mine-own", "description": "d"}]
    name = rows[-1]["name"]
    if case.place == "folder":
        path = folder / entry["checkpoint"] / "system.yaml"
        name, rows = entry["checkpoint"], entry
    else:
        path = folder / "mine.yaml" if case.place == "file" else folder / "home" / "registry" / "systems" / "mine.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))  # JSON is YAML
    takes = case.place == "file" and case.words[:1] != ("doctor",)
    return name, ["--systems", "mine.yaml"] if takes else []


def forget() -> None:
    """What the process has imported of the trap, so that it would be imported again."""
    from toolkit.models.checkpoints import own_systems

    own_systems._made.clear()
    own_systems._imported.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("trap", "modeling_trap", "transformers_modules")]:
        del sys.modules[name]


def prepare(folder: Path) -> None:
    """Checkpoints with code, a benchmark, a run and an index whose records name the object, a build, an archive."""
    prepare_judging(folder)
    from own_folders import good
    from tiny import tiny_bert

    (folder / "trap.py").write_text(TRAP + METHODS)
    plain = tiny_bert(folder / "bare", "BertForSequenceClassification", num_labels=1)
    config = json.loads((plain / "config.json").read_text())
    for name in ("code", "modules"):
        shutil.copytree(plain, folder / name)
        (folder / name / "modeling_trap.py").write_text(TRAP)
    (folder / "code" / "config.json").write_text(json.dumps({**config, "auto_map": CODE}))
    for path in (folder / "code" / "tokenizer_config.json",):
        path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": {"AutoTokenizer": CODE["AutoTokenizer"]}}))
    modules = [{"idx": 0, "name": "0", "path": "", "type": "modeling_trap.Module"}]
    (folder / "modules" / "modules.json").write_text(json.dumps(modules))
    good(folder / "mine")
    (folder / "qrels.txt").write_text("q0 0 d0 1\n")
    _named_in_data(folder)


def _named_in_data(folder: Path) -> None:
    """Data that name the object, made with it and copied to where nobody named it."""
    env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "TRAPPED": os.devnull}
    named = ("--system", OBJECT)
    for words in (
        ("encode", "docs.jsonl", *named, "--output", "vectors"),
        ("index", "docs.jsonl", *named, "--output", "index"),
        ("search", "--topics", "topics.jsonl", "--index", "index", *named, "--output", "run.trec"),
        ("search", "--topics", "mine", *named, "--output", "over.trec"),
        ("build", "new", "instructir", "build"),
    ):
        done, problems = command(*words, cwd=folder, env=env)
        if problems or done.returncode:
            raise SystemExit(f"{' '.join(words)}: {problems} {done.stderr.decode()}")
    build = folder / "build" / "build.yaml"
    build.write_text(build.read_text().replace("{system: http:gpt-4o", f'{{system: "{OBJECT}"'))
    registered = (ROOT / "toolkit" / "registry" / "regressions" / "berds-mini.bm25.v2.yaml").read_text()
    entry = yaml.safe_load(
        registered.replace("berds-mini.bm25.v2", "berds-mini.trap.v1").replace("--system bm25", f"--system {OBJECT}")
    )
    entry["system"] = {"name": OBJECT, "parameters": {"hits": 10}}
    path = folder / "home" / "registry" / "regressions" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entry))
    archive = folder / "archive"
    archive.mkdir()
    for name in ("run.trec", "run.trec.yaml", "trap.py"):
        shutil.copyfile(folder / name, archive / name)
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archive.iterdir()}
    (archive / "manifest.json").write_text(json.dumps({"paper": "infosearch", "files": files}))
