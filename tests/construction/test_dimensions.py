import pytest

from toolkit.construction.queries.dimensions import load_dimensions
from toolkit.construction.queries.infosearch_steps import SIX
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.system.yaml_json import read_yaml
from toolkit.registry import FOLDER

OWN = """\
name: tone
satisfy: rewrite
check: model
conditions:
  angry: an angry text
  calm: {demand: a calm text, satisfy: select, check: {rule: keyword}}
sources: {letters: your copy, SciFact: {ir_datasets: beir/scifact/train}}
wordings: {instructed: ["Wanted is {demand}. Nothing else will do."], reversed: ["Anything but {demand}. No {condition} one."]}
"""


def own(tmp_path, text=OWN, name="tone.yaml"):
    (tmp_path / name).write_text(text)
    return name


def test_the_six_of_infosearch_have_the_conditions_of_its_benchmark():
    groups = read_yaml(FOLDER / "benchmarks" / "infosearch.yaml")["groups"]
    published = {group["name"]: tuple(group.get("conditions", ())) for group in groups}
    ours = load_dimensions(tuple(published))
    listed = {one.name: tuple(condition.name for condition in one.conditions) for one in ours}
    assert listed == published
    assert [one.name for one in ours if one.proposed] == ["keyword"]


def test_a_condition_says_itself_what_its_dimension_does_not(tmp_path):
    [tone] = load_dimensions([own(tmp_path)], tmp_path)
    angry, calm = tone.conditions
    assert (angry.satisfy, angry.check, angry.rule) == ("rewrite", "model", "")
    assert (calm.demand, calm.satisfy, calm.check, calm.rule) == ("a calm text", "select", "rule", "keyword")


def test_originals_are_kept_and_a_manual_is_written_where_a_post_quotes_none():
    kept = {(one.name, each.name) for one in load_dimensions(SIX) for each in one.conditions if each.satisfy == "keep"}
    assert kept == {("audience", "expert"), ("length", "paragraph"), ("source", "news")}  # table 6 rewrites the others
    [posts] = load_dimensions(["format"])
    assert [(each.part, each.otherwise) for each in posts.conditions] == [("post", ""), ("code", ""), ("manual", "rewrite")]


def test_the_sources_of_the_paper_are_known_to_ir_datasets_or_say_what_is_needed():
    import ir_datasets

    sources = {f"{one.name}: {name}": seeds for one in load_dimensions(SIX) for name, seeds in one.sources.items()}
    assert len(sources) == 10  # table 4
    named = {name: seeds["ir_datasets"] for name, seeds in sources.items() if "ir_datasets" in seeds}
    assert set(named) == {"audience: SciFact", "keyword: MS MARCO"}
    assert all(each in ir_datasets.registry._registered for each in named.values())
    assert all(
        isinstance(seeds, str) or seeds == {"posts": "Posts.xml"} for name, seeds in sources.items() if name not in named
    )


def test_a_proposed_word_becomes_a_condition_with_its_demand_and_rule():
    [keyword] = load_dimensions(["keyword"])
    condition = keyword.condition("pension")
    assert '"pension"' in condition.demand
    assert condition.fits(Doc("d", "", "Pensions are paid monthly."))
    assert not condition.fits(Doc("d", "", "Wages are paid monthly."))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("satisfy: rewrite", "satisfy: invent"), "satisfy is rewrite, keep, select"),
        (("satisfy: rewrite", "satisfy: {part: poem}"), "satisfy is rewrite, keep, select"),
        (("satisfy: rewrite", "satisfy: {else: rewrite}"), "satisfy is rewrite, keep, select"),
        (("satisfy: rewrite", "satisfy: {part: manual, else: select}"), "satisfy is rewrite, keep, select"),
        (("sources: {letters: your copy, SciFact: {ir_datasets: beir/scifact/train}}", "sources: 7"), "sources are names"),
        (("check: model", "check: {rule: tone}"), "check is {rule: language"),
        (("check: model", "check: {rule: length}"), "the rule length knows no 'angry'; known: sentence, paragraph, article"),
        (("check: model\n", ""), "check is missing"),
        (("an angry text", "7"), "demand is a text"),
        (("a calm text", '"a {condition} text"'), "unknown slot {condition} in its demand"),
        (("  angry: an angry text\n", ""), "one condition alone"),
        (("name: tone", "name: a/b"), "'a/b' is no name"),
        (("No {condition} one", "No {word} one"), "wordings: reversed: unknown slot {word}"),
        (("wordings: {instructed", "wordings: {ins"), "wordings has the keys instructed and reversed"),
        (("wordings:", "wording:"), "unknown key 'wording'; did you mean 'wordings'?"),
        (
            ("conditions:\n", "conditions:\n  proposed: a text with {condition}\n"),
            "conditions are proposed, or they are a list",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, problem):
    name = own(tmp_path, OWN.replace(*change))
    with pytest.raises(ToolkitError) as error:
        load_dimensions([name], tmp_path)
    assert any(problem in str(each) for each in error.value.problems), error.value.problems


def test_all_problems_of_all_files_come_at_once(tmp_path):
    names = [own(tmp_path, OWN.replace("satisfy: rewrite", "satisfy: x"), "a.yaml"), own(tmp_path, "name: b\n", "b.yaml")]
    with pytest.raises(ToolkitError) as error:
        load_dimensions(names, tmp_path)
    assert {str(problem).split(":")[0].rpartition("/")[2] for problem in error.value.problems} == {"a.yaml", "b.yaml"}


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ToolkitError, match="no dimension 'lenght'") as error:
        load_dimensions(["lenght"])
    assert "did you mean 'length'?" in error.value.hint


def test_two_dimensions_of_one_name_are_refused(tmp_path):
    names = [own(tmp_path), own(tmp_path, name="again.yaml")]
    with pytest.raises(ToolkitError, match="two dimensions are called tone"):
        load_dimensions(names, tmp_path)
