"""Judging over an endpoint: 1,000 questions, 5 documents and 2 perspectives each, asked once and then replayed from the cache.

The server runs in a process of its own and answers after 5 ms. Of the first attempts a share fails, in turn with 429, 500, half
a JSON body and a refusal. Times are of whole `tandem judge` processes.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from timing import Server

DELAY = 0.005  # seconds an answer
WORDS = ("lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod", "tempor")
REFUSAL = {"role": "assistant", "content": None, "refusal": "no"}
ENTRY = {"name": "bench", "description": "the server of this benchmark", "kind": "judge", "loader": "endpoint"}


class Handler(BaseHTTPRequestHandler):
    """Says yes to every other pair; every 1/share-th pair fails when it is seen first."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        server = self.server
        with server.lock:
            server.requests.value += 1
            first = text not in server.seen
            server.seen.add(text)
            fails = first and server.share and len(server.seen) % round(1 / server.share) == 0
            way = next(server.ways) if fails else None
        time.sleep(DELAY)
        message = {"role": "assistant", "content": "Yes" if len(text) % 2 else "No"}
        choice = {"message": REFUSAL if way == "refusal" else message, "finish_reason": "stop"}
        body = json.dumps({"model": "bench", "choices": [choice]}).encode()
        self.send_response(way if isinstance(way, int) else 200)
        body = body[:20] if way == "half" else body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve(pipe, requests, share: float) -> None:
    server = Server(("127.0.0.1", 0), Handler)
    server.lock, server.requests, server.share = requests.get_lock(), requests, share
    server.seen, server.ways = set(), itertools.cycle((429, 500, "half", "refusal"))
    pipe.send(server.server_port)
    server.serve_forever()


def write_inputs(folder: Path, questions: int, documents: int) -> None:
    """Topics with two perspectives, a run, and texts of 100 words."""
    words = itertools.cycle(WORDS)
    with (
        open(folder / "topics.jsonl", "w") as topics,
        open(folder / "docs.jsonl", "w") as docs,
        open(folder / "run", "w") as run,
    ):
        for n in range(questions):
            row = {"query_id": f"q{n}", "text": f"question {n}?", "perspectives": [f"{n} is good.", f"{n} is not good at all."]}
            topics.write(json.dumps(row) + "\n")
            for d in range(documents):
                text = " ".join(itertools.islice(words, 100))
                docs.write(json.dumps({"id": f"d{n}-{d}", "text": f"{n} {d} {text}"}) + "\n")
                run.write(f"q{n} Q0 d{n}-{d} {d + 1} {documents - d} bench\n")
    (folder / "bench.yaml").write_text(json.dumps({**ENTRY, "parameters": {"model": "bench", "max_tokens": 8}}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=5)
    parser.add_argument("--failing", type=float, default=0.05, help="share of the pairs whose first attempt fails")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    requests = multiprocessing.Value("i", 0)
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there, requests, args.failing), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, args.questions, args.documents)
        env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "OPENAI_BASE_URL": f"http://127.0.0.1:{here.recv()}/v1"}
        what = ["run", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--systems", "bench.yaml", "--judge", "bench"]
        command = [sys.executable, "-m", "toolkit.judge", *what, "--quiet", "--output", "qrels.txt"]
        for label in ("asked", "asked again", *["replayed"] * args.rounds):
            before, start = requests.value, time.perf_counter()
            subprocess.run(command, cwd=folder, env=env, check=True)
            seconds = time.perf_counter() - start
            lines = (folder / "qrels.txt").read_text().splitlines()
            unjudged = sum(line.endswith(" -1") for line in lines)
            asked = requests.value - before
            print(f"{label:<12} {len(lines):,} pairs, {asked:,} requests, {unjudged:,} unjudged, {seconds:.2f} s", flush=True)
    server.terminate()


if __name__ == "__main__":
    main()
