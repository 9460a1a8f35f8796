"""What TANDEM_HOME holds can be listed, checked and removed by name."""

import pytest
from command import tandem
from published_layout import write_infosearch

from toolkit import cache, datasets


def run(*arguments):
    return tandem("cache", *arguments)


@pytest.fixture
def filled(home, tmp_path):
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", ("audience", "keyword")))
    (home / "indexes" / "tiny.123").mkdir(parents=True)
    (home / "indexes" / "tiny.123" / "segments_1").write_bytes(b"x" * 1000)
    (home / "registry" / "systems").mkdir(parents=True)
    return home


AUDIENCE, KEYWORD = "benchmarks/infosearch/audience.9bc73db6f3ca", "benchmarks/infosearch/keyword.4c1892c874d0"


def test_every_entry_is_listed_with_its_size(filled):
    done = run("list")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [AUDIENCE, KEYWORD, "indexes/tiny.123"]
    assert done.stdout.splitlines()[2].endswith("\t0.0 MB")
    assert done.stderr.startswith(f"{filled}: 3 entries, ")


def test_an_empty_home_is_no_error(home):
    assert run("list").returncode == 0
    assert run("verify").returncode == 0


def test_a_removed_entry_is_gone_and_the_rest_stays(filled):
    assert run("remove", "indexes/tiny.123", "--dry-run").stderr == "would remove indexes/tiny.123 (0.0 MB)\n"
    assert run("remove", "indexes/tiny.123", KEYWORD).returncode == 0
    assert [entry.name for entry in cache.entries()] == [AUDIENCE]
    assert (filled / "registry" / "systems").is_dir()


def test_an_unknown_name_removes_nothing(filled):
    done = run("remove", AUDIENCE, "indexes/tinny.123")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"error: {filled} has no 'indexes/tinny.123'",
        "hint:  did you mean 'indexes/tiny.123'? see `tandem cache list`",
    ]
    assert len(cache.entries()) == 3


def test_the_users_registry_cannot_be_removed(filled):
    assert run("remove", "registry").returncode == 2
    assert run("remove", "indexes/../registry").returncode == 2


def test_unfinished_and_changed_entries_are_found(filled):
    (filled / "downloads").mkdir()
    (filled / "downloads" / "a.tar.gz.part").write_bytes(b"x")
    corpus = filled / AUDIENCE / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + "\n")
    done = run("verify")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "downloads/a.tar.gz.part\tunfinished; the next call resumes or replaces it"
    assert lines[1] == "benchmarks/infosearch\taudience: changed since it was fetched: corpus.jsonl"
    # the fixture is smaller than what is published
    assert lines[2] == (
        "benchmarks/infosearch\tkeyword: 100 cores expected, 2 found; 288 queries expected, 4 found; "
        "1152 documents expected, 16 found"
    )


def test_indexes_are_not_said_to_be_sound(filled):
    (filled / "indexes" / "changed").mkdir(parents=True, exist_ok=True)
    assert run("verify").stderr.endswith(" problems; indexes are compared by `tandem index verify DIR`\n")


def test_own_indexes_and_checkpoints_stand_for_themselves_and_registered_runs_are_no_cache(home):
    for place in ("indexes/own/mini.a", "indexes/own/mini.b", "models/org--one/abc", "models/org--one/def", "baselines"):
        (home / place).mkdir(parents=True)
        (home / place / "file").write_bytes(b"x")
    listed = [line.split("\t")[0] for line in run("list").stdout.splitlines()]
    assert listed == ["indexes/own/mini.a", "indexes/own/mini.b", "models/org--one/abc", "models/org--one/def"]
