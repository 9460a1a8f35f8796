"""What the repositories' own code gives for the tiny checkpoints of tests/own_code.py: numbers, in JSON, of no code of theirs.

    python tests/golden/architectures/make.py KIND CODE > tests/golden/architectures/KIND.json

Run with transformers 4.42.4, for which that code was written (einops, datasets and tqdm beside it), outside of this project's
environment. CODE is a folder with the repository's Python files. NV-Embed's texts are tokenized by tokenizer.json, which is
`tiny.llama_tokenizer()`.
"""

import hashlib
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
VOCABULARY = 340
# two rows, the second padded; of NV-Embed texts
IDS = [[0, 5, 17, 200, 44, 7, 301, 12, 90, 2], [0, 8, 250, 31, 2, 1, 1, 1, 1, 1]]
MASK = [[1] * 10, [1] * 5 + [0] * 5]
INSTRUCTION = "Instruct: find the long documents\nQuery: "
QUERIES = ["the cat is in the house", "a dog"]
PASSAGES = ["a house is long. The bird of the tree, and the river.", "query"]


def main(kind, code):
    import torch
    import transformers
    from own_code import config, weights

    with tempfile.TemporaryDirectory() as root:
        package = Path(root) / "theirs"
        shutil.copytree(code, package, ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
        (package / "__init__.py").touch()
        sys.path.insert(0, root)
        values = {name: torch.from_numpy(value) for name, value in weights(kind, VOCABULARY).items()}
        settings = config(kind, VOCABULARY)
        ids, mask = torch.tensor(IDS), torch.tensor(MASK)
        with torch.no_grad():
            made = {"nv-embed": _nv_embed, "gte": _gte, "jina-reranker": _jina}[kind](settings, values, ids, mask)
        files = sorted(package.glob("*.py"))
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.stat().st_size}
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0]}
    lines = (
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in {"code": digests, "versions": versions, **made}.items()
    )
    print("{", ",\n".join(lines), "}", sep="\n")


def _nv_embed(settings, values, ids, mask):
    from transformers import PreTrainedTokenizerFast

    configuration = importlib.import_module("theirs.configuration_nvembed")
    modeling = importlib.import_module("theirs.modeling_nvembed")
    with tempfile.TemporaryDirectory() as folder:
        ends = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        PreTrainedTokenizerFast(tokenizer_file=str(HERE / "tokenizer.json"), **ends).save_pretrained(folder)
        settings["text_config"]["_name_or_path"] = folder
        model = modeling.NVEmbedModel(configuration.NVEmbedConfig(**settings))
    model.load_state_dict(values, strict=True)
    model = model.float().eval()
    made = {
        "states": model(ids, mask, None)["sentence_embeddings"],
        "queries": model.encode(QUERIES, instruction=INSTRUCTION, max_length=128),
        "passages": model.encode(PASSAGES, instruction="", max_length=128),
    }
    tokens = {"instruction_length": len(model.tokenizer.tokenize(INSTRUCTION))}
    return {**tokens, **{name: value.tolist() for name, value in made.items()}}


def _gte(settings, values, ids, mask):
    configuration, modeling = (importlib.import_module(f"theirs.{name}") for name in ("configuration", "modeling"))
    model = modeling.NewModel(configuration.NewConfig(**settings))
    mine = {name.removeprefix("new."): value for name, value in values.items() if name.startswith("new.")}
    model.load_state_dict(mine, strict=True)
    return {"states": model.eval()(ids, attention_mask=mask).last_hidden_state.tolist()}


def _jina(settings, values, ids, mask):
    configuration = importlib.import_module("theirs.configuration_xlm_roberta")
    modeling = importlib.import_module("theirs.modeling_xlm_roberta")
    model = modeling.XLMRobertaForSequenceClassification(configuration.XLMRobertaFlashConfig(**settings))
    model.load_state_dict(values, strict=True)
    return {"logits": model.float().eval()(ids, attention_mask=mask).logits[:, 0].tolist()}


if __name__ == "__main__":
    main(*sys.argv[1:])
