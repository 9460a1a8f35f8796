"""Proxies of the environment: which requests go over one, what it sees, what is said of it; and no passwords of a netrc."""

import base64
import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

import pytest
import serving
from command import tandem
from endpoint import Script, completion
from endpoint import serving as answering

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.terminal import without_keys
from toolkit.files.store import hub
from toolkit.files.store.bounded_http import proxies_of, proxy_of, session, settle_libraries
from toolkit.models.llm import LLM, Endpoint, Request
from toolkit.models.rerankers.library import Library

KEY = "sk-of-the-user-0123456789"
TEXT = "a text of the user"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Proxy:
    """A proxy that answers in the place of servers, and logs (request line, headers, body)."""

    def __init__(self):
        self.seen = []
        self.address = ""

    @property
    def text(self):
        return repr(self.seen)


@pytest.fixture
def proxy(monkeypatch, tmp_path):
    """A running proxy; the environment has none yet, and a HOME whose netrc has a password for every host."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / ".netrc").write_text("default login somebody password of-the-netrc\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)
    with running() as made:
        yield made


@contextmanager
def running():
    made = Proxy()

    class Handler(BaseHTTPRequestHandler):
        def _log(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.seen.append((self.requestline, dict(self.headers), body))

        def do_CONNECT(self):
            self._log()
            self.send_error(502)

        def do_GET(self):
            self._log()
            self._send(b"a file")

        def do_POST(self):
            self._log()
            self._send(json.dumps(completion("fine")).encode())

        def _send(self, data):
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    with serving.running(serving.Server(("127.0.0.1", 0), Handler)) as made.address:
        yield made


def ask(base, timeout=20):
    llm = LLM(Endpoint("m", base_url=base, retries=0, timeout=timeout))
    return llm.complete([Request(({"role": "user", "content": TEXT},), {"max_tokens": 5})])[0].text


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_sees_texts_and_keys_for_a_server_without_tls_and_a_note_says_so(monkeypatch, capfd, proxy, name):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(name, proxy.address.replace("//", "//me:password-of-proxy@"))
    assert ask("http://gpu7.invalid:8000/v1") == "fine"
    [(line, headers, body)] = proxy.seen
    assert line == "POST http://gpu7.invalid:8000/v1/chat/completions HTTP/1.1"
    assert (TEXT in body.decode(), headers["Authorization"]) == (True, f"Bearer {KEY}")
    assert headers["Proxy-Authorization"] == f"Basic {base64.b64encode(b'me:password-of-proxy').decode()}"
    seen = "which sees texts and keys: http://gpu7.invalid:8000 has no TLS"
    assert capfd.readouterr().err.splitlines()[0] == f"note: requests go over the proxy {proxy.address}, {seen}"


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_of_a_server_with_tls_sees_its_name_alone(monkeypatch, capfd, proxy, name):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(name, proxy.address)
    with pytest.raises(ToolkitError, match="no answer"):
        ask("https://api.invalid/v1")
    assert [line.rpartition(" ")[0] for line, _, _ in proxy.seen] == ["CONNECT api.invalid:443"]
    assert not [secret for secret in (KEY, TEXT, "of-the-netrc") if secret in proxy.text]
    said = capfd.readouterr().err.splitlines()[0]
    assert said == f"note: requests go over the proxy {proxy.address}, which sees the names of servers alone"


def test_it_is_said_once_however_many_ask_at_once(monkeypatch, capfd, proxy):
    monkeypatch.setenv("http_proxy", proxy.address)
    gate = threading.Barrier(8)

    def one():
        gate.wait(20)
        proxies_of("http://many.invalid/v1")

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert capfd.readouterr().err.count("note: ") == 1


LOOPBACK = ["127.0.0.1", "127.8.9.10", "127.1", "2130706433", "localhost", "LocalHost.", "a.localhost", "[::1]", "0.0.0.0"]


@pytest.mark.parametrize("host", [*LOOPBACK, "[::ffff:127.0.0.1]"])
def test_this_machine_is_never_asked_over_a_proxy(monkeypatch, proxy, host):
    monkeypatch.setenv("all_proxy", proxy.address)
    for hosts in ("", "example.com"):
        monkeypatch.setenv("no_proxy", hosts)
        assert proxies_of(f"http://{host}:8000/v1") == {}
    assert proxy_of("http://128.0.0.1/v1") == proxy_of("http://localhost.invalid/") == proxy.address


def test_texts_for_a_server_of_this_machine_stay_here(monkeypatch, capfd, proxy):
    monkeypatch.setenv("http_proxy", proxy.address)
    with answering(Script()) as script:
        assert ask(script.base) == "fine"
    assert (proxy.seen, len(script.bodies), capfd.readouterr().err) == ([], 1, "")


def test_no_proxy_counts_and_so_does_what_changes_in_the_environment(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy.address)
    assert proxies_of("http://changing.invalid/") == {"all": proxy.address}
    monkeypatch.setenv("NO_PROXY", ".invalid")
    assert proxies_of("http://changing.invalid/") == {}


@pytest.mark.parametrize("given", ["http://", "ftp://host:1", "http://host:port", "socks9://host:1", "http://[::1"])
def test_what_is_no_proxy_is_one_line(monkeypatch, proxy, given):
    monkeypatch.setenv("http_proxy", given)
    with pytest.raises(ToolkitError, match=r"(?m)^HTTP_PROXY or ALL_PROXY is no address of a proxy$") as refused:
        ask("http://gpu7.invalid/v1")
    assert "http://HOST:PORT" in refused.value.hint


def test_a_proxy_may_be_named_without_its_scheme_and_its_password_is_shown_nowhere(monkeypatch, proxy):
    given = proxy.address.replace("http://", "me:password-of-proxy@")
    monkeypatch.setenv("ALL_PROXY", given)
    assert proxies_of("http://gpu9.invalid/") == {"all": f"http://{given}"}
    assert without_keys("it is password-of-proxy") == "it is ***"


def test_a_socks_proxy_is_gone_over_and_not_around(monkeypatch, proxy):
    """The proxy of this test does not speak SOCKS: that it is asked is what counts, and the server is not."""
    pytest.importorskip("socks")
    monkeypatch.setattr("toolkit.files.store.bounded_http._is_here", lambda host: False)
    monkeypatch.setenv("all_proxy", proxy.address.replace("http://", "socks5h://"))
    with answering(Script()) as script, pytest.raises(ToolkitError, match="no answer"):
        ask(script.base, timeout=2)
    assert script.bodies == []


def test_downloads_and_listings_send_no_passwords_of_a_netrc(monkeypatch, proxy):
    monkeypatch.setattr(hub, "_auth", lambda: None)
    with serving.serving(serving.Files({"/a": b"one"})) as files:
        heads = []
        files.reply = lambda address, headers: heads.append(dict(headers)) or serving.Reply(200, b"one")
        assert session().get(f"{files.base}/a", timeout=20).content == b"one"
        monkeypatch.setenv("HF_ENDPOINT", files.base)
        with pytest.raises(hub.HubError):
            hub.list_files("models", "a/b")
    assert [name for head in heads for name in head if name.lower() == "authorization"] == []
    assert len(heads) == 2


def test_ir_datasets_downloads_go_the_same_way(monkeypatch, capfd, proxy):
    import ir_datasets
    from ir_datasets.util.download import RequestsDownload

    from toolkit.datasets.ir_datasets_adapter import open_ir_dataset

    monkeypatch.setattr(ir_datasets.lazy_libs, "requests", ir_datasets.lazy_libs.requests)
    open_ir_dataset.cache_clear()
    open_ir_dataset("vaswani")
    monkeypatch.setenv("IR_DATASETS_DL_DISABLE_PBAR", "true")
    monkeypatch.setenv("http_proxy", proxy.address)
    assert b"".join(RequestsDownload("http://collections.invalid/a")) == b"a file"
    [(line, headers, _)] = proxy.seen
    assert (line, headers.get("Authorization")) == ("GET http://collections.invalid/a HTTP/1.1", None)
    assert "http://collections.invalid has no TLS" in capfd.readouterr().err


def test_libraries_that_ask_by_themselves_read_no_netrc_and_spare_this_machine(monkeypatch, capfd, proxy):
    import requests

    monkeypatch.setenv("NETRC", "")  # so that it is set back
    monkeypatch.delenv("NETRC")
    monkeypatch.setenv("no_proxy", "example.com")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("http_proxy", proxy.address)
    for _ in range(2):
        settle_libraries("http://hub.invalid/x")
    assert requests.get("http://hub.invalid/x", timeout=20).content == b"a file"
    assert "Authorization" not in proxy.seen[0][1]
    with answering(Script()) as script:
        requests.post(f"{script.base}/chat/completions", json={"messages": []}, timeout=20)
    assert (len(proxy.seen), "Authorization" in script.headers[0]) == (1, False)
    assert capfd.readouterr().err.count("note: requests go over the proxy") == 1


@pytest.mark.model
def test_the_rerankers_library_sends_the_key_of_its_entry_to_this_machine_alone(monkeypatch, proxy):
    """Its client would send the netrc's password in the place of the key, and over the proxy."""
    monkeypatch.setenv("NETRC", "")  # so that it is set back
    monkeypatch.delenv("NETRC")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("http_proxy", proxy.address)
    monkeypatch.setenv("THEIR_API_KEY", KEY)
    with answering(Script()) as script:
        options = {"url": f"{script.base}/rerank", "api_provider": "cohere"}
        how = {"type": "cohere", "model": "m", "key": "THEIR_API_KEY", "options": options}
        library = Library(SystemSpec("s", "", "rerankers", parameters=how))
        with suppress(ToolkitError):  # the library expects other documents in the answer
            library.rank("cats", ["cats sleep"])
    assert [headers["Authorization"] for headers in script.headers] == [f"Bearer {KEY}"]
    assert proxy.seen == []


@pytest.mark.process
@pytest.mark.model
def test_the_doctor_says_who_sees_requests(monkeypatch, proxy):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:password-of-proxy@tls.invalid:1")
    monkeypatch.setenv("http_proxy", "plain.invalid:2")
    done = tandem("doctor")
    lines = [line.split(None, 2)[2] for line in done.stdout.splitlines() if line.split()[1] == "proxies"]
    assert lines == [
        "https over http://tls.invalid:1, which sees the names of servers alone; "
        "http over http://plain.invalid:2, which sees texts and keys"
    ]
    assert "fix: NO_PROXY names" in done.stdout
    assert "password-of-proxy" not in done.stdout + done.stderr
    monkeypatch.setenv("http_proxy", "ftp://plain.invalid")
    assert "HTTP_PROXY or ALL_PROXY is no address of a proxy" in tandem("doctor").stdout
