"""Downloads against a local server that breaks off, lies, and knows no ranges."""

import hashlib
import importlib
import signal
import subprocess
import sys
import time

import pytest
from rights import small_disk
from serving import Files, endless, serving

from toolkit.core.errors import ToolkitError
from toolkit.files.store import download, with_mirror, without_secrets

pytestmark = pytest.mark.usefixtures("no_pauses")
module = importlib.import_module("toolkit.files.store.download")  # a function of the package has its name
DATA = bytes(range(256)) * 8192  # 2 MiB: two chunks
MD5 = hashlib.md5(DATA).hexdigest()
HALF = len(DATA) // 2
FETCH = """
import sys
from pathlib import Path
from toolkit.parsers import command
from toolkit.shell import guard
from toolkit.files.store import download

def run(args):
    download([sys.argv[1]], Path(sys.argv[2]), md5=sys.argv[3])

parser = command("fetch", "for a test")
parser.add_argument("rest", nargs="*")
sys.exit(guard(lambda: parser, run))
"""


def fetching(url, target, data=DATA):
    """A process that downloads the file of these bytes."""
    command = [sys.executable, "-c", FETCH, url, str(target), hashlib.md5(data).hexdigest()]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def target(home, tmp_path):
    return tmp_path / "files" / "a.tar.gz"


def leftovers(target):
    return sorted(path.name for path in target.parent.iterdir())


def test_a_download_is_complete_and_leaves_nothing_else(target):
    with serving(Files({"/a.tar.gz": DATA})) as files:
        assert download([f"{files.base}/a.tar.gz"], target, md5=MD5, size=len(DATA)) == target
    assert target.read_bytes() == DATA
    assert leftovers(target) == ["a.tar.gz"]


def test_a_complete_target_is_not_asked_for_again(target):
    with serving(Files({"/a.tar.gz": DATA})) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert len(files.requests) == 1


def test_a_broken_connection_is_resumed_where_it_broke(target):
    with serving(Files({"/a.tar.gz": DATA}, break_at=HALF)) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA
    assert files.requests == [("/a.tar.gz", ""), ("/a.tar.gz", f"bytes={HALF}-")]


def test_a_server_without_ranges_starts_anew(target):
    with serving(Files({"/a.tar.gz": DATA}, break_at=HALF, ranges=False)) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA
    assert len(files.requests) == 2


def test_a_part_of_another_file_is_fetched_again_from_the_beginning(target):
    target.parent.mkdir(parents=True)
    target.with_name("a.tar.gz.part").write_bytes(b"old" * 1000)
    with serving(Files({"/a.tar.gz": DATA})) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA
    assert files.requests == [("/a.tar.gz", "bytes=3000-"), ("/a.tar.gz", "")]


def test_a_part_that_is_longer_than_the_file_is_fetched_again(target):
    target.parent.mkdir(parents=True)
    target.with_name("a.tar.gz.part").write_bytes(DATA + b"more")
    with serving(Files({"/a.tar.gz": DATA})) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA


def test_a_server_that_always_breaks_off_and_has_another_file_is_left(target):
    target.parent.mkdir(parents=True)
    target.with_name("a.tar.gz.part").write_bytes(DATA[:HALF])
    with serving(Files({"/a.tar.gz": b"x" + DATA}, break_at=HALF)) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert "md5 differs" in caught.value.problems[0]
    assert len(files.requests) <= 4
    assert leftovers(target) == []


def test_a_part_that_is_all_there_is_only_checked(target):
    with serving(Files({"/a.tar.gz": DATA})) as files:
        target.parent.mkdir(parents=True)
        target.with_name("a.tar.gz.part").write_bytes(DATA)
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA
    assert files.requests == [("/a.tar.gz", f"bytes={len(DATA)}-")]


