"""Kind `rerankers`: models of the rerankers library, under its own names for their types."""

import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input
from toolkit.models import choose_system
from toolkit.models.rerankers import load_reranker
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.library import RANK_ONLY
from toolkit.models.rerankers.listwise_ranker import load_ranker
from toolkit.registry.server_forms import apis
from toolkit.registry.system_kinds import kinds

DOCUMENTS = ["cats sleep", "dogs bark at cats", "a b"]


def pairs(query="cats"):
    return [(Input("", query), Input("", document)) for document in DOCUMENTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.tiny_bert(tmp_path_factory.mktemp("cross"), "BertForSequenceClassification", num_labels=1)


@pytest.mark.model
def test_scores_are_the_librarys_own_and_nothing_goes_to_standard_output(folder, capsys):
    from rerankers import Reranker

    spec = choose_system(f"rerankers:cross-encoder:{folder}")
    assert (spec.kind, spec.name) == ("rerankers", folder.name)
    made = load_reranker(spec, device="cpu", batch_size=2)
    scores = made.score([*pairs(), *pairs("dogs")])
    ours = capsys.readouterr()
    library = Reranker(str(folder), model_type="cross-encoder", device="cpu", verbose=0)
    for query, found in (("cats", scores[:3]), ("dogs", scores[3:])):
        wanted = {result.document.doc_id: float(result.score) for result in library.rank(query, DOCUMENTS)}
        assert found.tolist() == pytest.approx([wanted[place] for place in range(3)], abs=1e-5)  # other batches
    assert ours.out == ""
    assert made.facts["rerankers"] == "0.10.0"


@pytest.mark.model
def test_what_the_library_raises_is_one_line(folder, tmp_path):
    with pytest.raises(ToolkitError, match=r"rerankers cannot load .*nowhere as cross-encoder") as caught:
        load_reranker(choose_system(f"rerankers:cross-encoder:{tmp_path / 'nowhere'}")).score(pairs())
    assert "\n" not in caught.value.message
    with pytest.raises(ToolkitError, match="has not what type flashrank needs") as caught:
        load_reranker(choose_system("rerankers:flashrank:ms-marco-TinyBERT-L-2-v2")).score(pairs())
    assert caught.value.hint == 'pip install "rerankers[flashrank]"'


@pytest.fixture
def orders(monkeypatch):
    """A type of the library that orders lists; the key that it was given, and what its `rank` answers with."""
    import rerankers.models
    from rerankers.documents import Document
    from rerankers.results import RankedResults, Result

    class Ordering:
        order, keys = (2, 0, 1), []

        def __init__(self, model, api_key, verbose=1):
            self.keys.append(api_key)

        def rank(self, query, docs, doc_ids):
            print("noise")
            found = [Result(Document(docs[place], doc_id=place), rank=rank) for rank, place in enumerate(self.order, 1)]
            return RankedResults(found, query, has_scores=False)

    monkeypatch.setitem(rerankers.models.AVAILABLE_RANKERS, "RankGPTRanker", Ordering)
    return Ordering


@pytest.mark.model
def test_a_type_that_orders_lists_gives_an_order_and_takes_its_key_from_the_environment(orders, monkeypatch, capsys):
    spec = SystemSpec("s", "", "rerankers", parameters={"type": "rankgpt", "model": "gpt", "key": "THEIR_API_KEY"})
    window = Window("q1", "cats", tuple(DOCUMENTS))
    monkeypatch.delenv("THEIR_API_KEY", raising=False)
    with pytest.raises(ToolkitError, match="s wants the key THEIR_API_KEY, which is not set"):
        load_ranker(spec).rank([window])
    monkeypatch.setenv("THEIR_API_KEY", "sk-theirs")
    ranker = load_ranker(spec)
    assert ranker.rank([window]) == [(2, 0, 1)]
    assert orders.keys == ["sk-theirs"]
    assert "sk-theirs" not in str(ranker.facts())
    assert capsys.readouterr().out == ""
    with pytest.raises(ToolkitError, match="type rankgpt gave no scores"):
        load_reranker(spec).score(pairs())
    monkeypatch.setattr(orders, "order", (2, 0, 0))
    with pytest.raises(ToolkitError, match="gave 2 of 3 documents"):
        ranker.rank([window])


def test_types_that_are_servers_are_asked_as_all_servers_are():
    spec = choose_system("rerankers:cohere:rerank-v3.5")
    assert (spec.kind, spec.loader, spec.server["api"]) == ("cross-encoder", "endpoint", "cohere")
    assert spec.parameters == {"model": "rerank-v3.5"}
    assert choose_system("rerankers:text-embeddings-inference:x/y").server["api"] == "tei"
    types = kinds()["rerankers"]["parameters"]["type"]["of"]
    assert {api.rerankers for api in apis().values()} - {""} < set(types)
    assert set(RANK_ONLY) < set(types)


@pytest.mark.model
def test_the_types_are_the_librarys():
    from rerankers.reranker import PROVIDERS, _get_model_type

    for name in kinds()["rerankers"]["parameters"]["type"]["of"]:
        assert name in PROVIDERS or _get_model_type("", name) != name, name


def test_what_no_type_of_the_library_is_is_refused():
    with pytest.raises(ToolkitError, match="type is 'flash', not cross-encoder or"):
        choose_system("rerankers:flash:x")
