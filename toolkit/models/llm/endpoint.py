"""Any server that speaks OpenAI's chat completions: hosted models, vLLM, Ollama, llama.cpp."""

from __future__ import annotations

import base64
import functools
import io
import os
import random
import re
import threading
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolkit.core.errors import ToolkitError
from toolkit.core.progress import say
from toolkit.core.yaml_json import decode_json
from toolkit.models.llm.estimate import Estimate
from toolkit.models.llm.messages import Answer, Request
from toolkit.store.bounded_http import Deadline, reason, session

if TYPE_CHECKING:
    import requests

OPENAI = "https://api.openai.com/v1"  # where a key alone leads
BUSY = (408, 409, 425, 429)  # worth another try, as is everything from 500 on
BACKOFF, LONGEST = 0.5, 60.0  # seconds before the first retry, doubled each time; the longest pause
CONNECT = 10.0  # seconds to reach a server
PATIENCE = 300.0  # seconds that a server may ask us to wait (Retry-After)
MANY = 3  # failures in a row, times the requests at the same time, after which a server is taken to be down
SHOWN = 200  # characters of a server's message, and of the name it gives its model
MOST = 1 << 24  # bytes of an answer: a server that sends more is none of chat completions
BLOCK = 1 << 16  # bytes read at once
REFUSALS = ("refusal", "content_filter")  # how an answer ends that is none
COUNTED = 1 << 48  # tokens from which on a count is nonsense
NO_ADDRESS = "OPENAI_BASE_URL is no address of a server", "it looks like http://localhost:8000/v1"


class _Unanswered(ToolkitError):
    """One request gets no answer; others may."""


class _Again(Exception):
    """An attempt failed in a way that may pass. after: seconds that the server asks to wait."""

    def __init__(self, reason: str, after: float = 0.0):
        super().__init__(reason)
        self.after = after


class Endpoint(Estimate):
    """One model at one address. Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY, and go nowhere else.

    Where there is no key, `user:password@` of the address is sent instead.

    model        as the server calls it
    base_url     instead of OPENAI_BASE_URL
    concurrency  requests at the same time
    retries      how often a request is repeated after 408, 409, 425, 429, 5xx, a broken connection, silence, or an answer
                 that is no chat completion; pauses grow exponentially, with jitter, and are never shorter than Retry-After
    timeout      seconds for one attempt, from the connection to the end of the answer
    tolerant     go on where single requests get no answer (all attempts failed, or the server or its model refuses just this
                 one): their `Answer` says why in `error`. What concerns them all (the key, the address) ends it as ever, and
                 so do as many failures in a row as three times the requests at the same time
    """

    here, origin = True, MappingProxyType({})

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        concurrency: int = 16,
        retries: int = 6,
        timeout: float = 600.0,
        tolerant: bool = False,
    ):
        self.facts = {"model": model}
        self.base_url, self.concurrency, self.retries, self.timeout = base_url, concurrency, retries, timeout
        self.tolerant, self._in_a_row = tolerant, 0
        self._shared: requests.Session | None = None
        self._warned = False

    def address(self) -> str:
        """Where requests go; ToolkitError where nothing says so."""
        url = self.base_url or os.environ.get("OPENAI_BASE_URL") or (OPENAI if _key() else "")
        if not url:
            hint = "set OPENAI_BASE_URL to the server's address (http://localhost:8000/v1), OPENAI_API_KEY where it wants a key"
            raise ToolkitError(f"no server to ask {self.facts['model']}", hint)
        if not _is_address(url):
            raise ToolkitError(*NO_ADDRESS)
        if not (_key().isascii() and _key().isprintable() and " " not in _key()):  # libraries would quote it in their errors
            raise ToolkitError("OPENAI_API_KEY is no key: it has blanks or characters beyond ASCII", "set it again")
        return url.rstrip("/")

    check = address

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, answer) as they come. Where one fails for good, no new ones are asked; those under way still come.

        A request is under way until the caller comes for the next answer, and has cached this one: of a process that is killed,
        no more than `concurrency` of them are lost.
        """
        from multiprocessing.pool import ThreadPool  # its threads do not outlive an interrupted process

        stop, failures, under_way = threading.Event(), [], threading.Semaphore(self.concurrency)
        url = self.address()
        connections = self._session(url)

        def attempt(task: tuple[int, Request]) -> tuple[int, Answer | None]:
            position, request = task
            under_way.acquire()
            try:
                answer = None if stop.is_set() else self._ask(connections, url, request, stop)
                self._in_a_row = 0
                return position, answer
            except ToolkitError as error:
                if self._is_tolerated(error):
                    return position, Answer("", error=error.message)
                failures.append(error)
                stop.set()
                return position, None

        try:
            with ThreadPool(min(self.concurrency, len(requests))) as pool:
                for position, answer in pool.imap_unordered(attempt, enumerate(requests)):
                    if answer:
                        yield position, answer
                    under_way.release()
        finally:
            stop.set()
            under_way.release(self.concurrency)  # of threads that wait although the caller has stopped
        if failures:
            raise failures[0]

    def _is_tolerated(self, error: ToolkitError) -> bool:
        """Whether the other requests are asked in spite of this failure."""
        if not self.tolerant or not isinstance(error, _Unanswered):
            return False
        self._in_a_row += 1
        return self._in_a_row < MANY * self.concurrency

    def _session(self, url: str) -> requests.Session:
        """Connections shared by threads and calls; proxies and certificates are the environment's."""
        if not self._shared:
            self._shared = session(self.concurrency)
            settings = self._shared.merge_environment_settings(url, {}, False, None, None)
            self._shared.proxies, self._shared.verify = settings["proxies"], settings["verify"]
            self._shared.trust_env = False  # or it would look them up for every request, and for passwords in ~/.netrc
        return self._shared

    def _ask(self, connections: requests.Session, url: str, request: Request, stop: threading.Event) -> Answer:
        body = {**request.options, **self.facts, "messages": list(request.messages)}
        for tried in range(self.retries + 1):
            try:
                answer = _read(_post(connections, f"{url}/chat/completions", body, self.timeout), url, tried)
                if self.tolerant and answer.finish in REFUSALS:
                    raise _unanswered(
                        url, f"the model refuses to answer ({answer.finish})", "the request is recorded as unanswered"
                    )
                return answer
            except _Again as error:
                why, after = error, error.after
            if after > PATIENCE:
                raise _refused(
                    url, f"it asks to wait {after:.0f} seconds ({why})", "run again then: what was answered is cached"
                )
            if tried == 1 and not self._warned:
                self._warned = True
                say(f"{server_of(url)}: {why}; trying again")
            # the wait ends early where another request has failed for good
            if tried == self.retries or stop.wait(pause(tried, after)):
                break
        hint = "see to the server and run again: what was answered is cached"
        raise _unanswered(url, f"no answer in {tried + 1} attempts: {why}", hint)


