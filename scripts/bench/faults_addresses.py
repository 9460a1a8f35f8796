"""Where texts and keys go: odd addresses, proxies of the environment, `.netrc`. Every name leads to one server here, which
writes down what it is sent: nothing may go to another host than the one named (or its proxy), no key to one that it is not for.
"""

import itertools
import json
import os
import shutil
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from bench_faults import KEY, Outcome, command, drawn, held_in
from endpoint import FORMS
from faults_endpoint import prepare
from serving import Server, running

SECRET = "password-of-an-address"
NETRC, PROXY = "password-of-netrc", "password-of-a-proxy"
ELSEWHERE = "elsewhere"  # the host of OPENAI_BASE_URL where the command names another address
SERVED = ("--topics", "topics.jsonl", "--docs", "docs.jsonl")
ASKING = {
    "encode": ("encode", "docs.jsonl", "--system", "{}"),
    "rerank": ("rerank", "--run", "run.trec", *SERVED, "--system", "{}"),
}
OPTIONS = ("--retries", "0", "--timeout", "3", "--output", "out")
GPU = ("gpu7", 8000)
# what stands behind the `@` -> the host and port that may be reached; without them it is refused, and nothing is reached
PLACES: dict[str, tuple[str, int] | None] = {
    **dict.fromkeys(("http://gpu7:8000/v1", "http://gpu7:8000", "http://gpu7:8000/v1/", "http://gpu7:8000/a/../b//c"), GPU),
    **dict.fromkeys(("gpu7:8000/v1", "gpu7:8000", f"http://user:{SECRET}@gpu7:8000/v1"), GPU),
    **{"gpu7/v1": ("gpu7", 80), "http://gpu7": ("gpu7", 80), "http://gpu7:/v1": ("gpu7", 80), "https://gpu7/v1": ("gpu7", 443)},
    **{"http://gpu7.lab.example:8000/v1": ("gpu7.lab.example", 8000), "https://a.example/v1": ("a.example", 443)},
    **dict.fromkeys(("localhost:8000/v1", "http://localhost:8000/v1"), ("localhost", 8000)),
    **dict.fromkeys(("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"), ("127.0.0.1", 8000)),
    **dict.fromkeys(("[::1]:8000/v1", "http://[::1]:8000/v1"), ("::1", 8000)),
    **{"[fd00::7]:8000/v1": ("fd00::7", 8000), "http://[2001:db8::7]:8000/v1": ("2001:db8::7", 8000)},
    **{"10.1.2.3:8000/v1": ("10.1.2.3", 8000), "http://192.0.2.9:8000/v1": ("192.0.2.9", 8000)},
    **{"http://127.9.9.9:8000/v1": ("127.9.9.9", 8000), "localhost": ("localhost", 80)},
    **{f"http://gpu7:8000/v1?key={SECRET}": GPU, "http://gpu7:8000/v1#part": GPU},
    **{"http://gp\u00fc7:8000/v1": ("xn--gp7-ioa", 8000), "HTTP://gpu7:8000/v1": GPU, "http://GPU7:8000/v1": GPU},
    **{"http://gpu7.:8000/v1": ("gpu7.", 8000), "http://gpu7%2eevil.example:8000/v1": ("gpu7.evil.example", 8000)},
    **{"http://gpu7:8000@evil.example/v1": ("evil.example", 80)},  # a user gpu7 with the password 8000
    # a host whose letters become others: refused, or the host that they become
    **{"http://\uff47pu7:8000/v1": GPU, "http://127\u30020\u30020\u30021:8000/v1": ("127.0.0.1", 8000)},
    **dict.fromkeys(("gpu7", "", " ", "/v1", ":8000", ":8000/v1", "@", "@gpu7:8000", "http:", "http:/", "http://", "https://")),
    **dict.fromkeys(
        ("http:///v1", "http://:8000/v1", "http://@/v1", "http://?x", "http://#x", "://gpu7:8000", "//gpu7:8000/v1")
    ),
    **dict.fromkeys(("http:/gpu7:8000/v1", "http//gpu7:8000/v1", "http:gpu7:8000", "https:gpu7", "htp://gpu7:8000/v1")),
    **dict.fromkeys(("ftp://gpu7:8000/v1", "file:///etc/passwd", "ws://gpu7:8000/v1", "unix:/run/x", "javascript:alert(1)")),
    **dict.fromkeys(("a.example:8000/v1", "a.example/v1", "8.8.8.8:8000/v1", "::1:8000/v1", "[::1", "http://[::1/v1")),
    **dict.fromkeys(("http://[gpu7]:8000/v1", "http://gpu7:99999/v1", "http://gpu7:-1/v1", "http://gpu7:x/v1")),
    **dict.fromkeys(("http://gpu 7:8000/v1", "http://gpu7\n:8000/v1", "http://gpu7\t:8000/v1", "http://gpu7\x00:8000/v1")),
    **dict.fromkeys(("http://gpu7\\@evil.example:8000/v1", "http://\u2100.example/v1", f"user:{SECRET}@gpu7:8000/v1")),
}
PROXIES = {
    "http": "http://proxy:3128",
    "with a password": f"http://me:{PROXY}@proxy:3128",
    "without a scheme": "proxy:3128",
    "socks": "socks5h://proxy:3128",
}
VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
EXCEPTIONS = (None, "", "127.0.0.1", "gpu7", "*")  # of NO_PROXY
TARGETS = {
    "http://127.0.0.1:8000/v1": ("127.0.0.1", 8000),
    "http://localhost:8000/v1": ("localhost", 8000),
    "http://[::1]:8000/v1": ("::1", 8000),
    "http://127.9.9.9:8000/v1": ("127.9.9.9", 8000),
    "http://gpu7:8000/v1": GPU,
    "https://gpu7:8000/v1": GPU,
}


