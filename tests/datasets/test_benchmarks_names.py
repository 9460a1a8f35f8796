"""What topics may be called, and what the answers are."""

import subprocess
import sys
from collections import namedtuple

import pytest
from published_layout import write_infosearch

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.datasets import find, load, resolve_topics

GROUPS = ("audience", "keyword", "format", "language", "length", "source")
MODES = ("ori", "ins", "rev")
QUERIES = {group["name"]: group["counts"]["queries"] for group in registry.benchmark("infosearch-mini").groups}  # a mode


@pytest.mark.parametrize(
    ("name", "groups", "modes", "shown"),
    [
        ("infosearch-mini", GROUPS, MODES, "infosearch-mini"),
        ("infosearch-mini-ins", GROUPS, ("ins",), "infosearch-mini-ins"),
        ("infosearch-mini/ins", GROUPS, ("ins",), "infosearch-mini-ins"),
        ("infosearch-mini-audience", ("audience",), MODES, "infosearch-mini-audience"),
        ("infosearch-mini/audience/rev", ("audience",), ("rev",), "infosearch-mini-audience-rev"),
        ("infosearch-mini-clarity-ori", ("keyword",), ("ori",), "infosearch-mini-keyword-ori"),
    ],
)
def test_a_name_means_groups_and_modes(name, groups, modes, shown):
    assert find(name) == datasets.Selection("infosearch-mini", groups, modes, shown)


@pytest.mark.parametrize("name", ["infosearch-Clarity-v1-ins", "infosearch/clarity/ins", "infosearch-keyword-ins"])
def test_the_keyword_dimension_is_also_called_clarity(home, name):
    assert find(name) == datasets.Selection("infosearch", ("keyword",), ("ins",), "infosearch-keyword-ins")


@pytest.mark.parametrize("name", ["infosearch-mini-x", "infosearch-mini-ins-audience", "mini", "vaswani", ""])
def test_a_name_is_looked_up_never_guessed(name):
    assert find(name) is None


def test_without_a_mode_all_modes_follow_one_another():
    topics = resolve_topics("infosearch-mini-audience")
    assert topics.name == "infosearch-mini-audience"
    assert [part.group for part in topics.parts] == ["audience"]
    ids = [topic.query_id for topic in topics.topics]
    each = QUERIES["audience"]
    assert [ids[place] for place in (0, each, 2 * each)] == [f"audience-001-1-{mode}" for mode in MODES]
    assert len(ids) == len(set(ids)) == 3 * each
    assert topics.benchmark is load("infosearch-mini")


def test_each_group_is_a_part_over_its_own_corpus():
    assert [part.group for part in resolve_topics("infosearch-mini-rev").parts] == list(GROUPS)


def test_a_file_is_called_by_its_stem(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("1\twhat is new\n2\twhat is old\n", encoding="utf-8")
    topics = resolve_topics(str(path))
    assert (topics.name, topics.benchmark) == ("mine", None)
    assert [(part.group, [topic.text for topic in part.topics]) for part in topics.parts] == [
        ("all", ["what is new", "what is old"])
    ]


def test_several_names_of_a_benchmark_are_one_set_group_by_group():
    topics = resolve_topics(["infosearch-mini-ori", "infosearch-mini-audience-ins"])
    assert topics.name == "infosearch-mini-ori+infosearch-mini-audience-ins"
    assert topics.benchmark is load("infosearch-mini")
    assert [part.group for part in topics.parts] == list(GROUPS)
    assert [topic.mode for topic in topics.parts[0].topics] == [
        mode for mode in ("ori", "ins") for _ in range(QUERIES["audience"])
    ]
    assert {topic.mode for topic in topics.parts[1].topics} == {"ori"}
    assert resolve_topics(["infosearch-mini"]) == resolve_topics("infosearch-mini")


def test_files_and_benchmarks_together_have_no_corpus_of_their_own(tmp_path):
    (tmp_path / "mine.tsv").write_text("1\twhat is new\n", encoding="utf-8")
    (tmp_path / "other.tsv").write_text("2\twhat is old\n", encoding="utf-8")
    names = ["infosearch-mini-audience-rev", str(tmp_path / "mine.tsv"), str(tmp_path / "other.tsv")]
    topics = resolve_topics(names)
    assert (topics.name, topics.benchmark) == ("infosearch-mini-audience-rev+mine+other", None)
    assert [(part.group, len(part.topics)) for part in topics.parts] == [("all", QUERIES["audience"] + 2)]
    (tmp_path / "other.tsv").write_text("1\twhat is old\n", encoding="utf-8")
    with pytest.raises(ToolkitError, match="query id '1' is in mine and in other"):
        resolve_topics(names)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError) as caught:
        resolve_topics("infosearch-mini-audiense-ins")
    assert caught.value.message.startswith("no topics 'infosearch-mini-audiense-ins'")
    assert caught.value.hint.startswith("did you mean 'infosearch-mini-audience-ins'?")
    with pytest.raises(ToolkitError) as caught:
        resolve_topics("msmarco-passage-dev-subst")
    assert caught.value.hint.startswith("did you mean 'msmarco-passage-dev-subset'?")


