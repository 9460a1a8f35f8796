"""Models that read two texts as one: cross-encoders with one logit, those of sentence-transformers' modules, and inference."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints, pretrained
from toolkit.models.checkpoints.checkpoint_files import read_json, sound
from toolkit.models.checkpoints.hub import origin_of
from toolkit.models.encoders.sentence_transformers_adapter import load_model
from toolkit.models.rerankers.base import ACTIVATIONS, BatchedReranker, Pair, Reranker, Row, chunks
from toolkit.models.rerankers.reranker_settings import CrossEncoderParameters
from toolkit.models.vectors.batches import by_length, inference
from toolkit.registry.system_kinds import parameters_as

CLASS = "entailment"
OWN, MODULES = "sentence_transformers.", ("Transformer", "LogitScore", "Dense")  # what such a checkpoint may be made of


class CrossEncoder(BatchedReranker):
    """A sequence classifier with one label.

    A pair that is too long loses the end of the longer text, token by token, as sentence-transformers and `rerankers` do
    it; with a `query_share` the query is first truncated to that share of the length, and the rest is the document's, as
    FlagEmbedding does it.
    """

    def __init__(self, spec: SystemSpec, loaded: pretrained.Loaded, settings: CrossEncoderParameters, batch_size: int):
        self._loaded = loaded
        self._length = loaded.length(spec, settings.length)
        super().__init__(spec, batch_size=batch_size, facts={**loaded.facts, **settings.facts(length=self._length)})
        self._activation = ACTIVATIONS[settings.activation]
        self._query_share = settings.query_share

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """The pairs as the tokenizer joins them."""
        queries, documents = [query.whole for query, _ in pairs], [document.whole for _, document in pairs]
        truncation, whole = "longest_first", queries
        if self._query_share < 1:
            longest, truncation = int(self._length * self._query_share), "only_second"
            encoded = self._loaded.tokenizer(queries, add_special_tokens=False, return_offsets_mapping=True)
            offsets = zip(queries, encoded["offset_mapping"], strict=True)
            queries = [query[: ends[longest - 1][1]] if len(ends) > longest else query for query, ends in offsets]
        rows = _rows(self._loaded.tokenizer, queries, documents, self._length, truncation)
        whole = zip(rows, whole, queries, strict=True)
        return [row._replace(truncated=row.truncated or query != sent) for row, query, sent in whole]

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """One logit a row, through the activation."""
        with inference():
            logits = self._loaded.model(**pretrained.padded(rows, self._loaded)).logits[:, 0]
        return self._activation(pretrained.as_scores(logits))


class ModularCrossEncoder(Reranker):
    """A checkpoint in the layout of sentence-transformers' `CrossEncoder` with modules behind the model, such as `LogitScore`.

    The library computes everything: the chat template, in which an instruction that is sent apart is the prompt (the system's
    turn), truncation, the difference of two tokens' logits, the activation. Its scores are those of `CrossEncoder.predict`.
    """

    def __init__(self, spec: SystemSpec, folder: Path, model: Any, batch_size: int, length: int | None):
        self.spec, self._model, self._batch_size = spec, model, batch_size
        model.max_seq_length = self._length = min(filter(None, (length, model.max_seq_length)))
        for module in model:
            tokens = [getattr(module, f"{name}_token_id", None) for name in ("true", "false")]
            given = [token for token in tokens if token is not None]
            known = all(type(token) is int and 0 <= token < model.config.vocab_size for token in given)
            if not known or len(set(given)) < len(given):
                raise ToolkitError(f"{spec.name}: {folder} compares the tokens {tokens}", "two of its model's vocabulary")
        activation = type(model.activation_fn).__name__.lower()
        said = {"length": self._length, "activation": activation, "modules": [type(module).__name__ for module in model]}
        precision = computing.precision_of(model.dtype)
        self.facts = {**origin_of(folder), "device": model.device.type, "precision": precision, **said}

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker`: pairs of one instruction and nearly one length are a batch."""
        done = set(done)
        for chunk in chunks(pairs):
            sizes = [len(self._ids(pair, whole=True)) for pair in pairs[chunk]]
            self.truncated += sum(size > self._length for size in sizes)
            by_instruction: dict[str, list[int]] = {}
            for place in range(chunk.start, chunk.start + len(sizes)):
                by_instruction.setdefault(pairs[place][0].instruction, []).append(place)
            for instruction, places in by_instruction.items():
                for batch in by_length([sizes[place - chunk.start] for place in places], self._batch_size):
                    own = [places[each] for each in batch]
                    if not done.issuperset(own):
                        texts = [(query.whole, document.whole) for query, document in (pairs[place] for place in own)]
                        how = {"prompt": instruction or None, "batch_size": len(own), "show_progress_bar": False}
                        with inference():
                            yield own, self._model.predict(texts, **how).astype(np.float64)

    def tokens(self, pair: Pair) -> list[int]:
        """See `Reranker`."""
        return self._ids(pair)

    def _ids(self, pair: Pair, *, whole: bool = False) -> list[int]:
        query, document = pair
        how = {"processing_kwargs": {"text": {"truncation": False}, "chat_template": {"truncation": False}}} if whole else {}
        sent = self._model.preprocess([(query.whole, document.whole)], prompt=query.instruction or None, **how)
        return sent["input_ids"][0].tolist()


