"""The forms in which servers are asked for vectors and for scores: the rows of `server-forms.yaml`."""

import functools
from dataclasses import dataclass, field
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry.loader import FOLDER, did_you_mean, to_spec

DEFAULT = "http"


@dataclass(frozen=True)
class EmbeddingForm:
    """A request for vectors, and its answer.

    path        under the server's address
    model       the key of the model's name; empty where it is not sent
    texts       the key of the list of texts; `dimension` of the number of a vector's components, where a system names one
    options     sent with every request; `query_options` and `passage_options` with queries and documents alone
    instruction  the key of a query's instruction; empty where it can only stand in the text. Keys may be joined by `.`
    vectors     where the answer has them, names joined by `.`
    indexed     whether each is `{index, embedding}`; else they come in the order of the texts
    tokens      where the answer has the number of tokens; empty where it does not say
    most        texts of a request, where a system names no other number
    """

    path: str
    model: str = "model"
    texts: str = "input"
    dimension: str = "dimensions"
    options: dict[str, Any] = field(default_factory=dict)
    query_options: dict[str, Any] = field(default_factory=dict)
    passage_options: dict[str, Any] = field(default_factory=dict)
    instruction: str = ""
    vectors: str = "data"
    indexed: bool = True
    tokens: str = ""
    most: int = 32


@dataclass(frozen=True)
class RerankForm:
    """A request for the scores of a query's documents, and its answer.

    path       under the server's address; `../` leaves out a `/v1` at its end, {model} is the model's name
    model      the key of the model's name; empty where it is not sent
    query      the key of the query; `repeated` where it is a list with the query once for each document
    documents  the key of the list of documents; `wrapped` is the key of the text in each, where that is a mapping
    instruction  as of `EmbeddingForm`
    options    sent with every request
    results    where the answer has them, names joined by `.`; empty where it is the list itself. Each is {index, `score`};
               of an empty `score` the number itself, in the order of the documents
    tokens     as of `EmbeddingForm`
    most       documents of a request, where a system names no other number
    """

    path: str
    model: str = "model"
    query: str = "query"
    repeated: bool = False
    documents: str = "documents"
    wrapped: str = ""
    instruction: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    results: str = "results"
    score: str = "relevance_score"
    tokens: str = ""
    most: int = 32


@dataclass(frozen=True)
class ApiSpec:
    """One kind of server.

    rerankers      its type in the rerankers library
    home           its address, where there is one for all; else OPENAI_BASE_URL says it
    key            the environment variable of its key
    authorization  the header that holds the key, and what stands before it
    headers        sent with every request
    embeddings, rerank   None where it has none
    """

    name: str
    is_: str
    source: str
    rerankers: str = ""
    home: str = ""
    key: str = "OPENAI_API_KEY"
    authorization: tuple[str, ...] = ("Authorization", "Bearer ")
    headers: dict[str, str] = field(default_factory=dict)
    embeddings: EmbeddingForm | None = None
    rerank: RerankForm | None = None


@functools.cache
def apis() -> dict[str, ApiSpec]:
    """All of them, by the name that stands before a model's: `tei:MODEL`."""
    path = FOLDER / "server-forms.yaml"
    known = {}
    for name, row in read_yaml(path).items():
        forms = {"embeddings": EmbeddingForm, "rerank": RerankForm}
        read = {key: to_spec(form, row[key], f"{path}, {name}, {key}") for key, form in forms.items() if key in row}
        rest = {key: tuple(value) if type(value) is list else value for key, value in row.items() if key not in ("is", *forms)}
        known[name] = ApiSpec(name=name, is_=row["is"], **rest, **read)
    return known


def api(name: str) -> ApiSpec:
    """The api of this name. ToolkitError, with the nearest right one, where there is none."""
    if name not in apis():
        raise ToolkitError(f"no api {name!r}", f"{did_you_mean(name, apis())}known: {', '.join(apis())}")
    return apis()[name]
