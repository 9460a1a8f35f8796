"""A tiny random checkpoint of every repository that the registry's systems name, in the file layout of the published one.

    models/BAAI/bge-large-en-v1.5/config.json, model.safetensors, tokenizer.json, modules.json, 1_Pooling/config.json, ...

What each is made of is in checkpoints.yaml. Two narrow layers, weights from the name's digest, a tokenizer trained on the
minis' texts: the same in every call. Configurations are written as transformers 4 did, since published ones are its.
"""

import functools
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import own_code
import tiny
import yaml
from filelock import FileLock
from trained_tokenizers import write_tokenizer

from toolkit import registry

HERE = Path(__file__).parent
SOURCES = (
    "rehearsal/checkpoints.py",
    "rehearsal/checkpoints.yaml",
    "rehearsal/trained_tokenizers.py",
    "own_code.py",
    "tiny.py",
)
POSITIONS = 32768  # of decoders, which have no table of them
LOUDNESS = 12.0  # of what is written into a head, beside its random numbers
DAMPED = 0.06  # what layers add to the embedding of the last token, in a model that tends to write something


@functools.cache
def layouts():
    """checkpoints.yaml."""
    return yaml.safe_load((HERE / "checkpoints.yaml").read_text(encoding="utf-8"))


def not_from_the_hub():
    """System -> `why` no checkpoint of it is served or loaded, and what the command `says`."""
    return layouts()["not_from_the_hub"]


def checkpoints_of(name):
    """The repositories that a system is loaded from: its own, the passages', an adapter's base."""
    spec = registry.system(name)
    return [checkpoint for checkpoint in (spec.checkpoint, spec.passage_checkpoint, spec.base) if checkpoint]


def write_checkpoints(folder, systems=None):
    """Put `models` with the checkpoints of systems (all of the registry) into a folder that `hub_server` serves; returns it.

    They are made once a machine, and linked.
    """
    folder = Path(folder)
    names = systems or [name for name in registry.systems() if name not in not_from_the_hub()]
    for repository in dict.fromkeys(repository for name in names for repository in checkpoints_of(name)):
        place = folder / "models" / repository
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(checkpoint(repository))
    return folder


