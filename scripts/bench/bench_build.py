"""Building a benchmark of kind instructir over an endpoint: asked, replayed from the cache, killed and resumed; its status.

The server is a process of its own that answers each request after 50 ms. Its own time is requests * delay / concurrency: what a
client without any work of its own would take. Times are of whole `tandem build` processes.

    scripts/bench/bench_build.py --seeds 1000 --kills 10
"""

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = ("stone", "river", "paper", "engine", "window", "garden", "metal", "silver", "winter", "copper", "bridge", "candle")
COUNT = re.compile(r"Write (\d+)")
MARK = re.compile(r"\[(\d+)\] .*?<(\w{8})>", re.DOTALL)


def mark(scenario: str) -> str:
    return hashlib.sha256(scenario.encode()).hexdigest()[:8]


def said_in(text: str, ending: str) -> str:
    return text.partition("The reader says:\n")[2].partition(ending)[0].strip()


def answer(text: str) -> str:
    """What a model would answer; all that is asked passes both filters but for one target of 16."""
    if "one whole number from 1 to 5" in text:
        return "2" if mark(text)[0] == "0" else "5"
    if "Which passage serves" in text:
        own = mark(said_in(text, "\n\nPassages:"))
        return next((number for number, known in MARK.findall(text) if known == own), "1")
    if "Rewrite the passage so that" in text:
        passage = text.partition("Passage:\n")[2].partition("\n\nRewrite")[0]
        return f"{passage} <{mark(said_in(text, chr(10) * 2 + 'Passage:'))}>"
    count, key = int(COUNT.search(text)[1]), mark(text)
    return json.dumps([f"Person {key}{number} asks for the {number}. time." for number in range(count)])


class Server(asyncio.Protocol):
    """HTTP/1.1 with connections that stay open, and nothing else."""

    delay, counter = 0.05, None

    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if not found or len(body) < (length := int(re.search(rb"content-length: (\d+)", head.lower())[1])):
            return
        self.data = body[length:]
        self.counter.value += 1
        asyncio.get_running_loop().call_later(self.delay, self.reply, body[:length])

    def reply(self, body):
        text = answer(json.loads(body)["messages"][-1]["content"])
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(text) // 4}
        content = json.dumps({"model": "bench", "choices": [choice], "usage": usage}).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))


def serve(pipe, counter, delay: float) -> None:
    async def run():
        Server.delay, Server.counter = delay, counter
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def bare(port: int, requests: int, concurrency: int) -> float:
    """Seconds of a client that sends the same request again and again and reads no more than the answers' lengths."""
    body = json.dumps({"messages": [{"role": "user", "content": "one whole number from 1 to 5"}]}).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def ask(times: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(times):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head)[1]))
        writer.close()

    started = time.monotonic()
    await asyncio.gather(*(ask(requests // concurrency) for _ in range(concurrency)))
    return time.monotonic() - started


def write_build(folder: Path, seeds: int) -> None:
    """Queries of four words, a document of 60 words each, and the build.yaml that `build new` writes, with these as seeds."""
    chance = random.Random(0)
    folder.mkdir(parents=True)
    with (
        open(folder / "topics.tsv", "w") as topics,
        open(folder / "docs.jsonl", "w") as docs,
        open(folder / "qrels.txt", "w") as qrels,
    ):
        for number in range(seeds):
            topics.write(f"q{number}\tabout {' '.join(chance.choices(WORDS, k=3))} {number}\n")
            docs.write(json.dumps({"id": f"d{number}", "text": " ".join(chance.choices(WORDS, k=60))}) + "\n")
            qrels.write(f"q{number} 0 d{number} 1\n")
    content = {
        "kind": "instructir",
        "seeds": {"topics": "topics.tsv", "docs": "docs.jsonl", "qrels": "qrels.txt"},
        "models": {"writer": {"system": "http:bench", "temperature": 1.0}, "judge": {"system": "http:bench", "temperature": 0}},
        "steps": {"seeds": {"shortest": 10, "longest": 100, "shortest_document": 100, "longest_document": 1000}},
    }
    (folder / "build.yaml").write_text(json.dumps(content))


def build(folder: Path, home: Path, base: str, *arguments: str) -> list[str]:
    """The command, and its environment through `env`."""
    settings = [f"TANDEM_HOME={home}", f"OPENAI_BASE_URL={base}"]
    return ["env", *settings, sys.executable, "-m", "toolkit.build", arguments[0], str(folder), *arguments[1:]]


def timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def bytes_of(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "steps").glob("*.jsonl")}


def killed(folder: Path, home: Path, base: str, kills: int, seconds: float) -> None:
    """Run it with as many kills, at random moments, as asked for; then to its end."""
    chance = random.Random(1)
    for _ in range(kills):
        process = subprocess.Popen(build(folder, home, base, "run"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2 + chance.random() * 2 * seconds / kills)
        process.kill()
        process.wait()
    timed(build(folder, home, base, "run"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="queries that scenarios are written for")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds an answer takes the server")
    parser.add_argument("--concurrency", type=int, default=16, help="requests at the same time")
    parser.add_argument("--kills", type=int, default=0, help="how often the second build is killed")
    parser.add_argument("--items", type=int, default=100_000, help="items whose status is shown")
    args = parser.parse_args()
    pipe, theirs = multiprocessing.Pipe()
    counter = multiprocessing.Value("l", 0)
    server = multiprocessing.Process(target=serve, args=(theirs, counter, args.delay), daemon=True)
    server.start()
    port = pipe.recv()
    base = f"http://127.0.0.1:{port}/v1"
    work = Path(tempfile.mkdtemp(prefix="bench-build-"))
    try:
        measure(args, work, port, base, counter)
    finally:
        server.terminate()
        shutil.rmtree(work, ignore_errors=True)


def measure(args: argparse.Namespace, work: Path, port: int, base: str, counter) -> None:
    sample = 200 * args.concurrency
    alone = asyncio.run(bare(port, sample, args.concurrency)) / sample
    first, home = work / "first", work / "home"
    write_build(first, args.seeds)
    counter.value = 0
    run = ["run", "--concurrency", str(args.concurrency)]
    seconds = timed(build(first, home, base, *run))
    requests = counter.value
    own = requests * args.delay / args.concurrency
    print(f"{args.seeds:,} seeds, {requests:,} requests of {args.delay * 1000:g} ms, {args.concurrency} at a time")
    print(f"server's own time: {own:.1f} s; a bare client: {requests * alone:.1f} s")
    print(f"build run: {seconds:.1f} s, {seconds / own:.2f}x the server's own time", flush=True)
    made = bytes_of(first)
    shutil.rmtree(first / "steps")
    counter.value = 0
    again = timed(build(first, home, "", "run", "--replay"))
    assert bytes_of(first) == made
    print(f"replay: {again:.1f} s for {requests:,} answers, {counter.value} requests, the same bytes", flush=True)
    if args.kills:
        second = work / "second"
        write_build(second, args.seeds)
        killed(second, work / "home2", base, args.kills, seconds)
        assert bytes_of(second) == made
        print(f"killed {args.kills} times: the same bytes, {counter.value - requests:,} requests more")
    large = work / "large"
    write_build(large, args.items)
    timed(build(large, home, base, "run", "seeds"))
    shown = sorted(timed(build(large, home, base, "status")) for _ in range(3))[1]
    print(f"status of {args.items:,} items: {shown:.2f} s")


if __name__ == "__main__":
    os.environ.pop("OPENAI_API_KEY", None)
    main()
