"""Systems that are objects of Python: found, made, asked, and their answers checked."""

import ast
import inspect
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from command import tandem

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.system.python_names import CALLED, EXPECTED, find_source
from toolkit.core.system.yaml_json import read_yaml
from toolkit.core.templates import Input
from toolkit.datasets import resolve_topics
from toolkit.files.formats import read_run
from toolkit.files.provenance import model_identity
from toolkit.models import choose_system
from toolkit.models.checkpoints.own_systems import ChatModel, ListRanker, PairScorer, Retriever, TextEncoder, load_own
from toolkit.models.encoders import load_encoder
from toolkit.models.llm import Request, load_llm
from toolkit.models.rerankers import load_reranker
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.listwise_ranker import load_ranker
from toolkit.models.systems.contract import check_system
from toolkit.registry.loader import read_entries
from toolkit.retrieval.rerank.rerank_step import Rerank

MODULE = """
import zlib
import numpy as np


class Words:
    '''Counts words.'''

    def encode(self, texts, kind):
        rows = np.zeros((len(texts), 512), "float32")
        for row, text in zip(rows, texts):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 512] += 1
        return rows

    def score(self, pairs):
        return [float(len(set(query.lower().split()) & set(doc.lower().split()))) for query, doc in pairs]


class Shortest:
    def rank(self, query, docs):
        return sorted(range(len(docs)), key=lambda place: len(docs[place]))


class Chat:
    def generate(self, messages):
        return "No" if len(messages[-1]["content"]) % 2 else "Yes."


class Names:
    def generate(self, messages):
        return '{"pro": "It helps.", "con": "It harms."}'


def load():
    return Words()


words = Words()
number = 7


def broken():
    return 1 / 0


class Swaps:
    def generate(self, messages):
        return "[2] > [1]"
"""
ANSWERS = [
    ("[[1.0, 2.0]]", r"an array of shape \(1, 2\), expected \(2, d\)"),
    ("[1.0, 2.0]", r"an array of shape \(2,\), expected \(2, d\)"),
    ("[[1.0, float('nan')]] * len(texts)", "gave NaN for 2 of 2"),
    ("[[1.0, float('inf')]] * len(texts)", "gave infinity for 2 of 2"),
    ("[[1.0], [1.0, 2.0]]", "list, no table of numbers"),
    ("[['a', 'b']] * len(texts)", "no numbers"),
    ("None", "no numbers"),
    ("[[]] * len(texts)", "vectors of 0 numbers, expected 2"),
    ("[[1.0] * (2 + len(texts[0]))] * len(texts)", "vectors of 7 numbers, expected 2"),
]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of another name in each test: what was imported once stays imported."""
    name = f"mine_{tmp_path.name}".replace("-", "_").replace("[", "_").replace("]", "_")
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return name


def spec_of(made, kind="dense"):
    return choose_system(made, kind=kind)


def test_the_module_of_the_current_folder_is_found_before_an_installed_one_and_nothing_is_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zipfile.py").write_text("raise SystemExit", encoding="utf-8")
    assert find_source("python:zipfile:load").file == tmp_path / "zipfile.py"
    assert find_source("python:email.mime.text:MIMEText").file.name == "text.py"


@pytest.mark.parametrize("name", ["python:", "python:mine", "python:mine:", "python::load", "python:a/b:load", "python:a.:b"])
def test_a_name_without_module_and_factory_is_refused(name):
    with pytest.raises(ToolkitError, match="names no object of Python"):
        choose_system(name)


def test_what_is_not_there_is_named(module):
    with pytest.raises(ToolkitError, match="there is no module nowhere_at_all, neither in"):
        choose_system("python:nowhere_at_all:load")
    with pytest.raises(ToolkitError, match=f"{module} has no lode"):
        load_own(choose_system(f"python:{module}:lode"))


@pytest.mark.parametrize("factory", ["Words", "load", "words"])
def test_a_class_a_function_and_an_object_are_factories(module, factory):
    made = load_own(choose_system(f"python:{module}:{factory}"))
    assert type(made).__name__ == "Words"
    assert load_own(choose_system(f"python:{module}:{factory}")) is made


def test_what_its_code_raises_is_one_line_with_its_place(module, tmp_path):
    with pytest.raises(ToolkitError, match=rf"broken\(\) raised ZeroDivisionError: division by zero \({module}.py, line 44\)"):
        load_own(choose_system(f"python:{module}:broken"))
    (tmp_path / f"{module}_2.py").write_text("import nothing_of_this_name", encoding="utf-8")
    with pytest.raises(ToolkitError, match="raised ModuleNotFoundError: No module named 'nothing_of_this_name'"):
        load_own(choose_system(f"python:{module}_2:load"))


HOSTILE = """
import os, subprocess, sys

