"""Tokenizers of the classes that published checkpoints have, trained small on the texts of the minis, in their file layouts.

`write_tokenizer(kind, folder, ...)` writes the files; a kind is trained once a process. The same files come out each time.
"""

import functools
import io
import json
import tempfile
from pathlib import Path

import toolkit

SIZE = 1200  # pieces
# what the registry compares: pieces that the real vocabularies have, each many times a line of its own in the texts
ANSWERS, REPEATED = ("true", "false", "yes", "no", "Yes", "No", "0", "1"), 300
WORDPIECE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNUSED = ["[unused0]", "[unused1]"]  # of BERT's vocabulary, which ColBERT takes as markers
CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA3 = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]


@functools.cache
def texts():
    """The lines of the minis' corpora, in their four languages, and the answers."""
    files = sorted((Path(toolkit.__file__).parent / "datasets" / "corpora").glob("*/*.yaml"))
    lines = [line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [*filter(None, lines), *(word for word in ANSWERS for _ in range(REPEATED))]


def write_tokenizer(kind, folder, *, files=(), length=None, **settings):
    """Write a tokenizer's files.

    kind      a key of `KINDS`
    files     these alone, of what the kind has beside `tokenizer_config.json`: some repositories have no `tokenizer.json`
    length    `model_max_length`, where the published one says it
    settings  of `tokenizer_config.json`, which replace the kind's own (`chat_template`, `eos_token`, ...)
    """
    folder = Path(folder)
    files_of, config = trained(kind)
    for name, data in files_of.items():
        if not files or name in files:
            (folder / name).write_bytes(data)
    config = {**config, **({"model_max_length": length} if length else {}), **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")
    special = {name: value for name, value in config.items() if name.endswith("_token") and isinstance(value, str)}
    (folder / "special_tokens_map.json").write_text(json.dumps(special, indent=2), encoding="utf-8")


@functools.cache
def trained(kind):
    """(file name -> bytes, tokenizer_config.json) of a kind."""
    train, config = KINDS[kind]
    return train(), config


def _sentencepiece(name, kind, config, architecture, *, ids, pieces=(), **options):
    """Train a SentencePiece model, from which transformers makes `tokenizer.json`.

    ids     of unk, bos, eos and pad, in this order; -1 for none
    pieces  of the vocabulary that the texts would not give
    """
    import sentencepiece

    written = io.BytesIO()
    options |= dict(zip(("unk_id", "bos_id", "eos_id", "pad_id"), ids, strict=True))
    options |= {"model_type": kind, "vocab_size": SIZE, "character_coverage": 0.99, "hard_vocab_limit": kind == "bpe"}
    options |= {"user_defined_symbols": list(pieces), "num_threads": 1, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts()), model_writer=written, **options)
    return _with_json({name: written.getvalue()}, config, architecture)


def _wordpiece(config):
    """BERT's: `vocab.txt`."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(texts(), vocab_size=SIZE, special_tokens=[*WORDPIECE, *UNUSED], show_progress=False)
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    return _with_json({"vocab.txt": "".join(f"{piece}\n" for piece, _ in vocab).encode()}, config, "bert")


def _byte_level(special, before=(), behind=(), files=("vocab.json", "merges.txt")):
    """GPT-2's kind of BPE, from bytes on.

    special         tokens after the trained ones
    before, behind  what the tokenizer itself puts around a text
    files           beside `tokenizer.json`
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from tokenizers.decoders import ByteLevel

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=alphabet, show_progress=False)
    spaced = (f" {word}" for word in ANSWERS for _ in range(REPEATED))  # `Ġtrue` beside `true`
    tokenizer.train_from_iterator([*texts(), *spaced], trainer)
    tokenizer.add_special_tokens(list(special))
    if before or behind:
        ends = [(token, tokenizer.token_to_id(token)) for token in (*before, *behind)]
        single, second = " ".join([*before, "$A", *behind]), " ".join(["$B:1", *(f"{token}:1" for token in behind)])
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=f"{single} {second}", special_tokens=ends)
    model = json.loads(tokenizer.to_str())["model"]
    written = {
        "vocab.json": json.dumps(model["vocab"], ensure_ascii=False).encode(),
        "merges.txt": "".join(f"{left} {right}\n" for left, right in model["merges"]).encode(),
        "tokenizer.json": tokenizer.to_str(pretty=True).encode(),
    }
    return {name: written[name] for name in (*files, "tokenizer.json")}


