"""Checkpoints, templates and indexes that are damaged, or made to hurt: one error each, in time and within memory."""

import json
import shutil
import time

import numpy as np
import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.system.memory import memory_bound
from toolkit.files.formats.vectors import open_vectors
from toolkit.models.checkpoints import chat_template
from toolkit.models.checkpoints.chat_template import Refused, filled
from toolkit.models.checkpoints.checkpoint_files import check_config, count_parameters
from toolkit.models.checkpoints.local_checkpoints import locate
from toolkit.models.encoders import load_encoder
from toolkit.models.encoders.modules import read_modules
from toolkit.models.rerankers import load_reranker
from toolkit.models.vectors.faiss_index import FaissIndex, fill_faiss, train_faiss, write_faiss
from toolkit.models.vectors.late import LateIndex, LateWriter
from toolkit.retrieval.encode import vector_size

pytestmark = pytest.mark.model
COSTLY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = (
    *("config.json", "modules.json", "1_Pooling/config.json", "2_Dense/config.json", "sentence_bert_config.json"),
    *("config_sentence_transformers.json", "tokenizer_config.json", "tokenizer.json"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def sentence(tmp_path_factory):
    folder = tiny.tiny_bert(tmp_path_factory.mktemp("hostile") / "bert")
    tiny.sentence_modules(folder, dense=8)
    for name in FILES:
        if not (folder / name).exists():
            tiny.write_json(folder / name, {})
    return folder


def at(content, place):
    """The places of a JSON value, as keys and positions from its top."""
    yield place
    items = content.items() if isinstance(content, dict) else enumerate(content[:4]) if isinstance(content, list) else ()
    for key, value in items:
        yield from at(value, (*place, key))


def with_value(content, place, value):
    """The JSON value with another one at a place."""
    if not place:
        return value
    copy = content.copy()
    copy[place[0]] = with_value(copy[place[0]], place[1:], value)
    return copy


def attempt(function, *given):
    """Call it: what it refuses is one error of one line."""
    try:
        function(*given)
    except ToolkitError as error:
        message = error.message
    else:
        return
    assert "\n" not in message


@COSTLY
@given(data=st.data())
def test_values_of_other_types_are_one_error_or_change_nothing_that_hurts(sentence, tmp_path, data):
    folder = tmp_path / "x"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sentence, folder)
    name = data.draw(st.sampled_from(FILES))
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    place = data.draw(st.sampled_from(list(at(content, ()))))
    tiny.write_json(folder / name, with_value(content, place, data.draw(VALUES)))
    spec = tiny.tiny_spec(folder, parameters={"pooling": "own", "similarity": "cos"})
    for read in (read_modules, vector_size, check_config):
        attempt(read, folder)
    attempt(lambda: load_encoder(spec, device="cpu"))


SIZES = {"num_hidden_layers": 10**7, "vocab_size": 10**11, "hidden_size": 10**9, "max_position_embeddings": 10**12}


@pytest.mark.parametrize("name", SIZES)
def test_a_model_that_is_far_larger_than_its_weights_is_not_made(sentence, tmp_path, name):
    shutil.copytree(sentence, tmp_path / "x")
    config = json.loads((tmp_path / "x" / "config.json").read_text())
    tiny.write_json(tmp_path / "x" / "config.json", {**config, name: SIZES[name]})
    began = time.monotonic()
    with pytest.raises(ToolkitError, match=f"{name} is {SIZES[name]}, which is no size of a model with these weights"):
        locate(tiny.tiny_spec(tmp_path / "x"))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("path", ["../../other", "/etc"])
def test_modules_outside_of_a_checkpoint_are_not_read(sentence, tmp_path, path):
    shutil.copytree(sentence, tmp_path / "x")
    modules = json.loads((tmp_path / "x" / "modules.json").read_text())
    tiny.write_json(tmp_path / "x" / "modules.json", [modules[0], {**modules[1], "path": path}, *modules[2:]])
    with pytest.raises(ToolkitError, match="its configuration files hold invalid values"):
        read_modules(tmp_path / "x")


def tensor(shape, start, end):
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}