print("imported")
os.chdir("/")


class Leaves:
    def score(self, pairs):
        sys.exit(0)


class Prints:
    def __init__(self):
        print("made")

    def score(self, pairs):
        print("scored")
        subprocess.run(["echo", "started"], check=True)
        os.chdir("/")
        return [1.0] * len(pairs)


def exits():
    sys.exit(0)
"""


@pytest.mark.parametrize(("factory", "what"), [("Leaves", "score"), ("exits", "exits()")])
def test_an_object_that_ends_the_process_ends_the_command_with_an_error(module, tmp_path, factory, what):
    (tmp_path / f"{module}.py").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "run.trec").write_text("audience-001-1-ori Q0 audience-021 1 2.5 t\n")
    kind = [] if factory == "Leaves" else ["--kind", "cross-encoder"]
    done = tandem("rerank", "--run", "run.trec", "--topics", "infosearch-mini", "--system", f"python:{module}:{factory}", *kind,
                  "--output", "out.trec")  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{what} raised SystemExit: 0 ({module}.py, line " in done.stderr
    assert not (tmp_path / "out.trec").exists()


@pytest.mark.process
def test_what_an_object_prints_and_where_it_goes_changes_nothing_of_a_run(module, tmp_path, capfd):
    (tmp_path / f"{module}.py").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "run.trec").write_text("audience-001-1-ori Q0 audience-021 1 2.5 t\n")
    rerank = ("rerank", "--run", "run.trec", "--topics", "infosearch-mini", "--system", f"python:{module}:Prints", "--output")
    done = tandem(*rerank, "-")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["audience-001-1-ori Q0 audience-021 1 1 Prints"] or done.stdout.count("\n") == 1
    assert all(f"{word}\n" in done.stderr for word in ("imported", "made", "scored"))
    assert capfd.readouterr() == ("", "started\n")  # a process has the descriptors and not `sys.stdout`
    assert tandem(*rerank, "out.trec").returncode == 0
    assert (tmp_path / "out.trec").exists()


def test_an_object_without_the_method_says_what_it_has(module):
    with pytest.raises(ToolkitError, match=r"has no encode\(texts, kind\), which kind dense needs") as refused:
        load_own(choose_system(f"python:{module}:Chat"))
    assert refused.value.hint == "it has generate(messages)"
    with pytest.raises(ToolkitError, match="int has none of score"):
        Rerank(f"python:{module}:number")


def test_a_file_that_changed_is_another_system_and_not_taken_for_the_one_that_was_imported(module, tmp_path):
    before = choose_system(f"python:{module}:load")
    load_own(before)
    with (tmp_path / f"{module}.py").open("a", encoding="utf-8") as file:
        file.write("# another line\n")
    after = choose_system(f"python:{module}:load")
    assert model_identity(before) != model_identity(after)
    with pytest.raises(ToolkitError, match="was changed after it was imported"):
        load_own(after)


def test_an_object_is_looked_up_once_however_often_it_is_asked(module, monkeypatch):
    encoder = load_encoder(spec_of(f"python:{module}:load"), batch_size=1)
    monkeypatch.setattr("toolkit.models.checkpoints.own_systems.find_source", lambda name: pytest.fail("looked up again"))
    assert len(encoder.encode([Input("", "a"), Input("", "b")], "query")) == 2


def test_the_identity_has_module_factory_and_digest(module):
    spec = choose_system(f"python:{module}:load")
    identity = model_identity(spec)
    assert (identity["module"], identity["factory"]) == (module, "load")
    assert identity["revision"] == find_source(f"python:{module}:load").sha256
    assert len(identity["revision"]) == 64


@pytest.mark.parametrize(
    ("imported", "helper"),
    [
        ("import {}", "{}.py"),
        ("from {}.inner import words", "{}/inner.py"),
        ("import importlib\nhelper = importlib.import_module('{}')", "{}.py"),
        ("from {} import other", "{}/deep/other.py"),
        ("import {}_between", "{}.py"),
    ],
)
def test_what_a_module_imports_of_its_own_folder_is_in_its_identity(module, tmp_path, imported, helper):
    name = f"{module}_helper"
    path = tmp_path / helper.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("words = 1\n", encoding="utf-8")
    (tmp_path / f"{name}_between.py").write_text(f"import {name}\n", encoding="utf-8")
    (tmp_path / "unused.py").write_text("words = 1\n", encoding="utf-8")
    with (tmp_path / f"{module}.py").open("a", encoding="utf-8") as file:
        file.write(imported.format(name) + "\nimport json, numpy\n")
    before = model_identity(choose_system(f"python:{module}:load"))
    assert {f"{module}.py", helper.format(name)} <= set(before["modules"])
    (tmp_path / "unused.py").write_text("words = 2\n", encoding="utf-8")
    assert model_identity(choose_system(f"python:{module}:load")) == before
    path.write_text("words = 2\n", encoding="utf-8")
    assert model_identity(choose_system(f"python:{module}:load"))["revision"] != before["revision"]


def test_a_module_of_a_package_has_all_of_it_in_its_identity(tmp_path, monkeypatch):
    package = tmp_path / "whole" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (package / "made.py").write_text("from . import helper", encoding="utf-8")
    (package / "helper.py").write_text("no Python(", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = find_source("python:whole.inner.made:load")
    assert found.files == ("whole/__init__.py", "whole/inner/__init__.py", "whole/inner/helper.py", "whole/inner/made.py")
    assert all(name.startswith("email/") for name in find_source("python:email.mime.text:MIMEText").files)


def test_an_entry_may_pin_the_digest(module, tmp_path):
    path = tmp_path / "entry.yaml"
    entry = f"name: pinned\ndescription: x\nkind: dense\ncheckpoint: 'python:{module}:load'\nrevision: '{'0' * 64}'\n"
    path.write_text(entry, encoding="utf-8")
    with pytest.raises(ToolkitError, match="is another file than its entry says"):
        choose_system("pinned", files=[path])


def test_no_entry_can_hold_an_object(tmp_path):
    path = tmp_path / "entry.yaml"
    path.write_text("name: a\ndescription: x\nkind: dense\ncheckpoint: x/y\ninstance: 1\n", encoding="utf-8")
    with pytest.raises(ToolkitError) as refused:
        read_entries([path], SystemSpec)
    assert "unknown key 'instance'" in refused.value.problems[0]


@pytest.mark.parametrize(("answer", "said"), ANSWERS)
def test_vectors_that_are_none_are_one_line(answer, said):
    made = SimpleNamespace(encode=eval(f"lambda texts, kind: [[1.0, 2.0]] if texts == ['a'] else {answer}"))
    encoder = load_encoder(spec_of(made))
    with pytest.raises(ToolkitError, match=said) as refused:
        encoder.encode([Input("", "aaaaa"), Input("", "b")], "query")
    assert len(refused.value.lines()) == 2
    assert refused.value.status == 1


def test_vectors_are_of_unit_length_where_cosines_count_and_equal_texts_are_sent_once():
    sent = []
    made = SimpleNamespace(encode=lambda texts, kind: sent.append((list(texts), kind)) or [[3.0, 4.0]] * len(texts))
    encoder = load_encoder(spec_of(made), batch_size=2)
    vectors = encoder.encode([Input("p: ", "a"), Input("", "b"), Input("p: ", "a"), Input("", "c")], "passage")
    assert vectors.tolist() == [[np.float32(0.6), np.float32(0.8)]] * 4
    assert sent[1:] == [(["p: a", "b"], "passage"), (["c"], "passage")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [([1.0], r"shape \(1,\)"), ([1.0, np.nan], "NaN for 1 of 2"), (["a", "b"], "no numbers"), (3.0, r"shape \(\)")],
)
def test_scores_that_are_none_are_one_line(answer, said):
    reranker = load_reranker(spec_of(SimpleNamespace(score=lambda pairs: answer), "cross-encoder"))
    with pytest.raises(ToolkitError, match=said):
        reranker.score([(Input("", "q"), Input("", "d")), (Input("", "q"), Input("", "e"))])


def test_what_an_object_gets_wrong_is_said_beside_what_is_expected_of_it():
    expected = "score(pairs: list[tuple[str, str]]) -> list[float]"
    shapes = SimpleNamespace(score=lambda pairs: [[1.0]] * len(pairs))
    [problem] = [check.problem for check in check_system(shapes) if check.problem]
    assert "gave an array of shape (5, 1), expected (5,)" in problem
    assert f"(expected {expected}; " in problem
    reranker = load_reranker(spec_of(SimpleNamespace(score=lambda: [1.0]), "cross-encoder"))
    with pytest.raises(ToolkitError, match=r"raised TypeError: .*takes 0 positional arguments but 1 was given") as refused:
        reranker.score([(Input("", "q"), Input("", "d"))])
    assert refused.value.hint == f"expected {expected}; --debug shows the traceback"


def test_a_class_of_a_notebook_has_no_file_and_is_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # as a kernel's is
    made = type("Mine", (), {"__module__": "__main__", "score": lambda self, pairs: [1.0] * len(pairs)})()
    assert choose_system(made).instance is made


@pytest.mark.parametrize("method", EXPECTED)
def test_what_is_expected_of_a_method_is_what_its_protocol_says(method):
    [protocol] = [each for each in (TextEncoder, PairScorer, ListRanker, ChatModel, Retriever) if hasattr(each, method)]
    names = list(inspect.signature(getattr(protocol, method)).parameters)[1:]
    [expected] = ast.parse(f"def {EXPECTED[method]}: ...").body
    assert [argument.arg for argument in expected.args.args] == names
    assert CALLED[method] == f"{expected.name}({', '.join(names)})"


@pytest.mark.parametrize("answer", [[0], [0, 0], [1, 2], [0, 1, 2], [0.5, 1], None, ["a", "b"]])
def test_an_order_that_is_no_permutation_is_refused(answer):
    ranker = load_ranker(spec_of(SimpleNamespace(rank=lambda query, docs: answer), "listwise"))
    with pytest.raises(ToolkitError, match=r"rank\(query, docs\) gave"):
        ranker.rank([Window("q", "q", ("a", "b"))])


def test_an_answer_that_is_no_text_is_refused_and_of_a_nameless_object_none_is_cached():
    llm = load_llm(spec_of(SimpleNamespace(generate=lambda messages: 3), "judge"))
    assert llm.cache is None
    with pytest.raises(ToolkitError, match=r"generate\(messages\) gave int, no text"):
        llm.complete([Request([{"role": "user", "content": "x"}], {})])
    named = SimpleNamespace(generate=lambda messages: "x", identity="v1")
    assert load_llm(spec_of(named, "judge")).cache is not None


@pytest.mark.parametrize("option", ["device", "precision"])
def test_an_object_has_no_device_and_no_precision(option):
    made = SimpleNamespace(encode=lambda texts, kind: [[1.0]] * len(texts))
    with pytest.raises(ToolkitError, match=f"it has no {option}"):
        load_encoder(spec_of(made), **{option: "cpu" if option == "device" else "fp32"})


def test_parameters_that_are_for_checkpoints_are_refused(module, tmp_path):
    path = tmp_path / "entry.yaml"
    entry = f"name: odd\ndescription: x\nkind: dense\ncheckpoint: 'python:{module}:load'\nparameters: {{pooling: cls}}\n"
    path.write_text(entry, encoding="utf-8")
    with pytest.raises(ToolkitError, match="it has no pooling"):
        load_encoder(choose_system("odd", files=[path]))


def test_what_is_no_system_is_said():
    for made in (object(), 3, None):
        with pytest.raises(ToolkitError, match="is no system"):
            choose_system(made)


@pytest.mark.parametrize("factory", ["load", "Shortest", "Chat"])
def test_objects_that_keep_their_contract_pass_it(module, factory):
    checked = tandem("systems", "check", f"python:{module}:{factory}")
    assert (checked.returncode, "FAIL" in checked.stdout) == (0, False)
    assert checked.stdout.startswith("ok\t")


class Restless:
    """Another answer each time, and one that depends on its company."""

    calls = 0

    def encode(self, texts, kind):
        self.calls += 1
        return [[1.0, self.calls, len(texts)]] * len(texts)

    def score(self, pairs):
        return [float(place) for place, _ in enumerate(pairs)]

    def rank(self, query, docs):
        self.calls += 1
        return sorted(range(len(docs)), reverse=self.calls % 2)

    def generate(self, messages):
        self.calls += 1
        return str(self.calls)


def test_the_contract_finds_what_does_not_repeat_and_what_depends_on_its_company():
    assert [
        (check.method, check.what, check.problem.partition(":")[0].partition(" (")[0])
        for check in check_system(Restless())
        if check.problem
    ] == [
        ("encode", "the same again", "the same texts have other vectors the second time"),
        ("encode", "each text alone", "a text alone has another vector than among others"),
        ("encode", "different texts", "6 of 6 texts have one and the same vector"),
        ("score", "each pair alone", "a pair alone has another score than among others"),
        ("score", "in another order", "scores depend on the order of the pairs"),
        ("rank", "the same again", "the same documents come in another order the second time"),
        ("generate", "the same again", "another answer the second time"),
    ]
    assert len(tandem_ir.check_system(Restless())) == 7


def test_every_command_that_takes_a_system_takes_an_object(module, tmp_path):
    own = f"python:{module}:"
    for words in (
        (
            "search",
            "--topics",
            "infosearch-mini-audience",
            "--system",
            f"{own}load",
            "--rerank",
            f"{own}Words",
            "--depth",
            "5",
            "--output",
            "run.trec",
        ),
        ("index", "infosearch-mini-audience", "--system", f"{own}load", "--output", "index"),
        (
            "search",
            "--topics",
            "infosearch-mini-audience",
            "--index",
            "index",
            "--system",
            f"{own}load",
            "--output",
            "again.trec",
        ),
        ("encode", "infosearch-mini-audience", "--system", f"{own}load", "--output", "vectors"),
        ("rerank", "--run", "again.trec", "--system", f"{own}Shortest", "--depth", "6", "--output", "ranked.trec"),
        ("search", "--topics", "berds-mini", "--system", f"{own}load", "--output", "berds.trec"),
        ("judge", "berds.trec", "--judge", f"{own}Chat", "--depth", "2", "--output", "judged.txt"),
        ("expand", "topics", "--topics", "berds-mini", "--from", f"{own}Names", "--output", "expanded.tsv"),
        ("rerank", "--run", "berds.trec", "--system", f"{own}Swaps", "--depth", "4", "--output", "chat.trec"),
    ):
        done = tandem(*words)
        assert done.returncode == 0, (words, done.stderr)
    record = read_yaml(tmp_path / "run.trec.yaml")["method"]
    assert {name: record["retrieval"][0][name] for name in ("method", "module", "factory")} == {
        "method": "dense",
        "module": module,
        "factory": "load",
    }
    assert record["retrieval"][0]["revision"] == record["reranking"][0]["revision"] == find_source(f"{own}load").sha256
    head = read_run("ranked.trec").select(["audience-001-1-ori"]).head(6)
    assert head.query_ids == ("audience-001-1-ori",)
    assert len((tmp_path / "expanded.tsv").read_text().splitlines()) == 24


def test_a_call_takes_the_object_itself():
    made = load_own(choose_system(SimpleNamespace(encode=lambda texts, kind: [[float(len(text)), 1.0] for text in texts])))
    run = tandem_ir.search("infosearch-mini-audience", system=made, rerank=Restless(), depth=3)
    assert run.tag.endswith("Restless")
    assert run.query_ids == tuple(topic.query_id for topic in resolve_topics("infosearch-mini-audience").topics)
