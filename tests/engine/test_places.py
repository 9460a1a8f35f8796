"""Folders, S3 and Google's store alike: what is written is there completely or not, and files are those that were put."""

import hashlib
import pickle

import pytest
import requests
from object_store import google, s3

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import Malformed
from toolkit.engine.places import Place
from toolkit.engine.unit_files import UnitFiles, digest_of, is_seen, mark, packed_text
from toolkit.engine.worker import Settings, UnitWorker


@pytest.fixture(scope="module")
def store():
    with s3() as store:
        yield store


@pytest.fixture(params=["folder", "s3", "google"])
def place(request, tmp_path, monkeypatch):
    if request.param == "folder":
        yield Place(tmp_path / "shared")
    elif request.param == "s3":
        store = request.getfixturevalue("store")
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield Place(store.url)
    else:
        with google() as url:
            yield Place(url)


def test_what_is_written_is_read_and_replaced_and_removed(place):
    assert place.remove_all() is None, "nothing is there"
    with pytest.raises(FileNotFoundError):
        place.read("a.json")
    place.write("a.json", b"one")
    place.write("a.json", b"two")
    (place / "b" / "c").write("a.json", b"three")
    assert [place.read("a.json"), place.read("b/c/a.json"), (place / "b").read("c/a.json")] == [b"two", b"three", b"three"]
    place.remove("a.json")
    place.remove("a.json")
    with pytest.raises(FileNotFoundError):
        place.read("a.json")
    place.remove_all()
    with pytest.raises(FileNotFoundError):
        place.read("b/c/a.json")


@pytest.mark.parametrize("size", [0, 5, 3 << 20])
def test_files_are_moved_and_compared_with_their_digest(place, tmp_path, size):
    data = b"x" * size
    with place.scratch() as folder:
        (folder / "in").mkdir()
        (folder / "in" / "x").write_bytes(data)
        place.put("7/in/x", folder / "in" / "x")
        assert not (folder / "in" / "x").exists()
    assert not folder.exists()
    with pytest.raises(Malformed, match="7/in/x"):
        place.take("7/in/x", tmp_path / "out" / "x", "0" * 64)
    assert not list((tmp_path / "out").iterdir()), "what is damaged is not there"
    with place.scratch() as folder:
        (folder / "x").write_bytes(data)
        place.put("8/x", folder / "x")
    place.take("8/x", tmp_path / "out" / "x", hashlib.sha256(data).hexdigest())
    assert (tmp_path / "out" / "x").read_bytes() == data
    with pytest.raises(FileNotFoundError):
        place.take("8/x", tmp_path / "out" / "x", "0" * 64)


def test_what_could_not_be_written_is_not_left(tmp_path):
    (tmp_path / "a").mkdir()
    for data, name in ((3, "b"), (b"one", "a")):  # no bytes; a folder of that name
        with pytest.raises((TypeError, OSError)):
            Place(tmp_path).write(name, data)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_names_of_files_may_be_odd_and_those_that_lead_elsewhere_are_refused(place, tmp_path):
    files, names = UnitFiles(place, {"a": 1}), ["a b/ü%2F.bin", "a#b?c=d&e", "+.txt", "deep/er/still"]
    with files.place.scratch() as folder:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(name.encode())
        files.write_result("1" * 64, {"value": 0.1}, folder)
    files.collect("1" * 64, tmp_path / "out")
    files.collect("1" * 64, tmp_path / "out")  # what is here is not moved again
    assert {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()} == set(
        names
    )
    assert files.result("1" * 64) == {"value": 0.1}
    for name in ("../x", "/x", "a/../../x"):
        text = packed_text({"result": 1, "files": {name: "0" * 64}})
        files.place.write(f"{'2' * 64}.json", f"{digest_of(text)}\n{text}".encode())
        with pytest.raises(Malformed, match="speaks of a file"):
            files.collect("2" * 64, tmp_path / "out")
    place.remove_all()


