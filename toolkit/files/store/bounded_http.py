"""HTTP requests that end: a deadline for all of one, however a server drags it out, and no secret in what is said of it.

Whom they pass is decided here, too: the environment's proxies, of which a note says what they see, and no netrc's passwords.
"""

from __future__ import annotations

import ipaddress
import math
import os
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import requests
from toolkit.core.system.progress import say
from toolkit.core.system.terminal import redact_logs, without_secrets

SOCKS = ("socks4", "socks4a", "socks5", "socks5h")
HERE = "localhost,127.0.0.1,127.0.0.0/8,::1"  # of these, libraries read one form or the other
_open = threading.local()  # the thread's deadline
_said: dict[str, object] = {}  # a note -> by whom


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
    made.trust_env = False  # no passwords of a netrc; proxies and certificates are looked up by the adapter
    for scheme in ("http://", "https://"):
        made.mount(scheme, _adapter()(pool_maxsize=connections))
    return made


def server_of(url: str) -> str:
    """Scheme, host and port of an address: user, password, path and query may be secrets."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def proxy_of(url: str) -> str:
    """The environment's proxy for a server, with its password; empty where there is none, for the hosts of NO_PROXY, and for
    this machine, whatever that says. ToolkitError for one that is none."""
    proxies = {} if _is_here(urlsplit(url).hostname or "") else requests.utils.get_environ_proxies(url)
    if not (proxy := requests.utils.select_proxy(url, proxies)):
        return ""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    with suppress(ValueError):  # of a port that is none
        scheme, _, server = server_of(proxy).partition("://")
        if server != "None" and scheme in ("http", "https", *(SOCKS if find_spec("socks") else ())):
            return proxy
    hint = "it looks like http://HOST:PORT; socks5h://HOST:PORT needs the package PySocks"
    raise ToolkitError(f"{urlsplit(url).scheme.upper()}_PROXY or ALL_PROXY is no address of a proxy", hint)


def _is_here(host: str) -> bool:
    """Whether a host is this machine: localhost, 127.0.0.0/8 however it is written, ::1, and what stands for all addresses."""
    with suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f".{host.rstrip('.').lower()}".endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def proxies_of(url: str) -> dict[str, str]:
    """`proxy_of` in the form of requests; the first time a note says what the proxy sees."""
    if not (proxy := proxy_of(url)):
        return {}
    seen = "the names of servers alone" if url.startswith("https:") else f"texts and keys: {server_of(url)} has no TLS"
    note, mine = f"note: requests go over the proxy {server_of(proxy)}, which sees {seen}", object()
    if _said.setdefault(note, mine) is mine:  # of threads that begin together, one
        say(note)
    return {"all": proxy}


def settle_libraries(url: str) -> None:
    """The same for a library with a client of its own, which asks this address."""
    os.environ["NETRC"] = os.devnull
    for name in ("no_proxy", "NO_PROXY"):
        if HERE not in (hosts := os.environ.get(name, "")) and hosts != "*":
            os.environ[name] = f"{HERE},{hosts}"
    proxies_of(url)


@cache
def _adapter() -> Any:
    """The class of requests' adapters whose connections a deadline can close, and that know which proxies to use."""
    from requests.adapters import HTTPAdapter

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

    @cache
    def watched(pool: type) -> type:
        """A class of pools with such connections."""
        return type(pool.__name__, (pool,), {"ConnectionCls": type("Connection", (Watched, pool.ConnectionCls), {})})

    class Adapter(HTTPAdapter):
        """requests' adapter over such connections, through proxies too."""

        def init_poolmanager(self, *given: Any, **options: Any) -> None:
            super().init_poolmanager(*given, **options)
            self._watch(self.poolmanager)

        def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
            return self.proxy_manager.get(proxy) or self._watch(super().proxy_manager_for(proxy, **options))

        def _watch(self, manager: Any) -> Any:
            # its own classes: those of a SOCKS proxy are the ones that go over it
            manager.pool_classes_by_scheme = {name: watched(pool) for name, pool in manager.pool_classes_by_scheme.items()}
            return manager

        def send(self, request: Any, **options: Any) -> Any:
            if options.get("verify") is True:
                options["verify"] = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
            return super().send(request, **{**options, "proxies": proxies_of(request.url)})

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
