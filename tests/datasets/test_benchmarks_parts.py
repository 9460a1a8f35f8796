"""Groups that share a corpus, and groups that were published without documents or judgments."""

import json

import pytest

from toolkit import datasets
from toolkit.core.errors import ToolkitError
from toolkit.datasets import find, load
from toolkit.datasets.export import export
from toolkit.retrieval.index.locate import corpus_name, find_index, named_corpus


def test_groups_that_share_a_corpus_share_its_index():
    mini = load("mfollowir-mini")
    assert corpus_name(mini, "cross-lingual/fas") == corpus_name(mini, "fas") == "mfollowir-mini-fas"
    source = find_index("mfollowir-mini-cross-lingual-fas")("cross-lingual/fas")
    assert source.plan.startswith("the index of mfollowir-mini-fas in ")
    assert [doc.doc_id for doc in mini.docs("cross-lingual/fas")] == [doc.doc_id for doc in mini.docs("fas")]


def test_a_selection_whose_groups_share_a_corpus_is_one_corpus():
    assert named_corpus("instructir-mini-query-first")[0].name == "instructir-mini-all"
    corpus, language = named_corpus("mfollowir-mini-cross-lingual-rus")
    assert (corpus.name, language) == ("mfollowir-mini-rus", "ru")
    with pytest.raises(ToolkitError, match="mfollowir-mini has several corpora"):
        named_corpus("mfollowir-mini")


def test_a_shared_corpus_is_exported_once(tmp_path):
    names = [path.name for path in export(find("mfollowir-mini-cross-lingual-og"), tmp_path)]
    assert [name for name in names if name.startswith("corpus")] == [
        "corpus.mfollowir-mini-fas.jsonl",
        "corpus.mfollowir-mini-zho.jsonl",
        "corpus.mfollowir-mini-rus.jsonl",
    ]
    assert "qrels.mfollowir-mini-cross-lingual-fas.og.txt" in names


def test_a_shared_corpus_comes_once_in_ir_datasets():
    import ir_datasets

    both = ir_datasets.load("mfollowir-mini/cross-lingual/fas/og")
    assert both.docs_count() == len(list(load("mfollowir-mini").docs("fas")))


@pytest.fixture
def without_corpus(home, tmp_path):
    """InstructIR with queries and judgments alone."""
    folder = tmp_path / "copy"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"7_{n}", "text": f"I am {n}. [SEP] who is it"} for n in (1, 2)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels" / "test.tsv").write_text("qid\tpid\tscore\n7_1\td1\t1\n7_2\td2\t1\n")
    datasets.take("instructir", folder, ("all", "query-first"))
    return load("instructir")


def test_documents_that_are_not_here_are_missed_where_they_are_asked_for(without_corpus, tmp_path, capsys):
    import ir_datasets

    assert [topic.query_id for topic in without_corpus.topics("query-first")] == ["7_1", "7_2"]
    for group in ("all", "query-first"):
        with pytest.raises(ToolkitError) as caught:
            without_corpus.docs(group)
        assert caught.value.message == "the documents of instructir-all are not on this machine"
        assert "corpus.jsonl" in caught.value.hint
    names = [path.name for path in export(find("instructir"), tmp_path / "out")]
    assert names == ["topics.instructir-all.trec", "topics.instructir-all.tsv", "qrels.instructir-all.txt"]
    assert "no corpus is written" in capsys.readouterr().err
    dataset = ir_datasets.load("instructir")
    assert not dataset.has_docs()
    assert dataset.has_qrels()


def test_judgments_that_were_never_published_are_missed_where_they_are_asked_for(home, tmp_path):
    import ir_datasets

    row = {"id": "774", "question": "Is it?", "perspectives": ["It is.", "It is not."]}
    (tmp_path / "kialo.dev.jsonl").write_text(json.dumps(row) + "\n")
    datasets.take("berds", tmp_path)
    berds = load("berds")
    with pytest.raises(ToolkitError) as caught:
        berds.qrels("kialo/dev")
    assert caught.value.message == "the qrels of berds-kialo-dev are not on this machine"
    assert "tandem judge" in caught.value.hint
    dataset = ir_datasets.load("berds/kialo/dev")
    assert not dataset.has_qrels()
    assert not dataset.has_docs()
    assert next(dataset.queries_iter()).perspectives == ("It is.", "It is not.")
    names = [path.name for path in export(find("berds-kialo-dev"), tmp_path / "out")]
    assert names == ["topics.berds-kialo-dev.trec", "topics.berds-kialo-dev.tsv"]


def test_a_folder_of_runs_hides_no_benchmark_and_no_prebuilt_index(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("infosearch-mini-audience", "wikipedia-dpr", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bm25.trec").write_text("q Q0 d 1 1 bm25\n")
    assert find_index("infosearch-mini-audience")("audience").plan.startswith("the index of infosearch-mini-audience in ")
    assert find_index("wikipedia-dpr")("all").name == "wikipedia-dpr-100w"
    with pytest.raises(ToolkitError, match="mine holds no Lucene index"):
        find_index("mine")("all")