class Entailment(BatchedReranker):
    """A sequence classifier one of whose classes is called entailment; the share of that class among all of them.

    A pair that is too long loses the end of its longer text, token by token: of the document, as a rule.
    """

    def __init__(self, spec: SystemSpec, loaded: pretrained.Loaded, length: int, batch_size: int):
        super().__init__(spec, batch_size=batch_size, facts={})
        self._loaded, self._length = loaded, length
        labels = {str(label).lower(): number for number, label in loaded.model.config.id2label.items()}
        if CLASS not in labels:
            raise ToolkitError(f"{spec.name} has no class {CLASS}: it has {', '.join(labels)}", "see `positive` in its entry")
        self._class = int(labels[CLASS])

    def encode(self, pairs: Sequence[Pair]) -> list[Row]:
        """Premise and hypothesis as the tokenizer joins them."""
        premises, hypotheses = [document.whole for _, document in pairs], [statement.whole for statement, _ in pairs]
        return _rows(self._loaded.tokenizer, premises, hypotheses, self._length)

    def forward(self, rows: Sequence[Row]) -> np.ndarray:
        """The softmax's share of the class."""
        with inference():
            logits = self._loaded.model(**pretrained.padded(rows, self._loaded)).logits
        return pretrained.as_scores(logits.double().softmax(-1)[:, self._class])


def _rows(
    tokenizer: Any, first: Sequence[str], second: Sequence[str], length: int, truncation: str = "longest_first"
) -> list[Row]:
    encoded = tokenizer(first, second, truncation=truncation, max_length=length, return_attention_mask=False)
    types = encoded.get("token_type_ids") or [[]] * len(first)
    lost = (bool(row.overflowing) for row in encoded.encodings)
    return [Row(*row) for row in zip(encoded["input_ids"], types, lost, strict=True)]


def load(spec: SystemSpec, *, batch_size: int, **where: Any) -> CrossEncoder | ModularCrossEncoder:
    """The cross-encoder of a system's entry; ToolkitError where the checkpoint has not one label, and for strange modules."""
    settings = parameters_as(CrossEncoderParameters, spec)
    folder = local_checkpoints.locate(spec, trust_remote_code=where["trust_remote_code"])
    with sound(folder):
        listed = [(entry["type"], entry["path"]) for entry in read_json(folder / "modules.json", [])]
    names = [kind.rpartition(".")[2] for kind, _ in listed]
    if not set(names) <= {"Transformer"}:  # more than the model alone
        if strange := [kind for kind, _ in listed if not (kind.startswith(OWN) and kind.rpartition(".")[2] in MODULES)]:
            hint = f"known: {', '.join(MODULES)} of the library"
            raise ToolkitError(f"{spec.name}: {folder} has a module {strange[0]!r}", hint)
        length = spec.parameters.get("length")
        if others := sorted({"activation", "query_share"} & spec.parameters.keys()):
            message = f"{spec.name}: {folder} has modules of its own ({', '.join(names)})"
            raise ToolkitError(message, f"leave out {', '.join(others)}: they say it")
        return ModularCrossEncoder(spec, folder, load_model("CrossEncoder", spec, folder, **where), batch_size, length)
    if "instruction" in spec.templates:
        message = f"{spec.name}: {folder} has no chat template that takes an instruction apart"
        raise ToolkitError(message, "--instruction-as text, or leave the template out")
    loaded = pretrained.load("AutoModelForSequenceClassification", spec, what="cross-encoder", **where)
    if loaded.model.config.num_labels != 1:
        raise ToolkitError(f"{spec.name} has {loaded.model.config.num_labels} labels: a cross-encoder has one", "see --kind")
    return CrossEncoder(spec, loaded, settings, batch_size)
