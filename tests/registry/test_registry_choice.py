"""The system that a user names: registered, in a file of theirs, or a checkpoint that no entry knows."""

import itertools
import re

import pytest

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.models import choose_system

MINE = """\
- name: mine
  description: a model of mine
  kind: dense
  checkpoint: me/mine
  parameters: {pooling: cls, similarity: dot}
  templates: {query: "q: {query} {instruction}", plain: "q: {query}", passage: "{text}"}
  recipes:
    other: {source: me, parameters: {pooling: mean}, templates: {query: "{query}"}}
    lost: {unknown: nobody wrote it down}
- {name: theirs, description: another, kind: cross-encoder, checkpoint: me/theirs}
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(MINE, encoding="utf-8")
    return path


def refusal(*args, **options):
    with pytest.raises(ToolkitError) as caught:
        choose_system(*args, **options)
    return caught.value


def test_a_registered_name_is_its_entry():
    assert choose_system("bge-m3") == registry.system("bge-m3")


def test_an_entry_of_the_users_file_is_found_beside_ours(mine):
    assert choose_system("mine", files=[mine]).checkpoint == "me/mine"
    assert choose_system("theirs", files=[str(mine)]).kind == "cross-encoder"
    assert choose_system("bm25", files=[mine]).kind == "bm25"


def test_a_users_file_does_not_replace_a_registered_system(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("{name: bm25, description: mine, kind: bm25}", encoding="utf-8")
    assert refusal("bm25", files=[path]).message == f"{path}: the name 'bm25' is taken already"


def test_a_name_that_becomes_another_is_not_taken_for_a_repository_of_the_hub(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("[{name: a-b/c, like: bm25}, {name: a/b-c, like: bm25}]", encoding="utf-8")
    wanted = f"{path}, entry 2: the names 'a-b/c' and 'a/b-c' become one in names of files"
    assert refusal("a/b-c", files=[path]).message.startswith(wanted)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.yaml"):
        choose_system("mine", files=[tmp_path / "no.yaml"])


def test_a_recipe_replaces_what_it_names_and_nothing_else(mine):
    spec = choose_system("mine", files=[mine], recipe="other")
    assert spec.recipe == "other"
    assert spec.parameters == {"pooling": "mean", "similarity": "dot"}
    assert spec.templates == {"query": "{query}", "plain": "q: {query}", "passage": "{text}"}


def test_a_recipe_that_was_never_published_is_refused(mine):
    assert refusal("mine", files=[mine], recipe="lost").message == "recipe lost of mine is unknown: nobody wrote it down"
    assert refusal("mine", files=[mine], recipe="no").hint == "known: other, lost"


def test_a_folder_is_a_dense_checkpoint_unless_said(tmp_path):
    folder = tmp_path / "My Model"
    folder.mkdir()
    spec = choose_system(str(folder))
    assert (spec.name, spec.checkpoint, spec.kind, spec.verified) == ("My-Model", str(folder), "dense", "facts only")
    assert spec.parameters["pooling"] == "own"
    assert choose_system(str(folder), kind="monot5").kind == "monot5"


def test_a_hub_id_is_the_entry_that_has_it():
    assert choose_system("BAAI/bge-m3").name == "bge-m3"
    unlisted = choose_system("someone/some-model", kind="cross-encoder")
    assert (unlisted.name, unlisted.checkpoint, unlisted.parameters) == ("some-model", "someone/some-model", {})


def test_a_hub_id_of_several_entries_is_not_guessed(tmp_path, mine):
    path = tmp_path / "again.yaml"
    path.write_text("{name: again, description: d, kind: dense, checkpoint: me/mine}", encoding="utf-8")
    error = refusal("me/mine", files=[mine, path])
    assert error.message == "me/mine is the checkpoint of 2 systems"
    assert error.hint == "name one of them: mine, again"


def test_a_kind_that_is_not_the_entrys_is_refused():
    assert refusal("bge-m3", kind="monot5").message == "bge-m3 is of kind dense, not monot5"


def test_an_unknown_name_is_answered_with_the_nearest():
    error = refusal("bge-m4")
    assert error.message == "no system 'bge-m4'"
    assert error.hint.startswith("did you mean 'bge-m3'? ")
    assert refusal("./no-folder").message == "no system './no-folder'"


def test_the_users_templates_and_pooling_stand_before_the_entrys(mine):
    spec = choose_system("mine", files=[mine], query_template="Find: {query}\\n", passage_template="{title}", pooling="last")
    assert spec.templates == {"query": "Find: {query}\n", "passage": "{title}"}  # in every mode: no `plain` of the entry's
    assert spec.parameters == {"pooling": "last", "similarity": "dot"}


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({"query_template": "I: {instruction}\\nQ: {query}"}, {"query": "I: {instruction}\nQ: {query}", "plain": "{query}"}),
        ({"query_template": "{query} {instruction}", "plain_template": "Q: {query}"}, {"plain": "Q: {query}"}),
        ({"plain_template": "Q: {query}\\n"}, {"plain": "Q: {query}\n"}),
    ],
)
def test_queries_without_instruction_have_a_template_of_their_own(mine, options, sent):
    templates = choose_system("mine", files=[mine], **options).templates
    assert templates | sent == templates


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"query_template": "{title}"},
            "template query has an unknown slot {title} (known: query, question, instruction, released, before_sep, after_sep)",
        ),
        ({"pooling": "max"}, "pooling is 'max', not cls or mean or last or pooler or own"),
        ({"query_template": "find it"}, "template query is 'find it': it has no {query} or {question}"),
        ({"query_template": ""}, "template query is '': it has no {query} or {question}"),
        ({"plain_template": "Query: "}, "template plain is 'Query: ': it has no {query} or {question} or {after_sep}"),
        ({"passage_template": "a page"}, "template passage is 'a page': it has no {title} or {text} or {contents}"),
    ],
)
def test_what_an_option_cannot_be_is_refused(mine, options, message):
    assert refusal("mine", files=[mine], **options).message == f"system mine: {message}"


def test_only_dense_systems_pool(mine):
    error = refusal("theirs", files=[mine], pooling="cls")
    assert error.message == "system theirs: kind cross-encoder has no parameter 'pooling'"


def test_all_problems_of_an_entry_are_told_together(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(
        """\
