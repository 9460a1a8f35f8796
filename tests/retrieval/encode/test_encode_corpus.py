"""A corpus to vectors on disk: what is encoded, what is resumed, and what is refused. The encoder is a small fake."""

import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.topics import Topic
from toolkit.files.formats.vectors import open_vectors, read_vectors_record, verify_vectors
from toolkit.files.texts.documents import corpus_from_docs, corpus_from_files
from toolkit.retrieval.encode import encode_corpus, encode_topics, write_topics_vectors

SPEC = SystemSpec(
    name="fake",
    description="",
    kind="dense",
    checkpoint="org/fake",
    revision="abc",
    parameters={"similarity": "cos"},
    templates={"query": "query: {query}", "passage": "passage: {contents}"},
    recipes={"other": {"templates": {"passage": "{text}"}}},
)
DOCS = [Doc(f"d{number}", "title" if number % 2 else "", f"text {number}") for number in range(7)]


def vector(text):
    """A vector that tells texts apart."""
    return (np.frombuffer(hashlib.sha256(text.encode()).digest()[:4], np.uint8) / 255).astype(np.float32)


class Fake:
    """An encoder that cuts what is longer than 20 characters, and does something before a text that is asked for."""

    dimension, similarity = 4, "cos"

    def __init__(self, before="", do=lambda: None, precision="fp32", commit="a" * 40):
        self.precision, self.origin = precision, {"commits": {"org/fake": commit}}
        self.truncated, self.lost, self.seen = {"query": 0, "passage": 0}, 0, []
        self.before, self.do = before, do

    def encode(self, inputs, side):
        texts = [each.whole for each in inputs]
        if self.before and any(self.before in text for text in texts):
            self.do()
        self.seen += texts
        self.truncated[side] += sum(len(text) > 20 for text in texts)
        self.lost += sum(len(text) > 30 for text in texts) if side == "query" else 0
        return np.array([vector(text) for text in texts])


def encode(folder, docs=DOCS, encoder=None, spec=SPEC, shard_size=3):
    corpus = corpus_from_docs("c", iter(docs))
    return encode_corpus(corpus, encoder or Fake(), spec, folder, shard_size=shard_size)


def stopped(folder):
    """The first two shards, and nothing that says whether they are all."""

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(folder, encoder=Fake("text 6", stop))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tandem.yaml"}


def test_each_document_is_sent_in_the_template_and_lands_in_its_shard(tmp_path):
    encoder = Fake()
    counts = encode(tmp_path / "v", encoder=encoder)
    assert (counts.documents, counts.empty) == (7, 0)
    assert encoder.seen[:2] == ["passage: text 0", "passage: title text 1"]
    vectors = open_vectors(tmp_path / "v")
    assert vectors.ids == [doc.doc_id for doc in DOCS]
    assert [len(array) for array in vectors.arrays] == [3, 3, 1]
    assert vectors.array.tolist() == [vector(f"passage: {doc.contents}").tolist() for doc in DOCS]
    facts = {name: vectors.record[name] for name in ("system", "revision", "side", "precision", "similarity", "dimension")}
    assert list(facts.values()) == ["fake", "abc", "passage", "fp32", "cos", 4]
    assert vectors.record["corpus"]["name"] == "c"


def test_empty_documents_are_left_out_and_counted(tmp_path):
    counts = encode(tmp_path / "v", docs=[Doc("e", "", " \n"), *DOCS, Doc("f", "", "")])
    assert (counts.documents, counts.empty) == (7, 2)
    assert open_vectors(tmp_path / "v").ids == [doc.doc_id for doc in DOCS]
    assert read_vectors_record(tmp_path / "v")["empty"] == 2


def test_inputs_that_were_cut_are_said_those_of_shards_that_were_there_too(tmp_path, capsys):
    encode(tmp_path / "v")
    assert capsys.readouterr().err == "note: 3 of 7 passages are longer than the model's limit and were truncated\n"
    encode(tmp_path / "v")
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"{tmp_path / 'v'}: 7 documents are encoded already"
    assert second == "note: 3 of 7 passages are longer than the model's limit and were truncated"