def test_corrupt_bytes_are_refused_with_expected_and_got(target):
    corrupt = DATA[:-1] + b"x"
    with serving(Files({"/a.tar.gz": corrupt})) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert caught.value.message == "cannot download a.tar.gz"
    got = hashlib.md5(corrupt).hexdigest()
    assert caught.value.problems == (f"{files.base}/a.tar.gz: md5 differs: expected {MD5}, got {got}",)
    assert caught.value.status == 1
    assert leftovers(target) == []


def test_a_busy_server_is_asked_again_and_then_named(target):
    with serving(Files({"/a.tar.gz": DATA}, busy=2)) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    target.unlink()
    with serving(Files({"/a.tar.gz": DATA}, busy=9)) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert caught.value.problems == (f"{files.base}/a.tar.gz: HTTP 503 Service Unavailable",)


def test_the_second_address_is_tried_where_the_first_fails(target):
    with serving(Files({"/b.tar.gz": DATA})) as files:
        download([f"{files.base}/a.tar.gz", f"{files.base}/b.tar.gz"], target, md5=MD5)
    assert [path for path, _ in files.requests] == ["/a.tar.gz", "/b.tar.gz"]


def test_every_address_is_named_where_none_gives_the_file(target):
    with serving(Files({})) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a", f"{files.base}/b", "http://127.0.0.1:1/c"], target, md5=MD5)
    assert [problem.split(": ", 1)[1] for problem in caught.value.problems] == [
        "HTTP 404 Not Found",
        "HTTP 404 Not Found",
        "connection refused",
    ]


@pytest.mark.process
def test_passwords_and_keys_of_addresses_are_neither_printed_nor_kept(target):
    with serving(Files({"/a": DATA}, pause_at=HALF)) as files:
        url = f"{files.base}/a?token=secret".replace("//", "//me:secret@")
        process = fetching(url, target)
        assert files.paused.wait(30)
        wait_for(target.with_name("a.tar.gz.part"), size=1)
        process.kill()
        process.communicate(timeout=30)
        assert leftovers(target) == ["a.tar.gz.part"]  # the bytes alone
        files.content.clear()
        with pytest.raises(ToolkitError) as caught:
            download([url, url.replace(files.base[7:], "127.0.0.1:1")], target, md5=MD5)
    assert caught.value.problems == (
        f"http://***@{files.base[7:]}/a?***: HTTP 404 Not Found",
        "http://***@127.0.0.1:1/a?***: connection refused",
    )
    assert without_secrets("//me:p@ss@host/?sig=1 (what?)") == "//***@host/?*** (what?)"


def test_a_length_that_is_no_number_is_ignored(target, monkeypatch):
    monkeypatch.setattr(module, "STALLED", 1.0)  # nothing says where the body ends, and the server keeps the connection
    with serving(Files({"/a.tar.gz": DATA}, headers={"Content-Length": "many"})) as files:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5)
    assert target.read_bytes() == DATA


def test_the_mirror_comes_first(monkeypatch):
    urls = ["https://example.org/indexes/x.tar.gz?download=true"]
    assert with_mirror(urls) == urls
    monkeypatch.setenv("TANDEM_INDEX_MIRROR", "http://mirror/base/")
    assert with_mirror(urls) == ["http://mirror/base/x.tar.gz", *urls]


def test_too_small_a_disk_is_told_before_the_first_request(target):
    with serving(Files({"/a.tar.gz": DATA})) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a.tar.gz"], target, md5=MD5, size=10**18)
    assert caught.value.message.startswith(f"a.tar.gz needs 1000000000.0 GB, but {target.parent} has ")
    assert files.requests == []


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "small") as folder:
        yield folder


@pytest.mark.process
def test_a_disk_that_cannot_hold_the_file_is_one_line(home, disk):
    with serving(Files({"/a": DATA})) as files, pytest.raises(ToolkitError) as caught:
        download([f"{files.base}/a"], disk / "a", md5=MD5)
    assert caught.value.message == f"a needs 2.1 MB, but {disk} has 1.0 MB free"
    assert caught.value.status == 1


