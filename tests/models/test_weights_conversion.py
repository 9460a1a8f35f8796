"""Pickled weights are read as tensors alone and converted; what could run code is refused by torch itself."""

import os
import pickle
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import tiny
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.checkpoints.conversion import PICKLES, convert_pickles, pickles_in, pickles_of, read_pickled
from toolkit.models.checkpoints.local_checkpoints import check_usable, locate
from toolkit.models.encoders import load_encoder

pytestmark = pytest.mark.model

INPUTS = [Input("", text) for text in tiny.TEXTS]


class Malicious:
    """Runs a command as soon as it is unpickled, as the pickles of attackers do."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny.tiny_bert(tmp_path_factory.mktemp("bert") / "bert")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def pickled_copy(folder, target, shards=1):
    """A checkpoint with its weights in PyTorch's form instead, in one file or several."""
    import torch
    from safetensors.torch import load_file

    shutil.copytree(folder, target)
    weights = load_file(target / "model.safetensors")
    (target / "model.safetensors").unlink()
    names = sorted(weights)
    for number in range(shards):
        part = {name: weights[name] for name in names[number::shards]}
        name = "pytorch_model.bin" if shards == 1 else f"pytorch_model-{number + 1:05}-of-{shards:05}.bin"
        torch.save(part, target / name)
    return target


def vectors(folder, **how):
    parameters = {"pooling": "mean", "similarity": "cos", **how}
    return load_encoder(tiny.tiny_spec(folder, parameters=parameters)).encode(INPUTS, "query")


@pytest.mark.parametrize("shards", [1, 3])
def test_pickled_weights_give_the_vectors_of_the_same_weights_as_safetensors(home, bert, tmp_path, shards):
    folder = pickled_copy(bert, tmp_path / "pickled", shards)
    before = sorted(folder.rglob("*"))
    assert np.array_equal(vectors(folder), vectors(bert))
    assert sorted(folder.rglob("*")) == before  # nothing is written into a user's folder
    made = locate(tiny.tiny_spec(folder))
    assert made.parent == home / "converted"
    assert len(list(made.glob("*.safetensors"))) == shards
    assert not list(made.glob("*.bin"))
    assert len((made / PICKLES).read_text().splitlines()) == shards


def test_pickles_of_modules_and_tied_and_sliced_tensors_are_converted(home, bert, tmp_path):
    import torch
    from safetensors.torch import load_file

    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "dense"), dense=8)
    expected = vectors(folder, pooling="own")
    weights = folder / "2_Dense" / "model.safetensors"
    torch.save(load_file(weights), weights.with_name("pytorch_model.bin"))
    weights.unlink()
    assert np.array_equal(vectors(folder, pooling="own"), expected)
    whole = torch.arange(12.0).reshape(3, 4)
    torch.save({"a": whole, "b": whole, "c": whole.T, "d": whole[1]}, tmp_path / "tied.bin")
    assert {name: value.tolist() for name, value in read_pickled(tmp_path / "tied.bin").items()}["c"] == whole.T.tolist()


def test_a_malicious_pickle_is_refused_by_torch_in_one_line_and_runs_nothing(home, bert, tmp_path):
    import torch

    ran = tmp_path / "ran"
    for number, write in enumerate(
        (lambda value, path: torch.save(value, path), lambda value, path: path.write_bytes(pickle.dumps(value, 2)))
    ):
        folder = shutil.copytree(bert, tmp_path / f"bad-{number}")
        (folder / "model.safetensors").unlink()
        write({"weight": Malicious(f"touch {ran}")}, folder / "pytorch_model.bin")
        with pytest.raises(ToolkitError) as caught:
            locate(tiny.tiny_spec(folder))
        message, hint = caught.value.lines()
        assert message.startswith(f"error: {folder / 'pytorch_model.bin'}: torch refuses it as weights (")
        assert "GLOBAL posix.system" in message
        assert hint == "hint:  a pickle may hold nothing but tensors: other objects could run code"
        assert caught.value.status == 2
    assert not ran.exists()
    assert not list((home / "converted").glob("*"))
    # the same bytes do run where pickle itself reads them: the test would see it
    with zipfile.ZipFile(tmp_path / "bad-0" / "pytorch_model.bin") as packed:
        [name] = [name for name in packed.namelist() if name.endswith("data.pkl")]
        pickle.loads(packed.read(name))
    assert ran.exists()