HEADERS = {
    "longer than the file": (1 << 60).to_bytes(8, "little") + b"{}",
    "no length": b"\x01",
    "no JSON": (4).to_bytes(8, "little") + b"{{{{",
    "a list": (2).to_bytes(8, "little") + b"[]",
    "nested": (200_000).to_bytes(8, "little") + b'{"a":' + b"[" * 199_995,
    **{
        name: len(header).to_bytes(8, "little") + header + bytes(8)
        for name, header in {
            "overlapping": json.dumps({"a": tensor([2], 0, 8), "b": tensor([2], 0, 8)}).encode(),
            "beyond the end": json.dumps({"a": tensor([4], 0, 16)}).encode(),
            "another size": json.dumps({"a": tensor([1 << 40], 0, 8)}).encode(),
            "below zero": json.dumps({"a": tensor([-2], 0, 8)}).encode(),
            "texts": json.dumps({"a": tensor(["2"], 0, 8)}).encode(),
        }.items()
    },
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_of_safetensors_that_lie_are_one_error(tmp_path, case):
    (tmp_path / "model.safetensors").write_bytes(HEADERS[case])
    with pytest.raises(ToolkitError, match="is no safetensors file") as caught:
        count_parameters(tmp_path)
    assert "\n" not in caught.value.message


TEMPLATES = {
    "an endless loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a huge range": "{% for a in range(10000000000) %}x{% endfor %}",
    "a text that doubles": "{% set n = namespace(s='x' * 1000) %}{% for a in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "a text times a number": "{{ 'x' * 100000000000 }}",
    "a power": "{{ 10 ** 100000000 }}",
    "a long text": "{{ 'x' * 3000000 }}{{ messages[0].content }}",
    "an exception": "{{ raise_exception('no') }}",
    "no Jinja": "{% if %}",
    "another type": "{{ messages.nothing.at.all }}",
    "Python": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
}


@pytest.mark.parametrize("case", TEMPLATES)
def test_templates_that_hurt_are_refused_in_time(tmp_path_factory, monkeypatch, case):
    from transformers import AutoTokenizer

    monkeypatch.setattr(chat_template, "SECONDS", 0.5)
    tokenizer = AutoTokenizer.from_pretrained(tiny.tiny_bert(tmp_path_factory.mktemp("template") / "bert"))
    tokenizer.chat_template = TEMPLATES[case]
    began = time.monotonic()
    with pytest.raises(Refused) as caught:
        filled(tokenizer, [{"role": "user", "content": "hello"}])
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 10
    tokenizer.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ date_string }}"
    assert filled(tokenizer, [{"role": "user", "content": "hello"}]) == "<user>hello26 Jul 2024"


def test_memory_has_a_bound_within_a_block_alone():
    with pytest.raises(MemoryError), memory_bound(1 << 28):
        np.zeros(1 << 30, np.uint8)
    assert len(np.zeros(1 << 29, np.uint8)) == 1 << 29


@pytest.fixture(scope="module")
def faiss_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faiss")
    vectors = np.random.default_rng(1).random((40, 8), dtype=np.float32)
    write_faiss(fill_faiss(train_faiss([vectors], "IVF2,SQ8", "nprobe=2"), [vectors]), folder / "index")
    (folder / "docid").write_text("".join(f"d{number}\n" for number in range(40)))
    return folder


@COSTLY
@given(data=st.data())
def test_faiss_files_with_other_bytes_are_read_or_one_error(faiss_folder, tmp_path, data):
    folder = tmp_path / "x"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(faiss_folder, folder)
    content = bytearray((folder / "index").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    given_bytes = data.draw(st.binary(min_size=1, max_size=8))
    content[place : place + len(given_bytes)] = given_bytes
    (folder / "index").write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    attempt(FaissIndex.open, folder)


@COSTLY
@given(data=st.data())
def test_files_of_a_late_index_with_other_bytes_are_read_or_one_error(tmp_path, data):
    folder = tmp_path / "x"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    writer = LateWriter(folder)
    writer.add(["a", "b"], [np.ones((2, 4)), np.ones((3, 4))])
    writer.close()
    path = folder / data.draw(st.sampled_from(["vectors.f16", "offsets.npy", "docid"]))
    content = bytearray(path.read_bytes())
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=6)):
        content[place] = value
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])

    def search():
        index = LateIndex(folder)
        index.search([np.ones((1, index.vectors.shape[1]))], hits=2)

    attempt(search)


def test_a_late_index_whose_array_has_an_unfinished_header_is_one_error(tmp_path):
    writer = LateWriter(tmp_path)
    writer.add(["a", "b"], [np.ones((2, 4)), np.ones((3, 4))])
    writer.close()
    offsets = tmp_path / "offsets.npy"
    content = bytearray(offsets.read_bytes())
    content[10] = 0  # numpy's reading of the header ends in a tokenizer's error
    offsets.write_bytes(content)
    with pytest.raises(ToolkitError, match="no index of token vectors"):
        LateIndex(tmp_path)


RECORDS = ("format: 1\nkind: vectors\n", "format: 1\nkind: vectors\nshards: 7\n", "format: 1\nkind: [vectors]\n")


@pytest.mark.parametrize("record", RECORDS)
def test_vectors_without_shards_are_one_error(tmp_path, record):
    (tmp_path / "tandem.yaml").write_text(record)
    with pytest.raises(ToolkitError, match=r"tandem\.yaml"):
        open_vectors(tmp_path)


def test_an_adapter_of_a_rank_beyond_any_is_not_made(tmp_path):
    base = tiny.tiny_decoder(tmp_path / "base", "Llama", "ForCausalLM")
    adapter = tiny.tiny_lora(tmp_path / "adapter", base)
    config = json.loads((adapter / "adapter_config.json").read_text())
    for changed in ({"r": 10**9}, {"rank_pattern": {"q_proj": 10**9}}, {"r": "8"}, {"peft_type": 7}, {"target_modules": 3}):
        tiny.write_json(adapter / "adapter_config.json", {**config, **changed})
        with pytest.raises(ToolkitError) as caught:
            load_reranker(tiny.tiny_spec(adapter, "yes-no", base=str(base), parameters={"tokens": ["a", "b"]}))
        assert "\n" not in caught.value.message
