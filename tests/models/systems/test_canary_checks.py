"""`systems check`: servers that each have one fault are told apart, and one without faults passes."""

import json
import re
import zlib

import endpoint
import pytest
from command import tandem
from endpoint import Script, serving

from toolkit.core.errors import ToolkitError
from toolkit.models.systems.canary_checks import canaries

WORD = re.compile(r"\w+")


def words(text):
    return [word[:4].lower() for word in WORD.findall(text)]


def value(query, instruction, document):
    """Words that query and document share; those of an instruction that the document has lower it."""
    asked, ruled_out, held = set(words(query)), set(words(instruction)), words(document)
    shared = len(asked.intersection(held)) / len(asked)
    apart = 1e-4 * (zlib.crc32(f"{query}{instruction}{document}".encode()) % 97)
    return shared - 0.3 * len(ruled_out.intersection(held)) + apart


class Server:
    """Reranking in vLLM's form. fault: what is wrong with it."""

    def __init__(self, fault=""):
        self.fault, self.requests = fault, 0

    def __call__(self, body):
        self.requests += 1
        instruction, documents = body.get("instruction", ""), body["documents"]
        if self.fault == "ignores" or (self.fault == "drops" and self.requests % 3 == 0):
            instruction = ""
        if self.fault == "truncates":
            documents = [" ".join(document.split()[:32]) for document in documents]
        values = [value(body["query"], instruction, document) for document in documents]
        if self.fault == "another model":
            values = [zlib.crc32(document.encode()) / 2**32 + value(body["query"], "", document) for document in documents]
        if self.fault == "swaps" and len(values) > 1:
            values[:2] = values[1::-1]
        if self.fault == "batch" and len(values) > 2:
            values = [number + 0.1 * place for place, number in enumerate(values)]
        if self.fault == "NaN":
            values[0] = float("nan")
        if self.fault == "constant":
            values = [0.5] * len(values)
        rows = [{"index": place, "relevance_score": number} for place, number in enumerate(values)]
        return {"model": "scripted", "results": rows, "usage": {"total_tokens": 9}}


@pytest.fixture
def checked(home, monkeypatch):
    """(exit status, check -> (outcome, what was seen)) of a server with a fault."""

    def check(fault, *more, system="vllm:m", **env):
        server = Server(fault)
        monkeypatch.setitem(endpoint.FORMS, "/rerank", server)
        with serving(Script()) as script:
            monkeypatch.setenv("OPENAI_BASE_URL", script.base)
            done = tandem("systems", "check", system, "--kind", "cross-encoder", "--format", "json", *more)
        rows = json.loads(done.stdout)["rows"]
        table = {row["what"].partition(": ")[0]: (row["outcome"], row["what"].partition(": ")[2]) for row in rows}
        said = re.search(r"about (\d+) requests", done.stderr)
        assert len(script.bodies) <= int(said[1]) + 6  # those that were repeated after an answer that was none
        return done.returncode, table

    return check


SCORES = "10 texts"
RELEVANT, EQUAL = "relevant above irrelevant", "equal requests, equal scores"
BESIDE = "a text alone, among others, in another order"
INSTRUCTED, LONG = "an instruction lowers what it rules out", "long texts are read to their end"


def test_a_server_without_faults_passes(checked):
    status, table = checked("")
    assert status == 0
    assert {outcome for outcome, _ in table.values()} == {"ok"}
    assert table[RELEVANT][1] == "5 of 5 pairs"
    assert re.fullmatch(r"\d+ of 10 as asked, 10 move at all \(instruction in the field instruction\)", table[INSTRUCTED][1])
    assert table[LONG][1] == "read to 1,600 words"


FAULTS = {
    "ignores": ({INSTRUCTED}, "the system ignores the instruction: no score moves"),
    "drops": ({INSTRUCTED}, r"the instruction reaches \d of 10 requests"),
    "swaps": ({RELEVANT, BESIDE}, r"0 of 5 pairs.*texts get one another's scores"),
    "truncates": ({LONG}, "read to 20 words, truncated before 100"),
    "batch": ({BESIDE}, "a score depends on what is asked beside it"),
    "NaN": ({SCORES}, "list with a finite score for each document"),
    "constant": ({SCORES}, "all 10 scores are 0.5"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_by_its_row(checked, monkeypatch, fault):
    monkeypatch.setattr("toolkit.models.servers.client.BACKOFF", 0.001)
    rows, said = FAULTS[fault]
    status, table = checked(fault)
    assert status == 1
    failed = {name for name, (outcome, _) in table.items() if outcome == "FAIL"}
    assert (failed == rows) or (fault == "constant" and failed >= rows)
    assert re.search(said, " ".join(seen for _, seen in table.values()))


def test_another_models_scores_are_known_by_the_pinned_checkpoint(checked, tmp_path, monkeypatch):
    (tmp_path / "pinned_words.py").write_text(
        "from test_canary_checks import value\n"
        "class Words:\n"
        "    def score(self, pairs):\n"
        "        return [value(query, '', document) for query, document in pairs]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for fault, outcome in (("", "ok"), ("another model", "FAIL")):
        status, table = checked(fault, "--like", "python:pinned_words:Words")
        assert table["the scores of pinned_words-Words"][0] == outcome
        assert status == (outcome == "FAIL")


def test_texts_of_ones_own(checked, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("relevance: {de: [{query: Hund, relevant: Ein Hund bellt., irrelevant: Die Sonne.}]}\n")
    status, table = checked("", "--canaries", path, "--language", "de")
    assert status == 0
    assert table[RELEVANT][1] == "1 of 1 pairs"
    assert INSTRUCTED not in table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no canaries"),
        ("relevance: {en: [{query: a, relevant: b}]}", "row 1 of relevance lacks irrelevant"),
        ("relevance: {en: [text]}", "row 1 of relevance is no mapping"),
        ("relevance: {de: []}", "no relevance for language 'en'"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ToolkitError, match=message):
        canaries(path)


@pytest.mark.parametrize("language", ["en", "fa", "ru", "zh"])
def test_every_language_has_five(language):
    assert len(canaries(language=language).relevance) == 5
    assert len(canaries(language=language).instructions) == 10


def test_an_index_of_words_has_no_model(home):
    done = tandem("systems", "check", "bm25")
    assert done.returncode == 2
    assert "bm25 is of kind bm25: no model is asked" in done.stderr


@pytest.mark.model
def test_a_small_encoder_passes_and_its_limit_is_said(home):
    done = tandem("systems", "check", "all-minilm-l6-v2", "--format", "tsv")
    assert done.returncode == 0
    assert "relevant above irrelevant: 5 of 5 pairs" in done.stdout
    assert "read to 100 words, truncated before 400" in done.stdout