def test_torch_is_asked_for_weights_alone_whatever_the_environment_says(bert, tmp_path, monkeypatch):
    import torch

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    torch.save({"weight": Malicious(f"touch {tmp_path / 'ran'}")}, tmp_path / "bad.bin")
    with pytest.raises(ToolkitError, match="torch refuses it"):
        read_pickled(tmp_path / "bad.bin")
    assert not (tmp_path / "ran").exists()
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(ToolkitError, match=r"torch 2\.5\.1\+cpu does not read .* safely"):
        read_pickled(tmp_path / "bad.bin")


@pytest.mark.parametrize("content", [[1, 2], {}, {"state_dict": {"a": 1}}, {"weight": 3}])
def test_a_pickle_of_something_else_is_no_checkpoint(tmp_path, content):
    import torch

    torch.save(content, tmp_path / "x.bin")
    with pytest.raises(ToolkitError, match="holds no mapping of names to tensors"):
        read_pickled(tmp_path / "x.bin")


def test_a_damaged_pickle_is_one_line(tmp_path):
    for content in (b"", b"PK\x03\x04 cut", b"\x80\x02}q\x00."):
        (tmp_path / "x.bin").write_bytes(content)
        with pytest.raises(ToolkitError) as caught:
            read_pickled(tmp_path / "x.bin")
        assert len(caught.value.lines()) == 2


def compressed(path, method):
    """The same archive with compressed members."""
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content)


