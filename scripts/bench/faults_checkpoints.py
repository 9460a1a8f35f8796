"""Checkpoints that hold less, more or other weights than their architecture has: one line and status 2, never a number."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_faults import Outcome, command, drawn, prepared

ENCODE = ("encode", "docs.jsonl", "--system", "mine", "--systems", "mine.yaml", "--output", "out")
RERANK = ("rerank", "--run", "run.trec", "--topics", "topics.tsv", "--docs", "docs.jsonl", "--systems", "mine.yaml")
RERANK = (*RERANK, "--system", "mine", "--output", "out")
YES_NO = {"kind": "yes-no", "parameters": {"tokens": ["a", "b"]}}
# model -> its entry and what computes with it
MODELS: dict[str, tuple[dict, tuple[str, ...]]] = {
    "bi-encoder": ({"kind": "dense", "parameters": {"pooling": "cls", "similarity": "cos"}}, ENCODE),
    "sentence": ({"kind": "dense", "parameters": {"pooling": "own", "similarity": "cos"}}, ENCODE),
    "cross-encoder": ({"kind": "cross-encoder"}, RERANK),
    "language model": (YES_NO, RERANK),
    "late": ({"kind": "multivector"}, RERANK),
}
FORMS = dict.fromkeys(MODELS, ("safetensors", "pickle")) | {"language model": ("safetensors", "pickle", "gguf")}
# what an encoder may lack or have beside it: nothing is computed with it, so that the numbers stay
UNUSED = ("pooler", "position_ids")
GROWN = 1_000


class Try(NamedTuple):
    model: str
    form: str
    damage: str
    share: float  # which tensor: its place among all, from 0 to 1


Weights = dict[str, np.ndarray]


def _renamed(weights: Weights, name: str, rng: random.Random) -> Weights:
    other = rng.choice([f"x.{name}", f"{name}.old", name.replace(".", "_", 1), name.upper(), name + "\u0301"])
    return {other if each == name else each: value for each, value in weights.items()}


def _reshaped(weights: Weights, name: str, rng: random.Random) -> Weights:
    value = weights[name]
    others = [value[:-1], value[..., None], np.concatenate([value, value[:1]]), value.reshape(1, *value.shape)]
    others += [value.T, value.reshape(-1)] if value.ndim > 1 and len(set(value.shape)) > 1 else []
    return weights | {name: np.ascontiguousarray(rng.choice(others))}


DAMAGES: dict[str, Callable[[Weights, str, random.Random], Weights]] = {
    "dropped": lambda weights, name, rng: {each: value for each, value in weights.items() if each != name},
    "renamed": _renamed,
    "reshaped": _reshaped,
    "added": lambda weights, name, rng: weights | {rng.choice(["extra.weight", f"{name}.more", "x" * 300]): weights[name]},
    "all but it dropped": lambda weights, name, rng: {name: weights[name]},
    "its layer dropped": lambda weights, name, rng: {n: v for n, v in weights.items() if _layer(n) != _layer(name)},
}
# more or fewer blocks, or other sizes, than there are weights of: key of config.json, and of GGUF's header -> value
SIZES = {
    f"{key} {value}": (key, header, value)
    for key, header, values in (
        ("num_hidden_layers", "block_count", (0, 1, 3, GROWN)),
        ("hidden_size", "embedding_length", (16, 64, 1 << 30)),
        ("intermediate_size", "feed_forward_length", (32, 128, 1 << 30)),
        ("vocab_size", "vocab_size", (7, 1 << 30)),
    )
    for value in values
}
CASES = [
    Try(model, form, damage, share / 6)
    for model, forms in FORMS.items()
    for form in forms
    for damage in (*DAMAGES, *SIZES)
    for share in (range(6) if damage in ("dropped", "renamed", "reshaped") else range(2) if damage in DAMAGES else range(1))
]


def _layer(name: str) -> str:
    parts = name.split(".")
    return next((f"{before}.{part}" for before, part in pairwise(parts) if part.isdigit()), name)


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One damaged checkpoint each."""
    whole = prepared(folder, prepare)
    wanted: dict[tuple[str, str], bytes] = {}  # what the sound one gives
    for number, case in drawn(CASES, seed, numbers):
        if (case.model, case.form) not in wanted:
            done, made = used(folder / "sound", whole, case, {})[::2]
            if done.returncode or not made:
                raise SystemExit(f"{case.model}, {case.form}: {done.stderr.decode()}")
            wanted[case.model, case.form] = made
        yield outcome(
            number, case, random.Random(f"{seed} {number}"), whole, folder / "checkpoint", wanted[case.model, case.form]
        )


