"""The identity of a model: all that what it gives depends on beside its input."""

from dataclasses import replace

import pytest
import tiny

from toolkit.files.provenance import model_identity


@pytest.fixture
def folders(tmp_path):
    """Checkpoint, passages' checkpoint and base, each with a file in a folder of its own."""
    found = {}
    for name in ("checkpoint", "passage_checkpoint", "base"):
        found[name] = tmp_path / name
        (found[name] / "1_Pooling").mkdir(parents=True)
        (found[name] / "1_Pooling" / "config.json").write_bytes(b"{}")
        (found[name] / "model.safetensors").write_bytes(b"weights")
    return found


def spec(checkpoint="a/b", **fields):
    return tiny.tiny_spec(checkpoint, **{"templates": {"query": "{query}"}, **fields})


def local(folders):
    return spec(**{name: str(folder) for name, folder in folders.items()})


@pytest.mark.parametrize("name", ["checkpoint", "passage_checkpoint", "base"])
@pytest.mark.parametrize("file", ["model.safetensors", "1_Pooling/config.json"])
def test_a_byte_of_any_file_makes_another_model(folders, name, file):
    before = model_identity(local(folders))
    assert model_identity(local(folders)) == before
    changed = folders[name] / file
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")  # of the same size
    after = model_identity(local(folders))
    assert after["files"] != before["files"]
    assert {**after, "files": ""} == {**before, "files": ""}


def test_a_file_of_another_name_makes_another_model(folders):
    before = model_identity(local(folders))
    (folders["base"] / "model.safetensors").rename(folders["base"] / "model.bin")
    assert model_identity(local(folders)) != before


def test_a_copy_in_another_folder_has_the_same_digest(folders, tmp_path):
    before = model_identity(spec(str(folders["checkpoint"])))
    folders["checkpoint"].rename(tmp_path / "moved")
    assert model_identity(spec(str(tmp_path / "moved")))["files"] == before["files"]


def test_a_repository_is_its_pinned_revision():
    pinned = model_identity(spec(revision="f" * 40))
    assert (pinned["checkpoint"], pinned["revision"]) == ("a/b", "f" * 40)
    assert model_identity(spec(revision="e" * 40)) != pinned


def test_a_repository_that_is_not_pinned_is_what_was_resolved():
    one, two = (model_identity(spec(), commits={"a/b": commit}) for commit in ("1" * 40, "2" * 40))
    assert one["revision"] == "not pinned"
    assert one["commits"] == {"a/b": "1" * 40}
    assert one != two
    assert "commits" not in model_identity(spec(), commits={})


@pytest.mark.parametrize(
    "change",
    [
        {"checkpoint": "a/c"},
        {"passage_checkpoint": "a/passages"},
        {"base": "a/base"},
        {"base": "a/base", "base_revision": "f" * 40},
        {"templates": {"query": "query: {query}"}},
        {"parameters": {"length": 128}},
    ],
)
def test_whatever_changes_a_number_changes_the_identity(change):
    assert model_identity(replace(spec(), **change)) != model_identity(spec())


def test_all_of_these_differ_from_one_another():
    given = [{}, {"base": "a/base"}, {"base": "a/base", "base_revision": "f" * 40}, {"passage_checkpoint": "a/base"}]
    found = [str(model_identity(spec(**fields))) for fields in given]
    assert len(set(found)) == len(found)


def test_precision_and_what_is_sent_are_parts_where_they_are_known():
    assert model_identity(spec(), precision="bf16")["precision"] == "bf16"
    assert "precision" not in model_identity(spec())
    assert "template digest" not in model_identity(spec(), template=False)
    # names, descriptions and sources change no number
    assert model_identity(replace(spec(), name="other", notes="x", papers=("y",))) == model_identity(spec())


def test_a_system_without_model_is_what_it_sends():
    assert model_identity(spec("", templates={})) == {}
    assert [*model_identity(spec(""))] == ["template digest"]
