"""Tandem's systems as PyTerrier's transformers, and its Experiment. No Java is started: BM25 here is Okapi's."""

import pandas as pd
import pyterrier as pt
import pytest
import tiny
from ir_measures import nDCG

import tandem_ir as tandem
from tandem_ir.pyterrier import Experiment, Reranker, Retriever, topics
from toolkit.core.errors import ToolkitError
from toolkit.metrics import WISE, pMRR

NAME = "infosearch-mini-audience"
DOCS = {"d1": "the cat sat", "d2": "a river and a tree", "d3": "kiwi"}


def okapi(index=NAME, **how):
    return Retriever("bm25", index, recipe="infosearch", **how)


def test_a_retriever_can_be_inspected():
    assert pt.inspect.transformer_inputs(okapi()) == [["qid", "query"]]
    assert pt.inspect.transformer_outputs(okapi(), ["qid", "query"]) == ["qid", "query", "docno", "score", "rank"]
    assert [str(okapi()), repr(okapi())] == ["bm25.infosearch", f"Retriever('bm25.infosearch', '{NAME}')"]


def lines(frame):
    return list(zip(frame["qid"], frame["docno"], frame["score"], strict=True))


def test_a_retriever_finds_what_tandem_search_finds():
    frame = okapi("infosearch-mini")(topics("infosearch-mini"))
    run = tandem.search("infosearch-mini", system="bm25", recipe="infosearch")
    assert lines(frame) == [tuple(line) for _, ranking in run.rankings() for line in ranking]
    assert frame.groupby("qid")["rank"].apply(lambda ranks: list(ranks) == list(range(len(ranks)))).all()
    assert set(topics(NAME).columns) < set(frame.columns)
    assert not pt.java.started()


def test_topics_of_ir_datasets_and_topics_that_lost_columns_are_the_benchmarks_own():
    ours, theirs = topics(f"{NAME}-ins"), pt.get_dataset(f"irds:{NAME}-ins").get_topics()
    assert list(theirs["query"]) != list(ours["query"])  # the core query, with the instruction beside it
    wanted = lines(okapi()(ours))
    assert lines(okapi()(theirs)) == lines(okapi()(ours[["qid", "query"]])) == wanted
    assert lines(okapi()(okapi(hits=3)(ours))) == wanted  # a search of results searches their queries


def test_a_query_that_was_rewritten_is_searched_as_it_is_now():
    rewritten = topics(NAME).assign(query="bridge cables")
    plain = pd.DataFrame({"qid": rewritten["qid"], "query": "bridge cables", "instruction": rewritten["instruction"]})
    assert lines(okapi()(rewritten)) == lines(okapi()(plain))
    assert lines(okapi()(rewritten)) != lines(okapi()(topics(NAME)))


def test_cutoffs_and_search_work_as_in_pyterrier():
    pipeline = okapi() % 2
    assert len(pipeline(topics(NAME))) == 2 * len(topics(NAME))
    assert list(okapi(hits=1).search("twisted bridge")["qid"]) == ["1"]
    assert len(okapi()(topics(NAME).head(0))) == 0


def test_a_retriever_says_what_is_missing():
    with pytest.raises(ToolkitError, match="which documents"):
        Retriever("bm25")
    with pytest.raises(ToolkitError, match="infosearch-mimi"):
        okapi("infosearch-mimi")(topics(NAME))
    with pytest.raises(ToolkitError, match="infosearch-mini has several corpora"):
        okapi("infosearch-mini")(pd.DataFrame({"qid": ["q"], "query": ["tea"]}))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "mine"
    tiny.tiny_bert(folder, "BertForSequenceClassification", num_labels=1)
    return str(folder)


@pytest.mark.model
def test_a_reranker_scores_as_tandem_rerank_does(checkpoint):
    found = okapi(hits=4)(topics(NAME))
    reranked = Reranker(checkpoint, kind="cross-encoder", index=NAME)(found)
    run = tandem.rerank(found, checkpoint, kind="cross-encoder", topics=NAME)
    assert sorted(lines(reranked)) == sorted(tuple(line) for _, ranking in run.rankings() for line in ranking)
    assert (reranked.groupby("qid")["score"].diff().dropna() <= 0).all()
    texts = {doc.doc_id: doc.text for doc in tandem.load("infosearch-mini").docs("audience")}
    titles = {doc.doc_id: doc.title for doc in tandem.load("infosearch-mini").docs("audience")}
    own = found.assign(text=found["docno"].map(texts), title=found["docno"].map(titles))
    assert lines(Reranker(checkpoint, kind="cross-encoder")(own)) == lines(reranked)


@pytest.mark.model
def test_a_text_that_is_of_the_query_is_no_documents(checkpoint):
    reranker = Reranker(checkpoint, kind="cross-encoder")
    frame = okapi(hits=4)(pt.get_dataset(f"irds:{NAME}").get_topics())
    assert "text" in frame
    with pytest.raises(ToolkitError, match="several texts of document"):
        reranker(frame)
    with pytest.raises(pt.validate.InputValidationError):
        reranker(frame.drop(columns="text"))