def checkpoint(repository):
    """The folder of a repository's tiny checkpoint, which is made on the first call with these sources and libraries."""
    place = cache() / repository
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            part = place.with_name(f"{place.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            make(repository, part)
            part.rename(place)
    return place


@functools.cache
def cache():
    """The folder of the checkpoints of these sources."""
    import tokenizers
    import torch
    import transformers

    digest = hashlib.sha256(" ".join(module.__version__ for module in (torch, transformers, tokenizers)).encode())
    for name in SOURCES:
        digest.update((HERE.parent / name).read_bytes())
    return Path(tempfile.gettempdir()) / f"tandem-rehearsal-{os.getuid()}" / digest.hexdigest()[:16]


def make(repository, folder):
    """Write a repository's checkpoint into a new folder."""
    layout = layouts()["checkpoints"][repository]
    seed = int(hashlib.sha256(repository.encode()).hexdigest()[:8], 16)
    MAKERS[layout["make"]](folder, repository, layout, seed)
    if says := layout.get("says"):
        write_bigrams(folder, says)
    if layout.get("ends"):
        end_answers(folder)
    if modules := layout.get("modules"):
        tiny.sentence_modules(folder, seed=seed, **modules)
    if layout.get("splade"):
        _splade_modules(folder)
    if (folder / "config.json").exists():
        _publish_config(folder / "config.json", layout)
    _publish_weights(folder, layout.get("weights", "safetensors"))
    for name in layout.get("add", ()):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('this is not to be run')\n", encoding="utf-8")
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\nA checkpoint.\n", encoding="utf-8")


class Trained:
    """A trained tokenizer, as the makers of `tiny` take one."""

    def __init__(self, layout):
        values = layout["tokenizer"]
        self.tokenizer_settings = {"kind": values} if isinstance(values, str) else dict(values)
        if chat := layout.get("chat"):
            self.tokenizer_settings["chat_template"] = layouts()["chats"][chat]

    @functools.cached_property
    def loaded(self):
        from transformers import AutoTokenizer

        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            return AutoTokenizer.from_pretrained(folder)

    def __len__(self):
        return len(self.loaded)

    def __getattr__(self, name):
        return getattr(self.loaded, name)

    def save_pretrained(self, folder):
        write_tokenizer(folder=folder, **self.tokenizer_settings)


def _encoder(maker):
    def make(folder, repository, layout, seed):
        kind = {"kind": layout["class"]} if "class" in layout else {}
        side = {"side": layout["side"]} if "side" in layout else {}
        maker(folder, seed=seed, tokenizer=Trained(layout), **kind, **side, **layout.get("config", {}))

    return make


def _native(name):
    """An encoder whose class in transformers has a converted repository."""

    def make(folder, repository, layout, seed):
        import transformers

        tokenizer = Trained(layout)
        config = getattr(transformers, f"{name}Config")
        settings = config(**tiny.SIZES, max_position_embeddings=8194, vocab_size=len(tokenizer), **layout.get("config", {}))
        tiny.save(tiny.random_model(getattr(transformers, f"{name}Model"), settings, seed), tokenizer, folder)

    return make


def _own_code(kind):
    """What a repository's own code computes, under its names, beside that code."""

    def make(folder, repository, layout, seed):
        own_code.write(kind, folder, Trained(layout))

    return make


def _decoder(folder, repository, layout, seed):
    config = {"max_position_embeddings": POSITIONS, **layout.get("config", {})}
    tokenizer = Trained(layout)
    tiny.tiny_decoder(folder, layout["family"], layout["head"], seed=seed, tokenizer=tokenizer, **config)


def _colbert(folder, repository, layout, seed):
    how = {"query_length": 32, "passage_length": 180, "tokenizer": Trained(layout), **layout["config"]}
    tiny.tiny_colbert(folder, layout["layout"], seed=seed, **how)


def _lora(folder, repository, layout, seed):
    import transformers

    spec = next(spec for spec in registry.systems().values() if spec.checkpoint == repository)
    kind = {"kind": transformers.AutoModelForCausalLM} if layout["task"] == "CAUSAL_LM" else {}
    tiny.tiny_lora(folder, checkpoint(spec.base), seed=seed, task=layout["task"], targets=layout["targets"], **kind)
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    tiny.write_json(folder / "adapter_config.json", {**config, "base_model_name_or_path": spec.base, "revision": None})


MAKERS = {
    **{
        name: _encoder(getattr(tiny, f"tiny_{name}"))
        for name in ("bert", "roberta", "deberta", "modernbert", "nomic", "dpr", "t5")
    },
    **{kind: _own_code(kind) for kind in own_code.CODE},
    **{"jina": _native("JinaEmbeddingsV3"), "decoder": _decoder, "colbert": _colbert, "lora": _lora},
}


def write_bigrams(folder, sentences):
    """Make a language model that writes: what follows a token in one of the sentences is likely to follow it.

    Its head maps the embedding of each token to those that may follow; the sentences begin where a prompt ends, and end in the
    end of the sequence. Which of several tokens comes, the random rest of the model decides.
    """
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [tokenizer(sentence, add_special_tokens=False)["input_ids"] for sentence in sentences]
    asked = [{"role": "user", "content": "a"}]
    prompts = ["ASSISTANT:"]  # the entry's own template of RankVicuna
    if tokenizer.chat_template:
        prompts.append(tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True))
    follow = {tokenizer(prompt, add_special_tokens=False)["input_ids"][-1]: {ids[0] for ids in texts} for prompt in prompts}
    for ids in texts:
        for token, following in zip(ids, [*ids[1:], tokenizer.eos_token_id], strict=True):
            follow.setdefault(token, set()).add(following)
    weights = load_file(folder / "model.safetensors")
    embeddings, head = weights["model.embed_tokens.weight"], weights["lm_head.weight"]
    wanted = torch.zeros(len(follow), len(head))
    for row, following in enumerate(follow.values()):
        wanted[row, list(following)] = LOUDNESS * (2 if row < len(prompts) else 1)  # an answer's first token has to be right
    seen = torch.nn.functional.normalize(embeddings[list(follow)])
    weights["lm_head.weight"] = head + (torch.linalg.pinv(seen) @ wanted).T  # one token's followers are no other's
    save_file(_damped(weights), folder / "model.safetensors", {"format": "pt"})


