"""Tiny random checkpoints, made in a moment: an architecture's real classes, two narrow layers, a tokenizer of a few words.

Each maker takes a folder (made where it is missing), saves safetensors, config and tokenizer there, and returns it. The
weights are the same in every call and wide enough that other tokens, positions or masks give clearly other vectors.
"""

import json
from pathlib import Path

WORDS = ["a", "the", "is", "of", "and", "query", "passage", "long", "short", "find", "document", "cat", "dog", "bird", "house"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [*"0123456789.,:?!<>|/-'ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXTS = [
    "the cat is in the house",
    "a dog",
    "find the long river of the bird and the tree and the house and the cat, and then another one: 12345",
    "query",
    "the short document is a passage of the house and the dog. is it long?",
]


def save(model, tokenizer, folder):
    """The model and its tokenizer in a folder."""
    folder = Path(folder)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_model(kind, config, seed=0, spread=0.25):
    """A model of a class, with weights that differ enough to tell inputs apart."""
    import torch

    torch.manual_seed(seed)
    model = kind(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=spread)
            else:
                weights.add_(torch.randn_like(weights) * 0.1)
    return model


def tiny_bert(folder, kind="BertModel", seed=0, tokenizer=None, **config):
    """A BERT of any class of transformers that its config fits (`BertForMaskedLM`, `BertForSequenceClassification`)."""
    import transformers

    tokenizer = tokenizer or bert_tokenizer()
    values = {**SIZES, "max_position_embeddings": 64, "vocab_size": len(tokenizer), **config}
    return save(random_model(getattr(transformers, kind), transformers.BertConfig(**values), seed), tokenizer, folder)


def tiny_colbert(folder, layout="stanford", query_length=12, passage_length=20, attend=False, seed=0, tokenizer=None, **config):
    """A BERT with a projection to 16 numbers a token, in a layout whose files state the lengths and markers.

    layout  `stanford`; `pylate`, with Stanford's markers; `modern`: PyLate's with a ModernBERT and markers of its own
    """
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    folder, modern = Path(folder), layout == "modern"
    markers = ["[Q] ", "[D] "] if modern else ["[unused0] ", "[unused1] "]
    if tokenizer is None:
        vocab = bert_tokenizer().get_vocab()
        vocab |= {f"[unused{number}]": len(vocab) + number for number in range(2)}
        tokenizer = transformers.BertTokenizer(vocab=vocab, model_max_length=64)
        if modern:
            tokenizer.add_tokens(markers)
    settings, kind = (getattr(transformers, f"{'Modern' * modern}Bert{part}") for part in ("Config", "Model"))
    values = {**SIZES, "max_position_embeddings": 64, "vocab_size": len(tokenizer), **(ends_of(tokenizer) if modern else {})}
    save(random_model(kind, settings(**{**values, **config}), seed), tokenizer, folder)
    torch.manual_seed(seed)
    projection = torch.randn(16, 32)
    if layout == "stanford":
        weights = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
        save_file({**weights, "linear.weight": projection}, folder / "model.safetensors", {"format": "pt"})
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        write_json(folder / "config.json", {**values, "architectures": ["HF_ColBERT"]})
        values = {"query_maxlen": query_length, "doc_maxlen": passage_length, "attend_to_mask_tokens": attend}
        values |= {"query_token_id": markers[0].strip(), "doc_token_id": markers[1].strip()}
        write_json(folder / "artifact.metadata", values)
        return folder
    kinds = [("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense")]
    listed = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(kinds)]
    write_json(folder / "modules.json", listed)
    identity = "torch.nn.modules.linear.Identity"
    values = {"in_features": 32, "out_features": 16, "bias": False, "activation_function": identity}
    write_json(folder / "1_Dense" / "config.json", values)
    save_file({"linear.weight": projection}, folder / "1_Dense" / "model.safetensors")
    values = {"query_length": query_length, "document_length": passage_length, "attend_to_expansion_tokens": attend}
    values |= {"query_prefix": markers[0], "document_prefix": markers[1], "skiplist_words": list("!,.?:'-/<>|")}
    write_json(folder / "config_sentence_transformers.json", values)
    return folder


