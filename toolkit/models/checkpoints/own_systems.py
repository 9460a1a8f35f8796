"""Systems that are objects of Python: what each kind has to offer, loading one, and its answers checked.

An object is named `python:module:factory`, or given to a call of `tandem_ir` itself. Which of the four methods it has says what
it can be: `TextEncoder`, `PairScorer`, `ListRanker`, `ChatModel`, `Retriever`.
"""

import importlib
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import cached_property
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import NamedSpec, ObjectSpec, SystemSpec
from toolkit.core.system.progress import prints_on_stderr
from toolkit.core.system.python_names import CALLED, EXPECTED, Source, find_source, is_dry
from toolkit.core.templates import Input
from toolkit.files.provenance import model_identity
from toolkit.models.checkpoints.mteb_models import MtebModel
from toolkit.models.checkpoints.remote_code import check_trust
from toolkit.models.encoders.base import SIDES, check_finite
from toolkit.models.llm.estimate import Estimate
from toolkit.models.llm.messages import Answer, Request
from toolkit.models.rerankers.base import Pair, Reranker, Window


class TextEncoder(Protocol):
    """Encodes texts: what `search`, `index`, `encode` and `diversify` take."""

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        """(n, d) numbers, a row a text in their order, every row finite and of one length in all calls.

        texts  queries or documents as the templates make them, at most `--batch-size` (32) of them
        kind   `query` or `passage`
        """


class PairScorer(Protocol):
    """Scores a document for a query: what `rerank` takes."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """A finite number for each (query, document), higher is better; at most `--batch-size` (32) pairs."""


class ListRanker(Protocol):
    """Orders a list of documents: what `rerank` takes."""

    def rank(self, query: str, docs: Sequence[str]) -> Sequence[int]:
        """The positions of the documents, from 0, best first, each once; at most `--window` (20) documents."""


class ChatModel(Protocol):
    """Continues a chat: what `judge`, `expand` and, with a prompt, `rerank` take."""

    def generate(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The answer to `[{"role": "system" or "user" or "assistant", "content": text}, ...]`."""


class Retriever(Protocol):
    """Finds documents by itself, in an index or a service of its own: what `search` takes without an index."""

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[Any]]:
        """For each query at most k documents, best first, each once; at most `--batch-size` (32) queries.

        A document is its id, (id, score), or what has an `id` (or `doc_id`, also in its `metadata`) and perhaps a `score`.
        """


# kind of a system -> the methods of which its object needs one
METHODS = {
    "dense": ("encode",),
    "cross-encoder": ("score",),
    "listwise": ("rank", "generate"),
    "judge": ("generate",),
    "expander": ("generate",),
    "retriever": ("retrieve",),
}
RERANKS = {"score": "cross-encoder", "rank": "listwise", "generate": "listwise"}
# the parameters of a kind that are for a checkpoint alone: an object decides for itself
PARAMETERS = {"dense": ("similarity",), "cross-encoder": ("run", "depth", "tail", "scores")}
FINDS = {"encode": "dense", "retrieve": "retriever"}

_made: dict[tuple[str, str], Any] = {}  # (name, digest) -> the object
_imported: dict[str, str] = {}  # module -> the digest of its file when it was imported


def is_nameless(spec: SystemSpec) -> bool:
    """Whether nothing tells it from another object of its class, in the next process: its answers are not cached."""
    return isinstance(spec, ObjectSpec) and not getattr(spec.instance, "identity", "")


def methods_of(system: Any) -> tuple[str, ...]:
    """Which of the methods of `CALLED` a class or an object has."""
    return tuple(name for name in CALLED if callable(getattr(system, name, None)))


def reranking_kind(system: Any) -> str:
    """The kind of reranker that an object is. ToolkitError for one that can rerank nothing."""
    found = [name for name in RERANKS if name in methods_of(system)]
    if not found:
        shown = getattr(system, "__name__", type(system).__name__)
        raise ToolkitError(f"{shown} has none of {', '.join(CALLED[name] for name in RERANKS)}", _offers(system))
    return RERANKS[found[0]]


