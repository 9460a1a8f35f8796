"""Checkpoints whose repository brings code of its own give, without it, what that code gave: see tests/golden/architectures."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import own_code
import pytest
import tiny

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic
from toolkit.models.checkpoints.architectures import row_of
from toolkit.models.checkpoints.local_checkpoints import check_usable, locate

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "architectures"
SYSTEMS = {"nv-embed": "nv-embed-v2", "gte": "gte-multilingual-base", "jina-reranker": "jina-reranker-v2-base-multilingual"}
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


def made_with():
    """The module make.py: what the numbers were made for."""
    spec = importlib.util.spec_from_file_location("make_architectures", GOLDEN / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = made_with()
ROWS = [ids[: sum(mask)] for ids, mask in zip(MADE.IDS, MADE.MASK, strict=True)]


def golden(kind):
    return json.loads((GOLDEN / f"{kind}.json").read_text(encoding="utf-8"))


@pytest.fixture
def checkpoint(tmp_path):
    """Kind -> the registry's entry, with the tiny checkpoint in the place of its own."""
    from transformers import PreTrainedTokenizerFast

    ends = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(GOLDEN / "tokenizer.json"), **ends)

    def of(kind):
        folder = own_code.write(kind, tmp_path / kind, tokenizer, MADE.VOCABULARY)
        if pooling := {"nv-embed": "mean", "gte": "cls"}.get(kind):
            tiny.sentence_modules(folder, pooling, width=own_code.WIDTH, prompt=kind != "nv-embed")
        return replace(registry.system(SYSTEMS[kind]), checkpoint=str(folder), revision="")

    return of


def encoder_of(spec, **how):
    from toolkit.models.encoders import load_encoder

    return load_encoder(spec, device="cpu", **how)


def load(kind, spec, **how):
    """The encoder or the reranker of a kind's entry."""
    from toolkit.models.rerankers import load_reranker

    return load_reranker(spec, device="cpu", **how) if kind == "jina-reranker" else encoder_of(spec, **how)


def unit(rows):
    rows = np.array(rows)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("kind", ["nv-embed", "gte"])
def test_the_states_of_every_token_are_those_of_the_repositorys_code(kind, checkpoint):
    import torch

    model = encoder_of(checkpoint(kind)).towers["query"].models[0]
    mask = torch.tensor(MADE.MASK)
    with torch.no_grad():
        states = model(input_ids=torch.tensor(MADE.IDS), attention_mask=mask).last_hidden_state
    real = mask.bool().numpy()
    np.testing.assert_allclose(states.numpy()[real], np.array(golden(kind)["states"])[real], **CLOSE)


def test_gtes_vectors_are_those_of_the_first_tokens(checkpoint):
    from toolkit.models.encoders.tokens import Sent

    made = encoder_of(checkpoint("gte")).towers["query"].vectors(0, [Sent(ids, 0, False) for ids in ROWS])
    np.testing.assert_allclose(made.numpy(), unit(golden("gte")["states"])[:, 0], **CLOSE)


def test_nv_embeds_vectors_are_those_of_its_own_encode(checkpoint):
    encoder = encoder_of(checkpoint("nv-embed"))
    templates = registry.system("nv-embed-v2").templates
    instruction = MADE.INSTRUCTION.removeprefix("Instruct: ").removesuffix("\nQuery: ")
    topics = [Topic("1", f"{query} {instruction}", query=query, instruction=instruction) for query in MADE.QUERIES]
    queries = [topic_input(templates, topic) for topic in topics]
    assert {query.prefix for query in queries} == {MADE.INSTRUCTION}
    passages = [doc_input(templates, Doc("d", "", text)) for text in MADE.PASSAGES]
    for side, inputs in (("query", queries), ("passage", passages)):
        expected = golden("nv-embed")["queries" if side == "query" else "passages"]
        np.testing.assert_allclose(encoder.encode(inputs, side), unit(expected), **CLOSE)


