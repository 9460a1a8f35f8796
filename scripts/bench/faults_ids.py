"""Ids that look like something else: a comment, a number, a formula, another id. Each stands for a query or for a document of a
small run whose scores are known by hand; whatever reads it counts it, and what is written has it again. A query id that begins
with # is written to no TREC run, where other tools take it for a comment; # alone is no id.
"""

import itertools
import json
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

from bench_faults import Outcome, command, drawn

IDS = ["#1", "##", "#q", "#1.5", "#\u00e9", "#-1", "#" * 40, "q#1", "%1", ";1", "//1", "--1", "-1", "-", "_", "+1"]
IDS += ["1", "007", "7.0", "1e3", "nan", "inf", "None", "null", "True", "Q0", "0", "query_id", "{}", "[1]", '"1"', "'1'", "\\1"]
IDS += ["=1+1", "@x", "<b>", "&amp;", "a/b", "../x", "a,b", "a:b", "a=b", "x" * 1000, "caf\u00e9", "\u4f60\u597d", "\U0001f600"]
IDS += [unicodedata.normalize("NFD", "caf\u00e9"), "\u00a01", "1\u00a0", "\u200b1", "\u202e1", "\u2028x"]
USES = ("evaluate", "evaluate as JSON", "verify", "verify qrels", "convert", "fuse")
CASES = [*itertools.product(IDS, ("query", "document"), USES)]


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One id, as what, and what reads it each."""
    for number, (odd, place, use) in drawn(CASES, seed, numbers):
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        query, document = (odd, "d") if place == "query" else ("q", odd)
        (work / "run.trec").write_text(run_of(query, document), encoding="utf-8")
        (work / "qrels.txt").write_text("".join(f"{each} 0 {document} 1\n" for each in (query, "q2", "q3")), encoding="utf-8")
        done, problems = tried(use, work, query, document)
        ending = "refused in a line" if done.returncode else "counted, and the same again"
        detail = f"{odd!a} as {place}, {use}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
        yield Outcome(number, f"ids: {use}", "; ".join(problems) or ending, not problems, detail)


def run_of(query: str, document: str) -> str:
    """The relevant document is second in the first query, first in the second, not there in the third: RR 0.5 over three."""
    lists = {query: ["other", document], "q2": [document, "other"], "q3": ["other", "third"]}
    rows = [(one, doc, rank) for one, docs in lists.items() for rank, doc in enumerate(docs, 1)]
    return "".join(f"{one} Q0 {doc} {rank} {9 - rank} odd\n" for one, doc, rank in rows)


def tried(use: str, work: Path, query: str, document: str) -> tuple[CompletedProcess, list[str]]:
    """What one command does with it, and what it should not have done."""
    judged = ("evaluate", "--run", "run.json" if "JSON" in use else "run.trec", "--qrels", "qrels.txt", "-m", "RR")
    if use.startswith("evaluate"):
        if "JSON" in use:
            done, problems = command("runs", "convert", "run.trec", "--to", "json", "--output", "run.json", cwd=work)
            if problems or done.returncode:
                return done, problems or ["not converted"]
        done, problems = command(*judged, "--format", "json", cwd=work)
        rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
        right = [(row["value"], row["queries"]) for row in rows] == [(0.5, 3)]
        return done, problems + ([] if right else [f"other numbers: {rows}"])
    if use.startswith("verify"):
        words = ("--qrels", "qrels.txt") if "qrels" in use else ("run.trec",)
        done, problems = command("runs", "verify", *words, cwd=work)
        return done, problems + ([] if b": no problems" in done.stdout else ["called wrong"])
    words = ("runs", "convert", "run.trec", "--to", "json") if use == "convert" else ("fuse", "run.trec", "run.trec")
    name = "out.json" if use == "convert" else "out.trec"
    done, problems = command(*words, "--output", name, cwd=work)
    if use == "fuse" and query.startswith("#"):
        return done, problems + ([] if b"cannot stand in a TREC file" in done.stderr else ["written"])
    if problems or done.returncode:
        return done, problems or [f"status {done.returncode}"]
    text = (work / name).read_text(encoding="utf-8")
    if use == "convert":
        content = json.loads(text)
        found = {one: sorted(docs) for one, docs in content.items()}
    else:
        lines = [line.split(" ") for line in text.split("\n") if line]
        found = {one: sorted(row[2] for row in lines if row[0] == one) for one in dict.fromkeys(row[0] for row in lines)}
    wanted = {query: sorted(["other", document]), "q2": sorted(["other", document]), "q3": ["other", "third"]}
    return done, [] if found == wanted else ["other ids"]