def searching_kind(system: Any) -> str:
    """The kind of system that finds documents that an object is: of one with both methods, one that encodes."""
    return next((FINDS[name] for name in FINDS if name in methods_of(system)), "dense")


def check_own(spec: SystemSpec, *, device: str | None = None, precision: str | None = None, trust: bool = False) -> None:
    """ToolkitError for what an object cannot be used as, as far as its class, or it itself where that is none, tells."""
    if spec.kind not in METHODS:
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, which no object of Python is", f"known: {', '.join(METHODS)}")
    for name, value in (("device", device), ("precision", precision)):
        if value:
            hint = f"leave --{name} out, the object decides"
            raise ToolkitError(f"{spec.name} is an object of Python: it has no {name}", hint)
    known = PARAMETERS.get(spec.kind)
    if known and (unused := [name for name in spec.parameters if name not in known]):
        hint = f"it may have {', '.join(known)}"
        raise ToolkitError(f"{spec.name} is an object of Python: it has no {', '.join(unused)}", hint)
    check_trust(spec, trust)
    _check_named(spec)
    if is_dry():
        return
    made = spec.instance if isinstance(spec, ObjectSpec) else _attribute(find_source(spec.checkpoint), spec.checkpoint)
    if isinstance(made, MtebModel):
        made.trusted = trust
    if isinstance(made, type) or methods_of(made):
        _check_method(spec, made)


class NotNamedError(ToolkitError):
    """An object of Python that data names, and nobody who runs it."""


def _check_named(spec: SystemSpec) -> None:
    if not isinstance(spec, NamedSpec):
        message = f"{spec.name} is not run: data alone (an entry, a build, a registered run) says that it is {spec.checkpoint}"
        raise NotNamedError(message, f"--trust-python {spec.checkpoint} runs that code, with all that it may do")


def load_own(spec: SystemSpec) -> Any:
    """The object of a system. ToolkitError where it cannot be made, or lacks the method of its kind."""
    made = make_own(spec)
    _check_method(spec, made)
    return made


def make_own(spec: SystemSpec) -> Any:
    """The same, whatever methods it has."""
    _check_named(spec)
    if isinstance(spec, ObjectSpec):
        return spec.instance
    name, source = spec.checkpoint, find_source(spec.checkpoint)
    if (name, source.sha256) not in _made:
        made = _attribute(source, name)
        if callable(made) and (isinstance(made, type) or not methods_of(made)):
            with _explained(f"{name}: {source.factory}()"):
                made = made()
        _made[name, source.sha256] = made
    return _made[name, source.sha256]


def _check_method(spec: SystemSpec, made: Any) -> None:
    if not set(METHODS[spec.kind]) & set(methods_of(made)):
        wanted = " or ".join(CALLED[name] for name in METHODS[spec.kind])
        raise ToolkitError(f"{spec.checkpoint} has no {wanted}, which kind {spec.kind} needs", _offers(made))


def _offers(made: Any) -> str:
    found = ", ".join(CALLED[name] for name in methods_of(made))
    return f"it has {found}" if found else f"python -m pydoc {__name__}"


def _attribute(source: Source, name: str) -> Any:
    """What a name means in its module: from the very file that was found; what lies beside it can be imported by it."""
    if is_dry():
        hint = "--kind (of search: --rerank-kind) says what it is: cross-encoder, listwise"
        raise ToolkitError(f"{name} is not imported to show what would be done", hint)
    top = source.module.partition(".")[0]
    loaded = sys.modules.get(top)
    if loaded is not None and getattr(loaded, "__file__", None) != source.top.origin:
        raise ToolkitError(f"{name}: another module {top} is imported already ({loaded.__file__})", "give yours another name")
    if _imported.setdefault(source.module, source.sha256) != source.sha256:
        raise ToolkitError(f"{source.file} was changed after it was imported", "start Python again")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    with _explained(f"{name}: importing {source.module}"):
        if loaded is None:
            sys.modules[top] = module = module_from_spec(source.top)
            try:
                source.top.loader.exec_module(module)
            except BaseException:
                del sys.modules[top], _imported[source.module]
                raise
        found: Any = importlib.import_module(source.module)
    for part in source.factory.split("."):
        if not hasattr(found, part):
            raise ToolkitError(f"{name}: {source.module} has no {source.factory}", f"it is {source.file or 'without a file'}")
        found = getattr(found, part)
    return found


