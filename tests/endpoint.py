"""A scripted server of chat, embeddings and reranking on a free local port, as good or as bad as a test wants it."""

import contextlib
import hashlib
import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from serving import Server

SHOWN = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


# what never ends: how it begins, what comes again and again, seconds between
ENDLESS = {
    "drip": (b"HTTP/1.1 200 OK\r\n\r\n", b" ", 0.05),
    "flood": (b"HTTP/1.1 200 OK\r\n\r\n", b" " * (1 << 20), 0.0),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b", 0.05),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
}


class Script:
    """What the server answers.

    answer   (messages) -> text, or a whole body (dict), or raw bytes, or ("status", number)
    seeded   whether `answer` is called with the request's seed, too, where it has one
    delay    seconds before each answer
    faults   what goes wrong first, one a request, in this order: a status, (status, headers), (status, headers, body), `close`
             (half an answer, then the connection goes), `silence` (nothing until the test ends), `drip` and `flood` (a byte
             each 50 ms, or as many as fit, for ever), `headers` and `continue` (headers, or `100 Continue`, for ever), or bytes
             sent with status 200
    always   the same for every request, after the faults
    shape    whose answers of reranking it gives where requests do not tell: one of SHAPES
    bodies   the requests as they came; `headers` and `paths` theirs; `most` how many there were at the same time
    answered texts and (query, document) pairs that were answered well, as often as they were
    """

    def __init__(self, answer=lambda messages: "fine", *, seeded=False, delay=0.0, faults=(), always=None, shape=""):
        self.shape, self.seeded = shape, seeded
        self.answer, self.delay, self.faults, self.always = answer, delay, list(faults), always
        self.bodies, self.headers, self.paths, self.answered, self.most, self.now = [], [], [], [], 0, 0
        self.lock, self.done = threading.Lock(), threading.Event()
        self.base = ""


@contextmanager
def serving(script):
    """Serve `script`; `script.base` is what OPENAI_BASE_URL has to be."""
    server = Server(("127.0.0.1", 0), _handler(script))
    script.base = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield script
    finally:
        script.done.set()
        server.shutdown()
        server.server_close()


def completion(text, *, finish="stop"):
    """The body of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"object": "chat.completion", "model": "scripted-2026", "choices": [choice], "usage": usage}


def vector(text, dimension=8):
    """A vector of small whole numbers that only the text decides."""
    digest = hashlib.sha256(text.encode()).digest()
    return [float(byte % 16 - 8) for byte in digest[:dimension]]


def worth(query, document):
    """A score that only the pair decides."""
    return hashlib.sha256(f"{query}|{document}".encode()).digest()[0] / 256


def asked(body):
    """The texts of a request for vectors, or the (query, document) pairs of one for scores."""
    texts = next(body[name] for name in ("input", "texts", "documents") if name in body)
    texts = [text["text"] if isinstance(text, dict) else text for text in texts]
    if "queries" in body:
        return list(zip(body["queries"], texts, strict=True))
    return [(body["query"], text) for text in texts] if "query" in body else texts


def embeddings(body):
    """The body of an answer of `/embeddings`, its rows in another order than the texts."""
    length = body.get("dimensions") or body.get("output_dimension") or 8
    rows = [{"object": "embedding", "index": n, "embedding": vector(text, length)} for n, text in enumerate(asked(body))]
    return {"object": "list", "model": "scripted-2026", "data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}


def cohere_embeddings(body):
    """The same of Cohere's `/embed`."""
    rows = [vector(text, body.get("output_dimension", 8)) for text in asked(body)]
    return {"id": "x", "embeddings": {"float": rows}, "meta": {"billed_units": {"input_tokens": 7}}}


def scores(body):
    """The body of an answer of `/rerank`, best first: TEI's for `texts`, Voyage's for `truncation`, else vLLM's."""
    value = "score" if "texts" in body else "relevance_score"
    rows = [{"index": n, value: worth(*pair)} for n, pair in enumerate(asked(body))]
    rows.sort(key=lambda row: -row[value])
    if "texts" in body:
        return rows
    return {"model": "scripted-2026", "data" if "truncation" in body else "results": rows, "usage": {"total_tokens": 9}}


FORMS = {
    "/embeddings": embeddings,
    "/embed": cohere_embeddings,
    **dict.fromkeys(("/rerank", "/reranks", "/inference/m"), scores),
}
SHAPES = {
    "": lambda answer: answer,
    "sglang": lambda answer: [{"index": row["index"], "score": row["relevance_score"]} for row in answer["results"]],
    "deepinfra": lambda answer: {
        "scores": [row["relevance_score"] for row in sorted(answer["results"], key=lambda row: row["index"])],
        "input_tokens": 9,
    },
}


def shown(messages):
    """{number: passage} of a listwise prompt, single turn or dialogue."""
    return {
        int(number): text
        for message in messages
        if message["role"] == "user"
        for number, text in SHOWN.findall(message["content"])
    }


def oracle(messages):
    """The right order: passages end in their worth, `... worth 17`; more is better."""
    worth = {number: int(re.search(r"worth (\d+)", text)[1]) for number, text in shown(messages).items()}
    return " > ".join(f"[{number}]" for number in sorted(worth, key=lambda number: -worth[number]))


def _handler(script):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with script.lock:
                script.bodies.append(body)
                script.headers.append(dict(self.headers))
                script.paths.append(self.path)
                script.now += 1
                script.most = max(script.most, script.now)
                fault = script.faults.pop(0) if script.faults else script.always
            time.sleep(script.delay)
            with script.lock:
                script.now -= 1
            if self.path == "/v1/chat/completions":
                seed = {"seed": body["seed"]} if script.seeded and "seed" in body else {}
                return self._fail(fault) if fault else self._answer(script.answer(body["messages"], **seed))
            if not (form := next((form for end, form in FORMS.items() if self.path.endswith(end)), None)):
                return self._fail(404)
            if isinstance(fault, dict):
                answer = form(body) | fault
            elif callable(fault):
                answer = fault(form(body))
            elif fault:
                return self._fail(fault)
            else:
                answer = SHAPES[script.shape](form(body))
                with script.lock:
                    script.answered += asked(body)
            self._send(200, json.dumps(answer).encode())

        def _answer(self, answer):
            if isinstance(answer, tuple):
                return self._fail(answer[1])
            if isinstance(answer, bytes):
                return self._send(200, answer)
            return self._send(200, json.dumps(completion(answer) if isinstance(answer, str) else answer).encode())

        def _fail(self, fault):
            # a careless server tells what it was sent, the key too
            careless = {"error": {"message": f"scripted failure for {self.headers.get('Authorization', 'nobody')}"}}
            given = fault if isinstance(fault, tuple) else (fault,)
            status, headers, body = (*given, *({}, careless)[len(given) - 1 :])
            if isinstance(status, bytes):
                self._send(200, status)
            elif status == "silence":
                script.done.wait(60)
                self.close_connection = True
            elif status in ENDLESS:
                self._go_on(*ENDLESS[status])
            elif status == "close":
                data = json.dumps(completion("fine")).encode()
                self._send(200, data[: len(data) // 2], length=len(data))
                self.close_connection = True
            else:
                self._send(status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)

        def _go_on(self, begin, data, pause):
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.wfile.write(begin)
                while not script.done.wait(pause):
                    self.wfile.write(data)

        def _send(self, status, data, headers=None, length=None):
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(length or len(data)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()
            except OSError:
                self.close_connection = True

        def log_message(self, *args):
            pass

    return Handler