@pytest.mark.process
def test_a_disk_that_fills_up_meanwhile_is_one_line_and_keeps_what_came(home, disk):
    with serving(Files({"/a": DATA[:900_000]}, pause_at=400_000)) as files:
        process = fetching(f"{files.base}/a", disk / "a", DATA[:900_000])
        assert files.paused.wait(30)
        wait_for(disk / "a.part")  # by then the room was checked
        (disk / "other").write_bytes(b"x" * 500_000)
        files.go_on.set()
        stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert stderr.splitlines()[0] == f"error: no space left on the disk while downloading a into {disk}"
    assert len(stderr.splitlines()) == 2
    assert not (disk / "a").exists()
    assert (disk / "a.part").exists()


def wait_for(path, size=0):
    deadline = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size >= size):
        assert time.monotonic() < deadline, f"{path.name} did not come"
        time.sleep(0.02)


@pytest.mark.process
def test_ctrl_c_leaves_a_part_that_the_next_call_resumes(target):
    with serving(Files({"/a.tar.gz": DATA}, pause_at=HALF)) as files:
        url = f"{files.base}/a.tar.gz"
        process = fetching(url, target)
        assert files.paused.wait(30)
        wait_for(target.with_name("a.tar.gz.part"), size=1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == "interrupted\n"
        assert process.returncode == 130
        assert not target.exists()
        files.go_on.set()
        download([url], target, md5=MD5)
    assert target.read_bytes() == DATA
    assert files.requests[1][1].startswith("bytes=")


@pytest.mark.process
def test_two_processes_ask_once_and_the_second_says_that_it_waits(target):
    with serving(Files({"/a.tar.gz": DATA}, pause_at=HALF)) as files:
        first = fetching(f"{files.base}/a.tar.gz", target)
        assert files.paused.wait(30)
        second = fetching(f"{files.base}/a.tar.gz", target)
        assert second.stderr.readline() == "waiting for another process that works on download a.tar.gz\n"
        files.go_on.set()
        assert first.communicate(timeout=30)[1] == ""
        assert first.returncode == 0
        assert second.communicate(timeout=30)[1] == ""
        assert second.returncode == 0
    assert len(files.requests) == 1
    assert target.read_bytes() == DATA


NEVER = {
    "headers that drip": (b"HTTP/1.1 200 OK\r\n", b"X-A: b"),
    "continue for ever": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body that drips": (b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n", b"x"),
    "a body without a length": (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
}


@pytest.mark.parametrize("case", NEVER)
def test_a_server_that_drags_a_request_out_is_left(target, monkeypatch, case):
    monkeypatch.setattr(module, "STALLED", 0.2)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    began = time.monotonic()
    with endless(*NEVER[case]) as base, pytest.raises(ToolkitError, match=r"cannot download a\.tar\.gz"):
        download([f"{base}/a.tar.gz"], target, md5=MD5, size=len(DATA))
    assert time.monotonic() - began < 10  # three attempts of 0.2 seconds


def test_a_server_that_is_slow_and_sends_what_there_is_is_waited_for(target, monkeypatch):
    """Each 64 KB give it as much time again; here the whole takes several times the limit of a stall."""
    monkeypatch.setattr(module, "STALLED", 0.5)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (20 << 16)
    data = bytes(1 << 16)
    with endless(head, data, pause=0.1) as base:
        download([f"{base}/a"], target, md5=hashlib.md5(data * 20).hexdigest(), size=20 << 16)
    assert target.stat().st_size == 20 << 16


def test_an_endless_body_is_left_near_the_known_size(target):
    with endless(b"HTTP/1.1 200 OK\r\n\r\n", bytes(1 << 20), pause=0) as base, pytest.raises(ToolkitError) as caught:
        download([f"{base}/a"], target, md5=MD5, size=len(DATA))
    assert caught.value.problems[0].endswith(": it sends more than 3.4 MB: the file has 2.1 MB")
    assert leftovers(target) == []