@contextmanager
def _explained(what: str, expected: str = "") -> Iterator[None]:
    """What a user's own code raises, as one ToolkitError that says where, and what is `expected` of it."""
    try:
        with prints_on_stderr(), chdir("."):  # where it goes, we stay
            yield
    except ToolkitError:
        raise
    except (Exception, SystemExit) as error:
        *ours, _, last = traceback.extract_tb(error.__traceback__)  # the first two are this one and its caller
        where = f" ({Path(last.filename).name}, line {last.lineno})" if ours else ""
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ToolkitError(f"{what} raised {said}{where}", f"{expected}--debug shows the traceback", status=1) from error


class Called:
    """An object's method, whose answers are checked; what is wrong is one ToolkitError."""

    def __init__(self, spec: SystemSpec, method: str):
        self.spec, self.method = spec, method

    @cached_property
    def bound(self) -> Callable[..., Any]:
        """The method, of the object that is made when it is first asked for."""
        return getattr(load_own(self.spec), self.method)

    def __call__(self, *arguments: Any) -> Any:
        """The object's answer. ToolkitError for whatever it raises."""
        call = self.bound
        with _explained(f"{self.spec.name}: {self.method}", f"expected {EXPECTED[self.method]}; "):
            return call(*arguments)

    def numbers(self, answer: Any, count: int, dimensions: int) -> np.ndarray:
        """An answer as numbers: `count` of them, or of their rows."""
        try:
            values = np.asarray(answer.detach().cpu().float() if hasattr(answer, "detach") else answer)
            values = values.astype(np.float64 if dimensions == 1 else np.float32) if values.dtype.kind in "fiu" else values
        except (TypeError, ValueError) as error:
            raise self.wrong(f"{type(answer).__name__}, no table of numbers ({str(error)[:80]})") from error
        if values.dtype.kind != "f":
            raise self.wrong(f"a {type(answer).__name__} of {values.dtype}, no numbers")
        if values.ndim != dimensions or len(values) != count:
            expected = f"({count}, d), a row each" if dimensions == 2 else f"({count},), a number each"
            raise self.wrong(f"an array of shape {values.shape}, expected {expected}")
        finite = np.isfinite(values).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise self.wrong(f"{'NaN' if np.isnan(values).any() else 'infinity'} for {int((~finite).sum())} of {count}")
        return values

    def wrong(self, what: str) -> ToolkitError:
        """The error for an answer that is none."""
        own = isinstance(self.spec, ObjectSpec)
        hint = "tandem.check_system" if own else f"see `tandem systems check {self.spec.checkpoint}`"
        expected = EXPECTED[self.method]
        return ToolkitError(f"{self.spec.name}: {CALLED[self.method]} gave {what}", f"expected {expected}; {hint}", status=1)


class OwnEncoder:
    """An `Encoder` around an object's `encode`."""

    precision = "fp32"

    def __init__(self, spec: SystemSpec, batch_size: int):
        self._encode, self._batch_size = Called(spec, "encode"), batch_size
        self.similarity = spec.parameters.get("similarity", "cos")
        self.truncated, self.lost, self.origin = dict.fromkeys(SIDES, 0), 0, {}
        self.dimension = 0
        self.dimension = self.encode([Input("", "a")], "query").shape[1]

    def encode(self, inputs: Sequence[Input], side: str) -> np.ndarray:
        """As `Encoder.encode`: equal texts are encoded once."""
        texts = [each.whole for each in inputs]
        unique = list(dict.fromkeys(texts))
        parts: list[np.ndarray] = []
        for start in range(0, len(unique), self._batch_size):
            batch = unique[start : start + self._batch_size]
            part = self._encode.numbers(self._encode(batch, side), len(batch), 2)
            if part.shape[1] != (self.dimension or part.shape[1]) or not part.shape[1]:
                raise self._encode.wrong(f"vectors of {part.shape[1]} numbers, expected {self.dimension or 'at least 1'}")
            parts.append(part)
        if not parts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = np.concatenate(parts)
        if self.similarity == "cos":
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
        check_finite(unique, vectors, self.precision)
        place = {text: row for row, text in enumerate(unique)}
        return vectors[[place[text] for text in texts]]

    def token_ids(self, input: Input, side: str) -> list[int]:
        """As `Encoder.token_ids`."""
        raise no_tokens(self._encode.spec)


