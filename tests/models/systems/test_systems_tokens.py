"""The token ids that `systems explain` tells are those that a checkpoint's own tokenizer makes of the text."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from tiny import sentence_modules, tiny_bert, tiny_spec

from toolkit.core.documents import Doc
from toolkit.core.topics import Topic
from toolkit.models import choose_system
from toolkit.models.systems import explain

pytestmark = pytest.mark.model

TOPIC = Topic("7-ins", "wind power For experts.", query="wind power", instruction="For experts.")
DOC = Doc("d", "T", "Text.")


def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def test_the_embedded_model_is_sent_whole_texts(tmp_path):
    (tmp_path / "topics.tsv").write_text("7\twind power For experts.\n", encoding="utf-8")
    command = [sys.executable, "-m", "toolkit", "systems", "explain", "all-minilm-l6-v2", "--topics", "topics.tsv"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "--query", "7"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    # [CLS] wind power for experts . [SEP] in BERT's vocabulary
    assert "  ids      101 3612 2373 2005 8519 1012 102 (7)" in done.stdout.splitlines()


def test_a_folder_is_a_system(tmp_path):
    tiny_bert(tmp_path)
    sentence_modules(tmp_path)
    spec = choose_system(str(tmp_path), query_template="q: {query}", passage_template="p: {text}")
    [explained] = explain(spec, [TOPIC], DOC)
    texts = {sent.part: sent.input.whole for sent in explained.sent}
    assert texts == {"query": "q: wind power For experts.", "passage": "p: Text."}
    assert [sent.ids for sent in explained.sent] == [tokenizer(tmp_path)(text)["input_ids"] for text in texts.values()]
    assert explained.without == ""


def test_a_cross_encoder_reads_the_pair(tmp_path):
    tiny_bert(tmp_path, kind="BertForSequenceClassification", num_labels=1)
    spec = choose_system(str(tmp_path), kind="cross-encoder")
    [alone] = explain(spec, [TOPIC])
    assert [sent.ids for sent in alone.sent] == [None]
    assert alone.without == "it reads a query and a document as one: name a document with --doc"
    [explained] = explain(spec, [TOPIC], DOC)
    assert [(sent.part, sent.ids) for sent in explained.sent] == [
        ("query", None),
        ("passage", None),
        ("pair", tokenizer(tmp_path)("wind power For experts.", "T Text.")["input_ids"]),
    ]


def test_a_revision_that_is_not_here_costs_the_ids_alone(home):
    kept, pinned = home / "models" / "org--tiny" / ("0" * 40), "1" * 40
    sentence_modules(tiny_bert(kept))
    spec = tiny_spec("org/tiny", revision=pinned, parameters={"pooling": "own"})
    [explained] = explain(spec, [TOPIC])
    assert explained.without == "org/tiny is not on this machine, and nothing is downloaded to tell them"
    [explained] = explain(replace(spec, revision="0" * 40), [TOPIC])
    assert explained.sent[0].ids == tokenizer(kept)("wind power For experts.")["input_ids"]


def test_a_checkpoint_that_does_not_load_costs_the_ids_alone(tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    [explained] = explain(choose_system(str(tmp_path)), [TOPIC])
    assert explained.sent[0].input.whole == "wind power For experts."
    assert explained.without == f"{tmp_path} has no safetensors, and no pytorch_model.bin or GGUF file in their place"
