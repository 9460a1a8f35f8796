"""Tiny checkpoints of architectures that a repository's own code computes: its names of weights, its configuration.

    write("nv-embed", folder, tokenizer)  # config.json, model.safetensors, and files in the place of the code, not to be run

Their numbers come from the weights' names by NumPy's frozen generator: the same for every version of torch.
"""

import json
import zlib
from pathlib import Path

import numpy as np

WIDTH, INNER, LAYERS, HEADS = 32, 64, 2, 4
CODE = {  # kind -> class in the code's file -> its place, as config.json names it
    "nv-embed": {"AutoConfig": "configuration_nvembed.NVEmbedConfig", "AutoModel": "modeling_nvembed.NVEmbedModel"},
    "gte": {
        "AutoConfig": "Alibaba-NLP/new-impl--configuration.NewConfig",
        "AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel",
    },
    "jina-reranker": {
        "AutoConfig": "configuration_xlm_roberta.XLMRobertaFlashConfig",
        "AutoModel": "modeling_xlm_roberta.XLMRobertaModel",
        "AutoModelForSequenceClassification": "modeling_xlm_roberta.XLMRobertaForSequenceClassification",
    },
}
LATENTS = {"num_latents_value": 6, "num_cross_heads": 2, "hidden_dim": WIDTH, "latent_dim": WIDTH, "cross_dim_head": 16}


