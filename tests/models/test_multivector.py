"""A vector for each token: what is loaded from a ColBERT checkpoint is what transformers makes of its weights literally."""

import json
import shutil

import numpy as np
import pytest
from tiny import TEXTS, tiny_bert, tiny_colbert, tiny_spec, write_json

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder

pytestmark = pytest.mark.model

LAYOUTS = ("stanford", "pylate", "modern")
PUNCTUATION = "!,.?:'-/<>|"
INPUTS = [Input("", text) for text in [*TEXTS, *TEXTS[:2]]]


@pytest.fixture(scope="module", params=LAYOUTS)
def checkpoint(request, tmp_path_factory):
    return tiny_colbert(tmp_path_factory.mktemp(request.param) / "tiny", request.param)


def load(folder, batch_size=32, **parameters):
    return load_encoder(tiny_spec(folder, "multivector", parameters=parameters), device="cpu", batch_size=batch_size)


def literal(folder, text, side, length, attend=False):
    """ColBERT as its paper has it: marker after [CLS], queries filled with [MASK], projection, punctuation left out."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    number = tokenizer.convert_tokens_to_ids
    weights = load_file(folder / "model.safetensors")
    head = weights if "linear.weight" in weights else load_file(folder / "1_Dense" / "model.safetensors")
    model = AutoModel.from_config(AutoConfig.from_pretrained(folder)).eval()
    model.load_state_dict({name.removeprefix("bert."): value for name, value in weights.items() if name != "linear.weight"})
    words = tokenizer(text, add_special_tokens=False)["input_ids"][: length - 3]
    markers = ("[Q] ", "[D] ") if "[Q] " in tokenizer.get_vocab() else ("[unused0]", "[unused1]")
    marker = number(markers[side == "passage"])
    ids = [number("[CLS]"), marker, *words, number("[SEP]")]
    mask = [1] * len(ids)
    if side == "query":
        missing = length - len(ids)
        ids, mask = ids + [number("[MASK]")] * missing, mask + [int(attend)] * missing
    with torch.no_grad():
        states = model(input_ids=torch.tensor([ids]), attention_mask=torch.tensor([mask])).last_hidden_state[0]
    vectors = torch.nn.functional.normalize(states @ head["linear.weight"].T, dim=-1).numpy()
    skipped = {number(sign) for sign in PUNCTUATION} if side == "passage" else set()
    return ids, vectors[[token not in skipped for token in ids]]


def cosines(ours, expected):
    assert ours.shape == expected.shape
    assert ours.dtype == np.float32
    return (ours * expected).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(expected, axis=1)


@pytest.mark.parametrize("batch_size", [1, 32])
@pytest.mark.parametrize(("side", "length"), [("query", 12), ("passage", 20)])
def test_vectors_are_those_of_a_literal_computation(checkpoint, side, length, batch_size):
    encoder = load(checkpoint, batch_size)
    for input, vectors in zip(INPUTS, encoder.encode(INPUTS, side), strict=True):
        ids, expected = literal(checkpoint, input.text, side, length)
        assert encoder.token_ids(input, side) == ids
        assert cosines(vectors, expected).min() > 0.99999


def test_masks_are_attended_to_where_the_checkpoint_says_so(tmp_path):
    folder = tiny_colbert(tmp_path / "attending", attend=True)
    vectors = load(folder).encode([Input("", "a cat")], "query")[0]
    assert cosines(vectors, literal(folder, "a cat", "query", 12, attend=True)[1]).min() > 0.99999
    assert cosines(vectors, literal(folder, "a cat", "query", 12, attend=False)[1]).min() < 0.999


def test_the_entry_raises_the_lengths(checkpoint):
    encoder = load(checkpoint, query_length=60, passage_length=62)
    long = Input("", TEXTS[2])
    for side, length in (("query", 60), ("passage", 62)):
        assert cosines(encoder.encode([long], side)[0], literal(checkpoint, long.text, side, length)[1]).min() > 0.99999
    assert encoder.limits == {"query": 60, "passage": 62}
    assert encoder.truncated == {"query": 0, "passage": 0}


def test_cut_inputs_and_lost_queries_are_counted(checkpoint):
    encoder = load(checkpoint)
    # of a query's 12 tokens 9 are free: [CLS], the marker and [SEP] take three
    instruction = "find the long document of the river and the house "
    inputs = [Input(instruction, "cat"), Input("find the ", "cat"), Input("the ", "cat dog " * 10), Input("", "cat " * 9)]
    encoder.encode(inputs, "query")
    assert (encoder.truncated["query"], encoder.lost) == (2, 1)
    encoder.encode([Input("", "cat " * 17), Input("", "cat " * 18), Input("", "cat " * 18)], "passage")
    assert encoder.truncated["passage"] == 2


def test_more_tokens_than_positions_are_refused(checkpoint):
    with pytest.raises(ToolkitError, match="tiny has 64 positions, query_length is 65"):
        load(checkpoint, query_length=65)


def test_a_checkpoint_of_another_kind_is_refused(tmp_path):
    folder = tiny_bert(tmp_path / "bert")
    with pytest.raises(ToolkitError, match="is no checkpoint for late interaction"):
        load(folder)


def test_a_checkpoint_saved_by_sentence_transformers_is_the_same(checkpoint, tmp_path):
    from sentence_transformers import MultiVectorEncoder

    MultiVectorEncoder(str(checkpoint), device="cpu").save(str(tmp_path / "saved"), create_model_card=False)
    for side in ("query", "passage"):
        ours, expected = (load(folder).encode(INPUTS, side) for folder in (tmp_path / "saved", checkpoint))
        assert all(np.array_equal(*pair) for pair in zip(ours, expected, strict=True))


def test_weights_that_would_be_random_are_refused(tmp_path):
    short = tiny_colbert(tmp_path / "short", "pylate")
    config = json.loads((short / "config.json").read_text())
    write_json(short / "config.json", config | {"num_hidden_layers": 3})
    with pytest.raises(ToolkitError, match="lacks 16 weights of BertModel"):
        load(short)


def test_what_cannot_be_loaded_or_computed_is_one_line(checkpoint, tmp_path, monkeypatch):
    from toolkit.models.checkpoints import local_checkpoints

    damaged = shutil.copytree(checkpoint, tmp_path / "damaged")
    (damaged / "tokenizer.json").write_text("{")
    with pytest.raises(ToolkitError, match=r"^tiny: transformers .* cannot load") as caught:
        load(damaged)
    assert "\n" not in caught.value.message
    encoder = load(checkpoint)
    encoder.model[0].model.get_input_embeddings().weight.data.fill_(float("nan"))
    with pytest.raises(ToolkitError, match="the model's output for 'a dog' in fp32 is not finite"):
        encoder.encode([Input("", "a dog")], "passage")
    monkeypatch.setattr(local_checkpoints, "free_memory", lambda device: 1000)
    with pytest.raises(ToolkitError, match=r"but cpu has 0\.0 GB free"):
        load(checkpoint)
