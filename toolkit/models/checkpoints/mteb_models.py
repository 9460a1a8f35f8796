"""Models of MTEB's registry, `mteb:NAME`, as objects that `own_systems` takes: MTEB loads them and adds their prompts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.files.store.bounded_http import settle_libraries
from toolkit.files.store.hub import endpoint
from toolkit.models.checkpoints.remote_code import code_of, option_with_code
from toolkit.models.computing import settle_arithmetic
from toolkit.registry.loader import did_you_mean

if TYPE_CHECKING:
    from mteb.models import ModelMeta


WHERE = {"hf_split": "test", "hf_subset": "default"}


class MtebModel:
    """A model by its entry in MTEB's registry, loaded when it is first asked.

    identity  what tells it from others: MTEB's version, name, revision
    has_code  whether its entry asks for the code of its repository; trusted: whether that may be run
    """

    description, trusted = "a model of MTEB's registry", False

    def __init__(self, meta: ModelMeta):
        self.meta, self._model = meta, None
        self.has_code = bool(option_with_code([meta.loader_kwargs, meta.experiment_kwargs]))
        self.identity = f"mteb-{version('mteb')}-{meta.name}-{meta.revision}"

    @property
    def model(self) -> Any:
        """What MTEB's loader gives."""
        if self._model is None:
            settle_arithmetic()
            settle_libraries(endpoint())
            with code_of(f"mteb:{self.meta.name}", self.trusted):
                self._model = self.meta.load_model()
        return self._model

    def _how(self) -> dict[str, Any]:
        from mteb.abstasks.task_metadata import TaskMetadata

        # of the type that models have their prompts for retrieval by
        task = TaskMetadata(
            name="Tandem",
            description="Retrieval with Tandem",
            type="Retrieval",
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
            dataset={"path": "none", "revision": "none"},
        )
        return {"task_metadata": task, **WHERE, "show_progress_bar": False}


class MtebEncoder(MtebModel):
    """One vector a text."""

    kind = "dense"

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        """See `own_systems.TextEncoder`; MTEB's prompt for queries, or for documents, is added by the model."""
        from mteb.types import PromptType

        side = PromptType.query if kind == "query" else PromptType.document
        fields = ("query",) if kind == "query" else ("body",)
        return self.model.encode(_loader(texts, *fields), prompt_type=side, batch_size=len(texts), **self._how())


class MtebCrossEncoder(MtebModel):
    """A score for a query and a document."""

    kind = "cross-encoder"

    def score(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """See `own_systems.PairScorer`."""
        queries, documents = zip(*pairs, strict=True)
        inputs = _loader(queries, "query"), _loader(documents, "body")
        return self.model.predict(*inputs, batch_size=len(pairs), **self._how())


# of an entry's `model_type`, one of which an entry has
CLASSES = {"dense": MtebEncoder, "cross-encoder": MtebCrossEncoder}


def of_name(name: str) -> tuple[MtebModel, dict[str, Any]]:
    """The model of a name in MTEB's registry, and the parameters that its entry states.

    Raises ToolkitError where MTEB is not installed, for an unknown name, and for a model that gives neither a vector a text
    nor a score a pair.
    """
    try:
        import mteb
        from mteb.models.model_implementations import MODEL_REGISTRY
    except ModuleNotFoundError as error:
        raise missing_extra(f"mteb:{name}", "mteb") from error
    if name not in MODEL_REGISTRY:
        hint = f"{did_you_mean(name, MODEL_REGISTRY)}`mteb.get_model_metas()` has all"
        raise ToolkitError(f"MTEB has no model {name!r}", hint)
    meta = mteb.get_model_meta(name)
    kinds = [kind for kind in CLASSES if kind in meta.model_type]
    if not kinds:
        known = ", ".join(CLASSES)
        raise ToolkitError(f"mteb:{name} is of MTEB's kind {', '.join(meta.model_type)}", f"what can be used: {known}")
    similarity = getattr(meta.similarity_fn_name, "value", meta.similarity_fn_name)
    parameters = {"similarity": "dot" if similarity == "dot" else "cos"} if kinds[0] == "dense" else {}
    return CLASSES[kinds[0]](meta), parameters


def _loader(texts: Sequence[str], *fields: str) -> Any:
    """Texts as MTEB gives them to models: in one batch, under the fields that it has for queries or documents."""
    from datasets import Dataset
    from torch.utils.data import DataLoader

    columns = {name: list(texts) for name in ("text", *fields)}
    if "body" in fields:
        columns["title"] = [""] * len(texts)  # what a document is sent as has it in front
    return DataLoader(Dataset.from_dict(columns), batch_size=len(texts))
