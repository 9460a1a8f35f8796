"""The one reader of YAML and JSON: what is damaged, ambiguous or made to hurt is one error with its line."""

import contextlib
import gzip
import json
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.system import yaml_json
from toolkit.core.system.yaml_json import (
    Malformed,
    decode_json,
    decode_yaml,
    json_end,
    parse_json,
    parse_yaml,
    read_json,
    read_yaml,
)

LAYERS = "\n".join(["a0: &a0 [1, 2]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])
MERGES = "\n".join(["a0: &a0 {x: 1}", *(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])
CHAIN = "\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 500))])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: [1\nb: 2", 2, "did not find expected ',' or ']'"),
        ("a:\n  b: 1\n  b: 2", 3, "the key 'b' comes twice"),
        ("a: 1\nb: 2024-02-30", 2, "impossible date '2024-02-30'"),
        ("a: !!timestamp soon", 1, "impossible date 'soon'"),
        ("a: 1\nb: " + "9" * 5000, 2, "a number of 5,000 digits"),
        ("a: 0x" + "f" * 5000, 1, "a number of 5,002 digits"),
        ("a: !!int x", 0, "impossible value (invalid literal for int() with base 10: 'x')"),
        ("a:\n  - \x01", 2, "control characters are not allowed"),
        ('a: "\\ud800"', 1, "found invalid Unicode character escape code"),
        ("[" * 20_000, 1, "nested too deep"),
        ("{a: " * 20_000, 1, "nested too deep"),
        ("- " * 20_000, 1, "nested too deep"),
        ("? " * 20_000, 1, "nested too deep"),
        ("\n".join(f"{' ' * n}a:" for n in range(300)), 101, "nested too deep"),
        ("- - [\n" + "  [\n" * 200, 99, "nested too deep"),
        ("a: &a [*a]", 1, "aliases stand for themselves, or for too many values"),
        ("a: &a {b: *a}", 1, "aliases stand for themselves, or for too many values"),
        (LAYERS, 7, "aliases stand for themselves, or for too many values"),
        (MERGES, 13, "aliases stand for themselves, or for too many values"),
        (CHAIN, 101, "aliases stand for themselves, or for too many values"),
        ("--- 1\n--- 2", 2, "but found another document"),
        ("a: !!python/object/apply:os.system [x]", 1, "could not determine a constructor for the tag"),
        ("? [a]\n: 1", 1, "found unhashable key"),
    ],
)
def test_yaml_that_is_damaged_or_made_to_hurt_is_refused_with_its_line(text, line, why):
    start = time.perf_counter()
    with pytest.raises(Malformed) as caught:
        decode_yaml(text)
    assert (caught.value.line, str(caught.value)[: len(why)]) == (line, why)
    assert "\n" not in str(caught.value)
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('{"a":\n1', 2, "Expecting ',' delimiter at column 2"),
        ('{"a": 1, "a": 2}', 0, "the key 'a' comes twice"),
        ('[{"a": 1,\n"a": 2}]', 0, "the key 'a' comes twice"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 0, "the key 'c' comes twice"),
        ("[" * 100_000, 0, "nested too deep"),
        ('{"a": ' * 100_000, 0, "nested too deep"),
        ("9" * 5000, 0, "a number of 5,000 digits"),
        ('{"a": -' + "9" * 9000 + "}", 0, "a number of 9,001 digits"),
        ('{"a": "\\ud800"}', 0, "half a surrogate pair, which is no text"),
        ('["\\uDFFF"]', 0, "half a surrogate pair, which is no text"),
        ("[NaN]", 0, "NaN is no number of JSON"),
        ('{"a": -Infinity}', 0, "-Infinity is no number of JSON"),
        ("", 1, "Expecting value at column 1"),
        ("{} x", 1, "Extra data at column 4"),
    ],
)
def test_json_that_is_damaged_or_made_to_hurt_is_refused(text, line, why):
    with pytest.raises(Malformed) as caught:
        decode_json(text)
    assert (caught.value.line, str(caught.value)) == (line, why)


def test_what_is_well_is_read_as_it_is():
    assert decode_yaml("") is None
    assert decode_yaml("\ufeffa: [1, .nan]\nb: {c: yes}")["b"] == {"c": True}
    assert decode_yaml("base: &b {x: [1]}\nmore: {<<: *b, y: *b}") == {"base": {"x": [1]}, "more": {"x": [1], "y": {"x": [1]}}}
    brackets = "[{" * 200
    assert decode_yaml(f"a: '{brackets}'\nb: |\n    {' ' * 300}{brackets}\n")["a"] == brackets
    assert decode_json(r'{"a": "\ud83d\ude00 \":", "b": [1e999]}') == {"a": '\U0001f600 ":', "b": [float("inf")]}
    assert decode_json("[NaN, Infinity]", finite=False)[1] == float("inf")
    assert json_end('{"a": NaN} rest') == 10
    assert json_end("rest") is None


# PyYAML writes the line breaks of YAML 1.1 that are none elsewhere in a way that it does not read back itself
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
signs = st.sampled_from(
    [*"[]{}:-?&*!|>'\"#%@`, ab01\n", "\\", "\\u", "<<", "- ", "? ", ": ", "---", "&a ", "*a", "!!int ", "2024-"]
)


@given(values)
def test_what_the_libraries_write_is_read(value):
    assert decode_json(json.dumps(value)) == decode_json(json.dumps(value, ensure_ascii=False, indent=1)) == value
    assert decode_yaml(yaml.safe_dump(value, allow_unicode=True)) == value


@given(st.text(max_size=200) | st.lists(signs, max_size=60).map("".join))
def test_any_text_is_read_or_refused_in_a_line(text):
    for decode in (decode_yaml, decode_json):
        with contextlib.suppress(Malformed):
            decode(text)
        with contextlib.suppress(ToolkitError):
            parse_yaml(text.encode(errors="surrogatepass"), "x")


def test_files_name_themselves_and_the_line(tmp_path):
    path = tmp_path / "a.yaml"
    for data, message in (
        (b"a: 1\nb: \xff\n", ", line 2: not UTF-8 text"),
        (b"a: 1\na: 2\n", ", line 2: not YAML: the key 'a' comes twice"),
        (b"- 1\n", ": expected a mapping, found list"),
        (b"", ": expected a mapping, found NoneType"),
    ):
        path.write_bytes(data)
        with pytest.raises(ToolkitError) as caught:
            read_yaml(path, dict)
        assert caught.value.lines()[0] == f"error: {path}{message}"
    path.write_bytes(b'{"a": 1}')
    assert read_yaml(path, dict) == read_json(path, dict) == {"a": 1}
    with pytest.raises(ToolkitError, match="line 1: not JSON: Expecting value at column 1"):
        parse_json("x", "the answer")
    with pytest.raises(ToolkitError, match="the answer: expected a list, found dict") as caught:
        parse_yaml("a: 1", "the answer", list, "say it again")
    assert caught.value.hint == "say it again"


def test_a_file_beyond_the_size_is_refused(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * (3 << 20) + b"]"))
    assert read_json(path) == []
    with pytest.raises(ToolkitError, match="has more than 2 MiB"):
        read_json(path, most=2 << 20)
    assert yaml_json.MOST <= 1 << 26