class Try(NamedTuple):
    """address: of the server; named: behind the `@`, else in OPENAI_BASE_URL; settings: of the environment."""

    words: tuple[str, ...]
    address: str
    target: tuple[str, int] | None
    named: bool = True
    settings: tuple[tuple[str, str], ...] = ()


def _of_proxies() -> Iterator[Try]:
    for number, (variable, proxy, (address, target)) in enumerate(
        itertools.product(VARIABLES, PROXIES.values(), TARGETS.items())
    ):
        exception = EXCEPTIONS[number % 5]
        settings = ((variable, proxy), *((("NO_PROXY", exception),) if exception is not None else ()))
        words = ("doctor",) if number % 12 == 7 else ASKING["rerank" if number % 2 else "encode"]
        yield Try(words, address, target, number % 3 > 0, settings)


CASES = [*(Try(words, address, target) for address, target in PLACES.items() for words in ASKING.values()), *_of_proxies()]


class Wire:
    """Every name leads to one server of this process. asked: (host, port) of all connections; sent: what came over them."""

    def __init__(self, server: Server):
        self.asked: list[tuple[str, int]] = []
        self._port = server.server_address[1]
        self._connect = socket.socket.connect

    def resolve(self, host: object, port: object, *given: object, **options: object) -> list[tuple]:
        host = host.decode() if isinstance(host, bytes) else str(host)
        self.asked.append((host.encode("idna").decode() if not host.isascii() else host, int(port or 0)))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", self._port))]

    def connect(self, connected: socket.socket, address: object) -> None:
        if address[1] not in (self._port, self.asked[-1][1] if self.asked else 0):
            self.asked.append(address)  # past the resolver
        self._connect(connected, ("127.0.0.1", self._port))


