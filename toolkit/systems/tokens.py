"""The token ids that a system's model sees, from the very classes that run it."""

from __future__ import annotations

from collections.abc import Callable

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models.checkpoints import check_usable, is_here
from toolkit.models.encoders import LOADERS, load_for
from toolkit.registry.choice import HUB_ID

# (query, passage if there is one) -> `query` and `passage`, or `pair`, -> ids
TokenReader = Callable[[Input, Input | None], dict[str, list[int]]]
WORDS = "words are split by an analyzer, and have no ids"
NONE = {
    "bm25": WORDS,
    "bm25-fields": WORDS,
    "okapi": WORDS,
    "listwise": "they are those of a window of several passages",
    "judge": "a judge is sent a perspective and a document",
    "expander": "an expander is sent a question, as words",
}


def token_reader(spec: SystemSpec, trust_remote_code: bool) -> TokenReader:
    """Raises ToolkitError where the system has no tokens, or its checkpoint is not on this machine or does not load."""
    if spec.kind not in NONE:
        _check_here(spec)
        check_usable(spec, trust_remote_code=trust_remote_code)
    if spec.kind in LOADERS:
        return _encoder(spec, trust_remote_code)
    if spec.kind in ("cross-encoder", "monot5", "yes-no"):
        return _reranker(spec, trust_remote_code)
    raise ToolkitError(NONE[spec.kind])


def _check_here(spec: SystemSpec) -> None:
    """ToolkitError for a checkpoint of the hub that is not here: gigabytes are not downloaded for token ids."""
    places = ((spec.checkpoint, spec.revision), (spec.passage_checkpoint, ""), (spec.base, spec.base_revision))
    for place, revision in places:
        if HUB_ID.fullmatch(place) and not is_here(place, revision):
            raise ToolkitError(f"{place} is not on this machine, and nothing is downloaded to tell them")


def _encoder(spec: SystemSpec, trust: bool) -> TokenReader:
    encoder = load_for(spec, device="cpu", trust_remote_code=trust)

    def read(query: Input, passage: Input | None) -> dict[str, list[int]]:
        ids = {"query": encoder.token_ids(query, "query")}
        return ids | ({"passage": encoder.token_ids(passage, "passage")} if passage else {})

    return read


def _reranker(spec: SystemSpec, trust: bool) -> TokenReader:
    from toolkit.models.rerankers import load_reranker

    reranker = load_reranker(spec, device="cpu", trust_remote_code=trust)
    return lambda query, passage: {"pair": reranker.tokens((query, passage))} if passage else {}
