"""Prompts that papers print: cut out of their texts by their words, recognised in files, and sent by --prompts."""

import hashlib
import re
from pathlib import Path

import pytest
import yaml
from command import tandem
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.models.judges import load_judge
from toolkit.models.llm import paper_prompts
from toolkit.models.llm.paper_prompts import cut_prompts, published_prompts, write_prompts
from toolkit.models.llm.prompts import SLOTS, chosen_prompt, load_prompt, prompt_of_folder

PAPERS = Path(__file__).resolve().parents[4] / "shared" / "papers"
IN_PAPERS = ("infosearch", "instructir", "berds")
shared = pytest.mark.skipif(not PAPERS.is_dir(), reason="no shared data beside the checkout")
# a source of one's own, whose text the test has: the digests are those of the words below
OWN = """\
mine:
  title: Mine
  text: a text of this test
  prompts:
  - name: mine-table1
    place: table 1
    kind: listwise
    sha256: {whole}
    layout: {layout}
    note: the passages are a turn of ours
    parts:
    - {{role: system, words: 2, sha256: {first}}}
    - role: user
      words: 6
      sha256: {second}
      space: {{"\\n": [3], "\\n\\n": [6]}}
      slots: {{"{{the query}}": "{{query}}", "{{num}}": "{{count}}"}}
    - {{each: [{{role: user, content: "[{{number}}] {{passage}}"}}]}}
"""
TEXT = "Table 1: ours\n<p>You sort.</p>\nFind {the\nquery} among the  {num} and more. Table 2"
FIRST, SECOND = "You sort.", "Find {the query} among the {num}"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The registry with that one source alone."""

    def use():
        published_prompts.cache_clear()
        digests = {"first": digest(FIRST), "second": digest(SECOND), "whole": "none", "layout": "none"}
        write(digests)
        [(_, prompt)] = cut_prompts("mine", TEXT)
        (tmp_path / "mine-table1.yaml").write_text(yaml.safe_dump(prompt))
        loaded = load_prompt(str(tmp_path / "mine-table1.yaml"), "listwise")
        digests |= {"whole": loaded.wording, "layout": loaded.layout}
        write(digests)
        return prompt

    def write(digests):
        (tmp_path / "published").mkdir(exist_ok=True)
        (tmp_path / "published" / "prompts.yaml").write_text(OWN.format(**digests))
        published_prompts.cache_clear()

    monkeypatch.setattr(paper_prompts, "FOLDER", tmp_path)
    yield use
    published_prompts.cache_clear()


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_prompt_is_found_by_its_words_and_gets_our_slots_turns_and_white_space(own):
    assert own()["turns"] == [
        {"role": "system", "content": "You sort."},
        {"role": "user", "content": "Find {query}\namong the {count}\n\n"},
        {"each": [{"role": "user", "content": "[{number}] {passage}"}]},
    ]


@settings(max_examples=40, deadline=None)
@given(blanks=st.lists(st.sampled_from([" ", "\n", "\t", "  \n ", " </p><p> "]), min_size=8, max_size=8), data=st.data())
def test_any_layout_is_found_and_a_changed_word_is_not(blanks, data):
    words = [*FIRST.split(), *SECOND.split()]
    text = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    assert found(text)
    place = data.draw(st.integers(0, len(text) - 1).filter(lambda at: text[at].isalnum() and text[at] not in "p"))
    assert not found(f"{text[:place]}#{text[place + 1 :]}")


def found(text):
    words = paper_prompts.MARKUP.sub(" ", text).split()
    plain = [paper_prompts._plain(word) for word in words]
    passages = [paper_prompts._passage(words, plain, len(part.split()), digest(part)) for part in (FIRST, SECOND)]
    assert all(passage is None or passage == part.split() for passage, part in zip(passages, (FIRST, SECOND), strict=True))
    return all(passages)


def test_a_prompt_that_is_not_in_the_text_is_named_and_nothing_is_written(own, tmp_path):
    own()
    text = tmp_path / "paper.txt"
    text.write_text(TEXT.replace("among", "in"))
    with pytest.raises(ToolkitError, match="1 of 1 prompts of mine are not in the text") as raised:
        write_prompts("mine", [text], tmp_path / "out")
    assert list(raised.value.problems) == ["mine-table1 (table 1, 8 words), 1 of 3 parts"]
    assert not (tmp_path / "out").exists()


def test_a_file_is_recognised_whatever_its_white_space_and_with_fewer_slots_than_ours(own, tmp_path):
    own()
    path = tmp_path / "mine-table1.yaml"
    assert load_prompt(str(path), "listwise").said_of == "paper (Mine, table 1)"
    path.write_text(path.read_text().replace("among the", "among  the"))
    prompt = load_prompt(str(path), "listwise")
    assert (prompt.said_of, prompt.published.name) == ("paper (Mine, table 1, other white space)", "mine-table1")
    assert prompt_of_folder("mine-table1", tmp_path) == str(path)
    path.write_text(path.read_text().replace("among", "in"))
    assert load_prompt(str(path), "listwise").said_of == "a file"
    with pytest.raises(ToolkitError, match="is not word by word what Mine prints"):
        prompt_of_folder("mine-table1", tmp_path)


def test_of_two_that_differ_in_white_space_alone_a_file_is_the_one_of_its_layout_whatever_its_name(tmp_path, monkeypatch):
    found = {
        name: paper_prompts.PublishedPrompt(name, "s", name, "", "code", "listwise", (), "w", layout=name[0])
        for name in ("ab", "bb")
    }
    monkeypatch.setattr(paper_prompts, "published_prompts", lambda: found)
    by = paper_prompts.published_by
    assert [by(*words).name for words in (("w", "bb", "a"), ("w", "bb", "x"), ("w", "x", "b"))] == ["ab", "bb", "bb"]
    assert by("other") is None


def test_what_is_between_the_ends_of_a_placeholder_is_part_of_it():
    part = {"space": {"\n": [3]}, "slots": {"{A} … {C}": "{documents}", "{B}": "{{B}}"}}
    assert paper_prompts._content(["see", "{A}", "{B}", "{C}", "and", "{B}"], part) == "see {documents} and {{B}}"


def test_what_is_printed_in_braces_may_be_sent_as_it_is(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('kind: expander\nturns: [{role: user, content: "{{job}} {question} {\\"a\\": {question}}"}]')
    [message] = load_prompt(str(path), "expander").messages({"question": "Why?"})
    assert message["content"] == '{job} Why? {"a": Why?}'


def test_a_system_takes_its_prompt_of_the_folder_or_says_what_is_missing(tmp_path):
    judge, none = registry.system("berds-mistral-evaluator"), registry.system("bm25")
    assert chosen_prompt(judge, "mine.yaml", None) == "mine.yaml"
    with pytest.raises(ToolkitError, match=r"has no berds-table15\.yaml") as raised:
        chosen_prompt(judge, None, tmp_path)
    assert "tandem published prompts berds --from TEXT" in raised.value.hint
    with pytest.raises(ToolkitError, match="bm25 has no published prompt"):
        chosen_prompt(none, None, tmp_path)
    with pytest.raises(ToolkitError, match="--prompt and --prompts are both given"):
        chosen_prompt(judge, "mine.yaml", tmp_path)


def test_systems_name_prompts_that_are_registered_and_of_their_kind():
    kinds = {"yes-no": "pointwise", "monot5": "pointwise"}
    for spec in registry.systems().values():
        for parameters in (spec.parameters, *(recipe.get("parameters", {}) for recipe in spec.recipes.values())):
            if name := parameters.get("published_prompt"):
                assert published_prompts()[name].kind == kinds.get(spec.kind, spec.kind), spec.name
                assert spec.parameters.get("prompt_source") or parameters["prompt_source"], spec.name


def test_the_registry_has_no_sentence_of_a_prompt():
    for source in read_yaml(paper_prompts.FOLDER / "published" / "prompts.yaml").values():
        for prompt in source["prompts"]:
            for part in prompt["parts"]:
                assert part.keys() <= {"role", "words", "sha256", "space", "slots", "content", "each"}
                assert len(part.get("content", "")) < 70
                assert all(len(text.split()) < 5 for text in part.get("slots", {}))
            assert prompt["layout"], prompt["name"]


@shared
@pytest.mark.parametrize("source", IN_PAPERS)
def test_all_prompts_of_a_paper_are_cut_out_of_its_text_and_are_what_their_digests_say(source, tmp_path):
    text = PAPERS / f"{source}.txt"
    for prompt, path in write_prompts(source, [text], tmp_path):
        loaded = load_prompt(str(path), prompt.kind)
        assert (loaded.wording, loaded.layout, loaded.said_of) == (prompt.sha256, prompt.layout, prompt.said), prompt.name
        assert prompt.kind == "build" or loaded.slots <= {slot for slots in SLOTS[prompt.kind] for slot in slots}


@shared
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_a_prompt_with_another_letter_is_not_found_and_the_others_are(data):
    text = (PAPERS / "infosearch.txt").read_text(encoding="utf-8")
    _, cut = cut_prompts("infosearch", text)[0]
    words = [re.sub(r"[{}]", "", word) for word in cut["turns"][0]["content"].split()]
    passage = re.search(r"\s+".join(map(re.escape, words[-9:-2])), text)
    place = data.draw(st.integers(passage.start(), passage.end() - 1).filter(lambda at: text[at].isalpha()))
    with pytest.raises(ToolkitError, match="1 of 8 prompts of infosearch are not in the text") as raised:
        cut_prompts("infosearch", f"{text[:place]}#{text[place + 1 :]}")
    assert list(raised.value.problems) == ["infosearch-table3 (table 3, 131 words), 1 of 1 parts"]


@shared
def test_a_judge_that_was_sent_the_published_prompt_is_not_said_to_have_had_another(tmp_path):
    write_prompts("berds", [PAPERS / "berds.txt"], tmp_path)
    spec = registry.system("gpt-4-0613-judge")
    assert "only that wording's judgments compare" in load_judge(spec).remark()
    assert load_judge(spec, prompts=tmp_path).remark() == ""


@shared
def test_a_paper_is_cut_by_a_command_that_lists_what_it_wrote(tmp_path):
    done = tandem(
        "published", "prompts", "berds", "--from", str(PAPERS / "berds.txt"), "--to", str(tmp_path / "dir"), check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["prompt", "kind", "place", "whose", "words", "sha256", "file"]
    assert len(lines) == 2 + 10
    assert re.search(r"berds-table15 +judge +table 15 +paper +148 +[0-9a-f]{64} +\S+/berds-table15.yaml", done.stdout)
    wrong = tandem("published", "prompts", "berds", "--from", str(PAPERS / "infosearch.txt"), "--to", str(tmp_path / "other"))
    assert (wrong.returncode, (tmp_path / "other").exists()) == (2, False)
    assert "10 of 10 prompts of berds are not in the text" in wrong.stderr


@shared
def test_each_command_shows_the_prompt_of_the_folder(tmp_path):
    for source in IN_PAPERS:
        write_prompts(source, [PAPERS / f"{source}.txt"], tmp_path)
    shown = {
        "infosearch-table16": ("rerank", "--system", "rank-zephyr-7b", "--recipe", "infosearch", "--show-prompt"),
        "berds-table15": ("judge", "--judge", "berds-mistral-evaluator", "--show-prompt"),
        "berds-table16": ("judge", "--judge", "gpt-4-0613-judge", "--task", "stance", "--show-prompt"),
        "berds-table13": ("expand", "prompt", "gpt-4-0613-expander"),
    }
    for name, line in shown.items():
        done = tandem(*line, "--prompts", str(tmp_path), check=True)
        assert done.stdout.startswith(f"{name}.yaml (sha256 "), name


@pytest.mark.parametrize("folder", ["", "nowhere"])
@pytest.mark.parametrize(
    "command",
    [
        (
            "rerank",
            "--run",
            "candidates",
            "--topics",
            "infosearch-mini",
            "--system",
            "rank-zephyr-7b",
            "--recipe",
            "infosearch",
        ),
        ("rerank", "--system", "followir-7b", "--recipe", "infosearch", "--show-prompt"),
        ("judge", "x.trec", "--judge", "gpt-4-0613-judge"),
        ("expand", "topics", "--from", "gpt-4-0613-expander", "--topics", "berds-mini", "--output", "q.jsonl"),
        ("expand", "prompt", "gpt-4-0613-expander"),
        ("reproduce", "infosearch", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_folder_of_prompts_that_is_not_there_is_one_clear_line(command, folder):
    """An empty name, as of a variable that is not set, is no way to say that ours are sent."""
    done = tandem(*command, "--prompts", folder)
    shown = folder or "''"
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"error: no folder {shown}")