def test_the_blank_before_a_query_is_of_the_querys_first_token(checkpoint):
    from toolkit.core.templates import Input

    framing = encoder_of(checkpoint("nv-embed")).towers["query"].framing
    counted = golden("nv-embed")["instruction_length"]
    [sent] = framing([Input(MADE.INSTRUCTION, "the cat</s>")], 128)
    # the authors leave out as many positions as the instruction by itself has tokens: the start of the sequence is one of
    # them, and the instruction's last token, the blank, is part of the query's first one here
    assert sent.prefix == counted
    assert framing.tokenizer.convert_ids_to_tokens(sent.ids[sent.prefix - 1 : sent.prefix + 1]) == [":", "▁t"]


def test_jinas_logits_are_those_of_the_repositorys_code(checkpoint):
    from toolkit.models.rerankers.base import Row

    reranker = load("jina-reranker", checkpoint("jina-reranker"))
    logits = reranker.forward([Row(ids, [], False) for ids in ROWS])
    np.testing.assert_allclose(logits, golden("jina-reranker")["logits"], **CLOSE)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_repositorys_code_is_not_run_even_where_it_is_trusted(kind, checkpoint):
    spec = checkpoint(kind)
    assert list(Path(spec.checkpoint).glob("*.py")) or kind == "gte"  # whose code is another repository's
    check_usable(spec)
    load(kind, spec, trust_remote_code=True)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_checkpoint_that_lacks_a_weight_is_refused(kind, checkpoint):
    from safetensors.numpy import load_file, save_file

    spec = checkpoint(kind)
    file = Path(spec.checkpoint) / "model.safetensors"
    weights = load_file(file)
    lost = {"nv-embed": "latents", "gte": "layer.1.mlp_ln.weight", "jina-reranker": "layers.1.mixer.Wqkv.weight"}[kind]
    save_file({name: value for name, value in weights.items() if not name.endswith(lost)}, file, {"format": "pt"})
    with pytest.raises(ToolkitError, match="lacks"):
        load(kind, spec)


def test_what_the_rows_were_not_compared_for_wants_the_repositorys_code(checkpoint):
    spec = checkpoint("jina-reranker")
    file = Path(spec.checkpoint) / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    assert row_of(config)
    tiny.write_json(file, config | {"position_embedding_type": "rotary", "model_type": "xlm-roberta-flash"})
    with pytest.raises(ToolkitError) as caught:
        locate(spec)
    assert caught.value.lines() == [
        f"error: {spec.name} is not loaded: transformers has no xlm-roberta-flash architecture by itself",
        "hint:  --trust-remote-code runs that code, with all that it may do",
    ]


def test_what_another_library_would_load_wants_the_repositorys_code(checkpoint):
    with pytest.raises(ToolkitError, match="transformers has no new architecture by itself"):
        locate(replace(checkpoint("gte"), kind="multivector", parameters={}))


def test_positions_that_are_scaled_in_an_unknown_way_are_refused(checkpoint):
    spec = checkpoint("gte")
    file = Path(spec.checkpoint) / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    tiny.write_json(file, config | {"rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.6}})
    with pytest.raises(ToolkitError, match="its positions are scaled in another way than by NTK"):
        encoder_of(spec)
    tiny.write_json(file, config | {"rope_scaling": None})
    encoder_of(spec)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("nv-embed", {"text_config": None}),
        ("nv-embed", {"latent_attention_config": {"num_cross_heads": "eight"}}),
        ("nv-embed", {"auto_map": {"AutoConfig": ["configuration_nvembed.NVEmbedConfig"]}}),
        ("gte", {"rope_scaling": {"type": "ntk"}}),
        ("gte", {"rope_scaling": {"type": "ntk", "factor": "8"}}),
        ("jina-reranker", {"id2label": 3}),
    ],
)
@pytest.mark.parametrize("trust", [False, True])
def test_a_configuration_with_invalid_values_is_one_error(kind, wrong, trust, checkpoint):
    spec = checkpoint(kind)
    file = Path(spec.checkpoint) / "config.json"
    tiny.write_json(file, json.loads(file.read_text(encoding="utf-8")) | wrong)
    with pytest.raises(ToolkitError):
        load(kind, spec, trust_remote_code=trust)