LARGER = "has .* bytes, and its tensors would have "
HOSTILE = {
    "a view that repeats one number": (lambda torch: {"a": torch.zeros(1).expand(10**12)}, LARGER + "4,000,000,000,000"),
    "views of one tensor": (
        lambda torch: dict.fromkeys(map(str, range(9)), torch.zeros(4000).expand(500, 4000)),
        LARGER + "72,",
    ),
    "a tensor by many names": (lambda torch: dict.fromkeys(map(str, range(9)), torch.zeros(4000)), LARGER + "144,000"),
    "no memory of its own": (lambda torch: {"a": torch.zeros(3, device="meta")}, "holds no mapping of names to tensors"),
    "sparse": (lambda torch: {"a": torch.eye(3).to_sparse()}, "holds no mapping of names to tensors"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_tensors_larger_than_their_file_are_refused_before_they_are_made(tmp_path, case):
    import torch

    make, message = HOSTILE[case]
    torch.save(make(torch), tmp_path / "x.bin")
    with pytest.raises(ToolkitError, match=message) as caught:
        read_pickled(tmp_path / "x.bin")
    assert caught.value.status == 2


def test_embeddings_by_four_names_are_not_too_large(tmp_path):
    import torch

    table, weights = torch.rand(1000, 8), {"wi": torch.rand(8, 8)}
    torch.save(weights | dict.fromkeys(["shared", "encoder", "decoder", "lm_head"], table), tmp_path / "x.bin")
    assert len(read_pickled(tmp_path / "x.bin")) == 5


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_compressed_archives_are_refused_before_they_are_unpacked(tmp_path, method):
    import torch

    torch.save({"a": torch.zeros(1000)}, tmp_path / "x.bin")
    compressed(tmp_path / "x.bin", method)
    with pytest.raises(ToolkitError, match=r"torch refuses it as weights \(it is compressed, "):
        read_pickled(tmp_path / "x.bin")


@pytest.mark.parametrize("archive", [False, True])
def test_a_storage_beyond_its_file_is_one_line(tmp_path, archive):
    import torch

    path = tmp_path / "x.bin"
    torch.save({"a": torch.zeros(10)}, path, _use_new_zipfile_serialization=archive)
    lie = b"J" + (2 * 10**9).to_bytes(4, "little")  # in the place of K10, in the pickle's codes
    if archive:
        with zipfile.ZipFile(path) as packed:
            members = {name: packed.read(name) for name in packed.namelist()}
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in members.items():
                packed.writestr(name, content.replace(b"K\n", lie) if name.endswith("data.pkl") else content)
    else:
        path.write_bytes(path.read_bytes().replace(b"K\n", lie))
    with pytest.raises(ToolkitError, match="torch refuses it as weights"):
        read_pickled(path)


def test_what_a_failed_conversion_wrote_goes_away(bert, tmp_path):
    import torch

    folder = pickled_copy(bert, tmp_path / "pickled", shards=2)
    torch.save({"a": torch.zeros(1).expand(10**12)}, folder / "pytorch_model-00002-of-00002.bin")
    before = sorted(folder.iterdir())
    with pytest.raises(ToolkitError, match="its tensors would have"):
        convert_pickles(folder, pickles_in(folder), folder)
    assert sorted(folder.iterdir()) == before


def test_a_pickle_of_some_kilobytes_that_would_be_gigabytes_leaves_nothing_in_the_home(home, bert, tmp_path):
    import torch

    folder = pickled_copy(bert, tmp_path / "pickled")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    one = torch.zeros(1)
    views = {f"more.{number}": one.expand(400_000_000) for number in range(4)}  # 6.4 GB
    torch.save({name: one.expand(value.shape) for name, value in weights.items()} | views, folder / "pytorch_model.bin")
    assert (folder / "pytorch_model.bin").stat().st_size < 30_000
    with pytest.raises(ToolkitError, match="its tensors would have 6,4") as caught:
        locate(tiny.tiny_spec(folder))
    assert caught.value.status == 2
    assert "safetensors" in caught.value.hint
    assert not [path for path in (home / "converted").rglob("*") if path.is_file()]


def test_checking_converts_nothing(home, bert, tmp_path):
    check_usable(tiny.tiny_spec(pickled_copy(bert, tmp_path / "pickled")))
    assert not (home / "converted").exists()


def test_only_weights_are_taken_for_pickles():
    names = [
        "pytorch_model.bin",
        "training_args.bin",
        "optimizer.pt",
        "2_Dense/pytorch_model.bin",
        "heads.pt",
        "onnx/pytorch_model.bin",
    ]
    assert pickles_of(names) == ["2_Dense/pytorch_model.bin", "pytorch_model.bin"]
    assert pickles_of([*names, "model.safetensors"]) == ["2_Dense/pytorch_model.bin"]


def test_convert_writes_a_folder_that_is_the_system_with_its_templates_and_recipes(home, bert, tmp_path):
    folder = pickled_copy(bert, tmp_path / "pickled")
    entry = tmp_path / "mine.yaml"
    entry.write_text(
        f"name: mine\ndescription: x\nkind: dense\ncheckpoint: {folder}\nlicence: mit\n"
        "parameters: {pooling: cls, similarity: dot}\n"
        'templates: {query: "query: {query}", passage: "passage: {contents}"}\n'
        'recipes: {paper: {source: me, templates: {query: "{query}!"}}}\n',
        encoding="utf-8",
    )
    made = tmp_path / "made"
    done = tandem("systems", "convert", "mine", "--systems", entry, "--to", made)
    assert (done.returncode, done.stdout) == (0, f"{made}\n"), done.stderr
    assert sorted(path.name for path in made.iterdir() if path.suffix in (".bin", ".safetensors")) == ["model.safetensors"]
    moved = made.rename(tmp_path / "moved")
    old, new = choose_system("mine", files=[entry]), choose_system(str(moved))
    assert new.name == "mine-safetensors"
    assert new.checkpoint == str(moved)
    for name in ("kind", "parameters", "templates", "recipes", "licence"):
        assert getattr(new, name) == getattr(old, name)
    assert np.array_equal(load_encoder(new).encode(INPUTS, "passage"), load_encoder(old).encode(INPUTS, "passage"))
    assert choose_system(str(moved), recipe="paper").templates["query"] == "{query}!"
    assert read_yaml(moved / "system.yaml")["checkpoint"] == str(made)
    again = tandem("systems", "convert", "mine", "--systems", entry, "--to", moved)
    assert (again.returncode, again.stderr.splitlines()[0]) == (2, f"error: {moved} is there already")


def test_what_has_no_checkpoint_is_not_fetched_or_converted(tmp_path):
    for words in (("fetch", "bm25"), ("convert", "bm25", "--to", tmp_path / "x")):
        done = tandem("systems", *words)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: bm25 has no checkpoint to fetch")


def test_the_two_towers_of_an_entry_are_both_converted(home, bert, tmp_path):
    question, passage = (
        pickled_copy(bert, tmp_path / "q"),
        pickled_copy(tiny.tiny_bert(tmp_path / "other", seed=1), tmp_path / "p"),
    )
    spec = replace(tiny.tiny_spec(question, parameters={"pooling": "cls"}), passage_checkpoint=str(passage))
    from toolkit.models.checkpoints.local_checkpoints import convert_system

    made = convert_system(spec, tmp_path / "made")
    new = choose_system(str(made))
    assert isinstance(new, SystemSpec)
    for side in ("query", "passage"):
        assert np.array_equal(load_encoder(new).encode(INPUTS, side), load_encoder(spec).encode(INPUTS, side))
