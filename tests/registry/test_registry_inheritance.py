"""Entries that are like another one, and entries in place of one of ours."""

import pytest
from command import tandem

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models import choose_system


@pytest.fixture
def entry(tmp_path):
    """`entry(text)`: a file with it."""

    def write(text, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_an_entry_is_like_another_but_for_what_it_says(entry):
    base = registry.system("e5-large-v2")
    mine = choose_system("tuned", files=[entry("name: tuned\nlike: e5-large-v2\ncheckpoint: me/tuned\n")])
    assert (mine.checkpoint, mine.like, mine.kind) == ("me/tuned", "e5-large-v2", "dense")
    assert (mine.templates, mine.parameters, mine.recipes) == (base.templates, base.parameters, base.recipes)
    # what is known of the other checkpoint, and what papers report of it, is not known of this one
    assert (mine.revision, mine.licence, mine.size, mine.papers, mine.printed) == ("", "", "", (), {})
    assert mine.verified == "facts only"


def test_parameters_templates_and_recipes_are_merged_and_null_takes_one_out(entry):
    text = """
- name: first
  like: e5-large-v2
  parameters: {query_length: 64, passage_length: null}
  templates: {query: "q: {query}"}
- name: second
  like: first
  templates: {plain: "p: {query}"}
"""
    files = [entry(text)]
    base, first, second = (
        registry.system("e5-large-v2"),
        choose_system("first", files=files),
        choose_system("second", files=files),
    )
    assert (first.checkpoint, first.revision) == (base.checkpoint, base.revision)
    assert first.parameters == {**{k: v for k, v in base.parameters.items() if k != "passage_length"}, "query_length": 64}
    assert first.templates == {**base.templates, "query": "q: {query}"}
    assert second.templates == {**first.templates, "plain": "p: {query}"}


def test_another_kind_has_none_of_the_parameters(entry):
    mine = choose_system("other", files=[entry("name: other\nlike: e5-large-v2\nkind: cross-encoder\n")])
    assert mine.parameters == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\nlike: e5-large-v3\n", "like: no entry 'e5-large-v3'"),
        ("name: a\nlike: 3\ndescription: x\nkind: dense\n", "1 invalid key\n"),
        ("name: a\nlike: e5-large-v2\ntemplates: 3\n", "1 invalid key\n"),
        ("name: bm52\nlike: bm25\noverride: true\n", "override, but there is no 'bm52' yet"),
        ("name: bm25\nlike: bm25\n", "the name 'bm25' is taken already"),
    ],
)
def test_what_is_wrong_is_named(entry, text, said):
    with pytest.raises(ToolkitError, match=said):
        choose_system("bm25" if "bm25\nlike" in text else "a", files=[entry(text)])


@pytest.mark.lucene
def test_an_entry_in_place_of_one_of_ours_is_said_and_recorded(entry, tmp_path):
    mine = entry("name: bm25\nlike: bm25\noverride: true\nparameters: {k1: 1.5}\n")
    done = tandem("search", "--topics", "infosearch-mini-audience-ins", "--systems", mine, "--output", "run.trec", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "note: bm25 is your own entry, in place of the one that comes with Tandem" in done.stderr
    [step] = read_yaml(tmp_path / "run.trec.yaml")["method"]["retrieval"]
    assert (step["like"], step["override"], step["k1"]) == ("bm25", True, 1.5)


def test_a_recipe_may_make_a_system_of_the_kind_that_is_wanted():
    name = "smollm2-135m-instruct"
    assert (choose_system(name).kind, choose_system(name).recipe) == ("yes-no", "")
    for kind in ("judge", "expander", "listwise"):
        assert (choose_system(name, kind=kind).kind, choose_system(name, kind=kind).recipe) == (kind, kind)
    with pytest.raises(ToolkitError, match="is of kind yes-no, not dense"):
        choose_system(name, kind="dense")
