"""A checkpoint's own code, and pickles with more than tensors, run where the user says --trust-remote-code, nowhere else."""

import json
import pickle
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny
import yaml
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.checkpoints.local_checkpoints import check_usable
from toolkit.models.checkpoints.remote_code import code_of, option_with_code
from toolkit.models.encoders import load_encoder
from toolkit.models.rerankers import load_reranker

CODE = """
from pathlib import Path
from transformers import BertConfig, BertForSequenceClassification, BertModel
Path({mark!r}).touch()

class Config(BertConfig):
    model_type = "of_its_own"

class Scores(BertForSequenceClassification):
    config_class = Config

class Encodes(BertModel):
    config_class = Config
"""
AUTO = {"AutoConfig": "own.Config", "AutoModelForSequenceClassification": "own.Scores", "AutoModel": "own.Encodes"}
PAIRS = [(Input("", "cats"), Input("", "dogs bark at cats"))]
FLAG = "--trust-remote-code runs that code"
model = pytest.mark.model


@pytest.fixture
def mark(tmp_path):
    """The file that the code of `folder` leaves."""
    return tmp_path / "was-run"


@pytest.fixture
def folder(tmp_path, mark, monkeypatch):
    """A checkpoint that only its own code can load."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    place = tiny.tiny_bert(tmp_path / f"c{tmp_path.name}", "BertForSequenceClassification", num_labels=1)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | {"model_type": "of_its_own", "auto_map": AUTO}))
    (place / "own.py").write_text(CODE.format(mark=str(mark)))
    return place


def of_library(folder, kind="cross-encoder", **options):
    parameters = {"type": kind, "model": str(folder), **({"options": options} if options else {})}
    return SystemSpec("s", "", "rerankers", parameters=parameters)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model_kwargs": {"trust_remote_code": True}}, "model_kwargs.trust_remote_code: True"),
        ({"kwargs": {"config_kwargs": {"trust_remote_code": 1}}}, "kwargs.config_kwargs.trust_remote_code: 1"),
        ({"parts": [{"a": 1}, {"trust_remote_code": "yes"}]}, "parts.1.trust_remote_code: yes"),
        ({"tokenizer_kwargs": {"code_revision": "main"}}, "tokenizer_kwargs.code_revision: main"),
        ({"model_kwargs": {"weights_only": False}}, "model_kwargs.weights_only: False"),
        ({"model_kwargs": {"attn_implementation": "a/kernel"}}, "model_kwargs.attn_implementation: a/kernel"),
        ({"model_kwargs": {"trust_remote_code": False, "weights_only": True, "attn_implementation": "sdpa"}}, ""),
        ({"max_length": 256, "prompt": "trust_remote_code"}, ""),
    ],
)
def test_options_that_run_code_are_found_wherever_they_stand(options, said):
    assert option_with_code(options) == said
    spec = of_library("x/y", **options)
    if said:
        with pytest.raises(ToolkitError) as caught:
            check_usable(spec)
        assert f"options.{said}, which runs code" in caught.value.message
        assert caught.value.hint.startswith(FLAG)


@model
@pytest.mark.parametrize("options", [{"model_kwargs": {"trust_remote_code": True}}, {}])
@pytest.mark.parametrize("kind", ["cross-encoder", "llm-layerwise"])
def test_the_library_of_rerankers_runs_a_checkpoints_code_with_the_flag_alone(kind, options, folder, mark):
    with pytest.raises(ToolkitError) as caught:
        load_reranker(of_library(folder, kind, **options), device="cpu").score(PAIRS)
    assert caught.value.hint.startswith(FLAG)
    assert not mark.exists()
    if kind == "cross-encoder":
        assert len(load_reranker(of_library(folder, **options), device="cpu", trust_remote_code=True).score(PAIRS)) == 1
        assert mark.exists()


@model
def test_a_reranker_that_needs_no_code_is_loaded_without_the_flag_though_its_repository_has_some(tmp_path, mark):
    place = tiny.tiny_bert(tmp_path / "native", "BertForSequenceClassification", num_labels=1)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | {"auto_map": AUTO}))
    (place / "own.py").write_text(CODE.format(mark=str(mark)))
    assert len(load_reranker(of_library(place), device="cpu").score(PAIRS)) == 1
    assert not mark.exists()


class Runs:
    """What a pickle of this does when it is read."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@model