def tiny_dpr(folder, side="question", seed=0, tokenizer=None, **config):
    """One tower of DPR: `question` or `ctx`."""
    import transformers

    tokenizer = tokenizer or bert_tokenizer()
    config = transformers.DPRConfig(**{**SIZES, "max_position_embeddings": 64, "vocab_size": len(tokenizer), **config})
    kind = {"question": transformers.DPRQuestionEncoder, "ctx": transformers.DPRContextEncoder}[side]
    return save(random_model(kind, config, seed), tokenizer, folder)


def tiny_nomic(folder, seed=0, tokenizer=None, **config):
    """NomicBert, as transformers has it."""
    import transformers

    tokenizer = tokenizer or bert_tokenizer()
    config = transformers.NomicBertConfig(**{**SIZES, "max_position_embeddings": 64, "vocab_size": len(tokenizer), **config})
    return save(random_model(transformers.NomicBertModel, config, seed), tokenizer, folder)


def tiny_modernbert(folder, seed=0, tokenizer=None, **config):
    """A ModernBERT with a local and a global layer."""
    import transformers

    tokenizer = tokenizer or bert_tokenizer()
    values = {
        **SIZES,
        **ends_of(tokenizer),
        "local_attention": 8,
        "global_attn_every_n_layers": 2,
        "vocab_size": len(tokenizer),
    }
    config = transformers.ModernBertConfig(**{**values, "max_position_embeddings": 256, **config})
    return save(random_model(transformers.ModernBertModel, config, seed), tokenizer, folder)


def ends_of(tokenizer):
    """What a configuration of ModernBERT says of its tokenizer."""
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    ends = {"bos_token_id": first, "cls_token_id": first, "eos_token_id": last, "sep_token_id": last}
    return {"pad_token_id": tokenizer.pad_token_id, **ends}


def tiny_roberta(folder, kind="XLMRobertaForSequenceClassification", seed=0, tokenizer=None, **config):
    """An XLM-RoBERTa: its positions are counted from behind the padding token's id."""
    import transformers

    tokenizer = tokenizer or roberta_tokenizer()
    special = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
    values = {**SIZES, **special, "max_position_embeddings": 66, "vocab_size": len(tokenizer), **config}
    return save(random_model(getattr(transformers, kind), transformers.XLMRobertaConfig(**values), seed), tokenizer, folder)


def tiny_deberta(folder, kind="DebertaV2ForSequenceClassification", seed=0, tokenizer=None, **config):
    """A DeBERTa v2 with relative positions, as v3 has them."""
    import transformers

    tokenizer = tokenizer or bert_tokenizer()
    relative = {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
    values = {**SIZES, **relative, "max_position_embeddings": 64, "vocab_size": len(tokenizer), **config}
    return save(random_model(getattr(transformers, kind), transformers.DebertaV2Config(**values), seed), tokenizer, folder)


def tiny_t5(folder, kind="T5EncoderModel", seed=0, tokenizer=None, **config):
    """A T5, its encoder alone unless another class is named (`T5ForConditionalGeneration`, `MT5ForConditionalGeneration`)."""
    import transformers

    tokenizer = tokenizer or t5_tokenizer()
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4}
    values = {**sizes, "vocab_size": len(tokenizer), "decoder_start_token_id": 0, **config}
    settings = transformers.MT5Config if kind.startswith("MT5") else transformers.T5Config
    return save(random_model(getattr(transformers, kind), settings(**values), seed), tokenizer, folder)


def tiny_decoder(folder, family="Mistral", head="Model", seed=0, tokenizer=None, **config):
    """A decoder: family `Llama`, `Mistral`, `Qwen2`, `Qwen3`, ...; head `Model`, `ForCausalLM`, `ForSequenceClassification`."""
    import transformers

    tokenizer = tokenizer or (qwen_tokenizer() if family.startswith("Qwen") else llama_tokenizer())
    values = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 256, "vocab_size": len(tokenizer)}
    values |= {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None}
    if family == "Qwen3":
        values["head_dim"] = 8
    settings = getattr(transformers, f"{family}Config")(**{**values, **config})
    return save(random_model(getattr(transformers, family + head), settings, seed), tokenizer, folder)