def test_a_bucket_without_a_folder_is_a_place(store, monkeypatch):
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    place = Place("s3://bucket/") / "a"
    place.write("b/c", b"one")
    assert (Place("s3://bucket").read("a/b/c"), str(place)) == (b"one", "s3://bucket/a")
    place.remove_all()
    assert not store.objects


def test_a_place_is_sent_to_workers_without_a_connection(place):
    place.write("a", b"one")
    again = pickle.loads(pickle.dumps(place))
    assert (again, again.read("a")) == (place, b"one")
    place.remove_all()


def test_a_mark_tells_a_place_from_another(place):
    first = mark(place)
    assert is_seen(place, first)
    mark(place)
    assert not is_seen(place, first)
    place.remove_all()


def test_an_object_that_is_seen_late_is_waited_for(store, monkeypatch):
    """S3 shows what is written at once; a cache before it, or a mounted folder, may not."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    place, asked = Place(store.url), []

    def sleep(seconds):
        asked.append(seconds)
        if len(asked) == 3:
            place.write("late", b"now")

    monkeypatch.setattr("time.sleep", sleep)
    assert place.read("late", 30.0) == b"now"
    assert asked == [0.1, 0.2, 0.4]
    place.remove_all()


NOWHERE = "endpoint_override=127.0.0.1:9&scheme=http"


@pytest.mark.parametrize(
    ("url", "error", "hint"),
    [
        ("s3://no-such/x", "NO_SUCH_BUCKET", "make the bucket"),
        (f"s3://bucket/x?{NOWHERE}", "NETWORK_CONNECTION", "is the address right"),
        (f"gs://anonymous@bucket/x?{NOWHERE}&retry_limit_seconds=1", "UNAVAILABLE", "is the address right"),
    ],
)
def test_a_store_that_fails_is_one_line_with_what_to_do(store, monkeypatch, url, error, hint):
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ToolkitError, match=error) as raised:
        mark(Place(url))
    assert raised.value.status == 1
    assert raised.value.message.startswith(f"{url}: ")
    assert "\n" not in raised.value.message
    assert raised.value.hint.startswith(hint)
    assert "Request ID" not in raised.value.message


@pytest.mark.parametrize("known", [False, True])
def test_who_may_not_is_told_so(monkeypatch, known):
    """moto asks for permissions as AWS does, once it is told to."""
    import boto3

    with s3() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        if known:
            iam = boto3.client("iam", endpoint_url=store.endpoint)
            iam.create_user(UserName="nobody")
            key = iam.create_access_key(UserName="nobody")["AccessKey"]
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        requests.post(f"{store.endpoint}/moto-api/reset-auth", data=b"0", timeout=30).raise_for_status()
        try:
            with pytest.raises(ToolkitError) as raised:
                mark(Place(store.url))
        finally:
            requests.post(f"{store.endpoint}/moto-api/reset-auth", data=b"inf", timeout=30).raise_for_status()
    assert ("ACCESS_DENIED" if known else "does not exist in our records") in raised.value.message
    assert "credentials" in raised.value.hint


def test_a_store_that_is_busy_is_asked_again(monkeypatch):
    with s3() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        place, refused = Place(store.url), iter([503, 500] * 2)
        place.write("before", b"one")
        answer = store.server.app

        def busy(environ, start):
            if next(refused, None):
                start("503 Slow Down", [])
                return [b""]
            return answer(environ, start)

        store.server.app = busy
        place.write("a", b"two")
        assert place.read("a") == b"two"
        assert next(refused, None) is None, "it was busy"


def test_a_worker_that_does_not_see_the_place_says_so_before_it_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    monkeypatch.setattr("toolkit.engine.unit_files.MARKED_LATE", 0.0)
    said = UnitWorker().load(None, Settings(1, "/nowhere", __version__, Place(tmp_path / "other"), "a mark"))
    assert said.message.endswith(f": {tmp_path / 'other'} is not seen")
    assert said.hint.startswith("name an output in a folder that all nodes share, or a place that all of them reach")