def pause(tried: int, after: float) -> float:
    """Seconds to wait after attempt `tried` (from 0): doubled each time, with jitter, and at least what the server asks for."""
    return max(min(BACKOFF * 2**tried, LONGEST) * random.uniform(0.5, 1), after)


def server_of(url: str) -> str:
    """Scheme, host and port of an address: user, password, path and query may be secrets."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        return bool(known and not parts.query and not parts.fragment)  # what follows them is no path
    except ValueError:  # a port that is no number
        return False


def _key() -> str:
    return os.environ.get("OPENAI_API_KEY", "").strip()


def _authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """The key as a header, put there at the last moment: no session, no settings and no log hold it."""
    if key := _key():
        request.headers["Authorization"] = f"Bearer {key}"
    elif password := _password(request.url):
        request.headers["Authorization"] = f"Basic {password[0]}"
    return request


def _password(url: str) -> tuple[str, str] | None:
    """`user:password` of an address, as it is sent, and the password alone; None where it has none."""
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(url)
    whole = f"{user}:{password}"
    return (base64.b64encode(whole.encode()).decode(), password) if whole != ":" else None


def _without_secrets(text: str, url: str) -> str:
    """The same without what the server was sent to trust us; a short key (`x`, `EMPTY`) is not looked for within words."""
    for secret in filter(None, (_key(),) if _key() else _password(url) or ()):
        text = re.sub(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", "***", text)
    return text


@functools.cache
def _say_quoted(server: str) -> None:
    """Once for each server: a changed answer may make a number wrong."""
    say(f"warning: {server}: answers quote OPENAI_API_KEY or the password of the address; *** stands in its place")


def _post(connections: requests.Session, url: str, body: dict[str, Any], timeout: float) -> io.BytesIO:
    """The body of the server's answer of status 200. `_Again` for what may pass, ToolkitError for what will not.

    All errors are raised `from None`: the request that the library's exceptions hold has the key in its headers.
    """
    from requests import exceptions as failed
    from urllib3.exceptions import HTTPError, LocationParseError, ReadTimeoutError

    how = {"timeout": (min(CONNECT, timeout), timeout), "auth": _authorize, "allow_redirects": False, "stream": True}
    try:
        with Deadline(timeout) as deadline, connections.post(url, json=body, **how) as response:
            content = _content(response, url)
            if deadline.passed:  # a body without a length seems to end where its connection does
                raise failed.ReadTimeout
    except (failed.InvalidURL, LocationParseError):  # a host that cannot be one
        raise ToolkitError(*NO_ADDRESS) from None
    except (failed.RequestException, HTTPError, OSError) as error:
        if deadline.passed or isinstance(error, failed.ReadTimeout | ReadTimeoutError):
            raise _Again(f"no answer within {timeout:g} seconds") from None
        if isinstance(error, failed.SSLError):
            raise _refused(url, "its certificate cannot be trusted", "check OPENAI_BASE_URL") from None
        raise _Again(reason(error)) from None
    status = response.status_code
    if status == 200:
        return content
    if status in (401, 403):  # what the server says may quote the key
        raise _refused(url, f"the key is refused (status {status})", "check OPENAI_API_KEY")
    why = f"status {status}, {_message(content, response.reason, url)}"
    if (status in BUSY or status >= 500) and b"insufficient_quota" not in content.getvalue():
        raise _Again(why, _retry_after(response))
    if 300 <= status < 400 or status in (404, 405):
        raise _refused(url, why, "check OPENAI_BASE_URL (for most servers it ends in /v1) and the model's name")
    raise _unanswered(url, why, "the server refuses the request itself: check the system's model and parameters")


def _content(response: requests.Response, url: str) -> io.BytesIO:
    """The whole body, unpacked, up to a limit. A stream has no text in a traceback: the body may quote the key."""
    content = io.BytesIO()
    while content.write(response.raw.read1(BLOCK, decode_content=True)):
        if content.tell() > MOST:
            raise _unanswered(url, f"it sends more than {MOST >> 20} MB for one answer", "check OPENAI_BASE_URL")
    return content


def _refused(url: str, why: str, hint: str) -> ToolkitError:
    return ToolkitError(f"{server_of(url)}: {why}", hint, status=1)


def _unanswered(url: str, why: str, hint: str) -> _Unanswered:
    return _Unanswered(f"{server_of(url)}: {why}", hint, status=1)


def _message(content: io.BytesIO, status: str, url: str) -> str:
    """What the server says is wrong, in one line and without the key; the status in words where it says nothing."""
    try:
        body = _json(content)
        error = body.get("error", body)
        text = error if isinstance(error, str) else error["message"]
    except (ValueError, LookupError, AttributeError, TypeError):
        text = status
    return _without_secrets(" ".join(str(text).split()), url)[:SHOWN]


def _retry_after(response: requests.Response) -> float:
    """Seconds, from a number of them or a date; 0 where nothing readable is said."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return float(Retry().parse_retry_after(response.headers["Retry-After"]))
    except (KeyError, InvalidHeader, ValueError, OverflowError):  # the last two: numbers and years beyond all measure
        return 0.0


