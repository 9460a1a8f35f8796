"""Learned sparse weights: what is loaded is what transformers makes of the checkpoint literally."""

import json

import pytest
from tiny import TEXTS, sentence_modules, tiny_bert, tiny_roberta, tiny_spec, write_json

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder

pytestmark = pytest.mark.model

INPUTS = [Input("", text) for text in [*TEXTS, TEXTS[0]]]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("sparse") / "tiny", "BertForMaskedLM")


def load(folder, batch_size=32, **parameters):
    return load_encoder(tiny_spec(folder, "impact", parameters=parameters), device="cpu", batch_size=batch_size)


def literal(folder, text, length):
    """SPLADE's weights: the largest log(1 + relu(logit)) of each term over the text's tokens (Formal et al. 2021)."""
    import torch
    from transformers import BertForMaskedLM, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    fed = tokenizer(text, truncation=True, max_length=length, return_tensors="pt")
    with torch.no_grad():
        logits = BertForMaskedLM.from_pretrained(folder).eval()(**fed).logits[0]
    weights = torch.log(1 + torch.relu(logits)).max(dim=0).values
    terms = tokenizer.convert_ids_to_tokens(range(len(weights)))
    return {term: weight for term, weight in zip(terms, weights.tolist(), strict=True) if weight > 0}


@pytest.mark.parametrize("batch_size", [1, 32])
@pytest.mark.parametrize("side", ["query", "passage"])
def test_weights_are_those_of_a_literal_computation(checkpoint, side, batch_size):
    encoder = load(checkpoint, batch_size, query_length=10, passage_length=30)
    for input, weights in zip(INPUTS, encoder.encode(INPUTS, side), strict=True):
        expected = literal(checkpoint, input.text, 10 if side == "query" else 30)
        assert 10 < len(weights) < 90  # neither nothing nor all of the vocabulary
        assert weights == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_largest_over_positions_leaves_padding_out(checkpoint):
    short, whole = Input("", "a dog"), Input("", TEXTS[2])
    alone = load(checkpoint).encode([short], "passage")[0]
    assert load(checkpoint).encode([short, whole], "passage")[0] == pytest.approx(alone, rel=1e-4, abs=1e-5)


def test_ids_and_what_is_cut(checkpoint):
    encoder = load(checkpoint, query_length=6)
    assert len(encoder.token_ids(INPUTS[0], "query")) == 6
    encoder.encode([Input("", "a dog"), Input("find the long cat ", "dog"), Input("", TEXTS[2])], "query")
    assert (encoder.truncated, encoder.lost) == ({"query": 2, "passage": 0}, 1)


def test_a_checkpoint_saved_by_sentence_transformers_is_the_same(checkpoint, tmp_path):
    from sentence_transformers import SparseEncoder

    model = SparseEncoder(str(checkpoint), device="cpu")
    model.prompts = {"query": "find the ", "document": ""}  # the entry's templates decide, not these
    model.save(str(tmp_path / "saved"), create_model_card=False)
    ours, expected = (load(folder).encode(INPUTS, "query") for folder in (tmp_path / "saved", checkpoint))
    assert ours == expected


def test_terms_with_white_space_and_columns_without_a_term_get_their_number():
    from toolkit.models.encoders.sentence_transformers_adapter import _terms

    class Tokenizer:
        def convert_ids_to_tokens(self, ids):
            return ["cat", "  ", "a b", None, "##s"][: len(ids)]

    assert _terms(Tokenizer(), 5) == ["cat", "[1]", "[2]", "[3]", "##s"]


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_a_checkpoint_without_the_head_is_refused(tmp_path, pooling):
    folder = tiny_bert(tmp_path / "bert")
    if pooling:
        sentence_modules(folder, pooling)
    with pytest.raises(ToolkitError, match="is no masked language model with SPLADE's pooling"):
        load(folder)


def test_positions_are_counted_as_the_model_does(tmp_path):
    folder = tiny_roberta(tmp_path / "roberta", "XLMRobertaForMaskedLM")  # its table has two rows for padding
    long = Input("", "a " * 100)
    assert len(load(folder, query_length=64).encode([long], "query")) == 1
    with pytest.raises(ToolkitError, match="tiny has 64 positions, query_length is 65"):
        load(folder, query_length=65)


def test_weights_that_would_be_random_are_refused(tmp_path):
    folder = tiny_bert(tmp_path / "bert", "BertForMaskedLM")
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | {"num_hidden_layers": 3})
    with pytest.raises(ToolkitError, match="lacks 16 weights of BertForMaskedLM"):
        load(folder)