def end_answers(folder):
    """Make a language model, also one whose head is its embeddings, end what it writes at once: it would go on for ever."""
    from safetensors.torch import load_file, save_file
    from transformers import AutoTokenizer

    end, weights = AutoTokenizer.from_pretrained(folder).eos_token_id, load_file(folder / "model.safetensors")
    embeddings = weights["model.embed_tokens.weight"]
    common = embeddings[end] / embeddings[end].norm() * embeddings.norm(dim=1).mean()
    embeddings += common  # all tokens have it, and the end follows it
    weights.get("lm_head.weight", embeddings)[end] = LOUDNESS * common
    save_file(_damped(weights), folder / "model.safetensors", {"format": "pt"})


def _damped(weights):
    """The weights with layers that change the last token's embedding little."""
    inner = ("o_proj.weight", "down_proj.weight")
    return {name: value * DAMPED if name.endswith(inner) else value for name, value in weights.items()}


def _splade_modules(folder):
    """sentence-transformers' files of a SPLADE."""
    package = "sentence_transformers.sparse_encoder.models."
    kinds = [("", "MLMTransformer.MLMTransformer"), ("1_SpladePooling", "SpladePooling.SpladePooling")]
    listed = [{"idx": i, "name": str(i), "path": path, "type": package + kind} for i, (path, kind) in enumerate(kinds)]
    tiny.write_json(folder / "modules.json", listed)
    pooling = {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None}
    tiny.write_json(folder / "1_SpladePooling" / "config.json", pooling)
    tiny.write_json(folder / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    settings = {"model_type": "SparseEncoder", "prompts": {"query": "", "document": ""}, "similarity_fn_name": "dot"}
    tiny.write_json(folder / "config_sentence_transformers.json", settings)


def _publish_config(path, layout):
    """A configuration as transformers 4 wrote it."""
    config = json.loads(path.read_text(encoding="utf-8"))
    rope = config.pop("rope_parameters", None) or {}
    if "rope_theta" in rope:
        config["rope_theta"] = rope["rope_theta"]
    if "dtype" in config:
        config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.41.2"
    if "auto_map" in layout:
        config["auto_map"] = layout["auto_map"]
    tiny.write_json(path, config)


def _publish_weights(folder, form):
    """Weights in the files that a repository has them in."""
    from safetensors.torch import load_file

    files = [path for path in folder.rglob("model.safetensors") if form != "safetensors"]
    for path in files:
        weights = load_file(path)
        whole = path.parent == folder
        if form == "pickled" or (whole and form.startswith("both")):
            _save_parts(weights, path.parent, "pytorch_model", "bin", "sharded" in form)
        if whole and "sharded" in form:
            _save_parts(weights, folder, "model", "safetensors", True)
        if form == "pickled" or (whole and "sharded" in form):
            path.unlink()


def _save_parts(weights, folder, stem, ending, sharded):
    """Weights as one file, or as two and the list of what is in which."""
    import torch
    from safetensors.torch import save_file

    save = torch.save if ending == "bin" else functools.partial(save_file, metadata={"format": "pt"})
    if not sharded:
        return save(weights, folder / f"{stem}.{ending}")
    names = sorted(weights)
    parts = {f"{stem}-0000{i + 1}-of-00002.{ending}": names[i::2] for i in range(2)}
    for file, inside in parts.items():
        save({name: weights[name] for name in inside}, folder / file)
    listed = {name: file for file, inside in parts.items() for name in inside}
    index = {"metadata": {"total_size": sum(value.nbytes for value in weights.values())}, "weight_map": listed}
    return tiny.write_json(folder / f"{stem}.{ending}.index.json", index)
