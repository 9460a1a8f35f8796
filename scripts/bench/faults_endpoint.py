"""Servers of models that misbehave. Chat, embeddings and reranking each end in time, in a line, without the key, and leave
nothing partial. With a server that fails now and then, and a process that is killed, all is there in the end, and nothing that
was answered is asked again but the requests under way when it was killed.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_faults import KEY, Outcome, command
from endpoint import Script, completion
from endpoint import serving as scripted

TIMEOUT = 3  # seconds, as --timeout
PATIENCE = 4 * TIMEOUT  # of the whole command
QUESTIONS = 1
ENTRY = """
name: scripted
description: a server
kind: judge
loader: endpoint
parameters: {model: scripted, prompt_source: somewhere, max_tokens: 8}
templates: {passage: "{text}"}
"""
WHAT = ("run.trec", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--judge", "scripted", "--systems", "mine.yaml")
OPTIONS = ("--retries", "0", "--timeout", TIMEOUT, "--concurrency", "2", "--output", "out.txt")
FINE = json.dumps(completion("Yes")).encode()
SERVED = ("--topics", "topics.jsonl", "--docs", "docs.jsonl", "--timeout", TIMEOUT, "--concurrency", "2")
# what asks a server, and the file that it must not leave behind half
ASKING = {
    "chat": (("judge", *WHAT, *OPTIONS), "out.txt"),
    "embeddings": (("encode", "docs.jsonl", "--system", "http:m", *OPTIONS[:-1], "out.txt"), "out.txt/tandem.yaml"),
    "reranking": (
        ("rerank", "--run", "run.trec", "--system", "http:m", *SERVED, "--retries", "0", "--output", "out.txt"),
        "out.txt",
    ),
}


class Server(socketserver.ThreadingTCPServer):
    """Does with each request what it is told, byte by byte."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, behave: Callable):
        self.behave, self.over, self.requests = behave, threading.Event(), 0
        super().__init__(("127.0.0.1", 0), Connection)


class Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                if not (more := self.request.recv(1 << 16)):
                    return
                data += more
            self.server.requests += 1
            self.server.behave(self.request.sendall, self.server)


@contextmanager
def serving(behave: Callable) -> Iterator[Server]:
    server = Server(behave)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def says(body: bytes, *, status: str = "200 OK", length: int | None = None, headers: str = "") -> Callable:
    """An answer at once."""
    length = len(body) if length is None else length
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    )
    return lambda send, server: send(head.encode() + body)


def drips(data: bytes, then: bytes = b"") -> Callable:
    """A byte at a time; `then` for ever."""

    def behave(send: Callable, server: Server) -> None:
        for byte in data:
            send(bytes([byte]))
            if server.over.wait(0.2):
                return
        while then and not server.over.wait(0.1):
            send(then)

    return behave


def repeats(head: bytes, block: bytes) -> Callable:
    """The same block for ever, as fast as it is taken."""

    def behave(send: Callable, server: Server) -> None:
        send(head)
        while not server.over.is_set():
            send(block)

    return behave


def silent(send: Callable, server: Server) -> None:
    server.over.wait(10 * PATIENCE)


def closes(send: Callable, server: Server) -> None:
    """Without a word."""


