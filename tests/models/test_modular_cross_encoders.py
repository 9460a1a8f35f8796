"""Cross-encoders in the layout of sentence-transformers' modules: the library's own scores, the instruction as its prompt."""

import json
import shutil

import numpy as np
import pytest
import tiny
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.rerankers import load_reranker
from toolkit.registry.system_kinds import loaded_by

pytestmark = pytest.mark.model
TEMPLATE = (
    "{% set ns = namespace(instruct='Given a web search query, find passages that answer it') %}"
    "{% for turn in messages %}{% if turn.role == 'system' %}{% set ns.instruct = turn.content %}{% endif %}{% endfor %}"
    "user: <Instruct>: {{ ns.instruct }}\n"
    "<Query>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
    "<Document>: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}\nassistant:"
)
TEXTS = [
    ("cats", "", "the cat sat"),
    ("cats", "only dogs", "the cat sat"),
    ("cats", "only dogs", "a dog and a cat " * 100),
    ("dogs", "only old ones", "an old dog"),
    ("dogs", "", "an old dog"),
]
PAIRS = [(Input("", query, instruction), Input("", document)) for query, instruction, document in TEXTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules.logit_score import LogitScore
    from transformers import AutoTokenizer

    place = tmp_path_factory.mktemp("modular")
    base = tiny.tiny_decoder(place / "base", "Qwen3", "ForCausalLM", tie_word_embeddings=False)
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template, tokenizer.pad_token = TEMPLATE, tokenizer.eos_token
    tokenizer.save_pretrained(base)
    model = CrossEncoder(modules=[Transformer(str(base), transformer_task="text-generation"), LogitScore(40, 41)])
    model.save_pretrained(str(place / "made"))
    return place / "made"


@pytest.fixture(scope="module")
def theirs(folder):
    """The library's own scores, pair by pair."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder))
    return [float(model.predict([(query, document)], prompt=instruction or None)[0]) for query, instruction, document in TEXTS]


def loaded(folder, instruction_as=None, **how):
    return load_reranker(loaded_by(choose_system(str(folder), kind="cross-encoder"), None, instruction_as), device="cpu", **how)


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_scores_are_the_librarys_own(folder, theirs, batch_size):
    reranker = loaded(folder, batch_size=batch_size)
    assert np.abs(reranker.score(PAIRS) - theirs).max() <= 1e-6
    assert len({round(score, 6) for score in theirs}) == len(theirs)  # the instruction matters
    assert reranker.truncated == 1
    assert reranker.facts["modules"] == ["Transformer", "LogitScore"]
    assert (reranker.facts["activation"], reranker.facts["length"]) == ("sigmoid", 256)


def test_what_is_known_is_left_out_batch_by_batch(folder, theirs):
    found = dict(
        zip(
            *map(
                list,
                zip(
                    *[
                        (place, value)
                        for places, values in loaded(folder).batches(PAIRS, done=[0, 4])
                        for place, value in zip(places, values, strict=True)
                    ],
                    strict=True,
                ),
            ),
            strict=True,
        )
    )
    assert set(found) == {1, 2, 3}


def test_tokens_are_those_that_the_model_reads(folder):
    from transformers import AutoTokenizer

    read = AutoTokenizer.from_pretrained(folder).decode(loaded(folder).tokens(PAIRS[1]))
    assert "<Instruct>: only dogs" in read
    assert "<Query>: cats" in read
    assert len(loaded(folder).tokens(PAIRS[2])) == 256


def test_the_instruction_goes_to_the_prompt_or_into_the_text(folder, tmp_path, home):
    assert loaded_by(choose_system(str(folder), kind="cross-encoder"), None).templates == {"instruction": "{instruction}"}
    assert loaded_by(choose_system(str(folder), kind="cross-encoder"), None, "text").templates == {}
    what = ("--topics", "infosearch-mini-audience", "--query", "audience-001-1-ins", "--kind", "cross-encoder")
    shown = tandem("systems", "explain", str(folder), *what, "--doc", "audience-001", check=True).stdout
    assert '  field    "I have no background in biology' in shown
    assert "  pair " in shown
    run = tmp_path / "first.trec"
    run.write_text("audience-001-1-ins Q0 audience-001 1 2 t\naudience-001-1-ins Q0 audience-101 2 1 t\n")
    how = ("--run", run, "--topics", "infosearch-mini-audience-ins", "--kind", "cross-encoder", "--output", tmp_path / "r.trec")
    tandem("rerank", "--system", str(folder), *how, check=True)
    record = (tmp_path / "r.trec.yaml").read_text()
    assert "instruction as: field prompt" in record


def test_a_plain_cross_encoder_takes_no_instruction_apart(tmp_path):
    plain = tiny.tiny_bert(tmp_path / "bert", "BertForSequenceClassification", num_labels=1)
    with pytest.raises(ToolkitError, match="has no chat template that takes an instruction apart"):
        loaded(plain, "field")
    assert loaded(plain).score([PAIRS[0]]).shape == (1,)


def changed(folder, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    change(copy)
    return copy


def listed(**entry):
    def change(copy):
        modules = json.loads((copy / "modules.json").read_text())
        modules[1] |= entry
        (copy / "modules.json").write_text(json.dumps(modules))

    return change


def dropped(copy):
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    weights.pop("model.layers.0.mlp.up_proj.weight")
    save_file(weights, copy / "model.safetensors", {"format": "pt"})


def reshaped(copy):
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    weights["lm_head.weight"] = weights["lm_head.weight"][:, :16].contiguous()
    save_file(weights, copy / "model.safetensors", {"format": "pt"})


def no_score(copy):
    (copy / "1_LogitScore" / "config.json").write_text('{"true_token_id": 99999999}')


WRONG = {
    "a module of somebody's": (listed(type="os.system"), "has a module 'os.system'"),
    "a module of the library that is none of these": (listed(type="sentence_transformers.base.modules.Router"), "has a module"),
    "a folder elsewhere": (listed(path="../../elsewhere"), "elsewhere"),
    "no mapping": (lambda copy: (copy / "modules.json").write_text("[7]"), "modules.json|damaged|is no"),
    "a weight that is not there": (dropped, "lacks 1 weights"),
    "a weight of another shape": (reshaped, "in other shapes"),
    "a token that the model has not": (no_score, "compares the tokens"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_damaged_or_hostile_checkpoint_is_refused_in_one_line(folder, tmp_path, wrong):
    change, said = wrong
    with pytest.raises(ToolkitError, match=said) as caught:
        loaded(changed(folder, tmp_path, change)).score(PAIRS[:1])
    assert "\n" not in caught.value.message


def test_what_the_modules_say_cannot_be_said_by_an_entry(folder, tmp_path):
    entry = tmp_path / "mine.yaml"
    entry.write_text(
        f"name: mine\ndescription: d\nkind: cross-encoder\ncheckpoint: {folder}\nparameters: {{activation: identity}}\n"
    )
    with pytest.raises(ToolkitError, match="has modules of its own"):
        load_reranker(choose_system("mine", files=[entry]), device="cpu")
