"""What encoders are sent: special tokens, limits, and what is counted; and what they refuse."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder
from toolkit.models.vectors.batches import by_length

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny.tiny_bert(tmp_path_factory.mktemp("tiny") / "bert")


@pytest.fixture(scope="module")
def mistral(tmp_path_factory):
    return tiny.tiny_decoder(tmp_path_factory.mktemp("tiny") / "mistral")


def encoder_of(folder, **parameters):
    spec = tiny.tiny_spec(folder, parameters={"pooling": "mean", "similarity": "cos", **parameters})
    return load_encoder(spec, device="cpu")


def copy_of(folder, target, file, **changes):
    """A checkpoint with some keys of one of its JSON files changed."""
    shutil.copytree(folder, target)
    told = json.loads((target / file).read_text()) if (target / file).exists() else {}
    (target / file).write_text(json.dumps(told | changes))
    return target


def test_batches_are_filled_by_tokens_longest_first():
    assert by_length([3, 100, 60, 128, 60], 1) == [[3], [1], [2, 4], [0]]
    assert by_length([3, 100, 60, 128, 60], 4) == [[3, 1, 2, 4], [0]]
    assert by_length([500, 7], 1) == [[0], [1]]
    assert by_length([], 32) == []


def test_a_text_is_cut_at_its_sides_limit_and_ends_as_a_whole_one(bert):
    encoder = encoder_of(bert, query_length=6, passage_length=9)
    cls, sep, a = 2, 3, 5
    assert encoder.token_ids(Input("", "a a a a"), "query") == [cls, a, a, a, a, sep]
    assert encoder.token_ids(Input("", "a a a a a a a a"), "query") == [cls, a, a, a, a, sep]
    assert encoder.token_ids(Input("", "a a a a a a a a"), "passage") == [cls, a, a, a, a, a, a, a, sep]
    assert encoder.truncated == {"query": 0, "passage": 0}  # a look counts nothing


def test_cut_inputs_are_counted_by_side_and_equal_ones_each(bert):
    encoder = encoder_of(bert, query_length=6, passage_length=9)
    long, short = Input("", "a a a a a"), Input("", "a a a a")
    encoder.encode([long, short, long], "query")
    encoder.encode([long], "passage")
    assert (encoder.truncated, encoder.lost) == ({"query": 2, "passage": 0}, 0)


def test_a_query_behind_too_long_an_instruction_is_lost(bert):
    encoder = encoder_of(bert, query_length=6)
    last_is_there, lost = Input("the the the ", "a a"), Input("the the the the ", "a a")
    encoder.encode([last_is_there], "query")
    assert (encoder.truncated["query"], encoder.lost) == (1, 0)
    encoder.encode([lost], "query")
    assert (encoder.truncated["query"], encoder.lost) == (2, 1)
    encoder.encode([lost], "passage")
    assert encoder.lost == 1


def test_without_a_limit_in_the_entry_the_checkpoint_has_one(bert, tmp_path):
    assert encoder_of(bert).towers["query"].limits == {"query": 64, "passage": 64}
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "modules"), length=48)
    assert encoder_of(folder, query_length=20).towers["query"].limits == {"query": 20, "passage": 48}


def test_a_limit_beyond_the_models_positions_is_refused(bert):
    with pytest.raises(ToolkitError) as caught:
        encoder_of(bert, passage_length=65)
    assert caught.value.message == "tiny: passage_length is 65, but the model has 64 positions"


def test_eos_is_appended_within_the_limit_and_once(mistral, tmp_path):
    text = Input("", "the cat")
    bare = encoder_of(mistral).token_ids(text, "query")
    assert bare[0] == 1  # `<s>`
    assert encoder_of(mistral, eos=True).token_ids(text, "query") == [*bare, 2]
    assert encoder_of(mistral, eos=True, query_length=4).token_ids(text, "query") == [*bare[:3], 2]
    # the tokenizer's own wish, which transformers 5 does not hear, and the entry's word against it
    wished = copy_of(mistral, tmp_path / "wished", "tokenizer_config.json", add_eos_token=True, add_bos_token=True)
    assert encoder_of(wished).token_ids(text, "query") == [*bare, 2]
    assert encoder_of(wished, eos=True).token_ids(text, "query") == [*bare, 2]
    assert encoder_of(wished, eos=False).token_ids(text, "query") == bare


def test_an_end_of_sequence_that_a_tokenizer_has_not_is_refused(bert):
    with pytest.raises(ToolkitError, match=r"the tokenizer of .*bert has no end of sequence"):
        encoder_of(bert, eos=True)


def test_bos_is_kept_where_the_tokenizer_file_does_not_add_it(mistral, tmp_path):
    folder = copy_of(mistral, tmp_path / "bare", "tokenizer.json", post_processor=None)
    text = Input("", "the cat")
    assert encoder_of(folder).token_ids(text, "query") == encoder_of(mistral).token_ids(text, "query")[1:]
    wished = copy_of(folder, tmp_path / "wished", "tokenizer_config.json", add_bos_token=True)
    assert encoder_of(wished).token_ids(text, "query") == encoder_of(mistral).token_ids(text, "query")


def test_results_come_in_the_order_of_the_inputs_and_equal_inputs_are_equal(bert):
    encoder = encoder_of(bert)
    inputs = [Input("", text) for text in [*tiny.TEXTS, tiny.TEXTS[0]]]
    vectors = encoder.encode(inputs, "query")
    backwards = encoder.encode(inputs[::-1], "query")[::-1]
    assert np.array_equal(vectors, backwards)
    assert np.array_equal(vectors[0], vectors[-1])
    assert np.array_equal(vectors, encoder.encode(inputs, "query"))


def test_nothing_gives_nothing_and_no_token_the_zero_vector(tmp_path):
    encoder = encoder_of(tiny.tiny_decoder(tmp_path / "qwen", "Qwen2"))
    assert encoder.encode([], "query").shape == (0, 32)
    vectors = encoder.encode([Input("", ""), Input("", "a")], "query")
    assert not vectors[0].any()
    assert np.isclose(np.linalg.norm(vectors[1]), 1)
    assert not encoder.encode([Input("", "")], "query").any()


def test_several_devices_give_what_one_gives(bert):
    spec = tiny.tiny_spec(bert, parameters={"pooling": "mean"})
    inputs = [Input("", f"{text} {number}") for number in range(40) for text in tiny.TEXTS]
    one, two = (load_encoder(spec, device=device, batch_size=1) for device in ("cpu", "cpu,cpu"))
    assert np.array_equal(one.encode(inputs, "query"), two.encode(inputs, "query"))


def test_a_failure_on_one_of_several_devices_is_not_swallowed(bert):
    encoder = load_encoder(tiny.tiny_spec(bert, parameters={"pooling": "mean"}), device="cpu,cpu")
    encoder.towers["query"].models[1] = None
    inputs = [Input("", f"a {number}") for number in range(2000)]
    with pytest.raises(AttributeError):
        encoder.encode(inputs, "query")


def test_a_batch_that_does_not_fit_into_the_gpu_is_a_failure_in_one_line(bert, monkeypatch):
    import torch

    def full(self, **batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    encoder = encoder_of(bert)
    monkeypatch.setattr("transformers.BertModel.forward", full)
    with pytest.raises(ToolkitError, match="a batch does not fit into the GPU's memory") as caught:
        encoder.encode([Input("", "a")], "query")
    assert caught.value.status == 1


def test_half_precision_is_computed_with_and_scored_in_float32(bert):
    spec = tiny.tiny_spec(bert, parameters={"pooling": "mean"})
    inputs = [Input("", text) for text in tiny.TEXTS]
    full, half = (load_encoder(spec, device="cpu", precision=precision) for precision in (None, "bf16"))
    vectors = half.encode(inputs, "query")
    assert str(half.towers["query"].models[0].dtype) == "torch.bfloat16"
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert 0.99 < (vectors * full.encode(inputs, "query")).sum(axis=1).min() < 1


def test_checkpoints_saved_in_half_precision_are_computed_in_full(bert, tmp_path):
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path / "half"
    AutoModel.from_pretrained(bert).half().save_pretrained(folder)
    AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    assert str(encoder_of(folder).towers["query"].models[0].dtype) == "torch.float32"


def test_a_checkpoint_that_says_nothing_of_its_pooling_is_refused(bert):
    with pytest.raises(ToolkitError) as caught:
        encoder_of(bert, pooling="own")
    assert caught.value.lines() == [
        f"error: tiny: {bert} does not say how it pools (no modules.json)",
        "hint:  set it: --pooling cls, mean or last",
    ]


def test_weights_that_would_be_random_are_refused(bert, tmp_path):
    wrong = copy_of(bert, tmp_path / "wrong", "config.json", num_hidden_layers=3)
    with pytest.raises(ToolkitError, match=r"lacks 16 weights of BertModel \(encoder.layer.2"):
        encoder_of(wrong)


def test_what_transformers_cannot_load_is_one_line(bert, tmp_path):
    short = shutil.copytree(bert, tmp_path / "short")
    weights = short / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    newer = copy_of(bert, tmp_path / "newer", "config.json", model_type="newest")
    for folder, message in (
        (short, r"model\.safetensors is no safetensors file"),
        (newer, r"^tiny: transformers [\d.]+ cannot load "),
    ):
        with pytest.raises(ToolkitError, match=message) as caught:
            encoder_of(folder)
        assert "\n" not in caught.value.message


def test_an_adapter_of_another_class_is_refused(tmp_path):
    from transformers import AutoModelForCausalLM

    base = tiny.tiny_decoder(tmp_path / "base", "Llama")
    other = tiny.tiny_decoder(tmp_path / "other", "Llama", "ForCausalLM")
    adapter = tiny.tiny_lora(tmp_path / "adapter", other, kind=AutoModelForCausalLM)
    spec = tiny.tiny_spec(adapter, base=str(base), parameters={"pooling": "last", "eos": True})
    with pytest.raises(ToolkitError) as caught:
        load_encoder(spec, device="cpu")
    assert caught.value.message.startswith(f"tiny: the adapter in {adapter} does not fit LlamaModel (")


def test_layers_after_the_pooling_are_computed_in_float32_too(bert, tmp_path):
    inputs = [Input("", text) for text in tiny.TEXTS]
    for pooling, normalize in (("mean", True), ("max", False)):  # by us, and by sentence-transformers
        folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / pooling), pooling, normalize=normalize)
        spec = tiny.tiny_spec(folder, parameters={"pooling": "own", "similarity": "cos"})
        vectors = load_encoder(spec, device="cpu", precision="bf16").encode(inputs, "query")
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    spec = tiny.tiny_spec(tmp_path / "mean", parameters={"pooling": "own", "similarity": "dot"})
    vectors = load_encoder(spec, device="cpu", precision="bf16").encode(inputs, "query")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_vectors_that_are_not_finite_are_refused(bert, tmp_path):
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(bert, tmp_path / "broken")
    weights = load_file(broken / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][7] = float("nan")
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    other = tiny.sentence_modules(shutil.copytree(broken, tmp_path / "other"), "max")
    for encoder in (encoder_of(broken), encoder_of(other, pooling="own")):
        encoder.encode([Input("", "the cat")], "query")
        with pytest.raises(ToolkitError) as caught:
            encoder.encode([Input("", "the cat"), Input("", "is")], "query")
        assert caught.value.message == "the model's output for 'is' in fp32 is not finite"


def test_texts_without_words_and_of_any_script_have_vectors(bert):
    texts = ["", " ", "!?", "\x00", "中文 текст", "😀" * 100, "a" * 100_000]
    vectors = encoder_of(bert).encode([Input("", text) for text in texts], "query")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_texts_tokenized_in_groups_are_as_those_at_once(bert, monkeypatch):
    encoder = encoder_of(bert)
    inputs = [Input("", text * 3) for text in ["", *tiny.TEXTS, ""]]
    at_once = [sent.ids for sent in encoder.towers["query"].framing(inputs, 64)]
    monkeypatch.setattr("toolkit.models.encoders.tokens.AT_ONCE", 40)
    assert [sent.ids for sent in encoder.towers["query"].framing(inputs, 64)] == at_once


def test_behind_too_long_an_instruction_only_the_special_tokens_are_pooled(bert):
    encoder = encoder_of(bert, query_length=6, mask_prefix=True)
    longer, longest = (Input("the " * count, "a") for count in (4, 9))
    vectors = encoder.encode([longer, longest], "query")
    assert encoder.lost == 2
    assert np.allclose(vectors[0], vectors[1])  # both are [CLS] and four words, which are kept out, and [SEP]
    assert np.isclose(np.linalg.norm(vectors[1]), 1)


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_where_nothing_is_left_to_pool_the_vector_is_zero(mistral, pooling):
    encoder = encoder_of(mistral, query_length=6, mask_prefix=True, pooling=pooling)
    vectors = encoder.encode([Input("a cat and a dog: ", "a"), Input("", "the cat")], "query")
    assert encoder.lost == 1
    assert not vectors[0].any()
    assert np.isclose(np.linalg.norm(vectors[1]), 1)


def test_padding_on_the_left_of_a_table_of_positions_is_refused(tmp_path):
    folder = tiny.tiny_roberta(tmp_path / "roberta", "XLMRobertaModel")
    with pytest.raises(ToolkitError, match="padding is on the left, but the model has absolute positions"):
        encoder_of(folder, padding="left")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}),
        ("sentence_bert_config.json", {"max_seq_length": 20, "config_args": {"hidden_act": "relu"}}),
    ],
)
def test_what_our_own_path_does_not_do_is_left_to_sentence_transformers(bert, tmp_path, file, told):
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "folder"))
    if "Pooling" in file:
        told = {"embedding_dimension": 32, "include_prompt": True, **told}
    tiny.write_json(folder / file, told)
    assert hasattr(encoder_of(folder, pooling="own"), "model")


def test_a_length_of_an_older_name_counts(bert, tmp_path):
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "folder"))
    tiny.write_json(folder / "sentence_roberta_config.json", {"max_seq_length": 20, "do_lower_case": False})
    assert encoder_of(folder, pooling="own").towers["query"].limits == {"query": 20, "passage": 20}


def test_a_checkpoint_of_the_users_that_is_compared_otherwise_is_said(bert, tmp_path, capsys):
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "folder"))
    tiny.write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "dot"})
    encoder_of(folder, pooling="own")
    assert "was trained for dot similarity, not cosine" in capsys.readouterr().err
    encoder_of(folder, pooling="own", similarity="dot")
    assert capsys.readouterr().err == ""


def test_what_was_loaded_from_the_hub_is_known_by_its_commit(home, bert):
    kept = home / "models" / "org--tiny" / ("0" * 40)
    shutil.copytree(bert, kept)
    for modules in (False, True):  # by us, and by sentence-transformers
        if modules:
            tiny.sentence_modules(kept, "max")
        spec = tiny.tiny_spec("org/tiny", revision="0" * 40, parameters={"pooling": "own" if modules else "mean"})
        assert load_encoder(spec, device="cpu").origin["commits"] == {"org/tiny": "0" * 40}
    assert encoder_of(bert).origin == {"weights": hashlib.sha256((bert / "model.safetensors").read_bytes()).hexdigest()}


def test_what_sentence_transformers_would_load_without_a_word_is_refused(bert, tmp_path):
    short = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "short"), "max")
    told = json.loads((short / "config.json").read_text())
    tiny.write_json(short / "config.json", told | {"num_hidden_layers": 3})
    with pytest.raises(ToolkitError, match="lacks 16 weights of BertModel"):
        encoder_of(short, pooling="own")


def test_a_projection_that_does_not_fit_is_one_line(bert, tmp_path):
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "dense"), dense=8)
    config = folder / "2_Dense" / "config.json"
    tiny.write_json(config, json.loads(config.read_text()) | {"out_features": 9})
    with pytest.raises(ToolkitError, match=r"^tiny: transformers .* cannot load") as caught:
        encoder_of(folder, pooling="own")
    assert "\n" not in caught.value.message


def test_a_projection_without_weights_is_refused(bert, tmp_path):
    folder = tiny.sentence_modules(shutil.copytree(bert, tmp_path / "dense"), dense=8)
    (folder / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(ToolkitError, match="2_Dense has no model"):
        encoder_of(folder)


def test_another_kind_of_system_is_refused(bert):
    with pytest.raises(ToolkitError, match="tiny is of kind cross-encoder, which encodes nothing"):
        load_encoder(tiny.tiny_spec(bert, kind="cross-encoder"))