def config(kind, vocabulary):
    """A configuration as the repository has it, of small sizes."""
    sizes = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    text = {**sizes, "vocab_size": vocabulary}
    shared = {"auto_map": CODE[kind], "transformers_version": "4.42.4", "torch_dtype": "float32"}
    if kind == "nv-embed":
        text |= {"model_type": "bidir_mistral", "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
        text |= {"sliding_window": 4, "max_position_embeddings": 32768, "use_cache": True, "hidden_act": "silu"}
        text |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "architectures": ["MistralModel"]}
        own = {"add_eos": True, "add_pad_token": True, "is_mask_instruction": True, "mask_type": "b", "padding_side": "right"}
        parts = {"text_config": text, "latent_attention_config": {"model_type": "latent_attention", **LATENTS}}
        return {**shared, **own, **parts, "model_type": "nvembed", "architectures": ["NVEmbedModel"], "hidden_size": WIDTH}
    if kind == "gte":
        own = {"model_type": "new", "rope_theta": 20000, "rope_scaling": {"factor": 8.0, "type": "ntk"}, "pack_qkv": True}
        own |= {"layer_norm_type": "layer_norm", "layer_norm_eps": 1e-12, "position_embedding_type": "rope", "pad_token_id": 1}
        own |= {"logn_attention_scale": False, "logn_attention_clip1": False, "unpad_inputs": False, "type_vocab_size": 1}
        own |= {"use_memory_efficient_attention": False, "max_position_embeddings": 8192, "hidden_act": "gelu"}
        own |= {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0}
        return {**shared, **text, **own, "architectures": ["NewModel", "NewForTokenClassification"]}
    own = {"position_embedding_type": "absolute", "layer_norm_eps": 1e-5, "hidden_act": "gelu", "type_vocab_size": 1}
    own |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 1026, "use_flash_attn": True}
    own |= {"num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "classifier_dropout": None}
    own |= {"emb_pooler": None, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    return {**shared, **text, **own, "architectures": ["XLMRobertaForSequenceClassification"]}


def shapes(kind, vocabulary):
    """Name -> shape of every weight, as the repository's files have them."""
    return {"nv-embed": _nv_embed, "gte": _gte, "jina-reranker": _jina}[kind](vocabulary)


def weights(kind, vocabulary):
    """Name -> float32 array of every weight."""
    return {name: _values(name, shape) for name, shape in shapes(kind, vocabulary).items()}


def write(kind, folder, tokenizer, vocabulary=None):
    """The checkpoint in a folder, which it returns; the files that the repository has as its code end the process."""
    from safetensors.numpy import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    vocabulary = vocabulary or len(tokenizer)
    (folder / "config.json").write_text(json.dumps(config(kind, vocabulary), indent=2), encoding="utf-8")
    save_file(weights(kind, vocabulary), folder / "model.safetensors", {"format": "pt"})
    for place in CODE[kind].values():
        if "--" not in place:
            file = folder / f"{place.partition('.')[0]}.py"
            file.write_text("raise SystemExit('this is not to be run')\n", encoding="utf-8")
    return folder


def _values(name, shape):
    numbers = np.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape)
    if len(shape) > 1:
        return (0.25 * numbers).astype(np.float32)
    is_norm = name.endswith("weight")  # the only vectors among the weights
    return (is_norm + 0.1 * numbers).astype(np.float32)


def _linear(name, outer, inner, bias=True):
    return {f"{name}.weight": (outer, inner), **({f"{name}.bias": (outer,)} if bias else {})}


def _norm(name):
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def _nv_embed(vocabulary):
    made = {"embedding_model.embed_tokens.weight": (vocabulary, WIDTH), "embedding_model.norm.weight": (WIDTH,)}
    pairs = WIDTH // 2  # of keys and values: two heads of four
    for layer in (f"embedding_model.layers.{number}" for number in range(LAYERS)):
        made |= {f"{layer}.input_layernorm.weight": (WIDTH,), f"{layer}.post_attention_layernorm.weight": (WIDTH,)}
        for name, outer in (("q_proj", WIDTH), ("k_proj", pairs), ("v_proj", pairs), ("o_proj", WIDTH)):
            made |= _linear(f"{layer}.self_attn.{name}", outer, WIDTH, bias=False)
        for name, outer, inner in (("gate_proj", INNER, WIDTH), ("up_proj", INNER, WIDTH), ("down_proj", WIDTH, INNER)):
            made |= _linear(f"{layer}.mlp.{name}", outer, inner, bias=False)
    latent, inner = "latent_attention_model", LATENTS["num_cross_heads"] * LATENTS["cross_dim_head"]
    attend, feed = (f"{latent}.cross_attend_blocks.{number}" for number in range(2))
    made |= {f"{latent}.latents": (LATENTS["num_latents_value"], WIDTH)}
    made |= _norm(f"{attend}.norm") | _norm(f"{attend}.norm_context") | _norm(f"{feed}.norm")
    for name, outer, inside in (("to_q", inner, WIDTH), ("to_kv", 2 * inner, WIDTH), ("to_out", WIDTH, inner)):
        made |= _linear(f"{attend}.fn.{name}", outer, inside, bias=False)
    return made | _linear(f"{feed}.fn.net.0", 8 * WIDTH, WIDTH) | _linear(f"{feed}.fn.net.2", WIDTH, 4 * WIDTH)


def _gte(vocabulary):
    made = {"new.embeddings.word_embeddings.weight": (vocabulary, WIDTH), **_norm("new.embeddings.LayerNorm")}
    made |= {"new.embeddings.token_type_embeddings.weight": (1, WIDTH)}
    for layer in (f"new.encoder.layer.{number}" for number in range(LAYERS)):
        made |= _linear(f"{layer}.attention.qkv_proj", 3 * WIDTH, WIDTH) | _linear(f"{layer}.attention.o_proj", WIDTH, WIDTH)
        made |= _linear(f"{layer}.mlp.up_gate_proj", 2 * INNER, WIDTH, bias=False)
        made |= _linear(f"{layer}.mlp.down_proj", WIDTH, INNER) | _norm(f"{layer}.attn_ln") | _norm(f"{layer}.mlp_ln")
    return made | _linear("classifier", 1, WIDTH)


def _jina(vocabulary):
    made = {f"roberta.embeddings.{name}_embeddings.weight": (rows, WIDTH) for name, rows in _tables(vocabulary).items()}
    made |= _norm("roberta.emb_ln")
    for layer in (f"roberta.encoder.layers.{number}" for number in range(LAYERS)):
        made |= _linear(f"{layer}.mixer.Wqkv", 3 * WIDTH, WIDTH) | _linear(f"{layer}.mixer.out_proj", WIDTH, WIDTH)
        made |= _linear(f"{layer}.mlp.fc1", INNER, WIDTH) | _linear(f"{layer}.mlp.fc2", WIDTH, INNER)
        made |= _norm(f"{layer}.norm1") | _norm(f"{layer}.norm2")
    return made | _linear("classifier.dense", WIDTH, WIDTH) | _linear("classifier.out_proj", 1, WIDTH)


def _tables(vocabulary):
    return {"word": vocabulary, "position": 1026, "token_type": 1}