def _json(content: io.BytesIO) -> Any:
    """What a body says; a byte that is no UTF-8 becomes U+FFFD. ValueError where it is no JSON."""
    return decode_json(content.getvalue().decode("utf-8-sig", "replace"), finite=False, halves=True)


def _read(content: io.BytesIO, url: str, retries: int) -> Answer:
    """The answer in a chat completion; `_Again` where it is none (a gateway's page, half a JSON)."""
    try:
        body = _json(content)
        choice, usage = body["choices"][0], body.get("usage") or {}
        text = choice["message"]["content"] or ""
        if not isinstance(text, str):
            raise TypeError(type(text))
        refused = not text and choice["message"].get("refusal")
        if _without_secrets(text, url) != text:
            _say_quoted(server_of(url))
        return Answer(
            text=_clean(text, url),
            finish="refusal" if refused else _clean(choice.get("finish_reason") or "", url)[:SHOWN],
            model=_clean(body.get("model") or "", url)[:SHOWN],
            server=server_of(url),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            retries=retries,
        )
    except (ValueError, LookupError, AttributeError, TypeError):
        raise _Again("the answer is no chat completion") from None


def _clean(text: str, url: str) -> str:
    """A text that any file can hold: half a surrogate pair fits into none, and a key that is sent back belongs into none."""
    return _without_secrets(text.encode("utf-8", "replace").decode(), url)


def _count(tokens: Any) -> int:
    """Tokens as a server counts them; 0 where it does not say."""
    return tokens if type(tokens) is int and 0 <= tokens < COUNTED else 0