def _with_json(files, config, architecture):
    """The files, and the `tokenizer.json` that transformers makes of them."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        (Path(folder) / "config.json").write_text(json.dumps({"model_type": architecture}), encoding="utf-8")
        tokenizer = AutoTokenizer.from_pretrained(folder)
    return {**files, "tokenizer.json": tokenizer.backend_tokenizer.to_str(pretty=True).encode()}


def _config(name, special="", **more):
    """A `tokenizer_config.json` as transformers 4 wrote it; special: `bos=<s> eos=</s>`."""
    tokens = {f"{kind}_token": token for kind, _, token in (part.partition("=") for part in special.split())}
    return {"tokenizer_class": name, "clean_up_tokenization_spaces": False, **tokens, **more}


BERT = _config("BertTokenizer", "unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]", do_lower_case=True)
XLM = _config("XLMRobertaTokenizer", "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>")
T5 = _config("T5Tokenizer", "eos=</s> unk=<unk> pad=<pad>", extra_ids=100)
DEBERTA = _config("DebertaV2Tokenizer", "bos=[CLS] eos=[SEP] unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]")
LLAMA = _config("LlamaTokenizer", "bos=<s> eos=</s> unk=<unk>", add_bos_token=True, add_eos_token=False, legacy=True)
GEMMA = _config("GemmaTokenizer", "bos=<bos> eos=<eos> unk=<unk> pad=<pad>", add_bos_token=True, add_eos_token=False)
QWEN = _config("Qwen2Tokenizer", "eos=<|endoftext|> pad=<|endoftext|>")
LLAMA_3 = _config("PreTrainedTokenizerFast", "bos=<|begin_of_text|> eos=<|end_of_text|>")
MODERNBERT = _config("PreTrainedTokenizerFast", "unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]")
TURNS = ["<start_of_turn>", "<end_of_turn>"]

# kind -> (what trains it, its tokenizer_config.json)
KINDS = {
    "wordpiece": (lambda: _wordpiece(BERT), BERT),
    "xlm-roberta": (lambda: _sentencepiece("sentencepiece.bpe.model", "unigram", XLM, "xlm-roberta", ids=(0, 1, 2, -1)), XLM),
    "t5": (
        lambda: _sentencepiece("spiece.model", "unigram", T5, "t5", ids=(2, -1, 1, 0), pieces=[f"▁{word}" for word in ANSWERS]),
        T5,
    ),
    "deberta": (
        lambda: _sentencepiece(
            *("spm.model", "unigram", DEBERTA, "deberta-v2"),
            **{"ids": (3, 1, 2, 0), "pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
        ),
        DEBERTA,
    ),
    "llama": (
        lambda: _sentencepiece(
            *("tokenizer.model", "bpe", LLAMA, "llama"),
            **{"ids": (0, 1, 2, -1), "pieces": ANSWERS, "byte_fallback": True, "normalization_rule_name": "identity"},
        ),
        LLAMA,
    ),
    "gemma": (
        lambda: _sentencepiece(
            *("tokenizer.model", "bpe", GEMMA, "gemma"),
            **{"ids": (3, 2, 1, 0), "bos_piece": "<bos>", "eos_piece": "<eos>", "pieces": [*ANSWERS, *TURNS]},
            **{"byte_fallback": True, "normalization_rule_name": "identity"},
        ),
        GEMMA,
    ),
    "qwen": (lambda: _byte_level(CHATML), QWEN),
    "qwen3-embedding": (lambda: _byte_level(CHATML, behind=CHATML[:1]), QWEN),
    "llama-3": (lambda: _byte_level(LLAMA3, before=LLAMA3[:1], files=()), LLAMA_3),
    "modernbert": (lambda: _byte_level(WORDPIECE, ["[CLS]"], ["[SEP]"], files=()), MODERNBERT),
    "modern-colbert": (lambda: _byte_level([*WORDPIECE, "[Q] ", "[D] "], ["[CLS]"], ["[SEP]"], files=()), MODERNBERT),
}