def test_no_pickle_runs_code_whatever_an_entry_says(tmp_path, mark):
    import torch

    place = tiny.tiny_bert(tmp_path / "pickled", "BertForSequenceClassification", num_labels=1)
    (place / "model.safetensors").unlink()
    torch.save({"weight": Runs(mark)}, place / "pytorch_model.bin")
    for options in ({"weights_only": False}, {"use_safetensors": False}, {}):
        with pytest.raises(ToolkitError):
            load_reranker(of_library(place, model_kwargs=options), device="cpu").score(PAIRS)
        assert not mark.exists(), options


@model
def test_a_library_reads_tensors_alone_of_a_pickle_unless_code_is_trusted(tmp_path, mark):
    import torch

    torch.save({"weight": Runs(mark)}, tmp_path / "w.bin")
    with pytest.raises(pickle.UnpicklingError), code_of("s", False):
        torch.load(tmp_path / "w.bin", weights_only=False)
    assert not mark.exists()
    with code_of("s", True):
        torch.load(tmp_path / "w.bin", weights_only=False)
    assert mark.exists()


@model
def test_a_command_says_which_flag_an_entry_asks_for(folder, mark, tmp_path):
    row = {"name": "asks", "description": "d", "kind": "rerankers"}
    row["parameters"] = of_library(folder, model_kwargs={"trust_remote_code": True}).parameters
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(row))
    (tmp_path / "run.trec").write_text("audience-001-1-ins Q0 audience-021 1 1.0 t\n")
    words = ("rerank", "--run", "run.trec", "--topics", "infosearch-mini-audience")
    words = (*words, "--system", "asks", "--systems", "mine.yaml")
    for dry in ([], ["--dry-run"]):
        done = tandem(*words, "--output", "o.trec", *dry, cwd=tmp_path)
        if not dry:
            assert (done.returncode, done.stderr.count("\n"), FLAG in done.stderr) == (2, 2, True), done.stderr
        assert not mark.exists()
    assert not (tmp_path / "o.trec").exists()
    tandem(*words, "--output", "o.trec", "--trust-remote-code", cwd=tmp_path, check=True)
    assert mark.exists()


needs_mteb = pytest.mark.skipif(find_spec("mteb") is None, reason="mteb is not installed")


@pytest.fixture
def of_mteb(folder, monkeypatch):
    """An entry of MTEB that loads `folder`, in the way that it is given: it says that it needs code, or takes it unsaid."""
    import mteb
    from mteb.models.model_implementations import MODEL_REGISTRY

    class Loaded:
        def __init__(self, name, revision, trust_remote_code=True, **how):
            from transformers import AutoModel

            self.model = AutoModel.from_pretrained(folder, trust_remote_code=trust_remote_code)

        def encode(self, inputs, **how):
            return [[1.0, 2.0]] * len(inputs.dataset)

    def entry(said):
        base = mteb.get_model_meta("mteb/baseline-random-encoder")
        loader_kwargs = {"trust_remote_code": True} if said else {}
        made = base.model_copy(update={"name": "x/y", "loader": Loaded, "loader_kwargs": loader_kwargs, "modalities": ["text"]})
        monkeypatch.setitem(MODEL_REGISTRY, "x/y", made)
        return "mteb:x/y"

    return entry


@model
@needs_mteb
@pytest.mark.parametrize("said", [True, False])
def test_a_model_of_mteb_runs_its_code_with_the_flag_alone(said, of_mteb, mark):
    name = of_mteb(said)
    assert choose_system(name).remote_code is said
    with pytest.raises(ToolkitError) as caught:
        load_encoder(choose_system(name))
    assert caught.value.hint.startswith(FLAG)
    assert not mark.exists()
    assert load_encoder(choose_system(name), trust_remote_code=True).dimension == 2
    assert mark.exists()


@model
@needs_mteb
def test_no_entry_of_mteb_that_asks_for_code_is_used_without_the_flag():
    from mteb.models.model_implementations import MODEL_REGISTRY

    from toolkit.models.checkpoints.mteb_models import CLASSES

    asking = [name for name, meta in MODEL_REGISTRY.items() if (meta.loader_kwargs or {}).get("trust_remote_code")]
    asking = [name for name in asking if set(CLASSES) & set(MODEL_REGISTRY[name].model_type)]
    assert len(asking) > 50
    for name in asking:
        with pytest.raises(ToolkitError) as caught:
            check_usable(choose_system(f"mteb:{name}"))
        assert caught.value.hint.startswith(FLAG), name
