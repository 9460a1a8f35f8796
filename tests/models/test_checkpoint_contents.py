"""A checkpoint holds the weights of its architecture, all in their shapes and no others, or is refused by their names."""

import json
import shutil

import numpy as np
import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.checkpoints import check_usable, locate
from toolkit.models.encoders import load_encoder
from toolkit.models.rerankers import load_reranker

pytestmark = pytest.mark.model
POOLED = {"pooling": "pooler", "similarity": "cos"}
MEAN = {"pooling": "mean", "similarity": "cos"}
SIZES = {"num_hidden_layers": 1}
# name -> how its checkpoint is made, and what loads it
SYSTEMS = {
    "bi-encoder": (lambda folder: tiny.tiny_bert(folder, **SIZES), "dense", POOLED, load_encoder),
    "cross-encoder": (
        lambda folder: tiny.tiny_bert(folder, "BertForSequenceClassification", num_labels=1, **SIZES),
        *("cross-encoder", {}, load_reranker),
    ),
    "language model": (
        lambda folder: tiny.tiny_decoder(folder, "Llama", "ForCausalLM", tie_word_embeddings=False, **SIZES),
        *("yes-no", {"tokens": ["t", "o"]}, load_reranker),
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return {name: make(folder / name.replace(" ", "-")) for name, (make, *_) in SYSTEMS.items()}


def weights_of(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def with_weights(folder, weights, target, pickled=False):
    """A copy of a checkpoint with other weights."""
    import torch
    from safetensors.torch import save_file

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    if pickled:
        (target / "model.safetensors").unlink()
        torch.save(weights, target / "pytorch_model.bin")
    else:
        save_file(weights, target / "model.safetensors", {"format": "pt"})
    return target


def refused(load, spec):
    """The one line of what a checkpoint is refused with."""
    with pytest.raises(ToolkitError) as caught:
        load(spec, device="cpu")
    assert caught.value.status == 2
    assert "\n" not in caught.value.message
    return caught.value.message


def changed(weights, name, change):
    """Weights without one of them, with another name for it, or with twice its rows."""
    rest = {other: value for other, value in weights.items() if other != name}
    if change == "dropped":
        return rest
    if change == "renamed":
        return {**rest, f"{name}s": weights[name]}
    return {**rest, name: weights[name].repeat_interleave(2, 0).contiguous()}


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("change", ["dropped", "renamed", "reshaped"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_weight_that_is_missing_misnamed_or_of_another_shape_is_named(made, home, tmp_path, system, change, pickled):
    _, kind, parameters, load = SYSTEMS[system]
    weights = weights_of(made[system])
    spec = tiny.tiny_spec(with_weights(made[system], weights, tmp_path / "x", pickled), kind, parameters=parameters)
    load(spec, device="cpu")
    for name in weights:
        with_weights(made[system], changed(weights, name, change), tmp_path / "x", pickled)
        shutil.rmtree(home / "converted", ignore_errors=True)
        message = refused(load, spec)
        assert name in message
        if change == "renamed":
            assert f"{name}s" in message


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_weight_that_the_model_has_no_place_for_is_named(made, tmp_path, system):
    _, kind, parameters, load = SYSTEMS[system]
    weights = weights_of(made[system])
    # a head of the model's own may not have more than it computes with either
    for name in ("rogue.weight", max(weights).rpartition(".")[0] + ".more"):
        folder = with_weights(made[system], {**weights, name: weights[min(weights)].clone()}, tmp_path / "x")
        message = refused(load, tiny.tiny_spec(folder, kind, parameters=parameters))
        assert message.startswith(f"tiny: {folder} holds 1 weights that ")
        assert message.endswith(f"({name})")


def test_a_weight_of_another_shape_is_named_where_a_library_loads_it(tmp_path):
    folder = tiny.tiny_colbert(tmp_path / "late", **SIZES)
    weights = changed(weights_of(folder), "bert.encoder.layer.0.output.dense.bias", "reshaped")
    message = refused(load_encoder, tiny.tiny_spec(with_weights(folder, weights, tmp_path / "x"), "multivector"))
    assert message.endswith("in other shapes than BertModel (encoder.layer.0.output.dense.bias: (64,), not (32,))")


def test_heads_and_tables_that_an_encoder_does_not_compute_with_are_spare(made, tmp_path):
    import torch

    whole = load_encoder(tiny.tiny_spec(made["bi-encoder"], parameters=MEAN)).encode([Input("", "a dog")], "query")
    weights = weights_of(made["bi-encoder"])
    spare = {"cls.predictions.bias": torch.zeros(3), "classifier.weight": torch.ones(1, 32)}
    spare |= {"embeddings.position_ids": torch.arange(64)[None]}
    encoder = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    for these in ({**weights, **spare}, encoder):
        spec = tiny.tiny_spec(with_weights(made["bi-encoder"], these, tmp_path / "x"), parameters=MEAN)
        assert np.array_equal(load_encoder(spec).encode([Input("", "a dog")], "query"), whole)
    assert "lacks 2 weights of BertModel (pooler.dense.bias, pooler.dense.weight)" in refused(
        load_encoder, tiny.tiny_spec(tmp_path / "x", parameters=POOLED)
    )


def test_at_most_twenty_names_are_shown(made, tmp_path):
    folder = shutil.copytree(made["bi-encoder"], tmp_path / "x")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tiny.write_json(folder / "config.json", {**config, "num_hidden_layers": 3})
    message = refused(load_encoder, tiny.tiny_spec(folder, parameters=MEAN))
    assert "lacks 32 weights of BertModel (encoder.layer.1.attention.output.LayerNorm.bias, " in message
    assert message.count("encoder.layer.") == 20
    assert message.endswith(", ...)")


def test_more_layers_than_tensors_are_refused_before_a_model_is_made(made, tmp_path):
    folder = shutil.copytree(made["bi-encoder"], tmp_path / "x")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tiny.write_json(folder / "config.json", {**config, "num_hidden_layers": 1000})
    with pytest.raises(ToolkitError, match="num_hidden_layers is 1000, which is no size of a model with these weights"):
        check_usable(tiny.tiny_spec(folder, parameters=MEAN))


def test_a_size_that_the_weights_do_not_have_takes_no_memory(made, tmp_path):
    folder = shutil.copytree(made["bi-encoder"], tmp_path / "x")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tiny.write_json(folder / "config.json", {**config, "intermediate_size": 1 << 24, "hidden_size": 1 << 24})
    assert "holds 23 weights in other shapes than BertModel" in refused(load_encoder, tiny.tiny_spec(folder, parameters=MEAN))


def test_the_weights_of_an_adapter_are_all_used(tmp_path):
    from safetensors.torch import load_file, save_file

    base = tiny.tiny_decoder(tmp_path / "base", "Llama", "ForCausalLM", **SIZES)
    adapter = tiny.tiny_lora(tmp_path / "adapter", base)
    spec = tiny.tiny_spec(adapter, parameters={"pooling": "last", "similarity": "cos"}, base=str(base))
    load_encoder(spec, device="cpu")
    weights = load_file(adapter / "adapter_model.safetensors")
    for name in (*weights, "rogue.weight"):
        these = {**changed(weights, name, "renamed")} if name in weights else {**weights, name: weights[min(weights)].clone()}
        save_file(these, adapter / "adapter_model.safetensors", {"format": "pt"})
        assert "does not fit LlamaModel" in refused(load_encoder, spec)


def write_gguf(path, held=2, drop=(), rename=(), reshape=(), extra=(), **announced):
    """A Llama in GGUF that holds so many blocks; announced: sizes of the header that differ from those of its tensors."""
    import gguf

    width, inner, words = 32, 64, 40
    said = {"blocks": held, "width": width, "inner": inner, **announced}
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(said["blocks"])
    file.add_context_length(64)
    file.add_embedding_length(said["width"])
    file.add_feed_forward_length(said["inner"])
    file.add_head_count(4)
    file.add_head_count_kv(2)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_tokenizer_model("llama")
    pieces = ["<unk>", "<s>", "</s>", "▁", *map(chr, range(97, 123)), *(f"<0x{byte:02X}>" for byte in range(words - 30))]
    file.add_token_list(pieces)
    file.add_token_scores([-float(number) for number in range(words)])
    file.add_token_types([1] * words)
    shapes = {"token_embd.weight": (words, width), "output_norm.weight": (width,), "output.weight": (words, width)}
    square, half = (width, width), (width // 2, width)
    block = {"attn_norm": (width,), "ffn_norm": (width,), "attn_q": square, "attn_k": half, "attn_v": half}
    block |= {"attn_output": square, "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
    shapes |= {f"blk.{number}.{name}.weight": shape for number in range(held) for name, shape in block.items()}
    random = np.random.default_rng(0)
    for name, shape in {**shapes, **dict.fromkeys(extra, (3,))}.items():
        if name not in drop:
            shape = (shape[0] * 2, *shape[1:]) if name in reshape else shape
            file.add_tensor(f"{name}s" if name in rename else name, random.standard_normal(shape, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return list(shapes)


def located(path):
    """The one line of what a GGUF file is refused with; nothing is left of it."""
    before = sorted((path.parent / "home").rglob("*.safetensors"))
    with pytest.raises(ToolkitError) as caught:
        locate(tiny.tiny_spec(path, "yes-no"))
    assert (caught.value.status, "\n" in caught.value.message) == (2, False)
    assert sorted((path.parent / "home").rglob("*.safetensors")) == before
    return caught.value.message


def test_each_tensor_of_a_gguf_file_that_is_missing_misnamed_or_of_another_shape_is_named(home, tmp_path):
    path = tmp_path / "x.gguf"
    names = write_gguf(path, held=1)
    assert locate(tiny.tiny_spec(path, "yes-no")).parent == home / "converted"
    for name in names:
        for change in ("drop", "rename", "reshape"):
            if (change, name) == ("drop", "output.weight"):  # a head that is the embeddings is not written
                continue
            write_gguf(path, held=1, **{change: [name]})
            message = located(path)
            assert "1 weights" in message
            if change == "rename":
                assert f"holds 1 weights that LlamaForCausalLM has not ({name}s)" in message
    write_gguf(path, held=1, drop=["output.weight"])
    locate(tiny.tiny_spec(path, "yes-no"))


def test_a_gguf_file_with_other_tensors_blocks_or_sizes_than_its_header_announces_is_refused(home, tmp_path):
    path = tmp_path / "x.gguf"
    names = write_gguf(path, extra=["rogue.weight", "rope_freqs.weight"])
    assert located(path).endswith("holds 2 weights that LlamaForCausalLM has not (rogue.weight, rope_freqs.weight)")
    write_gguf(path, drop=names)
    assert located(path).endswith("x.gguf announces 2 blocks (llama.block_count), and has tensors of 0")
    for number in (3, 1000, 4_000_000_000):
        write_gguf(path, blocks=number)
        assert located(path).endswith(f"announces {number:,} blocks (llama.block_count), and has tensors of 2")
    for announced in ({"width": 1 << 20}, {"inner": 1 << 30}):
        write_gguf(path, **announced)
        assert "announces a model of " in located(path)