class OwnReranker(Reranker):
    """A pointwise reranker around an object's `score`."""

    def __init__(self, spec: SystemSpec, batch_size: int):
        self.spec, self.facts = spec, {}
        self._score, self._batch_size = Called(spec, "score"), batch_size

    def batches(self, pairs: Sequence[Pair], done: Collection[int] = ()) -> Iterator[tuple[list[int], np.ndarray]]:
        """See `Reranker.batches`."""
        for start in range(0, len(pairs), self._batch_size):
            places = list(range(start, min(start + self._batch_size, len(pairs))))
            if not set(places) <= set(done):
                sent = [(query.whole, document.whole) for query, document in (pairs[place] for place in places)]
                yield places, self._score.numbers(self._score(sent), len(sent), 1)

    def tokens(self, pair: Pair) -> list[int]:
        """See `Reranker`."""
        raise no_tokens(self.spec)


class OwnRanker:
    """What `rerank_listwise` asks, around an object's `rank`."""

    def __init__(self, spec: SystemSpec):
        self.spec, self._rank = spec, Called(spec, "rank")

    def check(self) -> None:
        """Make the object."""
        load_own(self.spec)

    def rank(self, windows: Sequence[Window], advance: Callable[[int], None] = lambda n: None) -> list[tuple[int, ...]]:
        """As `ListwiseRanker.rank`; an order that is no permutation is refused, not repaired."""
        orders = []
        for window in windows:
            answer = self._rank(window.query, list(window.passages))
            try:
                order = tuple(int(place) for place in answer if int(place) == place)
            except (TypeError, ValueError) as error:
                raise self._rank.wrong(f"{type(answer).__name__}, no positions ({str(error)[:80]})") from error
            if sorted(order) != list(range(len(window.passages))):
                shown = f"{list(order)[:10]}{'...' if len(order) > 10 else ''}"
                raise self._rank.wrong(f"{shown}: expected each of 0 to {len(window.passages) - 1} once")
            orders.append(order)
            advance(1)
        return orders

    def peek(self, window: Window) -> tuple[None, int]:
        """As `ListwiseRanker.peek`: nothing is cached, and tokens are its own affair."""
        return None, 0

    def facts(self) -> dict[str, Any]:
        """For records."""
        return model_identity(self.spec, template=False)


class OwnChatModel(Estimate):
    """A backend of `LLM` around an object's `generate`. Sampling is the object's own affair."""

    here = True
    origin: Mapping[str, Any] = {}

    def __init__(self, spec: SystemSpec):
        self.spec = spec
        self.facts = {"model": spec.checkpoint, **model_identity(spec, template=False)}
        self._generate = Called(spec, "generate")

    def check(self) -> None:
        """Make the object."""
        load_own(self.spec)

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """(position, answer), one after the other."""
        for position, request in enumerate(requests):
            said = self._generate([dict(message) for message in request.messages])
            if not isinstance(said, str):
                raise self._generate.wrong(f"{type(said).__name__}, no text")
            yield position, Answer(said.strip(), model=self.spec.checkpoint)


def no_tokens(spec: SystemSpec) -> ToolkitError:
    """Why no token ids are shown."""
    return ToolkitError(f"{spec.name} is an object of Python, which splits texts by itself")
