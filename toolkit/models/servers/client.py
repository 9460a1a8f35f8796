"""Requests to a model's server: its address and key, retries, timeouts, how many at once. Nothing that it sends is trusted."""

from __future__ import annotations

import base64
import functools
import io
import os
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import ServerSpec
from toolkit.core.system.lazy_names import requests
from toolkit.core.system.progress import say
from toolkit.core.system.yaml_json import decode_json
from toolkit.files.store.bounded_http import Deadline, reason, server_of, session

Task = TypeVar("Task")
Result = TypeVar("Result")

OPENAI = "https://api.openai.com/v1"  # where a key alone leads
OPENAI_KEY = "OPENAI_API_KEY"
BUSY = (408, 409, 425, 429)  # worth another try, as is everything from 500 on

BACKOFF, LONGEST = 0.5, 60.0  # seconds before the first retry, doubled each time; the longest pause
CONNECT = 10.0  # seconds to reach a server
PATIENCE = 300.0  # seconds that a server may ask us to wait (Retry-After)
MANY = 3  # failures in a row, times the requests at the same time, after which a server is taken to be down
SHOWN = 200  # characters of a server's message, and of the name it gives its model
MOST = 1 << 24  # bytes of an answer: a server that sends more is none of chat completions
BLOCK = 1 << 16  # bytes read at once
COUNTED = 1 << 48  # tokens from which on a count is nonsense
MOST_RETRIES, LONGEST_TIMEOUT = 1000, 7 * 24 * 3600  # seconds
MOST_REQUESTS = 1024  # requests at the same time: each has a thread and a connection


class Unanswered(ToolkitError):
    """One request gets no answer; others may."""


class TooLarge(Unanswered):
    """One request is too large for the server (status 413); parts of it may not be."""


class Again(Exception):
    """An attempt failed in a way that may pass. after: seconds that the server asks to wait."""

    def __init__(self, reason: str, after: float = 0.0):
        super().__init__(reason)
        self.after = after


def check_requests(*, concurrency: int = 1, retries: int = 0, timeout: float = 1.0) -> None:
    """Raise ToolkitError for numbers without meaning."""
    if not 1 <= concurrency <= MOST_REQUESTS:
        raise ToolkitError(f"concurrency is {concurrency}", f"a whole number from 1 to {MOST_REQUESTS}")
    if not (0 <= retries <= MOST_RETRIES and 0 < timeout <= LONGEST_TIMEOUT):
        hint = f"from 0 to {MOST_RETRIES}, and more than 0 and no more than a week"
        raise ToolkitError(f"retries is {retries}, timeout is {timeout:g} seconds", hint)


