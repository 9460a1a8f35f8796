"""A scripted OpenAI-compatible server on a free local port, as good or as bad as a test wants it."""

import contextlib
import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
    delay    seconds before each answer
    faults   what goes wrong first, one a request, in this order: a status, (status, headers), (status, headers, body), `close`
             (half an answer, then the connection goes), `silence` (nothing until the test ends), `drip` and `flood` (a byte
             each 50 ms, or as many as fit, for ever), `headers` and `continue` (headers, or `100 Continue`, for ever), or bytes
             sent with status 200
    always   the same for every request, after the faults
    bodies   the requests as they came; `headers` theirs; `most` how many there were at the same time
    """

    def __init__(self, answer=lambda messages: "fine", *, delay=0.0, faults=(), always=None):
        self.answer, self.delay, self.faults, self.always = answer, delay, list(faults), always
        self.bodies, self.headers, self.most, self.now = [], [], 0, 0
        self.lock, self.done = threading.Lock(), threading.Event()
        self.base = ""


@contextmanager
def serving(script):
    """Serve `script`; `script.base` is what OPENAI_BASE_URL has to be."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
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
                script.now += 1
                script.most = max(script.most, script.now)
                fault = script.faults.pop(0) if script.faults else script.always
            time.sleep(script.delay)
            with script.lock:
                script.now -= 1
            if self.path != "/v1/chat/completions":
                fault = 404
            self._fail(fault) if fault else self._answer(script.answer(body["messages"]))

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