@pytest.mark.model
def test_a_reranker_takes_results_without_scores_and_reads_to_a_depth(checkpoint):
    rows = [("q", "tea", name, text) for name, text in DOCS.items()]
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    assert sorted(Reranker(checkpoint, kind="cross-encoder")(frame)["docno"]) == sorted(DOCS)
    assert list(Reranker(checkpoint, kind="cross-encoder", depth=1)(frame)["docno"]) == list(DOCS)


SYSTEMS = {"few": lambda: okapi(hits=2), "many": okapi}


@pytest.fixture(scope="module")
def systems():
    return {name: made() for name, made in SYSTEMS.items()}


def test_an_experiment_has_a_column_for_each_mode(systems):
    table = Experiment(systems, "infosearch-mini-audience", None, [nDCG @ 10, pMRR, "WISE@20"])
    assert list(table.columns) == ["name", "nDCG@10 ori", "nDCG@10 ins", "nDCG@10 rev", "pMRR", "WISE@20"]
    assert list(table["name"]) == ["few", "many"]
    scores = tandem.evaluate(okapi()(topics(NAME)), benchmark=NAME, measures=["nDCG@10", "pMRR", "WISE@20"])
    many = table.set_index("name").loc["many"]
    assert many["nDCG@10 rev"] == scores.value("nDCG@10", mode="rev")
    assert (many["pMRR"], many["WISE@20"]) == (scores["pMRR"], scores["WISE@20"])
    assert any("core quer" in note or "documents" in note for note in table.attrs["notes"]) == bool(table.attrs["notes"])


def test_an_experiment_compares_with_a_baseline_over_core_queries(systems):
    by_name = Experiment(systems, "infosearch-mini-audience", None, [WISE], baseline="few").set_index("name")
    by_place = Experiment(list(systems.values()), NAME, None, [WISE], ["few", "many"], baseline=0).set_index("name")
    assert by_name.equals(by_place)
    assert by_name.loc["few", [name for name in by_name if name != "WISE"]].isna().all()
    row = by_name.loc["many"]
    assert 0 < row["WISE p-value"] <= row["WISE p-value corrected"] <= 1
    assert 0 <= row["WISE +"] + row["WISE -"] <= len(topics(f"{NAME}-ins"))  # queries once, not once a mode


def test_values_of_queries_have_no_empty_rows(systems):
    averages, values = Experiment(systems, "infosearch-mini-audience", None, [pMRR, nDCG @ 10], perquery="both")
    assert list(values.columns) == ["name", "qid", "mode", "measure", "value"]
    assert not values.isna().any().any()
    few = values[(values["name"] == "few") & (values["measure"] == "pMRR")]
    queries = len(topics(f"{NAME}-ins"))
    assert len(few) == queries == few["qid"].nunique()
    assert few["value"].mean() == averages.set_index("name").loc["few", "pMRR"]
    assert len(Experiment(systems, NAME, None, [pMRR], perquery=True)) == 2 * queries


def test_groups_have_rows_of_their_own():
    frame = okapi("infosearch-mini")(topics("infosearch-mini"))
    table = Experiment({"results": frame}, "infosearch-mini", None, [pMRR], by_group=True, round=3)
    assert list(table["group"]) == [*tandem.load("infosearch-mini").groups, "average"]
    assert Experiment([frame], "infosearch-mini", None, [pMRR], ["one"])["pMRR"].round(3).item() == table["pMRR"].iloc[-1]


def test_topics_and_qrels_as_pyterrier_has_them(systems):
    qrels = pt.get_dataset(f"irds:{NAME}").get_qrels()
    some = topics(NAME)[lambda frame: frame["mode"] != "rev"]
    table = Experiment(systems, some, qrels, [nDCG @ 10, pMRR], baseline=0)
    whole = Experiment(systems, NAME, None, [nDCG @ 10, pMRR])
    assert list(table["pMRR"]) == list(whole["pMRR"])
    assert "nDCG@10 rev" not in table
    with pytest.raises(ToolkitError, match="judges"):
        Experiment(systems, some)
    with pytest.raises(ToolkitError, match="one name"):
        Experiment(list(systems.values()), some, qrels, [pMRR])


def test_pyterriers_own_experiment_takes_them_too(systems):
    qrels = pt.get_dataset(f"irds:{NAME}").get_qrels()
    table = pt.Experiment(list(systems.values()), topics(NAME), qrels, [nDCG @ 10, pMRR, WISE], ["few", "many"], baseline=0)
    ours = Experiment(systems, NAME, None, [pMRR, WISE])
    assert list(table["pMRR"]) == pytest.approx(list(ours["pMRR"]))
    assert list(table["WISE"]) == pytest.approx(list(ours["WISE"]))