def outcome(number: int, case: Try, rng: random.Random, whole: Path, folder: Path, wanted: bytes) -> Outcome:
    tensors = read(whole / case.model)
    name = list(tensors)[min(int(case.share * len(tensors)) + rng.randrange(2), len(tensors) - 1)]
    if case.damage in SIZES:
        done, problems, made = used(folder, whole, case, dict([SIZES[case.damage][::2]]))
    else:
        done, problems, made = used(folder, whole, case, {}, DAMAGES[case.damage](tensors, name, rng))
    same = done.returncode == 0 and made == wanted
    harmless = same and (case.damage in {*SIZES, "renamed"} or any(part in name for part in UNUSED))
    # a GGUF file without an output layer is that of a model whose output is its table of tokens
    harmless |= case[1:3] == ("gguf", "dropped") and name == "lm_head.weight" and not done.returncode
    problems += ["a number"] if made and not harmless else []
    problems += [f"status {done.returncode}"] if done.returncode != 2 and not harmless and not problems else []
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("error: ")]
    problems += [f"{len(lines)} error lines"] if done.returncode == 2 and len(lines) != 1 else []
    # a pickle that was converted whole may stay converted
    left = [path for path in (folder / "home" / "converted").glob("*") if case.form == "gguf" or path.name.startswith(".")]
    problems += ["a conversion is left behind"] if left and done.returncode else []
    ending = "what is not used: the same numbers" if harmless else "refused in a line"
    detail = f"{case}: {name}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-300:]}]"
    return Outcome(number, f"checkpoints: {case.form}", "; ".join(problems) or ending, not problems, detail)


def used(folder: Path, whole: Path, case: Try, sizes: dict, weights: Weights | None = None) -> tuple[Any, list[str], bytes]:
    """What the command does with a checkpoint of these weights (the sound one's, if none), and the bytes that it makes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("docs.jsonl", "topics.tsv", "run.trec"):
        shutil.copyfile(whole / name, folder / name)
    write(folder / "model", whole / case.model, case.form, read(whole / case.model) if weights is None else weights, sizes)
    entry, words = MODELS[case.model]
    checkpoint = "./model/model.gguf" if case.form == "gguf" else "./model"
    (folder / "mine.yaml").write_text(json.dumps({"name": "mine", "description": "d", "checkpoint": checkpoint, **entry}))
    done, problems = command(*words, cwd=folder, env={**os.environ, "TANDEM_HOME": str(folder / "home")})
    out = folder / "out"
    made = [out] if out.is_file() else sorted(path for path in out.glob("*") if path.name != "tandem.yaml")
    return done, problems, b"".join(path.read_bytes() for path in made if path.is_file())


def read(folder: Path) -> Weights:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def write(folder: Path, sound: Path, form: str, weights: Weights, sizes: dict) -> None:
    """A checkpoint like the sound one, with these weights in this form; sizes that its configuration states."""
    import torch
    from safetensors.numpy import save_file

    if form == "gguf":
        return write_gguf(folder / "model.gguf", sound, weights, sizes)
    shutil.copytree(sound, folder, ignore=shutil.ignore_patterns("model.safetensors") if sound else None)
    for path in folder.rglob("model.safetensors"):  # of modules
        path.unlink()
    for path in (path for path in sound.rglob("model.safetensors") if path.parent != sound):
        shutil.copyfile(path, folder / path.relative_to(sound))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **sizes}))
    if form == "pickle":
        torch.save({name: torch.from_numpy(value) for name, value in weights.items()}, folder / "pytorch_model.bin")
    else:
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return None


def write_gguf(path: Path, sound: Path, weights: Weights, sizes: dict) -> None:
    """A Llama as llama.cpp has it."""
    import gguf

    config = {**json.loads((sound / "config.json").read_text()), **sizes}
    vocabulary = json.loads((sound / "tokenizer.json").read_text())["model"]["vocab"]
    path.parent.mkdir()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    for name in ("hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads", "num_key_value_heads"):
        WRITTEN[name](writer, config[name])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(vocabulary))
    writer.add_token_scores([-float(number) for number in range(len(vocabulary))])
    writer.add_token_types([6 if token.startswith("<0x") else 3 if token.startswith("<") else 1 for token in vocabulary])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 4)
    for name, value in weights.items():
        writer.add_tensor(names.get_name(name, (".weight", ".bias")) or name[:60], value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


WRITTEN: dict[str, Callable] = {
    "hidden_size": lambda writer, value: writer.add_embedding_length(value),
    "num_hidden_layers": lambda writer, value: writer.add_block_count(value),
    "intermediate_size": lambda writer, value: writer.add_feed_forward_length(value),
    "num_attention_heads": lambda writer, value: writer.add_head_count(value),
    "num_key_value_heads": lambda writer, value: writer.add_head_count_kv(value),
}


def prepare(folder: Path) -> None:
    """A sound checkpoint of each kind, texts and a run."""
    import tiny

    tiny.tiny_bert(folder / "bi-encoder")
    tiny.sentence_modules(tiny.tiny_bert(folder / "sentence"), dense=16)
    tiny.tiny_bert(folder / "cross-encoder", "BertForSequenceClassification", num_labels=1)
    tiny.tiny_decoder(folder / "language model", "Llama", "ForCausalLM", tie_word_embeddings=False)
    tiny.tiny_colbert(folder / "late")
    (folder / "docs.jsonl").write_text(
        "".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(tiny.TEXTS))
    )
    (folder / "topics.tsv").write_text("q1\tthe cat\n")
    (folder / "run.trec").write_text("".join(f"q1 Q0 d{n} {n + 1} {9 - n} first\n" for n in range(len(tiny.TEXTS))))
