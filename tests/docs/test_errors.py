"""The page of errors has the words that are printed: each entry's error is provoked."""

import errno
import gzip
import os
import re
import shutil
import socket
import sys

import huggingface_hub.constants  # read now, when nothing is set for a test
import pytest
from command import ROOT, tandem
from endpoint import Script, serving

from toolkit.core.errors import EXTRAS, ToolkitError, from_os_error

ENTRY = re.compile(r"^### (.*?)\n(.*?)(?=^###? |\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
ENTRIES = {title: FENCE.findall(text) for title, text in ENTRY.findall(PAGE)}
RESOLVE = socket.getaddrinfo
OF_SERVERS = ("The server answers with something else", "The server wants a key, and none is named")
NOWHERE = "http://127.0.0.1:9"  # nobody listens there
WITHOUT = {"Java, Lucene or BM25 is missing": "lucene", "A model needs packages": "dense"}


@pytest.fixture
def folder(tmp_path):
    """The files that the commands of the page name."""
    baseline = ROOT / "runs" / "baselines" / "infosearch-mini.bm25.v2.trec.gz"
    lines = gzip.decompress(baseline.read_bytes()).decode()
    (tmp_path / "bm25.trec").write_text(lines)
    (tmp_path / "plain.trec").write_text(lines)
    (tmp_path / "ins.trec").write_text("".join(line for line in lines.splitlines(True) if "-ins Q0" in line))
    (tmp_path / "edited.trec").write_text(lines.replace("9.720500", "9.820500", 1))
    shutil.copy(f"{baseline}.yaml", tmp_path / "edited.trec.yaml")
    (tmp_path / "short.trec").write_text("q1 Q0 d1 1 2.5\n")
    (tmp_path / "own.trec").write_text("q-1-ori Q0 d1 1 2 own\nq-1-ins Q0 d1 1 2 own\n")
    (tmp_path / "two-modes.qrels").write_text("q-1-ori 0 d1 1\nq-1-ins 0 d1 1\n")
    (tmp_path / "questions.tsv").write_text("q1\tjet lag\n")
    (tmp_path / "blanks.tsv").write_text("q1 jet lag\n")
    (tmp_path / "twice.jsonl").write_text('{"id": "d1", "text": "a"}\n{"id": "d1", "text": "b"}\n')
    (tmp_path / "empty").mkdir()
    return tmp_path


def no_network(host, *args, **kwargs):
    if host == "127.0.0.1":
        return RESOLVE(host, *args, **kwargs)
    raise socket.gaierror(socket.EAI_NONAME, "name or service not known")


def shown(title, number=0):
    """The lines that an entry shows in its n-th block of output."""
    return [text for language, text in ENTRIES[title] if language == "text"][number].splitlines()


def commands():
    """Title and lines of the entries that have a command."""
    return {title: blocks[0][1].splitlines() for title, blocks in ENTRIES.items() if blocks[0][0] == "sh"}


@pytest.mark.lucene
@pytest.mark.parametrize("title", commands())
def test_a_command_of_the_page_prints_what_it_shows(title, folder, monkeypatch):
    env = {**os.environ, "TANDEM_HOME": str(folder / "home"), "HF_ENDPOINT": NOWHERE, "TANDEM_INDEX_MIRROR": NOWHERE}
    env["HF_HUB_OFFLINE"] = "1" if title == "No network: a model" else ""
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    for module in EXTRAS[WITHOUT[title]] if title in WITHOUT else ():
        monkeypatch.setitem(sys.modules, module, None)
    done = [tandem(*line.split()[1:], cwd=folder, env=env) for line in commands()[title] if line.startswith("tandem ")]
    printed = "".join(each.stdout + each.stderr for each in done).replace(str(ROOT), "/path/to/the/checkout").splitlines()
    assert [line for line in shown(title) if line not in printed] == []
    assert done[-1].returncode in ((0,) if title == "A score is `-`" else (1, 2))


def test_a_refused_key_is_on_the_page(folder, home):
    run = folder / "run.trec"
    run.write_text("audience-001-1-ori Q0 audience-013 1 2.5 x\naudience-001-1-ori Q0 audience-033 2 1.5 x\n")
    with serving(Script(always=401)) as script:
        env = {**os.environ, "OPENAI_BASE_URL": script.base, "OPENAI_API_KEY": "wrong"}
        done = tandem("rerank", "--run", run, "--topics", "infosearch-mini-ori", "--system", "gpt-4o", cwd=folder, env=env)
    assert done.returncode == 1
    server = script.base.removesuffix("/v1")
    assert [line.replace(server, "http://127.0.0.1") for line in done.stderr.splitlines()[-2:]] == shown(
        "The key is missing or refused"
    )


@pytest.mark.parametrize("title", OF_SERVERS)
def test_what_a_server_of_vectors_may_say_is_on_the_page(folder, home, title):
    (folder / "documents.jsonl").write_text('{"id": "d1", "text": "a"}\n')
    wrong = lambda body: body | {"data": []}  # noqa: E731
    script = Script(faults=[None, None], always=wrong) if title.startswith("The server answers") else Script(always=401)
    with serving(script):
        env = {**os.environ, "OPENAI_BASE_URL": script.base, "OPENAI_API_KEY": "k"}
        system = "http:m" if title.startswith("The server answers") else f"http:m@{script.base}"
        words = ("encode", "documents.jsonl", "--system", system, "--retries", "0", "--output", "v")
        done = tandem(*words, cwd=folder, env=env)
    assert done.returncode == 1
    server = script.base.removesuffix("/v1")
    assert [line.replace(server, "http://127.0.0.1") for line in done.stderr.splitlines()[-2:]] == shown(title)


def test_a_gated_checkpoint_is_on_the_page(monkeypatch):
    from toolkit.models.checkpoints import hub

    for name in ("HF_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    assert caught(lambda: hub.check_access("org/gated")) == shown("A checkpoint is gated")


def test_too_little_memory_is_on_the_page(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from toolkit.models.checkpoints import local_checkpoints

    monkeypatch.setattr(local_checkpoints, "count_parameters", lambda folder: 7_000_000_000)
    monkeypatch.setattr(local_checkpoints, "free_memory", lambda device: 4e9)
    spec = SimpleNamespace(name="tiny", checkpoint="tiny", is_python=False)
    assert caught(lambda: local_checkpoints.check_memory(spec, tmp_path, "cpu", "fp32")) == shown("Out of memory")


def test_a_batch_that_is_too_large_is_on_the_page():
    source = (ROOT / "toolkit" / "models" / "vectors" / "batches.py").read_text(encoding="utf-8")
    message, hint = shown("Out of memory", 1)
    # needs a GPU to be provoked: tests/models does so with a model that fails as one without memory does
    assert f'"{message.removeprefix("error: ")}", "{hint.removeprefix("hint:  ")}"' in source


def test_a_full_disk_is_on_the_page():
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/x.trec")
    assert from_os_error(error).lines() == shown("The disk is full")


def caught(failing):
    with pytest.raises(ToolkitError) as error:
        failing()
    return error.value.lines()


def test_every_entry_of_the_page_is_provoked():
    others = {"The key is missing or refused", "A checkpoint is gated", "Out of memory", "The disk is full", *OF_SERVERS}
    assert set(ENTRIES) == set(commands()) | others