class Client:
    """One server.

    model        what is asked there, for messages
    server       its address and the variable of its key, as an entry has them
    home, key    the address where the entry has none (OPENAI_BASE_URL where this is empty), and the variable of its key, which
                 goes nowhere else: an address of an entry gets the key of the variable that the entry names, and none where
                 it names none. Without any key, `user:password@` of the address is sent
    headers      sent with every request; `authorization` is the name of the header with the key, and what stands before it
    concurrency  requests at the same time
    retries      how often a request is repeated after 408, 409, 425, 429, 5xx, a broken connection, silence, or an answer that
                 is not of the expected form; pauses grow exponentially, with jitter, and are never shorter than Retry-After
    timeout      seconds for one attempt, from the connection to the end of the answer

    Raises ToolkitError for numbers without meaning.
    """

    def __init__(
        self,
        model: str,
        server: ServerSpec | None = None,
        *,
        home: str = "",
        key: str = OPENAI_KEY,
        headers: Mapping[str, str] | None = None,
        authorization: tuple[str, str] = ("Authorization", "Bearer "),
        concurrency: int = 16,
        retries: int = 6,
        timeout: float = 600.0,
    ):
        check_requests(concurrency=concurrency, retries=retries, timeout=timeout)
        self.model, self.server, self.home = model, server or {}, home
        # the variable that holds the key; empty where none is sent
        self.key_name = self.server.get("key") or ("" if self.server.get("base_url") else key)
        self.headers, self.authorization = dict(headers or {}), authorization
        self.concurrency, self.retries, self.timeout = concurrency, retries, timeout
        self._shared: requests.Session | None = None
        self._warned = False

    def address(self) -> str:
        """Where requests go; ToolkitError where nothing says so."""
        named, key = self.server.get("base_url"), self._key()
        url = named or self.home or os.environ.get("OPENAI_BASE_URL") or (OPENAI if key else "")
        if not url:
            hint = "set OPENAI_BASE_URL to the server's address (http://localhost:8000/v1), OPENAI_API_KEY if it needs a key"
            raise ToolkitError(f"no server for {self.model}", hint)
        if not is_address(url):
            raise _no_address(named)
        if not key and (self.server.get("key") or self.key_name not in ("", OPENAI_KEY)):
            raise ToolkitError(f"{self.model} needs the key {self.key_name}, which is not set", f"export {self.key_name}=...")
        if not (key.isascii() and key.isprintable() and " " not in key):  # libraries would quote it in their errors
            raise ToolkitError(f"{self.key_name} is no key: it has blanks or characters beyond ASCII", "set it again")
        return url.rstrip("/")

    def each(
        self,
        tasks: Sequence[Task],
        ask: Callable[[str, Task, threading.Event], Result],
        tolerate: Callable[[ToolkitError], Result | None] = lambda error: None,
    ) -> Iterator[tuple[int, Result]]:
        """(position, result) as they come. Where one fails for good, no new ones are asked; those under way still come.

        A task is under way until the caller comes for the next result: of a process that is killed, no more than `concurrency`
        of them are lost, and what the caller has not written yet. `ask` stops waiting when its event is set; `tolerate` gives
        what stands for the result of a task that failed so, None to end it all.
        """
        from multiprocessing.pool import ThreadPool  # its threads do not outlive an interrupted process

        stop, failures, under_way = threading.Event(), [], threading.Semaphore(self.concurrency)
        url = self.address()
        self._session()

        def attempt(numbered: tuple[int, Task]) -> tuple[int, Result | None]:
            position, task = numbered
            under_way.acquire()
            try:
                return position, None if stop.is_set() else ask(url, task, stop)
            except ToolkitError as error:
                if (result := tolerate(error)) is not None:
                    return position, result
                failures.append(error)
                stop.set()
                return position, None

        try:
            with ThreadPool(min(self.concurrency, len(tasks))) as pool:
                for position, result in pool.imap_unordered(attempt, enumerate(tasks)):
                    if result is not None:
                        yield position, result
                    under_way.release()
        finally:
            stop.set()
            under_way.release(self.concurrency)  # of threads that wait although the caller has stopped
        if failures:
            raise failures[0]

    def ask(
        self,
        url: str,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Any, int], Result],
        stop: threading.Event,
        *,
        what: str,
        most: int | None = None,
    ) -> Result:
        """What `read` makes of the JSON of the answer to one request, and the retries so far; repeated while that may help.

        `read` raises ValueError, LookupError, TypeError or AttributeError for another form than `what`; `most` is bytes.
        """
        for tried in range(self.retries + 1):
            try:
                content = self._post(f"{url}/{path}", body, MOST if most is None else most)
                try:
                    return read(decode(content), tried)
                except (ValueError, LookupError, AttributeError, TypeError, OverflowError):
                    raise Again(f"the answer is no {what}") from None
            except Again as error:
                why, after = str(error), error.after
            if after > PATIENCE:
                raise refused(url, f"it asks to wait {after:.0f} seconds ({why})", "run again then: answers are cached")
            if tried == 1 and not self._warned:
                self._warned = True
                say(f"{server_of(url)}: {why}; trying again")
            # the wait ends early where another request has failed for good
            if tried == self.retries or stop.wait(pause(tried, after)):
                break
        raise unanswered(url, f"no answer in {tried + 1} attempts: {why}", "check the server and run again: answers are cached")

    def clean(self, text: str, url: str) -> str:
        """A text that any file can hold: half a surrogate pair fits into none, a key that is sent back belongs into none."""
        return self._without_secrets(text.encode("utf-8", "replace").decode(), url)

    def warn_of_secrets(self, text: str, url: str) -> None:
        """Say, once for each server, that an answer quotes what the server was sent to trust us."""
        if self._without_secrets(text, url) != text:
            _say_quoted(server_of(url), self.key_name)

    def name_of_model(self, body: Any, url: str) -> str:
        """What the server says answered; empty where it does not say."""
        name = body.get("model") if isinstance(body, dict) else None
        return self.clean(name, url)[:SHOWN] if isinstance(name, str) else ""

    def _key(self) -> str:
        return os.environ.get(self.key_name, "").strip() if self.key_name else ""

    def _session(self) -> requests.Session:
        """Connections shared by threads and calls."""
        self._shared = self._shared or session(self.concurrency)
        return self._shared

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """The key as a header, put there at the last moment: no session, no settings and no log hold it."""
        name, before = self.authorization
        if key := self._key():
            request.headers[name] = f"{before}{key}"
        elif password := _password(request.url):
            request.headers["Authorization"] = f"Basic {password[0]}"
        return request

    def _without_secrets(self, text: str, url: str) -> str:
        """The text without what the server was sent to trust us; a short key (`x`) is not looked for in words."""
        for secret in filter(None, (self._key(),) if self._key() else _password(url) or ()):
            text = re.sub(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", "***", text)
        return text

    def _post(self, url: str, body: Mapping[str, Any], most: int) -> io.BytesIO:
        """The body of the server's answer of status 200. `Again` for what may pass, ToolkitError for what will not. All errors
        are raised `from None`: the request that the library's exceptions hold has the key in its headers."""
        from urllib3.exceptions import HTTPError, LocationParseError, ReadTimeoutError

        timeout = self.timeout
        how = {"timeout": (min(CONNECT, timeout), timeout), "auth": self._authorize, "allow_redirects": False, "stream": True}
        how |= {"headers": self.headers} if self.headers else {}
        place = "check the entry's base_url" if self.server.get("base_url") else "check OPENAI_BASE_URL"
        try:
            with Deadline(timeout) as deadline, self._session().post(url, json=body, **how) as response:
                content = _content(response, url, most, place)
                if deadline.passed:  # a body without a length seems to end where its connection does
                    raise requests.ReadTimeout
        except (requests.exceptions.InvalidURL, LocationParseError):  # a host that cannot be one
            raise _no_address(self.server.get("base_url")) from None
        except (requests.exceptions.RequestException, HTTPError, OSError) as error:
            if deadline.passed or isinstance(error, requests.exceptions.ReadTimeout | ReadTimeoutError):
                raise Again(f"no answer within {timeout:g} seconds") from None
            if isinstance(error, requests.exceptions.SSLError):
                raise refused(url, "its certificate cannot be trusted", place) from None
            raise Again(reason(error)) from None
        status = response.status_code
        if status == 200:
            return content
        if status in (401, 403):  # what the server says may quote the key
            raise refused(url, *self._wrong_key(status))
        why = f"status {status}, {self._message(content, response.reason, url)}"
        if (status in BUSY or status >= 500) and b"insufficient_quota" not in content.getvalue():
            raise Again(why, _retry_after(response))
        if 300 <= status < 400 or status in (404, 405):
            raise refused(url, why, f"{place} (for most servers it ends in /v1) and the model's name")
        hint = "the server refuses the request itself: check the system's model and parameters"
        raise (TooLarge if status == 413 else Unanswered)(f"{server_of(url)}: {why}", hint, status=1)

    def _wrong_key(self, status: int) -> tuple[str, str]:
        if self.key_name:
            return f"the key is refused (status {status})", f"check {self.key_name}"
        hint = "name the variable of this server's key in its entry (server: key)"
        return f"it needs a key (status {status}), and none is named", f"OPENAI_API_KEY is sent to OPENAI_BASE_URL only: {hint}"

    def _message(self, content: io.BytesIO, status: str, url: str) -> str:
        """What the server says is wrong, in one line and without the key; the status in words where it says nothing."""
        try:
            body = decode(content)
            error = body.get("error") or body.get("message") or body.get("detail") or body
            text = error if isinstance(error, str) else error["message"]
        except (ValueError, LookupError, AttributeError, TypeError):
            text = status
        return self._without_secrets(" ".join(str(text).split()), url)[:SHOWN]


def pause(tried: int, after: float) -> float:
    """Seconds to wait after attempt `tried` (from 0): doubled each time, with jitter, and at least what the server asks for."""
    return max(min(BACKOFF * 2**tried, LONGEST) * random.uniform(0.5, 1), after)


def is_address(url: str) -> bool:
    """Whether requests can go there: http or https, a host, and neither query nor fragment, behind which no path can stand."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        return bool(known and not parts.query and not parts.fragment)
    except ValueError:  # a port that is no number
        return False


def count_of(tokens: Any) -> int:
    """Tokens as a server counts them; 0 where it does not say."""
    return tokens if type(tokens) is int and 0 <= tokens < COUNTED else 0


def decode(content: io.BytesIO) -> Any:
    """What a body says; a byte that is no UTF-8 becomes U+FFFD. ValueError where it is no JSON."""
    return decode_json(content.getvalue().decode("utf-8-sig", "replace"), finite=False, halves=True)


def refused(url: str, why: str, hint: str) -> ToolkitError:
    """The error of a server that will refuse every request."""
    return ToolkitError(f"{server_of(url)}: {why}", hint, status=1)


def unanswered(url: str, why: str, hint: str) -> Unanswered:
    """The error of a single request."""
    return Unanswered(f"{server_of(url)}: {why}", hint, status=1)


def _no_address(named: str | None) -> ToolkitError:
    what = "base_url of the system" if named else "OPENAI_BASE_URL"
    return ToolkitError(f"{what} is no address of a server", "it looks like http://localhost:8000/v1")


def _password(url: str) -> tuple[str, str] | None:
    """`user:password` of an address, as it is sent, and the password alone; None where it has none."""
    user, password = requests.utils.get_auth_from_url(url)
    whole = f"{user}:{password}"
    return (base64.b64encode(whole.encode()).decode(), password) if whole != ":" else None


@functools.cache
def _say_quoted(server: str, key: str) -> None:
    """Once for each server: a changed answer may make a number wrong."""
    what = f"{key} or the password" if key else "the password"
    say(f"warning: {server}: answers quote {what} of the address; *** stands in its place")


def _content(response: requests.Response, url: str, most: int, place: str) -> io.BytesIO:
    """The whole body, unpacked, up to a limit. A stream has no text in a traceback: the body may quote the key."""
    content = io.BytesIO()
    while content.write(response.raw.read1(BLOCK, decode_content=True)):
        if content.tell() > most:
            raise unanswered(url, f"it sends more than {most >> 20} MB for one answer", place)
    return content


def _retry_after(response: requests.Response) -> float:
    """Seconds, from a number of them or a date; 0 where nothing readable is said."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return float(Retry().parse_retry_after(response.headers["Retry-After"]))
    except (KeyError, InvalidHeader, ValueError, OverflowError):  # the last two: numbers and years beyond all measure
        return 0.0