def tiny_lora(folder, base, seed=1, kind=None, task=None, targets=("q_proj", "v_proj")):
    """A LoRA adapter of a decoder in the folder `base` (loaded as AutoModel or as `kind`), which changes what it computes."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    model = (kind or AutoModel).from_pretrained(base)
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=list(targets), task_type=task))
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_" in name:
                weights.normal_(std=0.3)
    model.save_pretrained(folder)
    return Path(folder)


def sentence_modules(folder, pooling="mean", *, width=32, dense=None, normalize=True, length=None, prompt=True, seed=2):
    """Turn a checkpoint into one of sentence-transformers: its files beside the transformer's.

    pooling  `cls`, `mean`, `lasttoken`, `max`
    width    of the transformer's states
    dense    the width of a projection (no bias, no activation) after the pooling
    length   the limit in tokens
    prompt   whether a prompt takes part in the pooling
    """
    import torch
    from safetensors.torch import save_file

    folder = Path(folder)
    package = "sentence_transformers.models."
    listed = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modes = {
        f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    }
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, "include_prompt": prompt, **modes})
    if dense:
        listed.append(("2_Dense", "Dense"))
        identity = "torch.nn.modules.linear.Identity"
        values = {"in_features": width, "out_features": dense, "bias": False, "activation_function": identity}
        write_json(folder / "2_Dense" / "config.json", values)
        torch.manual_seed(seed)
        save_file({"linear.weight": torch.randn(dense, width)}, folder / "2_Dense" / "model.safetensors")
    if normalize:
        listed.append((f"{len(listed)}_Normalize", "Normalize"))
        (folder / listed[-1][0]).mkdir(exist_ok=True)
    if length:
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": False})
    listed = [{"idx": i, "name": str(i), "path": path, "type": package + kind} for i, (path, kind) in enumerate(listed)]
    write_json(folder / "modules.json", listed)
    return folder


def bert_tokenizer():
    """WordPiece over a few words and all letters; lower-cases."""
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *WORDS, *sorted({letter.lower() for letter in LETTERS}), *(f"##{letter}" for letter in LETTERS[:26])]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return BertTokenizer(vocab=vocab, model_max_length=64)


def roberta_tokenizer():
    """Unigram over a few words and all letters; `<s> .. </s>`, and `</s></s>` between two texts."""
    from transformers import XLMRobertaTokenizer

    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -5.0)]
    vocab = special + [(f"▁{word}", -3.0) for word in WORDS] + [(letter, -6.0) for letter in LETTERS]
    return XLMRobertaTokenizer(vocab=[*dict(vocab).items()], model_max_length=64)


def t5_tokenizer():
    """Unigram over a few words and all letters; ends with `</s>`."""
    from transformers import T5Tokenizer

    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -5.0)]
    words = [(f"▁{word}", -3.0) for word in WORDS]
    words += [(word, -4.0) for word in ("true", "false", "yes", "no", "▁true", "▁false", "▁yes", "▁no")]
    known = {word for word, _ in words}
    vocab = special + words + [(letter, -6.0) for letter in LETTERS if letter not in known]
    return T5Tokenizer(vocab=vocab, extra_ids=2, model_max_length=64)


def llama_tokenizer(**values):
    """BPE as Llama's and Mistral's: begins with `<s>`, does not end with `</s>`, has no padding token."""
    from transformers import LlamaTokenizer

    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *LETTERS]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    merges = [("▁", "t"), ("t", "h"), ("▁", "a"), ("i", "s"), ("o", "f")]
    vocab |= {left + right: len(vocab) + number for number, (left, right) in enumerate(merges)}
    return LlamaTokenizer(vocab=vocab, merges=merges, **{"add_bos_token": True, "add_eos_token": False, **values})


def qwen_tokenizer():
    """Byte-level BPE as Qwen's: nothing is put around a text; pads with `<|endoftext|>`."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import Qwen2Tokenizer

    vocab = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    merges = [("t", "h"), ("th", "e"), ("i", "s"), ("Ġ", "a")]
    vocab |= {left + right: len(vocab) + number for number, (left, right) in enumerate(merges)}
    return Qwen2Tokenizer(vocab=vocab, merges=merges, eos_token="<|endoftext|>", pad_token="<|endoftext|>")


def tiny_spec(checkpoint, kind="dense", name="tiny", **fields):
    """An entry for a checkpoint: `parameters`, `templates`, ... as in the registry."""
    from toolkit.core.specs import SystemSpec

    return SystemSpec(name=name, description="", kind=kind, checkpoint=str(checkpoint), **fields)


def write_json(path, content):
    """A JSON file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