def redirects(send: Callable, server: Server) -> None:
    """To itself for ever, under the name of another host."""
    place = f"http://localhost:{server.server_address[1]}/v1/elsewhere"
    send(f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


def body(**changes: object) -> bytes:
    return json.dumps({**completion("Yes"), **changes}).encode()


def choice(**changes: object) -> bytes:
    return body(choices=[{"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop", **changes}])


OK = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
CARELESS = json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode()
NOT_FINITE = {"prompt_tokens": float("nan"), "completion_tokens": float("inf")}
# each with the statuses that may come of it
BEHAVIOURS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "drips its headers": (drips(OK + b"X-Slow: " + b"x" * 500), (1,)),
    "drips its body": (drips(OK + b"\r\n", b" "), (1,)),
    "an endless body": (repeats(OK + b"\r\n", b" " * (1 << 20)), (1,)),
    "an endless body in chunks": (
        repeats(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + b" " * (1 << 20) + b"\r\n"),
        (1,),
    ),
    "100 Continue for ever": (repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (1,)),
    "endless headers": (repeats(OK, b"X-More: " + b"x" * 1_000 + b"\r\n"), (1,)),
    "a header of 10 MB": (says(FINE, headers=f"X-Large: {'x' * 10_000_000}\r\n"), (1,)),
    "silence": (silent, (1,)),
    "closes at once": (closes, (1,)),
    "closes in the body": (says(FINE[:20], length=len(FINE)), (1,)),
    "a length too short": (says(FINE, length=10), (1,)),
    "a length too long": (says(FINE, length=10**12), (1,)),
    "a length below zero": (says(FINE, length=-5), (0, 1)),
    "a length that is no number": (lambda send, server: send(OK + b"Content-Length: many\r\n\r\n" + FINE), (0, 1)),
    "redirects for ever": (redirects, (1,)),
    "redirects to another host": (says(b"", status="302 Found", headers="Location: http://192.0.2.1/v1/x\r\n"), (1,)),
    "redirects to a file": (says(b"", status="302 Found", headers="Location: file:///etc/passwd\r\n"), (1,)),
    "429 for ever": (says(b"{}", status="429 Too Many Requests", headers="Retry-After: 100000\r\n"), (1,)),
    "500": (says(b"<html>no</html>", status="500 Internal Server Error"), (1,)),
    "401 that repeats the key": (says(CARELESS, status="401 Unauthorized"), (1,)),
    "404 with control characters": (says(b"\x1b[2J\x1b]0;taken\x07\x00", status="404 Not\x1b[31m Found"), (1,)),
    "no HTTP": (lambda send, server: send(b"SSH-2.0-OpenSSH_9.6\r\n"), (1,)),
    "no JSON": (says(b"Yes"), (1,)),
    "JSON cut off": (says(FINE[:-20]), (1,)),
    "JSON 200,000 deep": (says(b"[" * 200_000), (1,)),
    "a number of 100,000 digits": (says(b'{"choices": ' + b"9" * 100_000 + b"}"), (1,)),
    "NaN where usage is counted": (says(body(usage=NOT_FINITE)), (0, 1)),
    "choices of another type": (says(body(choices={"0": "Yes"})), (1,)),
    "content of another type": (says(choice(message={"role": "assistant", "content": {"text": ["Yes"]}})), (1,)),
    "no content": (says(choice(message={"role": "assistant"})), (0, 1)),
    "content of 20 MB": (says(choice(message={"role": "assistant", "content": "x" * 20_000_000})), (0, 1)),
    "control characters in the answer": (
        says(choice(message={"role": "assistant", "content": "\x1b[2JYes\x00\ud800"})),
        (0, 1),
    ),
    "bytes that are no UTF-8": (says(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'), (0, 1)),
    "an empty body": (says(b""), (1,)),
}


# answers of a server of vectors that are none, sent to both commands; then answers of a server of scores
ROWS = b'{"data": [%s], "results": [%s]}'
NUMBERS = {
    "NaN": ROWS % (b'{"index": 0, "embedding": [NaN, 1]}', b'{"index": 0, "relevance_score": NaN}'),
    "infinity": ROWS % (b'{"index": 0, "embedding": [1e999, 1]}', b'{"index": 0, "relevance_score": -Infinity}'),
    "numbers as text": ROWS % (b'{"index": 0, "embedding": ["1", "2"]}', b'{"index": 0, "relevance_score": "1"}'),
    "an index out of range": ROWS % (b'{"index": 9, "embedding": [1, 2]}', b'{"index": 9, "relevance_score": 1}'),
    "an index below zero": ROWS % (b'{"index": -1, "embedding": [1, 2]}', b'{"index": -1, "relevance_score": 1}'),
    "no numbers": ROWS % (b'{"index": 0, "embedding": []}', b'{"index": 0}'),
    "a row too many": ROWS % (b'{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}', b'{"index": 0}, {"index": 1}'),
    "other names": b'{"vectors": [[1, 2]], "scores": [1]}',
}
BAD = {("chat", name): found for name, found in BEHAVIOURS.items()}
BAD |= {
    (asked, name): (behave, (1,))
    for asked in ("embeddings", "reranking")
    for name, behave in {
        **{name: one for name, (one, _) in BEHAVIOURS.items()},
        **{n: says(b) for n, b in NUMBERS.items()},
    }.items()
}


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One behaviour each, in an order of the seed; every third try is a server that fails now and then."""
    names = list(BAD)
    random.Random(seed).shuffle(names)
    for number in numbers:
        if number % 3 == 2:
            yield flaky(number, random.Random(f"{seed} {number}"), folder / "flaky")
        else:
            yield outcome(number, names[(number - number // 3) % len(names)], folder / "endpoint")


TEXTS = 300
FAULTS = (
    *(500, 503, (429, {"Retry-After": "1"}), "close", "silence", b"<html>busy</html>", b'{"data": [', b"[]"),
    lambda body: spoilt(body, embedding=[1.0] * 5, relevance_score=float("nan")),
    lambda body: spoilt(body, embedding=[float("nan")] * 8, relevance_score="0.5"),
    lambda body: spoilt(body, index=0),
)


def spoilt(body: dict, **changes: object) -> dict:
    """An answer whose last row is not what it should be."""
    rows = body["data"] if "data" in body else body["results"]
    rows[-1] |= {name: value for name, value in changes.items() if name in rows[-1]}
    return body if len(rows) > 1 or "index" not in changes else body | {"data": None, "results": None}


class Flaky(Script):
    """Fails in one of ten requests, each time in one of `FAULTS`."""

    def __init__(self, chance: random.Random):
        super().__init__()
        self._chance = chance

    @property
    def always(self) -> object:
        return self._chance.choice(FAULTS) if self._chance.random() < 0.1 else None

    @always.setter
    def always(self, value: object) -> None:
        """Set by `Script`."""


def flaky(number: int, chance: random.Random, folder: Path) -> Outcome:
    """`encode` or `rerank` with such a server, killed once in the middle and begun again: all is there, nothing asked twice."""
    shutil.rmtree(folder, ignore_errors=True)
    asked, name = ("embeddings", "encode") if number % 2 else ("reranking", "rerank")
    words = flaky_inputs(folder, name)
    with scripted(Flaky(chance)) as script:
        env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": script.base}
        first = subprocess.Popen(
            [sys.executable, "-m", "toolkit", *map(str, words)], cwd=folder, env=env, stderr=subprocess.DEVNULL
        )
        enough = chance.randrange(1, 2 * TEXTS // 3)
        while first.poll() is None and len(script.answered) < enough:
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
        first.wait()
        before = len(script.answered)
        done, problems = command(*words, cwd=folder, env=env)
    rows = made(folder, name)
    problems += [f"status {done.returncode}"] if done.returncode else []
    problems += [f"{rows} of {TEXTS} results"] if rows != TEXTS else []
    again = len(script.answered) - len(set(script.answered))
    # what was under way when the process was killed, two requests of twenty, was answered to nobody
    problems += [f"{again} inputs were answered twice"] if again > 2 * 20 or (before in (0, TEXTS) and again) else []
    held = [path.name for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    problems += [f"the key is in {held[0]}"] if held else []
    problems += ["no key was sent"] if not any(KEY in str(headers) for headers in script.headers) else []
    detail = f"killed after {before}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    return Outcome(
        number,
        f"flaky {asked}, killed once",
        "; ".join(problems) or "complete; only the 2 requests under way are asked again",
        not problems,
        detail,
    )


def flaky_inputs(folder: Path, name: str) -> tuple:
    """300 documents and a run of one query over them; the command."""
    (folder / "home").mkdir(parents=True)
    numbers = range(TEXTS)
    (folder / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": f"about {n}"}) + "\n" for n in numbers))
    (folder / "topics.tsv").write_text("q1\tcats\n")
    (folder / "run.trec").write_text("".join(f"q1 Q0 d{n} {n + 1} {TEXTS - n} first\n" for n in numbers))
    asking = ("--system", "http:m", "--batch-size", 20, "--concurrency", 2, "--timeout", 1, "--retries", 9, "--output", "out")
    if name == "encode":
        return ("encode", "docs.jsonl", *asking)
    return ("rerank", "--run", "run.trec", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--depth", TEXTS, *asking)


def made(folder: Path, name: str) -> int:
    """How many results there are in the end."""
    if name == "rerank":
        return sum(1 for _ in (folder / "out").open()) if (folder / "out").exists() else 0
    from toolkit.files.formats.vectors import read_vectors_record

    record = read_vectors_record(folder / "out")
    return record["rows"] if record["complete"] else 0


def outcome(number: int, what: tuple[str, str], folder: Path) -> Outcome:
    """A command, a server that behaves in one way."""
    shutil.rmtree(folder, ignore_errors=True)
    prepare(folder)
    (behave, statuses), (asked, name) = BAD[what], what
    words, result = ASKING[asked]
    with serving(behave) as server:
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": base}
        start = time.monotonic()
        done, problems = command(*words, cwd=folder, env=env)
        seconds = time.monotonic() - start
    problems += [f"status {done.returncode}"] if done.returncode not in statuses and not problems else []
    problems += [f"it took {seconds:.0f} s"] if seconds > PATIENCE else []
    problems += ["no error: line"] if done.returncode in (1, 2) and b"error: " not in done.stderr else []
    problems += ["results of a failure"] if done.returncode and (folder / result).exists() else []
    problems += ["nothing was asked"] if not server.requests else []
    held = [path.name for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    problems += [f"the key is in {held[0]}"] if held else []
    left = [path.name for path in folder.iterdir() if path.name.endswith((".part", ".partial"))]
    problems += [f"left behind: {left[0]}"] if left else []
    ending = "answers all the same" if done.returncode == 0 else "a line in time"
    detail = f"{asked}, {name}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    return Outcome(number, f"{asked} misbehaviours", "; ".join(problems) or ending, not problems, detail)


def prepare(folder: Path) -> None:
    """Questions with two perspectives each, a run of one document each, and the judge's entry."""
    (folder / "home").mkdir(parents=True)
    numbers = range(QUESTIONS)
    topics = [{"query_id": f"q{n}", "text": f"question {n}?", "perspectives": [f"yes {n}", f"no {n}"]} for n in numbers]
    (folder / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in topics))
    (folder / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{n}", "text": f"about {n}"}) + "\n" for n in numbers))
    (folder / "run.trec").write_text("".join(f"q{n} Q0 d{n} 1 1.0 first\n" for n in numbers))
    (folder / "mine.yaml").write_text(ENTRY)
