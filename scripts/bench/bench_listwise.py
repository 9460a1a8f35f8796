"""Listwise reranking over an endpoint that takes 50 ms an answer: 48 queries x 100 passages, 9 windows each.

The server runs in a process of its own. Every round starts with an empty cache, and asks again with the full one;
times are of the reranking alone, prompts, requests and cache included.
"""

import argparse
import json
import multiprocessing
import os
import re
import statistics
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
from timing import Server

from toolkit.core.documents import Doc
from toolkit.core.runs import Run, ScoredDoc
from toolkit.core.system.progress import set_quiet
from toolkit.core.topics import Topic
from toolkit.models.rerankers.listwise_ranker import load_ranker
from toolkit.registry import system
from toolkit.retrieval.rerank.listwise import rerank_listwise

DELAY = 0.05  # seconds an answer
WORDS = 80  # of a passage, on average


class Handler(BaseHTTPRequestHandler):
    """Answers each window in a fixed order of its own, after DELAY."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        count = len(re.findall(r"^\[\d+\] ", messages[-1]["content"], re.MULTILINE))
        order = " > ".join(f"[{number}]" for number in np.random.default_rng(count).permutation(count) + 1)
        choice = {"message": {"role": "assistant", "content": order}, "finish_reason": "stop"}
        body = json.dumps({"model": "bench", "choices": [choice]}).encode()
        time.sleep(DELAY)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve(pipe) -> None:
    server = Server(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


def collection(queries: int, depth: int, seed: int) -> tuple[Run, list[Topic], dict[str, Doc]]:
    """Topics, and a run over documents of their own."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnoprstuvwy"), length)) for length in rng.integers(2, 10, 5000)])
    topics = [Topic(f"q{number}", " ".join(rng.choice(words, 20))) for number in range(queries)]
    rows, texts = [], {}
    for topic in topics:
        for rank in range(depth):
            doc_id = f"{topic.query_id}-d{rank}"
            texts[doc_id] = Doc(doc_id, "", " ".join(rng.choice(words, rng.poisson(WORDS))))
            rows.append(ScoredDoc(topic.query_id, doc_id, float(depth - rank)))
    return Run.from_rows(rows), topics, texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=48)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    set_quiet(True)
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{here.recv()}/v1"
    run, topics, texts = collection(args.queries, args.depth, seed=1)
    spec, seconds = system("rank-zephyr-7b"), {"asked": [], "from the cache": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TANDEM_HOME"] = folder
        for number in range(args.rounds):
            results = []
            for what, times in seconds.items():
                ranker = load_ranker(
                    spec, loader="endpoint", cache=Path(folder, f"{number}.sqlite"), concurrency=args.concurrency
                )
                start = time.perf_counter()
                reranked, report = rerank_listwise(run, topics, texts, spec, ranker, depth=args.depth)
                times.append(time.perf_counter() - start)
                results.append((reranked.to_dict(), report["usage"]["asked"], report["windows"]))
                if number == 0:
                    print(f"{what}: {report['usage']['asked']} of {report['usage']['requests']} windows asked")
            assert results[0][0] == results[1][0]
            assert results[1][1] == 0
    server.terminate()
    print(f"passages shortened in {results[0][2]['shortened']} of {results[0][2]['windows']} windows")
    floor = results[0][1] * DELAY / args.concurrency
    for what, times in seconds.items():
        print(f"{what}: median {statistics.median(times):.2f} s, each {', '.join(f'{t:.2f}' for t in times)}")
    print(f"the server's own time, {args.concurrency} at once: {floor:.2f} s")


if __name__ == "__main__":
    main()