name: mine
description: d
kind: dense
parameters: {poolling: cls, query_length: long, eos: 1, similarity: l2}
templates: {passages: "{text}"}
recipes: {a: {templats: {}}, b: {parameters: 5}, c: {kind: impact, parameters: {pooling: cls}}, d: {templates: {query: 1}}}
verified: maybe
""",
        encoding="utf-8",
    )
    error = refusal("mine", files=[path])
    assert error.message == "system mine has 10 problems"
    assert error.problems == (
        "kind dense has no parameter 'poolling' did you mean 'pooling'?",
        "query_length is 'long', not a whole number from 1 on",
        "eos is 1, not true or false",
        "similarity is 'l2', not cos or dot",
        "template 'passages' is '{text}': text for query or plain or passage or instruction",
        "recipe a: unknown key 'templats'",
        "recipe b: parameters is 5",
        "recipe c: kind impact has no parameter 'pooling'",
        "recipe d: template 'query' is 1: text for query or plain or passage or instruction",
        "verified is 'maybe', not run or tiny checkpoint or rehearsal or facts only",
    )


def test_an_unknown_kind_is_answered_with_the_nearest(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("{name: mine, description: d, kind: cross-encode}", encoding="utf-8")
    error = refusal("mine", files=[path])
    assert error.message == "system mine is of unknown kind 'cross-encode'"
    assert error.hint.startswith("did you mean 'cross-encoder'? known: bm25, ")


@pytest.mark.parametrize("recipe", ["{parameters: 5}", "{templates: [a]}", "{kind: [dense]}", "{unknown: [a]}"])
def test_a_recipe_is_checked_before_it_is_followed(tmp_path, recipe):
    path = tmp_path / "my.yaml"
    path.write_text(f"{{name: mine, description: d, kind: dense, recipes: {{r: {recipe}}}}}", encoding="utf-8")
    assert refusal("mine", files=[path], recipe="r").message.startswith("system mine: recipe r: ")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("query_length: 0", "query_length is 0, not a whole number from 1 on"),
        ("passage_length: -5", "passage_length is -5, not a whole number from 1 on"),
        ("query_length: true", "query_length is True, not a whole number from 1 on"),
    ],
)
def test_lengths_are_counts(tmp_path, parameters, problem):
    path = tmp_path / "my.yaml"
    path.write_text(f"{{name: mine, description: d, kind: dense, parameters: {{{parameters}}}}}", encoding="utf-8")
    assert refusal("mine", files=[path]).message == f"system mine: {problem}"


@pytest.mark.parametrize("value", [".nan", ".inf", "text"])
def test_a_number_is_one_that_can_be_reckoned_with(tmp_path, value):
    path = tmp_path / "my.yaml"
    path.write_text(f"{{name: mine, description: d, kind: bm25, parameters: {{k1: {value}}}}}", encoding="utf-8")
    assert refusal("mine", files=[path]).message.endswith("not a number")


@pytest.mark.parametrize("tokens", ["[[yes], no]", "[1.5, 2]"])
def test_tokens_are_texts_or_numbers(tmp_path, tokens):
    path = tmp_path / "my.yaml"
    path.write_text(f"{{name: mine, description: d, kind: yes-no, parameters: {{tokens: {tokens}}}}}", encoding="utf-8")
    assert refusal("mine", files=[path]).message.startswith("system mine: tokens is [")


def test_values_of_any_size_are_told_in_a_line(tmp_path):
    path = tmp_path / "my.yaml"
    # each of nine of the one before: spelt out, gigabytes
    layers = ["a: &a [x]"]
    layers += [f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]" for last, name in itertools.pairwise("abcdefghij")]
    path.write_text("\n".join([*layers, "name: *j"]), encoding="utf-8")
    assert "aliases stand for themselves, or for too many values" in refusal("mine", files=[path]).message
    path.write_text(f"name: [{'x, ' * 100_000}]", encoding="utf-8")
    assert max(map(len, refusal("mine", files=[path]).problems)) < 500


def test_a_key_that_comes_twice_is_refused(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("name: mine\ndescription: d\nkind: dense\nparameters:\n  pooling: cls\n  pooling: mean\n", encoding="utf-8")
    assert refusal("mine", files=[path]).message == f"{path}, line 6: not YAML: the key 'pooling' comes twice"


def test_a_key_may_stand_in_what_is_merged_and_again(tmp_path):
    path = tmp_path / "my.yaml"
    first = "- {name: one, description: d, kind: dense, parameters: &p {pooling: cls, similarity: dot}}\n"
    second = "- {name: two, description: d, kind: dense, checkpoint: a/b, parameters: {<<: *p, pooling: mean}}\n"
    path.write_text(first + second, encoding="utf-8")
    assert choose_system("two", files=[path]).parameters == {"pooling": "mean", "similarity": "dot"}


def test_an_entry_cannot_say_that_a_recipe_was_chosen(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("{name: mine, description: d, kind: dense, recipe: infosearch}", encoding="utf-8")
    assert refusal("mine", files=[path]).message == f"{path}: a recipe is chosen with --recipe; an entry has `recipes`"


def test_a_folder_with_a_systems_name_does_not_pass_for_it(tmp_path):
    folder = tmp_path / "bm25"
    folder.mkdir()
    named = choose_system(f"{folder}/")
    assert named.checkpoint == str(folder)
    assert named.name == str(folder).lstrip("/").replace("/", "-")
    assert choose_system("someone/bge-m3").name == "someone-bge-m3"


def test_the_root_of_the_disk_is_no_system():
    assert refusal("/").message == "/ cannot name a system"


def test_documents_of_an_index_of_words_are_sent_nowhere():
    error = refusal("bm25", passage_template="{text}")
    assert error.message == "system bm25: kind bm25 has no template 'passage': its documents are indexed as they are"


@pytest.mark.parametrize("value", ["2024-13-45", "!!timestamp hello", "!!bool hello", "!!int hello"])
def test_a_value_that_is_none_of_its_type_is_no_yaml(tmp_path, value):
    path = tmp_path / "my.yaml"
    path.write_text(f"name: mine\nkind: dense\ndescription: {value}\n", encoding="utf-8")
    assert re.fullmatch(rf"{path}(, line 3)?: not YAML: impossible (date|value) .*", refusal("mine", files=[path]).message)


@pytest.mark.parametrize("kind", ["dense", "multivector", "impact", "cross-encoder", "monot5", "yes-no"])
def test_a_model_wants_a_checkpoint(tmp_path, kind):
    path = tmp_path / "my.yaml"
    path.write_text(f"{{name: mine, description: d, kind: {kind}}}", encoding="utf-8")
    assert refusal("mine", files=[path]).message == "system mine names no checkpoint"


def test_a_loader_that_there_is_not_is_refused(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("{name: mine, description: d, kind: bm25, loader: l, recipes: {r: {loader: m}}}", encoding="utf-8")
    loaders = "anserini or own or sentence-transformers or transformers or peft or rerankers or endpoint"
    assert refusal("mine", files=[path]).problems == (
        f"recipe r: loader is 'm', not {loaders}",
        f"loader is 'l', not {loaders}",
    )


def test_names_of_systems_and_recipes_are_no_paths(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(
        '{name: a/b, description: d, kind: bm25, recipes: {"../x": {source: s}, "": {source: s}}}', encoding="utf-8"
    )
    signs = "(letters, digits and . _ + -)"
    assert refusal("a/b", files=[path]).problems == (
        f"recipe '../x' is no name {signs}",
        f"recipe '' is no name {signs}",
        f"'a/b' is no name of a system {signs}",
    )