class Handler(BaseHTTPRequestHandler):
    """Answers texts with vectors and pairs with scores, whatever host was meant."""

    def handle(self) -> None:
        if self.connection.recv(1, socket.MSG_PEEK) != b"\x16":  # no TLS here: who begins with that sees the end
            super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.sent.append(f"{self.requestline}\n{self.headers}{body.decode()}")
        form = next((form for end, form in FORMS.items() if self.path.partition("?")[0].endswith(end)), None)
        answer = json.dumps(form(json.loads(body)) if form else {}).encode()
        self.send_response(200 if form else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_CONNECT(self) -> None:
        self.server.sent.append(f"{self.requestline}\n{self.headers}")
        self.send_error(403)

    do_GET = do_CONNECT

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


@contextmanager
def wired() -> Iterator[tuple[Wire, list[str]]]:
    server = Server(("127.0.0.1", 0), Handler)
    server.sent = []
    with running(server):
        wire = Wire(server)
        plain = lambda connected, address: wire.connect(connected, address)  # noqa: E731  a method of the socket
        with patch("socket.getaddrinfo", wire.resolve), patch("socket.socket.connect", plain):
            yield wire, server.sent


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One command with one address and environment each."""
    for number, case in drawn(CASES, seed, numbers):
        yield outcome(number, case, folder / "addresses")


def outcome(number: int, case: Try, folder: Path) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    prepare(folder)
    (folder / "user").mkdir()
    netrc = folder / "user" / ".netrc"
    netrc.write_text(
        "".join(f"machine {host} login me password {NETRC}\n" for host in ("gpu7", "localhost", "proxy", "127.0.0.1"))
    )
    system = f"http:m@{case.address}" if case.named else "http:m"
    words = [*(system if word == "{}" else word for word in case.words), *(OPTIONS if case.words[0] != "doctor" else ())]
    base = f"http://{ELSEWHERE}:9/v1" if case.named else case.address
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    env = {
        **kept,
        "HOME": str(folder / "user"),
        "NETRC": str(netrc),
        "TANDEM_HOME": str(folder / "home"),
        "OPENAI_BASE_URL": base,
    }
    env |= dict(case.settings)
    with wired() as (wire, sent):
        done, problems = command(*words, cwd=folder, env=env)
    problems += list(leaks(case, set(wire.asked), sent))
    shown = done.stdout + done.stderr
    problems += [f"{secret} is shown" for secret in (SECRET, NETRC, PROXY) if secret.encode() in shown]
    problems += [f"{name} holds {secret}" for secret in (KEY, SECRET, NETRC, PROXY) for name in held_in(folder, secret, netrc)]
    problems += ["no error: line"] if done.returncode in (1, 2) and b"error: " not in shown and words[0] != "doctor" else []
    made = (folder / "out").exists() and bool(wire.asked)
    problems += ["no result, or nobody is asked"] if done.returncode == 0 and words[0] != "doctor" and not made else []
    problems += ["half a result"] if done.returncode == 2 and (folder / "out").exists() else []
    ending = "refused in a line, nobody is asked" if done.returncode == 2 else "nothing goes anywhere else"
    detail = f"{case}: asked {sorted(set(wire.asked))} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    kind = "addresses: proxies and .netrc" if case.settings else "addresses: odd forms"
    return Outcome(number, kind, "; ".join(problems) or ending, not problems, detail)


def leaks(case: Try, asked: set[tuple[str, int]], sent: list[str]) -> Iterator[str]:
    """What went where it should not."""
    target, settings = case.target, dict(case.settings)
    loopback = target and (target[0].startswith("127.") or target[0] in ("::1", "localhost"))
    direct = loopback or not settings or settings.get("NO_PROXY") in ("*", target[0])
    allowed = {target} - {None} | (set() if direct else {("proxy", 3128)})
    for host, port in sorted({(host.casefold(), port) for host, port in asked} - allowed):
        yield f"{host}:{port} is asked"
    for request in sent:
        if KEY in request and (case.named or case.address.startswith("https:")):
            yield "a key is sent to a host that it is not for"
        texts = {NETRC: "the password of .netrc", PROXY: "the password of the proxy"}
        for secret, what in texts.items():
            lines = [line for line in request.splitlines() if secret in line or _basic("me", secret) in line]
            if any(not line.startswith("Proxy-Authorization: ") or secret == NETRC for line in lines):
                yield f"{what} is sent"


def _basic(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()
