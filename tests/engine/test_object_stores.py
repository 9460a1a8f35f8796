"""Jobs whose units and results lie in an object store: the bytes of one process, damage, interruption, secrets."""

import json
import os
import re
import subprocess
import threading
import time
from tempfile import TemporaryDirectory

import pytest
import tiny
import two_nodes
from command import ROOT, process, tandem
from object_store import KEY, SECRET, s3
from rights import not_allowed
from workers import Here, HereExecutor

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.engine.dispatch import Dispatch
from toolkit.engine.places import Place
from toolkit.engine.ray_engine import RayExecutor
from toolkit.files.formats import write_run
from toolkit.files.formats.vectors import verify_vectors
from toolkit.jobs.encode_jobs import EncodeJob, IndexJob
from toolkit.jobs.search_jobs import rerank_job
from toolkit.retrieval.index import verify_index
from toolkit.retrieval.rerank.rerank_step import Rerank
from toolkit.retrieval.search import search

DOCS = {f"d{number}": f"{text} {number}" for number, text in enumerate(tiny.TEXTS * 6)}
HOW = {"shard_size": 7}


@pytest.fixture
def store(monkeypatch):
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)
    with s3() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store


@pytest.fixture
def place(tmp_path, home, monkeypatch):
    """A folder with documents; the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in DOCS.items()))
    return tmp_path


def encoded(executor, output="remote"):
    job = EncodeJob("c.jsonl", "all-minilm-l6-v2", output, **HOW)
    job.executor = executor
    return job.make()


def shards(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*s-*")}


@pytest.mark.model
def test_vectors_that_go_through_a_store_are_those_of_one_process(place, store):
    EncodeJob("c.jsonl", "all-minilm-l6-v2", "local", **HOW).make()
    executor = HereExecutor(2, units=store.url, lost=[1])
    counts, _ = encoded(executor)
    assert (counts.documents, executor.units) == (len(DOCS), 6)
    assert shards(place / "remote") == shards(place / "local")
    assert verify_vectors(place / "remote") == []
    assert set(store.objects) <= {"folder/"}, "what is needed no more is removed"
    assert not list(place.glob(".*")), "nothing lies beside the output"


@pytest.mark.model
def test_scores_that_go_through_a_store_are_those_of_one_process(place, store, monkeypatch):
    monkeypatch.setattr("toolkit.models.rerankers.base.CHUNK", 16)
    tiny.tiny_bert(place / "mine", "BertForSequenceClassification", num_labels=1)
    (place / "t.jsonl").write_text('{"query_id": "q1", "query": "a river"}\n{"query_id": "q2", "query": "the cat"}\n')
    write_run(Run.from_dict({query: dict.fromkeys(DOCS, 1.0) for query in ("q1", "q2")}), place / "first.trec", tag="first")

    def job(output):
        step = Rerank("./mine", kind="cross-encoder", depth=len(DOCS))
        return rerank_job("first.trec", step, topics="t.jsonl", docs="c.jsonl", output=output)

    job("local.trec").make()
    remote, executor = job("remote.trec"), HereExecutor(3, units=store.url)
    remote.executor = executor
    remote.make()
    assert executor.units == -(-2 * len(DOCS) // 16)
    assert (place / "remote.trec").read_bytes() == (place / "local.trec").read_bytes()


@pytest.mark.model
def test_what_lies_in_a_store_is_resumed_from(place, store, monkeypatch):
    finish, done = Dispatch._finish, []

    def stop_at_the_third(self, number, digest, size):
        finish(self, number, digest, size)
        done.append(number)
        if len(done) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr(Dispatch, "_finish", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            encoded(HereExecutor(2, units=store.url))
    left = [name for name in store.objects if not name.endswith("/")]
    assert left
    assert all(".units/" in name for name in left)
    executor = HereExecutor(1, units=store.url)
    encoded(executor)
    assert executor.units <= 2, "three of five were there"
    EncodeJob("c.jsonl", "all-minilm-l6-v2", "local", **HOW).make()
    assert shards(place / "remote") == shards(place / "local")


@pytest.mark.lucene
def test_shards_of_lucene_go_through_a_store_as_folders(place, store, monkeypatch):
    put, names = Place.put, []
    monkeypatch.setattr(Place, "put", lambda self, name, path: names.append(name) or put(self, name, path))
    job = IndexJob("c.jsonl", "indexed", shard_size=10)
    job.executor = executor = HereExecutor(2, units=store.url)
    job.make()
    assert executor.units == len({name.split("/")[1] for name in names}) == -(-len(DOCS) // 10)
    assert any("/segments_" in name for name in names)
    IndexJob("c.jsonl", "one").make()
    topics = [Topic(f"q{number}", text) for number, text in enumerate(tiny.TEXTS)]
    for folder in ("one", "indexed"):
        assert verify_index(place / folder) == []
        write_run(search(topics, place / folder, tag="t"), place / f"{folder}.trec")
    assert (place / "one.trec").read_bytes() == (place / "indexed.trec").read_bytes()
    assert (place / "one.trec").stat().st_size > 1000


class Damaging(Here):
    """Each object whose name has a part is damaged once, after its worker has reported."""

    store, part, damaged = None, "", 0

    def wait(self, seconds):
        report = super().wait(seconds)
        for name, data in self.store.objects.items():
            if self.part in name and self.given and not self.damaged:
                self.store.change(name, data[:-1] + bytes([data[-1] ^ 1]))
                type(self).damaged += 1
        return report


class DamagingExecutor(HereExecutor):
    """The engine with such workers."""

    def _cluster(self, work):
        return Damaging(**self.how), self.workers


@pytest.mark.model
@pytest.mark.parametrize("part", ["vectors-00001.npy", "ids-00000.txt"])
def test_a_damaged_file_is_computed_again(place, store, monkeypatch, capsys, part):
    monkeypatch.setattr(Damaging, "store", store)
    monkeypatch.setattr(Damaging, "part", part)
    monkeypatch.setattr(Damaging, "damaged", 0)
    executor = DamagingExecutor(2, units=store.url)
    encoded(executor)
    printed = capsys.readouterr().err
    assert (executor.units, Damaging.damaged) == (6, 1)
    assert re.search(rf"{part} in s3://\S+ is not what was written there: it is damaged\n", printed)
    EncodeJob("c.jsonl", "all-minilm-l6-v2", "local", **HOW).make()
    assert shards(place / "remote") == shards(place / "local")


@pytest.mark.model
def test_a_bucket_that_is_missing_ends_the_job_with_one_line_and_nothing_half_written(place, store):
    with pytest.raises(ToolkitError, match="NO_SUCH_BUCKET") as raised:
        encoded(HereExecutor(2, units="s3://no-such/folder"))
    assert raised.value.hint == "make the bucket, or name another with --units"
    assert not (place / "remote").exists()
    assert not list(place.glob(".*"))


EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


@pytest.mark.model
def test_credentials_that_expire_in_the_middle_end_the_job_with_one_line_and_others_resume(place, store, monkeypatch):
    finish, done, answer = Dispatch._finish, [], store.server.app

    def refuse(environ, start):
        start("400 Bad Request", [("Content-Type", "application/xml")])
        return [EXPIRED]

    def expire_after_two(self, number, digest, size):
        finish(self, number, digest, size)
        done.append(number)
        if len(done) == 2:
            store.server.app = refuse

    with monkeypatch.context() as expiring:
        expiring.setattr(Dispatch, "_finish", expire_after_two)
        with pytest.raises(ToolkitError) as raised:
            encoded(HereExecutor(1, units=store.url))
    assert "\n" not in raised.value.message
    assert raised.value.hint.startswith("set credentials that are valid on every node")
    store.server.app = answer
    executor = HereExecutor(1, units=store.url)
    encoded(executor)
    assert executor.units <= 3, "two of five were there"
    EncodeJob("c.jsonl", "all-minilm-l6-v2", "local", **HOW).make()
    assert shards(place / "remote") == shards(place / "local")


def test_what_is_streamed_needs_a_place_and_outputs_of_any_name_have_one(tmp_path):
    with pytest.raises(ToolkitError, match="no file to write") as raised, RayExecutor("head:6379").job(None):
        pass
    assert raised.value.hint.endswith("a place with --units")
    executor = RayExecutor("head:6379", units="s3://bucket/folder")
    with executor.job(None):
        assert str(executor._place).endswith(".units")
    with executor.job(tmp_path / "a#b ?.trec"):
        assert re.fullmatch(r"s3://bucket/folder/a-b--\.trec\.[0-9a-f]{12}\.units", str(executor._place))
    first = executor._place_of(tmp_path / "a")
    assert first == executor._place_of(tmp_path / "a") != executor._place_of(tmp_path / "b" / "a")


def test_what_is_streamed_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with RayExecutor().job(None):
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir()), "nothing was divided"
    with pytest.raises(KeyboardInterrupt), RayExecutor().job(None):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


GUIDE = ROOT / "docs" / "guides" / "cluster.md"
WORDS = "river tree house cat dog bird"
CORPUS = [{"id": f"d{number}", "text": WORDS[number % 9 :] * (number % 4 + 1)} for number in range(40)]
ENCODE = ("encode", "documents.jsonl", "--system", "all-minilm-l6-v2", "--shard-size", "5")


def hidden(folder):
    """The beginning of a command for which a folder is empty, as on a machine that does not share it."""
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder)]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("ray_alone")
def test_two_nodes_that_see_no_folder_of_this_machine_give_its_bytes_and_learn_no_secret_from_files(tmp_path):
    if subprocess.run([*hidden("/mnt"), "true"], capture_output=True).returncode:
        not_allowed("a process may not hide folders from itself (unshare, mount)")
    here, home = tmp_path / "here", tmp_path / "nodes"
    here.mkdir()
    home.mkdir()
    (here / "documents.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in CORPUS))
    assert tandem(*ENCODE, "--output", "local", cwd=here).returncode == 0
    token = tmp_path / "token"
    token.write_text("5" * 64)
    token.chmod(0o600)
    keys = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    with s3() as store, TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as session:
        seen, over = {}, threading.Event()

        def watch():
            while not over.is_set():
                seen.update(store.objects)
                time.sleep(0.02)

        environment = {**keys, **store.environment, "TANDEM_HOME": str(home)}
        running, address = two_nodes.started(environment, before=hidden(here), temp_dir=session)
        watching = threading.Thread(target=watch)
        watching.start()
        try:
            env = {**os.environ, **keys, **store.environment}
            words = [*ENCODE, "--engine", f"ray:{address}", "--output"]
            alone = process(*words, "beside", cwd=here, env=env)
            assert alone.returncode == 1
            assert "/here/.beside.units is not seen\nhint:  name an output in a folder that all nodes share" in alone.stderr
            [line] = re.findall(
                r"^tandem (encode .* --units s3://BUCKET/FOLDER)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE
            )
            guide = line.replace("HEAD:6379", address).replace("s3://BUCKET/FOLDER", store.url).split()
            done = process(*guide, cwd=here, env=env)
            assert (done.returncode, done.stdout) == (0, ""), done.stderr
            for secret in (SECRET, KEY):
                assert os.listdir(session)
                found = subprocess.run(["grep", "-rlF", secret, session], capture_output=True, text=True)
                assert (found.returncode, found.stdout) == (1, "")
        finally:
            over.set()
            watching.join()
            running.communicate("", timeout=60)
    assert {path.name for path in here.iterdir()} == {"documents.jsonl", "local", "remote"}
    assert shards(here / "remote") == shards(here / "local")
    assert verify_vectors(here / "remote") == []
    assert any("/unit-" in name for name in seen), "units went through the store"
    assert any(name.endswith(".npy") for name in seen), "vectors went through the store"
    assert not [name for name, data in seen.items() if SECRET.encode() in data or KEY.encode() in data]