def test_every_pyserini_name_leads_to_queries_of_ir_datasets():
    import ir_datasets

    for name, dataset_id in registry.pyserini_topics().items():
        assert ir_datasets.load(dataset_id).has_queries(), name
    assert datasets.open_collection("msmarco-passage-dev-subset").spec.name == "msmarco-passage/dev/small"


def test_an_ir_datasets_id_is_a_collection_with_one_group(monkeypatch):
    import ir_datasets

    from toolkit.datasets.ir_datasets_adapter import IrDataset

    # a real handler of ir_datasets that needs no download: one of ours
    collection = IrDataset("infosearch-mini/audience/ins", ir_datasets.load("infosearch-mini/audience/ins"))
    ours = load("infosearch-mini")
    assert [topic.text for topic in collection.topics("all")] == [topic.text for topic in ours.topics("audience", "ins")]
    assert list(collection.qrels("all")) == list(ours.qrels("audience", "ins"))
    assert [doc.contents for doc in collection.docs("all")] == [doc.contents for doc in ours.docs("audience")]
    assert collection.scoreddocs("all") is None


def test_narratives_are_those_of_collections_whose_topics_have_some():
    from toolkit.datasets.ir_datasets_adapter import IrDataset

    class Trec:
        kind = namedtuple("TrecQuery", "query_id title description narrative")

        def has(self, what):
            return True

        def queries_cls(self):
            return self.kind

        def queries_iter(self):
            return iter([self.kind("301", "crime", "Who?", "A document names one.")])

    class Plain(Trec):
        kind = namedtuple("GenericQuery", "query_id text")

    assert IrDataset("x", Trec()).narratives() == {"301": "A document names one."}
    assert IrDataset("x", Plain()).narratives() == {}


def test_what_ir_datasets_cannot_download_is_one_error():
    from toolkit.datasets.ir_datasets_adapter import IrDataset

    class Offline:
        def has(self, what):
            return True

        def queries_iter(self):
            failures = [
                ("an address", OSError("no name")),
                ("https://me:key@host/x", OSError("404 for //me:key@host/x\nstory")),
            ]
            raise RuntimeError("All download sources failed", failures)

    with pytest.raises(ToolkitError) as caught:
        IrDataset("x/y", Offline()).topics()
    assert caught.value.message == "cannot fetch the queries of x/y (404 for //***@host/x)"
    assert caught.value.status == 1


@pytest.mark.process
def test_ir_datasets_knows_our_ids_in_either_order_of_import():
    code = "import {}, {}; print(len(list(ir_datasets.load('infosearch-mini/rev').queries_iter())))"
    for modules in (("toolkit.datasets", "ir_datasets"), ("ir_datasets", "toolkit.datasets")):
        done = subprocess.run([sys.executable, "-c", code.format(*modules)], capture_output=True, text=True, check=True)
        assert done.stdout == f"{sum(QUERIES.values())}\n"


@pytest.mark.process
def test_importing_the_benchmarks_imports_nothing_heavy():
    code = "import sys, toolkit.datasets; print({'ir_datasets', 'pandas', 'huggingface_hub', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_our_ids_offer_all_that_ir_datasets_asks_for(home, tmp_path):
    import ir_datasets

    datasets.take("infosearch", write_infosearch(tmp_path / "copy", ("audience",), with_candidates=True))
    dataset = ir_datasets.load("infosearch/audience/ins")
    query = next(dataset.queries_iter())
    assert query.default_text() == query.text == "how do vaccines work Only plain pages of audience."
    assert (query.query, query.mode, query.group_id, query.original_id) == (
        "how do vaccines work",
        "ins",
        "audience-001",
        "q1_a",
    )
    assert dataset.docs_count() == 16
    assert dataset.docs_store().get("q1-gold-a").default_text() == "plain title how do vaccines work, plain answer"
    assert [doc.doc_id for doc in dataset.docs_iter()[:2]] == ["q1-gold-a", "q1-other-a1"]
    assert next(iter(dataset.docs)) == next(dataset.docs_iter())
    assert dataset.qrels_dict()["audience-001-1-ins"] == {"q1-gold-a": 1, "q1-gold-b": 0}
    assert dataset.qrels.asdict() == dataset.qrels_dict()
    assert dataset.has_scoreddocs()
    assert next(dataset.scoreddocs_iter()) == ("audience-001-1-ins", "q1-gold-a", 0.9)
    assert not ir_datasets.load("infosearch-mini/audience/ins").has_scoreddocs()


def test_ir_datasets_knows_the_keyword_dimension_as_clarity_too():
    import ir_datasets

    keyword, clarity = (ir_datasets.load(f"infosearch-mini/{name}/ins") for name in ("keyword", "clarity"))
    assert list(clarity.queries_iter()) == list(keyword.queries_iter())


def test_an_id_with_two_texts_is_an_error_over_all_dimensions(home, tmp_path):
    import ir_datasets

    root = write_infosearch(tmp_path / "copy", ("audience", "source"))
    datasets.take("infosearch", root)
    assert ir_datasets.load("infosearch/ins").docs_count() == 16  # the fixture's dimensions share their documents
    corpus = root / "Source-v1" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("plain answer", "other answer", 1))
    datasets.take("infosearch", root)
    with pytest.raises(ToolkitError, match="document q1-gold-a has one text in source and another before"):
        ir_datasets.load("infosearch/ins").docs_iter()
