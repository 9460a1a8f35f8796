"""The same bytes again: search, evaluate and diff do not depend on threads, the order of lines and files, hashes or locales;
models give the same bytes for the same input, batch size and machine."""

import json
import os
import random
import subprocess
import sys

import pytest

import tandem_ir

pytestmark = [pytest.mark.lucene, pytest.mark.slow]

# Java takes its locale from here even where the system knows no other: Turkish has another lower case of I,
# German and Arabic write numbers in their own way
MODES = ("ori", "ins", "rev")
JAVA = "-Duser.language={} -Duser.country={}"
SURROUNDINGS = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "JAVA_TOOL_OPTIONS": JAVA.format("tr", "TR"), "TZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "77", "LC_ALL": "POSIX", "JAVA_TOOL_OPTIONS": JAVA.format("ar", "EG"), "OMP_NUM_THREADS": "1"},
    {"PYTHONHASHSEED": "random", "LC_ALL": "de_DE.UTF-8", "JAVA_TOOL_OPTIONS": JAVA.format("de", "DE")},
]


COMMANDS = """
import contextlib, io, json, sys
from toolkit.__main__ import main

def printed(words):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    assert not status, words
    return out.buffer.getvalue().decode()

print(json.dumps([printed(words) for words in json.loads(sys.argv[1])]))
"""


def tandem(folder, surroundings, *commands):
    """What each of some commands prints, as bytes: one process runs them all, for it is as much as they to start it."""
    env = {**os.environ, **surroundings, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return [text.encode() for text in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run over several dimensions, as bytes."""
    folder = tmp_path_factory.mktemp("run")
    search = ["search", "--topics", "infosearch-mini", "--output", "-"]
    [lines] = tandem(folder, {"TANDEM_HOME": str(folder)}, search)
    return lines


def test_search_gives_the_same_bytes_whatever_surrounds_it(tmp_path):
    """With BM25 alone, and with RM3."""
    from toolkit.datasets import load
    from toolkit.retrieval.index import build_corpus_index

    found = set()
    for threads, surroundings in zip("1528", SURROUNDINGS, strict=True):
        # with several threads, documents come into the index in another order
        build_corpus_index(load("infosearch-mini"), "language", tmp_path / threads, threads=int(threads))
        search = ["search", "--topics", "infosearch-mini-language", "--index", threads, "--threads", threads, "--output", "-"]
        found.add(tuple(tandem(tmp_path, surroundings, search, [*search, "--rm3"])))
    [(bm25, rm3)] = found
    assert bm25 != rm3
    assert bm25.count(b"\n") > 500
    assert rm3.count(b"\n") > 500


def test_search_gives_the_same_bytes_in_the_same_process_too(tmp_path):

    outputs = {tmp_path / "first": 1, tmp_path / "second": 3, tmp_path / "third": 3}
    for output, threads in outputs.items():
        tandem_ir.search("infosearch-mini-source", output=output, threads=threads)
    assert len({path.read_bytes() for path in outputs}) == 1


def test_evaluate_gives_the_same_bytes_whatever_surrounds_it(tmp_path, run):
    """Lines and files in any order, in one file or in three; as JSON and as a table."""
    lines, found = run.splitlines(keepends=True), set()
    for seed, surroundings in enumerate(SURROUNDINGS):
        shuffled = lines if seed == 0 else random.Random(seed).sample(lines, len(lines))
        files = {"all.trec": shuffled}
        if seed % 2:
            files = {f"{mode}.trec": [line for line in shuffled if b"-%s Q0" % mode.encode() in line] for mode in MODES}
        names = list(files)[::-1]
        for name, its in files.items():
            (tmp_path / name).write_bytes(b"".join(its))
        evaluate = ["evaluate", *names, "--benchmark", "infosearch-mini", "--references", "--by-query", "--format"]
        env = {**surroundings, "ARROW_NUM_THREADS": str(seed + 1)}
        found.add(tuple(tandem(tmp_path, env, [*evaluate, "json"], [*evaluate, "table"])))
    assert len(found) == 1


def shaken(run):
    """The same documents of each query with other scores."""
    generator = random.Random(0)
    rows = [line.split() for line in run.splitlines()]
    return b"".join(b"%s Q0 %s 0 %.6f shaken\n" % (row[0], row[2], generator.random()) for row in rows)


def test_diff_gives_the_same_bytes_whatever_surrounds_it(tmp_path, run):
    """Numbers, markers beside a baseline, and the page."""
    found = set()
    for seed, surroundings in enumerate(SURROUNDINGS):
        for name, its in {"a.trec": run, "b.trec": shaken(run)}.items():
            lines = its.splitlines(keepends=True)
            (tmp_path / name).write_bytes(b"".join(random.Random(seed).sample(lines, len(lines)) if seed else lines))
        threads = str(seed + 1)
        env = {**surroundings, "ARROW_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        runs = ["a.trec", "b.trec", "--benchmark", "infosearch-mini", "-m", "nDCG@10", "WISE"]
        diff = ["diff", *runs, "--format", "json", "--html", "page.html", "--exit-zero"]
        marked = ["evaluate", *runs, "--baseline", "a.trec", "--format", "csv"]
        found.add((*tandem(tmp_path, env, diff, marked), (tmp_path / "page.html").read_bytes()))
    assert len(found) == 1


def test_a_written_run_and_its_compressed_form_hold_the_same_bytes_again(tmp_path, run):
    from toolkit.files.formats import read_run, write_run

    (tmp_path / "run.trec").write_bytes(run)
    for name in ("again.trec", "first.trec.gz", "second.trec.gz", "first.trec.zst", "second.trec.zst"):
        write_run(read_run(tmp_path / "run.trec"), tmp_path / name, decimals=6)
    assert (tmp_path / "again.trec").read_bytes() == run
    for form in ("gz", "zst"):
        first, second = ((tmp_path / f"{name}.trec.{form}").read_bytes() for name in ("first", "second"))
        assert first == second


def test_encode_and_rerank_give_the_same_bytes_whatever_surrounds_them(tmp_path):
    from tiny import tiny_bert

    model = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1)
    what = ["--topics", "infosearch-mini-language-ins", "--system", "all-minilm-l6-v2"]
    rerank = ["--topics", "infosearch-mini-language-ins", "--system", str(model), "--kind", "cross-encoder"]
    vectors, runs, reranked = set(), set(), set()
    for number, surroundings in enumerate(SURROUNDINGS[:2]):
        encoded, run = tmp_path / f"vectors{number}", tmp_path / f"{number}.trec"
        commands = [
            ["encode", "infosearch-mini-language", *what[2:], "--output", str(encoded)],
            ["search", *what, "--threads", str(number + 1), "--output", str(run)],
            ["rerank", "--run", str(run), *rerank, "--output", "-"],
        ]
        reranked.add(tandem(tmp_path, surroundings, *commands)[-1])
        vectors.add((encoded / "vectors-00000.npy").read_bytes())
        runs.add(run.read_bytes())
    assert len(vectors) == len(runs) == len(reranked) == 1
