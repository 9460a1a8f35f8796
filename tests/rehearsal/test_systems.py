"""Every system of the registry is fetched from the hub and searches, reranks or judges some of a mini's topics."""

import math
import re

import pytest
from checkpoints import checkpoints_of, layouts, make, not_from_the_hub, write_checkpoints
from hub_server import full_commit
from trained_tokenizers import trained

import tandem_ir
from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import home
from toolkit.files.formats import read_run

TOPICS, QUESTIONS = "infosearch-mini-language-ins", "berds-mini-dev"
LANGUAGE = registry.benchmark("infosearch-mini").group("language")["counts"]
pytestmark = pytest.mark.rehearsal
SEARCH = ("dense", "multivector", "impact")
# of a repository's files: what loading does not read, and pickled weights, which are converted
NOT_LOADED = re.compile(r"README\.md|onnx/.*|.*\.py|(.*/)?pytorch_model.*\.bin(\.index\.json)?")
# a fifth, of every way to load one
FIFTH = (
    *("bge-large-en-v1.5", "contriever-msmarco", "gtr-t5-base", "gte-qwen2-7b-instruct", "promptriever-mistral-7b"),
    *("gte-moderncolbert-v1", "splade-pp-ensembledistil", "bge-reranker-v2-m3", "monot5-base-msmarco-10k", "followir-7b"),
    *("rank1-0.5b", "rank-zephyr-7b", "true-nli-t5-xxl", "nli-deberta-v3-base", "berds-mistral-evaluator-lora"),
    *("nv-embed-v2", "jina-reranker-v2-base-multilingual"),
)


def pytest_generate_tests(metafunc):
    """`loaded`: the systems that are loaded from the hub."""
    if "loaded" in metafunc.fixturenames:
        every = [name for name in registry.systems() if name not in not_from_the_hub()]
        metafunc.parametrize("loaded", every if metafunc.config.getoption("--rehearse") == "all" else FIFTH)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Runs of a few documents: of topics with instructions, and of questions with perspectives."""
    folder, runs = tmp_path_factory.mktemp("runs"), {}
    for topics, hits, lines in ((TOPICS, 5, 20), (QUESTIONS, 2, 6)):
        tandem_ir.search(topics, hits=hits, output=folder / "all.trec")
        runs[topics] = folder / f"{topics}.trec"
        first = (folder / "all.trec").read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
        runs[topics].write_text("".join(first), encoding="utf-8")
    return runs


def use(spec, few, output):
    """What a system makes of the few documents, in a file with its record: (query, document) -> score or label."""
    if spec.kind == "judge":
        made = tandem_ir.judge(few[QUESTIONS], spec.name, topics=QUESTIONS, output=output)
        return {(row.query_id, row.iteration, row.doc_id): row.relevance for row in made}
    if spec.kind in SEARCH:
        run = tandem_ir.search(TOPICS, system=spec.name, hits=5, output=output)
    else:
        run = tandem_ir.rerank(few[TOPICS], spec.name, topics=TOPICS, output=output)
    return flat(run)


def flat(run):
    return {(query, doc): score for query, scores in run.to_dict().items() for doc, score in scores.items()}


def test_a_system_of_the_hub_runs_as_its_entry_says(loaded, hub, few, tmp_path, monkeypatch):
    write_checkpoints(hub, [loaded])
    spec = registry.system(loaded)
    values = use(spec, few, tmp_path / "first")
    record = (tmp_path / "first.yaml").read_text(encoding="utf-8")
    check(spec, values, few, record)
    for repository in checkpoints_of(loaded):
        pinned = {spec.checkpoint: spec.revision, spec.base: spec.base_revision}.get(repository)
        commit = pinned or full_commit(f"models/{repository}", "main")
        assert commit in record
        place = home() / "models" / repository.replace("/", "--") / commit
        lost = names(hub / "models" / repository) - names(place)
        assert not [name for name in lost if not NOT_LOADED.fullmatch(name)]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    use(spec, few, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check(spec, values, few, record):
    """That the model had its say: documents are told apart, answers about lists were read, statements are judged."""
    assert all(map(math.isfinite, values.values()))
    if spec.kind == "judge":
        assert len(values) == 25
        assert set(values.values()) <= {0, 1}
    elif spec.kind == "listwise":
        assert values.keys() == flat(read_run(few[TOPICS])).keys()
        # each answer names a passage; random weights may name the first one alone, which is the order that they were given
        assert re.search(r"^ +unreadable: 0$", record, re.MULTILINE)
    else:
        assert len(values) == (5 * LANGUAGE["queries"] if spec.kind in SEARCH else 20)
        assert len(set(values.values())) > 0.8 * len(values)


@pytest.mark.parametrize("name", [name for name, facts in not_from_the_hub().items() if "says" in facts])
def test_what_cannot_be_loaded_is_refused_for_the_reason_that_is_listed(name, hub, few, tmp_path):
    with pytest.raises(ToolkitError) as error:
        use(registry.system(name), few, tmp_path / "run")
    assert not_from_the_hub()[name]["says"] in error.value.message
    assert not list(tmp_path.iterdir())


def test_every_system_is_loaded_from_the_hub_or_listed_with_the_reason():
    served = set(registry.systems()) - set(not_from_the_hub())
    repositories = {repository for name in served for repository in checkpoints_of(name)}
    assert set(layouts()["checkpoints"]) == repositories
    assert set(not_from_the_hub()) < set(registry.systems())
    assert all(facts["why"] for facts in not_from_the_hub().values())


def test_a_checkpoint_comes_out_the_same_each_time(tmp_path):
    made = []
    for number in "12":
        trained.cache_clear()
        for repository in ("BAAI/bge-m3", "jhu-clsp/FollowIR-7B", "Qwen/Qwen3-Embedding-0.6B", "google/gemma-7b-it"):
            make(repository, tmp_path / number / repository)
        files = [path for path in (tmp_path / number).rglob("*") if path.is_file()]
        made.append({path.relative_to(tmp_path / number): path.read_bytes() for path in files})
    assert made[0] == made[1]
