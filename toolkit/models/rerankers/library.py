"""Models of the `rerankers` library, under its names for their types; it loads them itself."""

import contextlib
import inspect
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError, missing_extra
from toolkit.core.specs import SystemSpec
from toolkit.core.system.files import home
from toolkit.core.system.progress import prints_on_stderr
from toolkit.files.store.bounded_http import reason, settle_libraries
from toolkit.files.store.hub import endpoint
from toolkit.models.checkpoints.remote_code import check_trust, code_of
from toolkit.models.computing import PRECISIONS, settle_arithmetic
from toolkit.models.llm.estimate import estimate_tokens
from toolkit.models.rerankers.base import Pair, Reranker, Window
from toolkit.models.servers.client import OPENAI_KEY

RANK_ONLY = ("rankgpt", "rankllm")  # types that order lists and give no scores
TAKES_CODE = ("cross-encoder", "t5", "colbert", "mxbaiv2", "upr", "llm-layerwise")  # types of checkpoints of transformers
GIVEN = {"device": "device", "precision": "dtype", "batch_size": "batch_size"}  # ours -> the library's


def is_rank_only(spec: SystemSpec) -> bool:
    """Whether a system of kind `rerankers` orders lists, without scores."""
    return spec.kind == "rerankers" and spec.parameters.get("type") in RANK_ONLY


class Library:
    """One model of the library, loaded when it is first needed, with `how` as far as the type's class has it.

    Raises ToolkitError, when it is loaded or used, for whatever the library raises.
    """

    def __init__(self, spec: SystemSpec, *, trust_remote_code: bool = False, **how: Any):
        check_trust(spec, trust_remote_code)
        self.spec, self._trust = spec, trust_remote_code
        self._how = {name: value for name, value in how.items() if value is not None}
        self._loaded: Any = None
        self.type, self.model = spec.parameters["type"], spec.parameters["model"]
        self.facts: dict[str, Any] = {"rerankers": version("rerankers") if _is_installed() else "", **self._how}

    def rank(self, query: str, texts: Sequence[str]) -> list[tuple[int, float | None]]:
        """(position, score) of each document, best first, each once; None where the type gives no scores."""
        with self._explained("rank with"):
            ranked = self._model().rank(query=query, docs=list(texts), doc_ids=list(range(len(texts))))
            found = [(result.document.doc_id, result.score if ranked.has_scores else None) for result in ranked.results]
        places = [place for place, _ in found]
        if sorted(places) != list(range(len(texts))):
            message = f"{self.spec.name} ({self.type}) gave {len(set(places))} of {len(texts)} documents"
            raise ToolkitError(message, "the library leaves some out, or gives one twice: try another type", status=1)
        return found

    def _model(self) -> Any:
        if self._loaded is None:
            settle_arithmetic()
            address = self.spec.parameters.get("options", {}).get("url") or endpoint()
            settle_libraries("" if os.path.exists(self.model) else address)
            from rerankers import Reranker as make

            with self._explained("load"), code_of(self.spec.name, self._trust):
                self._loaded = make(self.model, model_type=self.type, verbose=0, **self._arguments())
            if self._loaded is None:  # it prints what is missing, and returns nothing
                from rerankers.reranker import DEPS_MAPPING, _get_model_type

                hint = f'pip install "rerankers[{DEPS_MAPPING.get(_get_model_type("", self.type), "all")}]"'
                raise ToolkitError(f"{self.spec.name}: rerankers has not what type {self.type} needs", hint)
        return self._loaded

    def _arguments(self) -> dict[str, Any]:
        """What the type's class is made with."""
        # named parameters of the type's class; none where what it needs is not installed
        from rerankers.models import AVAILABLE_RANKERS
        from rerankers.reranker import _get_model_type

        made = AVAILABLE_RANKERS.get(_get_model_type("", self.type))
        parameters = inspect.signature(made).parameters if made else ()
        given = {GIVEN[name]: value for name, value in self._how.items()}
        if unknown := [name for name in self._how if GIVEN[name] not in parameters]:
            raise ToolkitError(f"type {self.type} of rerankers has no {', '.join(unknown)}", f"leave --{unknown[0]} out")
        if "dtype" in given:
            given["dtype"] = PRECISIONS[given["dtype"]]
        options = {**given, **self.spec.parameters.get("options", {})}
        if "cache_dir" in parameters:  # FlashRank would take a folder in the working one
            options.setdefault("cache_dir", str(home() / "models" / "flashrank"))
        # None also where the type's default is true: code that is not needed is not run then, and what is needed is refused
        for part in ("model_kwargs", "tokenizer_kwargs") if self.type in TAKES_CODE else ():
            options[part] = {"trust_remote_code": self._trust or None, **options.get(part, {})}
        if "api_key" in parameters:
            name = self.spec.parameters.get("key", OPENAI_KEY)
            if not os.environ.get(name):
                raise ToolkitError(f"{self.spec.name} wants the key {name}, which is not set", f"export {name}=...")
            options["api_key"] = os.environ[name]
        return options

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Whatever the library raises in one line, and what it prints on standard error."""
        if not _is_installed():
            raise missing_extra(self.spec.name, "rerank")
        try:
            with prints_on_stderr():
                yield
        except ToolkitError:
            raise
        except Exception as error:
            message = f"{self.spec.name}: rerankers cannot {what} {self.model} as {self.type} ({reason(error)})"
            raise ToolkitError(message, "is it a model of this type, and on this machine or the hub?", status=1) from None


class LibraryReranker(Reranker):
    """A type that gives scores: each query with its documents, in the library's own batches."""

    tokenizes = "library"  # nor does it say what it truncates

    def __init__(self, spec: SystemSpec, **how: Any):
        self.spec, self._library = spec, Library(spec, **how)
        self.facts = self._library.facts

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker`; a batch is a query with its documents."""
        by_query: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(pairs):
            by_query.setdefault(query.whole, []).append(place)
        known = set(done)
        for query, places in by_query.items():
            if not known.issuperset(places):
                scores = np.empty(len(places))
                for place, score in self._library.rank(query, [pairs[place][1].whole for place in places]):
                    if score is None:
                        message = f"{self.spec.name}: type {self._library.type} gave no scores"
                        raise ToolkitError(message, "is the model of another type?", status=1)
                    scores[place] = float(score)
                yield places, scores


class LibraryRanker:
    """A type that orders lists, as `ListwiseRanker` is used."""

    def __init__(self, spec: SystemSpec, **how: Any):
        self.spec, self._library = spec, Library(spec, **how)

    def check(self) -> None:
        """Raise ToolkitError where the library is not installed."""
        if not _is_installed():
            raise missing_extra(self.spec.name, "rerank")

    def rank(self, windows: Sequence[Window], advance: Callable[[int], None] = lambda n: None) -> list[tuple[int, ...]]:
        """As `ListwiseRanker.rank`."""
        orders = []
        for window in windows:
            orders.append(tuple(place for place, _ in self._library.rank(window.query, window.passages)))
            advance(1)
        return orders

    def peek(self, window: Window) -> tuple[None, int]:
        """As `ListwiseRanker.peek`: nothing is cached; tokens of query and passages, by estimate."""
        return None, sum(map(estimate_tokens, (window.query, *window.passages)))

    def facts(self) -> dict[str, Any]:
        """For records."""
        return dict(self._library.facts)


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("rerankers") is not None