def test_the_same_corpus_gives_the_same_bytes(tmp_path):
    encode(tmp_path / "one")
    encode(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert open_vectors(tmp_path / "one").digest == open_vectors(tmp_path / "two").digest


def test_ctrl_c_keeps_the_shards_that_are_done_and_the_rest_goes_on(tmp_path):
    stopped(tmp_path / "v")
    assert verify_vectors(tmp_path / "v") == ["not complete"]
    encoder = Fake()
    encode(tmp_path / "v", encoder=encoder)
    assert encoder.seen == ["passage: text 6"]
    encode(tmp_path / "whole")
    assert files(tmp_path / "v") == files(tmp_path / "whole")


@pytest.mark.process
def test_a_killed_process_is_gone_on_with(tmp_path):
    (tmp_path / "killed.py").write_text(
        "import os, signal, sys\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from test_encode_corpus import Fake, encode\n"
        "from pathlib import Path\n"
        f"encode(Path({str(tmp_path / 'v')!r}), encoder=Fake('text 6', lambda: os.kill(os.getpid(), signal.SIGKILL)))\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "killed.py"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [shard["rows"] for shard in read_vectors_record(tmp_path / "v")["shards"]] == [3, 3]
    encoder = Fake()
    encode(tmp_path / "v", encoder=encoder)
    assert encoder.seen == ["passage: text 6"]
    encode(tmp_path / "whole")
    assert files(tmp_path / "v") == files(tmp_path / "whole")


def test_a_complete_folder_is_compared_and_left_as_it_is(tmp_path):
    encode(tmp_path / "v")
    before = (tmp_path / "v" / "tandem.yaml").read_bytes()
    encoder = Fake()
    assert encode(tmp_path / "v", encoder=encoder).documents == 7
    assert encoder.seen == []
    assert (tmp_path / "v" / "tandem.yaml").read_bytes() == before


OTHERS = {
    "text": [DOCS[0], Doc("d1", "title", "another text"), *DOCS[2:]],
    "id": [DOCS[0], Doc("x1", "title", "text 1"), *DOCS[2:]],
    "title": [Doc(doc.doc_id, "", f"{doc.title}{doc.text}") for doc in DOCS],
    "order": [DOCS[1], DOCS[0], *DOCS[2:]],
    "less": DOCS[:5],
    "a shard less": DOCS[:3],
    "nothing": [],
}
LATER = {
    "the last": [*DOCS[:6], Doc("d6", "", "another text")],
    "less at the end": DOCS[:6],
    "one more": [*DOCS, Doc("d7", "", "one more")],
    "a shard more": [*DOCS, *(Doc(f"e{number}", "", "more") for number in range(3))],
}


@pytest.mark.parametrize("change", [*OTHERS, *LATER])
def test_a_changed_corpus_is_refused_by_a_complete_folder(tmp_path, change):
    encode(tmp_path / "v")
    before = files(tmp_path / "v")
    with pytest.raises(ToolkitError, match="the corpus is not the one that was encoded"):
        encode(tmp_path / "v", docs={**OTHERS, **LATER}[change])
    assert files(tmp_path / "v") == before


@pytest.mark.parametrize("change", OTHERS)
def test_a_changed_corpus_is_not_gone_on_with(tmp_path, change):
    stopped(tmp_path / "v")
    before = files(tmp_path / "v")
    with pytest.raises(ToolkitError, match="the corpus is not the one that was encoded"):
        encode(tmp_path / "v", docs=OTHERS[change])
    assert files(tmp_path / "v") == before


def test_a_corpus_that_grew_by_whole_shards_is_refused_when_it_was_complete(tmp_path):
    encode(tmp_path / "v", docs=DOCS[:6])
    with pytest.raises(ToolkitError, match="documents of shard 2 differ"):
        encode(tmp_path / "v")


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"spec": replace(SPEC, name="other")}, "system"),
        ({"spec": replace(SPEC, revision="abd")}, "revision"),
        ({"spec": SPEC.with_recipe("other")}, "recipe"),
        ({"spec": replace(SPEC, templates={**SPEC.templates, "passage": "{text}"})}, "template"),
        ({"spec": replace(SPEC, checkpoint="org/other")}, "checkpoint"),
        ({"encoder": Fake(precision="bf16")}, "precision"),
        ({"encoder": Fake(commit="b" * 40)}, "commits"),
        ({"shard_size": 4}, "shard_size"),
    ],
)
def test_another_encoding_is_refused(tmp_path, how, named):
    encode(tmp_path / "v")
    before = files(tmp_path / "v")
    with pytest.raises(ToolkitError, match=f"holds vectors of {named} "):
        encode(tmp_path / "v", **how)
    assert files(tmp_path / "v") == before


