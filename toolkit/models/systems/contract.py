"""Whether an object of one's own does what its methods have to: asked for a handful of texts, answers compared."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.progress import say
from toolkit.core.system.python_names import CALLED
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.checkpoints.own_systems import FINDS, RERANKS, Called, OwnChatModel, OwnRanker, make_own, methods_of
from toolkit.models.encoders import load_encoder
from toolkit.models.encoders.base import SIDES
from toolkit.models.llm.messages import Request
from toolkit.models.rerankers import load_reranker
from toolkit.models.rerankers.base import Window
from toolkit.models.systems.canary_checks import Canaries, Check, canaries, canary_checks, stepwise
from toolkit.registry.system_kinds import loaded_by

TEXTS = (
    "how do vaccines work",
    "A vaccine shows the immune system a harmless part of a pathogen, which it then knows when it meets the pathogen itself.",
    "چگونه واکسن کار می‌کند",
    "疫苗如何起作用?",
    " ".join(["The immune system remembers what it has met."] * 60),
    "x",
)
ALIKE = 1e-6  # by which a cosine of a text with itself may be below 1 in another batch
CLOSE = 1e-4  # by which scores may differ


def check_system(
    system: Any,
    *,
    texts: Canaries | None = None,
    like: str | None = None,
    loader: str | None = None,
    instruction_as: str | None = None,
    trust_remote_code: bool = False,
    **how: Any,
) -> list[Check]:
    """Try each method that an object of Python has; ask any other system for texts whose order nobody disputes.

    texts  what is asked, see `canary_checks.canaries`; of an object of Python only where they are given
    like   the system whose scores these should be; `loader` and `instruction_as` as of `loaded_by`

    Raises ToolkitError for what cannot be made, and for a system without a model.
    """
    spec, trust = loaded_by(choose_system(system, **how), loader, instruction_as), {"trust_remote_code": trust_remote_code}
    pinned = choose_system(like, files=how.get("files", ()), kind=how.get("kind")) if like else None
    if not spec.is_python:
        texts, served = texts or canaries(), spec.loader == "endpoint"
        if served:
            say(f"about {texts.requests()} requests; no answer is cached")
        return list(canary_checks(spec, texts, like=pinned, **({} if served else trust)))
    methods = methods_of(make_own(spec))
    if not methods:
        wanted = ", ".join(CALLED.values())
        raise ToolkitError(f"{spec.checkpoint} has none of {wanted}", f"python -m pydoc {methods_of.__module__}")
    checks: list[Check] = []
    for name in methods:
        as_kind = replace(spec, kind=KINDS[name], parameters={})
        checks += stepwise(name, CHECKS[name](as_kind, trust_remote_code))
        if texts and name in ("encode", "score", "rank") and not any(check.problem for check in checks if check.method == name):
            checks += (each._replace(method=name) for each in canary_checks(as_kind, texts, like=pinned, **trust))
    return checks


def _encode(spec: SystemSpec, trust: bool) -> Iterator[str]:
    """By turns what is tried next, and what is wrong with it; empty where nothing is."""
    inputs = [Input("", text) for text in TEXTS]
    yield f"{len(TEXTS)} texts of each kind: a row each, finite, one length"
    encoder = load_encoder(spec, trust_remote_code=trust)
    queries, passages = (encoder.encode(inputs, side) for side in SIDES)
    dimensions = sorted({queries.shape[1], passages.shape[1]})
    yield "" if len(dimensions) == 1 else f"queries and passages have vectors of {dimensions} numbers"
    yield "the same again"
    same = np.array_equal(encoder.encode(inputs, "query"), queries)
    yield "" if same else "the same texts have other vectors the second time: runs will not repeat"
    yield "each text alone"
    one_by_one = np.concatenate([encoder.encode([each], "passage") for each in inputs])
    lowest = float((one_by_one * passages).sum(1).min())
    yield "" if lowest >= 1 - ALIKE else f"a text alone has another vector than among others (cosine {lowest:.6f})"
    yield "different texts"
    alike = sum(np.array_equal(passages[0], vector) for vector in passages)
    yield f"{alike} of {len(passages)} texts have one and the same vector" if alike > 1 else ""


def _score(spec: SystemSpec, trust: bool) -> Iterator[str]:
    pairs = [(Input("", TEXTS[0]), Input("", text)) for text in TEXTS[1:]]
    yield f"{len(pairs)} pairs: a finite number each"
    reranker = load_reranker(spec, trust_remote_code=trust)
    scores = reranker.score(pairs)
    yield ""
    yield "the same again"
    same = np.array_equal(reranker.score(pairs), scores)
    yield "" if same else "the same pairs have other scores the second time: runs will not repeat"
    yield "each pair alone"
    one_by_one = np.concatenate([reranker.score([pair]) for pair in pairs])
    yield _apart(one_by_one, scores, "a pair alone has another score than among others")
    yield "in another order"
    yield _apart(reranker.score(pairs[::-1])[::-1], scores, "scores depend on the order of the pairs")


def _apart(values: np.ndarray, expected: np.ndarray, what: str) -> str:
    most = float(np.abs(values - expected).max())
    return f"{what} ({most:.3g} apart)" if most > CLOSE * max(1.0, float(np.abs(expected).max())) else ""


def _rank(spec: SystemSpec, trust: bool) -> Iterator[str]:
    def orders(count: int) -> tuple[int, ...]:
        return OwnRanker(spec).rank([Window("check", TEXTS[0], TEXTS[1 : count + 1])])[0]

    for count in (1, 2, 4):
        yield f"{count} documents: a permutation"
        orders(count)
        yield ""
    yield "the same again"
    yield "" if orders(4) == orders(4) else "the same documents come in another order the second time"


def _generate(spec: SystemSpec, trust: bool) -> Iterator[str]:
    messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "Is water wet? Yes or No?"}]
    said = []
    for what in ("a system turn and a question: a text", "the same again"):
        yield what
        [(_, answer)] = OwnChatModel(spec).answers([Request(messages, {})])
        said.append(answer.text)
        other = "" if said[0] == said[-1] else "another answer the second time: only cached answers repeat"
        yield other if answer.text else "it says nothing"


def _retrieve(spec: SystemSpec, trust: bool) -> Iterator[str]:
    asked = [TEXTS[0], TEXTS[-1]]
    yield f"{len(asked)} queries, {HITS} documents each: a list a query"
    first, again = (Called(spec, "retrieve")(list(asked), HITS) for _ in range(2))
    lengths = [len(found) for found in first]
    yield "" if len(lengths) == len(asked) and max(lengths) <= HITS else f"lists of {lengths} documents"
    yield "the same again"
    yield "" if str(first) == str(again) else "other documents the second time: runs will not repeat"


HITS = 3
KINDS = {**FINDS, **RERANKS, "generate": "judge"}  # one that needs the method

CHECKS = {"encode": _encode, "score": _score, "rank": _rank, "generate": _generate, "retrieve": _retrieve}
