"""A local HTTP server that behaves as badly as asked, for tests of downloads."""

import contextlib
import re
import socketserver
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import NamedTuple


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as a client opens: those that no queue holds are tried again a second later."""

    daemon_threads, request_queue_size = True, 128


class Reply(NamedTuple):
    """What a request is answered with, before ranges; the `ETag` among the headers is the validator of the data."""

    status: int
    data: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})


class Files:
    """What the server gives and how.

    content     path -> bytes
    ranges      answer `Range` requests (with `If-Range`)
    break_at    break the first connection off after so many bytes
    pause_at    send nothing more after so many bytes, until `go_on` is set
    etag        the validator sent; a function of the content where None
    headers     sent with every file
    busy        answer so many requests with 503 first
    requests    what was got: (path, Range header or "")
    """

    def __init__(self, content, *, ranges=True, break_at=None, pause_at=None, etag=None, headers=None, busy=0):
        self.content, self.ranges, self.break_at, self.pause_at = content, ranges, break_at, pause_at
        self.etag, self.headers = etag, headers or {}
        self.busy = busy
        self.requests, self.go_on, self.paused = [], threading.Event(), threading.Event()
        self.base = ""

    def version(self, path):
        return self.etag if self.etag is not None else f'"{hash(self.content[path])}"'

    def reply(self, address, headers):
        """The answer to an address (path and query) with the request's headers."""
        path = address.partition("?")[0]
        if path not in self.content:
            return Reply(404)
        version = self.version(path)
        return Reply(200, self.content[path], {**({"ETag": version} if version else {}), **self.headers})


@contextmanager
def running(server):
    """The address of a server that answers in a thread."""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(files):
    """Serve `files` on a free local port; `files.base` is the address."""
    with running(Server(("127.0.0.1", 0), _handler(files))) as files.base:
        try:
            yield files
        finally:
            files.go_on.set()


def _handler(files):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path, asked = self.path.partition("?")[0], self.headers.get("Range", "")
            files.requests.append((path, asked))
            if files.busy:
                files.busy -= 1
                return self.send_error(503)
            status, data, headers = files.reply(self.path, self.headers)
            start, stop = 0, len(data)
            version = headers.get("ETag")
            fits = self.headers.get("If-Range", version) == version
            if asked and status == 200 and files.ranges and fits:
                start, last = re.fullmatch(r"bytes=(\d+)-(\d*)", asked).groups()
                start, stop = int(start), min(stop, int(last) + 1 if last else stop)
                status = 206 if start < len(data) else 416
                headers = {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
                if status == 416:
                    start, stop, headers = 0, 0, {"Content-Range": f"bytes */{len(data)}"}
            self._begin(status, stop - start, headers)
            self._send(data[start:stop])

        def do_HEAD(self):
            status, data, headers = files.reply(self.path, self.headers)
            self._begin(status, len(data), headers)

        def _begin(self, status, length, headers):
            self.send_response(status)
            for name, value in {"Content-Length": str(length), **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def _send(self, data):
            if files.break_at is not None:
                stop, files.break_at = files.break_at, None
                self.wfile.write(data[:stop])
                self.wfile.flush()
                self.close_connection = True
                return
            if files.pause_at is not None:
                stop, files.pause_at = files.pause_at, None
                self.wfile.write(data[:stop])
                self.wfile.flush()
                files.paused.set()
                files.go_on.wait(60)
                data = data[stop:]
            try:
                self.wfile.write(data)
            except OSError:
                self.close_connection = True

        def log_message(self, *args):
            pass

    return Handler


@contextmanager
def endless(begin, again, pause=0.02):
    """The address of a server that sends `begin` to whoever connects, and then `again` for ever."""
    stop = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.request.recv(1 << 16)
                self.request.sendall(begin)
                while not stop.wait(pause):
                    self.request.sendall(again)

    with running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as address:
        try:
            yield address
        finally:
            stop.set()