def test_other_weights_in_the_same_folder_are_refused(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"1")
    spec = replace(SPEC, checkpoint=str(model), revision="")
    encode(tmp_path / "v", spec=spec)
    encode(tmp_path / "v", spec=spec)
    (model / "model.safetensors").write_bytes(b"2")
    with pytest.raises(ToolkitError, match="holds vectors of files "):
        encode(tmp_path / "v", spec=spec)


def test_an_id_that_comes_twice_is_refused_and_placed(tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("a\tone\nb\ttwo\na\tthree\n")
    with pytest.raises(ToolkitError, match=r"c\.tsv, line 3: id 'a' comes a second time"):
        encode_corpus(corpus_from_files(path), Fake(), SPEC, tmp_path / "v")


def test_a_broken_document_is_refused_and_placed(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "text": "one"}\n{"id": "b"}\n')
    with pytest.raises(ToolkitError, match=r"c\.jsonl, line 2: no field 'text'"):
        encode_corpus(corpus_from_files(path), Fake(), SPEC, tmp_path / "v")
    assert not (tmp_path / "v").exists()


def test_a_corpus_without_text_and_a_shard_without_documents_are_refused(tmp_path):
    with pytest.raises(ToolkitError, match="c has no documents to encode"):
        encode(tmp_path / "v", docs=[Doc("a", "", "")])
    assert not (tmp_path / "v").exists()
    with pytest.raises(ToolkitError, match="shard size is 0"):
        encode(tmp_path / "w", shard_size=0)
    assert not (tmp_path / "w").exists()


def test_two_that_encode_into_one_folder_take_turns(tmp_path, home):
    inside, go_on = threading.Event(), threading.Event()

    def wait():
        inside.set()
        assert go_on.wait(30)

    first = threading.Thread(target=encode, args=(tmp_path / "v",), kwargs={"encoder": Fake("text 0", wait)})
    first.start()
    assert inside.wait(30)
    other = Fake()
    second = threading.Thread(target=encode, args=(tmp_path / "v",), kwargs={"encoder": other})
    second.start()
    second.join(1)
    assert second.is_alive()
    go_on.set()
    first.join(30)
    second.join(30)
    gc.collect()
    assert other.seen == []
    assert open_vectors(tmp_path / "v").ids == [doc.doc_id for doc in DOCS]


TOPICS = [
    Topic("1-ins", "red fruit for children", query="red fruit", instruction="for children"),
    Topic("2-ins", "kiwi", query="kiwi"),
]


def test_topics_become_vectors_in_their_order():
    ids, vectors = encode_topics(TOPICS, Fake(), SPEC)
    assert ids == ["1-ins", "2-ins"]
    assert vectors.tolist() == [vector("query: red fruit for children").tolist(), vector("query: kiwi").tolist()]
    ids, vectors = encode_topics([], Fake(), SPEC)
    assert (ids, vectors.shape, vectors.dtype) == ([], (0, 4), np.float32)


def test_two_topics_of_one_id_are_refused():
    with pytest.raises(ToolkitError, match="query id '2-ins' comes twice"):
        encode_topics([*TOPICS, TOPICS[1]], Fake(), SPEC)


def test_topics_on_disk_say_what_was_cut_and_lost_and_are_not_those_of_documents(tmp_path, capsys):
    long = Topic("3-ins", "a query with many more words", query="q")
    assert write_topics_vectors("t", [*TOPICS, long], Fake(), SPEC, tmp_path / "v") == 3
    assert capsys.readouterr().err.splitlines() == [
        "note: 2 of 3 queries are longer than the model's limit and were truncated",
        "note: 1 of 3 queries have a core query that is fully truncated",
    ]
    assert open_vectors(tmp_path / "v").ids == ["1-ins", "2-ins", "3-ins"]
    encoder = Fake()
    write_topics_vectors("t", [*TOPICS, long], encoder, SPEC, tmp_path / "v")
    assert encoder.seen == []
    with pytest.raises(ToolkitError, match="holds vectors of topics "):
        write_topics_vectors("t", TOPICS, Fake(), SPEC, tmp_path / "v")
    with pytest.raises(ToolkitError, match="holds vectors of side 'query', not 'passage'"):
        encode(tmp_path / "v")
    with pytest.raises(ToolkitError, match="t has no topics"):
        write_topics_vectors("t", [], Fake(), SPEC, tmp_path / "none")
