"""HTTP requests that end: a deadline for all of one, however a server drags it out, and no secret in what is said of it."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Any

from toolkit.core.lazy_names import requests
from toolkit.core.terminal import redact_logs, without_secrets

_open = threading.local()  # the thread's deadline


class Deadline:
    """Closes the connections of the thread's requests when the time is up; those of a session of `session` alone.

    urllib3's timeouts begin anew with each byte: dripped headers, or one `100 Continue` after the other, would hold a request
    for ever. What the request then raises is an error of its library; `passed` says that it was this.

    seconds  from the beginning of the block, unless `extend` says otherwise
    """

    def __init__(self, seconds: float):
        self.passed = False
        self.until = time.monotonic() + seconds
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._watcher = _watcher()

    def __enter__(self) -> Deadline:
        _open.deadline = self
        self._watcher.add(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _open.deadline = None
        self._watcher.remove(self)
        with self._lock:
            for each in self._sockets:
                each.close()
            self._sockets.clear()

    def extend(self, seconds: float) -> None:
        """Begin anew: so many seconds from now."""
        self.until = time.monotonic() + seconds
        self._watcher.add(self)

    def watch(self, connected: socket.socket) -> None:
        """Close this connection, too, when the time is up."""
        with self._lock:
            # a copy: the connection itself may be closed meanwhile, and its number be another file's
            self._sockets.append(socket.socket(fileno=os.dup(connected.fileno())))
            if self.passed:
                self._close()

    def end(self) -> None:
        """The time is up."""
        with self._lock:
            self.passed = True
            self._close()

    def _close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):  # the server has closed it already
                each.shutdown(socket.SHUT_RDWR)


class _Watcher:
    """One thread that ends the deadlines of all requests: a thread for each takes longer than much of a request."""

    def __init__(self):
        self._changed = threading.Condition()
        self._deadlines: set[Deadline] = set()
        self._wakes = 0.0  # when the thread looks again by itself
        threading.Thread(target=self._watch, daemon=True).start()

    def add(self, deadline: Deadline) -> None:
        """Watch it, until its time is up or it is removed."""
        with self._changed:
            self._deadlines.add(deadline)
            if deadline.until < self._wakes:
                self._changed.notify()

    def remove(self, deadline: Deadline) -> None:
        """Watch it no more."""
        with self._changed:
            self._deadlines.discard(deadline)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for deadline in [each for each in self._deadlines if each.until <= now]:
                    self._deadlines.remove(deadline)
                    deadline.end()
                self._wakes = min((each.until for each in self._deadlines), default=math.inf)
                self._changed.wait(min(self._wakes - now, threading.TIMEOUT_MAX))


@cache
def _watcher() -> _Watcher:
    return _Watcher()


os.register_at_fork(after_in_child=_watcher.cache_clear)  # threads do not live on in a forked process


def session(connections: int = 10) -> requests.Session:
    """A session whose requests end with the `Deadline` of their thread; it may be shared by threads.

    connections  how many of one server are open at once
    """
    redact_logs()
    made = requests.Session()
    for scheme in ("http://", "https://"):
        made.mount(scheme, _adapter()(pool_maxsize=connections))
    return made


@cache
def _adapter() -> Any:
    """The class of requests' adapters whose connections a deadline can close."""
    from requests.adapters import HTTPAdapter
    from urllib3 import connection, connectionpool

    class Watched:
        """A connection that gives its socket to the thread's deadline, whenever it is used."""

        def connect(self) -> None:
            super().connect()
            self._watch_socket()

        def request(self, *given: Any, **options: Any) -> None:
            if self.sock is not None:  # open since an earlier request
                self._watch_socket()
            super().request(*given, **options)

        def _watch_socket(self) -> None:
            if deadline := getattr(_open, "deadline", None):
                deadline.watch(self.sock)

    plain = type("Connection", (Watched, connection.HTTPConnection), {})
    secure = type("SecureConnection", (Watched, connection.HTTPSConnection), {})
    pools = {
        "http": type("Pool", (connectionpool.HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("SecurePool", (connectionpool.HTTPSConnectionPool,), {"ConnectionCls": secure}),
    }

    class Adapter(HTTPAdapter):
        """requests' adapter over such connections, through proxies too."""

        def init_poolmanager(self, *given: Any, **options: Any) -> None:
            super().init_poolmanager(*given, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *given: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*given, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter


def reason(error: BaseException) -> str:
    """The first cause in one line, without secrets: HTTP libraries explain themselves in long chains."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    text = str(error)
    for sign in ("Connection refused", "Name or service not known", "Temporary failure in name resolution", "timed out"):
        if sign in text:
            return sign.lower()
    return without_secrets(text.partition("\n")[0]) or type(error).__name__
