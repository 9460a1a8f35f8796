"""What people decide: items wait for enough of them, the majority decides, ties are settled by a further answer."""

import json

import pytest
from review_builds import agreeing, kettles, page_data, saved, write_saved

import tandem_ir
from toolkit.construction.build_folder import BuildFolder
from toolkit.construction.datasheet import build_facts
from toolkit.construction.review.review_answers import Answer
from toolkit.construction.review.review_rounds import export_review, import_review, review_of
from toolkit.construction.review.review_status import agreement, tables
from toolkit.construction.review.review_step import decide
from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import to_text

__all__ = ["kettles"]  # a fixture


def answer(build, reviewer, choose=agreeing, **how):
    """One reviewer's way: export, answer, import, run; the build as it is then."""
    page = build.path / f"{reviewer}.html"
    export_review(build, "review", page, **how)
    import_review(build, [write_saved(page.with_suffix(".json"), saved(page_data(page), reviewer, choose))])
    build.run()
    return BuildFolder(build.path)


def but(**others):
    """Agrees, but on these: kettle's number -> (valid, best)."""

    def choose(texts, question):
        given = others.get(f"k{texts[0].rpartition(' ')[2]}")
        return given[question == "best"] if given else agreeing(texts, question)

    return choose


def states(build, step="review"):
    return {item.id: item.rejected or ("waiting" if item.waiting else "passed") for item in build.files[step].items()}


def record(build):
    return build.files["review"].record()


def test_items_wait_until_enough_people_have_answered(kettles):
    build = kettles(3)
    assert record(build).waiting == 3
    build = answer(build, "Ada")
    assert record(build).waiting == 3
    build = answer(build, "Ben")
    assert (record(build).waiting, record(build).left) == (0, 3)
    assert [item.id for item in build.files["last"].items()] == ["k0-gold", "k1-gold", "k2-gold"]


def test_what_waits_keeps_nothing_else_back(kettles):
    build = answer(kettles(3), "Ada")
    build = answer(build, "Ben", first=2)
    assert sorted(states(build).values()) == ["passed", "passed", "waiting"]
    assert len(list(build.files["last"].items())) == 2


def test_what_people_reject_is_counted_with_its_reason(kettles):
    wrong = but(k0=("No", "descale with vinegar"), k1=("Yes", "boil eggs"))
    build = answer(answer(kettles(3), "Ada", wrong), "Ben", wrong)
    assert record(build).rejected == {"people find it invalid": 1, "another passage": 1}
    assert states(build) == {"k0-gold": "people find it invalid", "k1-gold": "another passage", "k2-gold": "passed"}
    assert record(build).figures == {"valid": {"yes": 2, "no": 1}, "best": {"gold-doc": 2, "neg-2": 1}}


def test_what_passed_says_that_people_judged_it_and_what_they_chose(kettles):
    build = answer(answer(kettles(1), "Ada"), "Ben")
    [item] = build.files["review"].items()
    assert item.fields["people"] == {"valid": "yes", "best": "gold-doc"}
    [made] = item.made
    assert (made["role"], made["by"], made["prompt"]) == ("judged", "person", "form")


def test_of_three_the_majority_decides(kettles):
    build = kettles(1, reviewers=3)
    for name, choose in (("Ada", agreeing), ("Ben", but(k0=("No", "a red one"))), ("Eve", agreeing)):
        build = answer(build, name, choose)
    assert states(build) == {"k0-gold": "passed"}
    assert [sheet.id for sheet in review_of(build, "review").unsettled] == ["k0-gold"]


def test_a_tie_waits_until_somebody_settles_it(kettles):
    build = answer(kettles(2), "Ada")
    build = answer(build, "Ben", but(k0=("No", "descale with vinegar")))
    assert states(build) == {"k0-gold": "waiting", "k1-gold": "passed"}
    assert "k0-gold  valid     no 1, yes 1  to settle" in to_text(tables(review_of(build, "review")))
    with pytest.raises(ToolkitError, match="no items that wait for reviewers"):
        export_review(build, "review", build.path / "more.html")
    build = answer(build, "Cleo", but(k0=("No", "descale with vinegar")), to_settle=True)
    assert states(build) == {"k0-gold": "people find it invalid", "k1-gold": "passed"}
    assert review_of(build, "review").unsettled == []
    text = to_text(tables(review_of(build, "review")))
    assert "k0-gold  valid     no 1, yes 1  settled  no" in text
    with pytest.raises(ToolkitError, match="no answers to settle"):
        export_review(build, "review", build.path / "more.html", to_settle=True)


def test_an_answer_that_settles_is_none_of_those_that_have_to_be_there(kettles):
    build = kettles(1)
    sheet = review_of(build, "review").sheets["k0-gold"]
    chosen = {"valid": "yes", "best": "gold-doc"}
    answers = [Answer("k0-gold", name, sheet.key, chosen, settles) for name, settles in (("Ada", False), ("Cleo", True))]
    form = review_of(build, "review").form
    assert decide(form, sheet, answers, reviewers=2).waiting
    assert not decide(form, sheet, answers, reviewers=1).waiting


def test_answers_to_what_an_item_was_decide_nothing_when_it_has_changed(kettles):
    build = answer(answer(kettles(2), "Ada"), "Ben")
    rows = json.loads((build.path / "items.json").read_text())
    rows[0]["fields"]["instruction"] = "another"
    (build.path / "items.json").write_text(json.dumps(rows))
    build.run()
    assert states(build) == {"k0-gold": "waiting", "k1-gold": "passed"}
    text = to_text(tables(review_of(build, "review")))
    assert "2 answers are to items that have changed since, or are gone" in text
    build = answer(build, "Ada")  # the new one, beside what she said of the old one
    assert review_of(build, "review").outdated == 1


def test_what_people_wrote_stands_beside_what_they_did_not_agree_on(kettles):
    build = answer(kettles(1), "Ada")
    page = build.path / "Ben.html"
    export_review(build, "review", page)
    content = saved(page_data(page), "Ben", but(k0=("No", "descale with vinegar")))
    content["answers"][0]["comment"] = "no kettle\nat all "
    import_review(build, [write_saved(page.with_suffix(".json"), content)])
    assert "to settle           Ben: no kettle at all" in to_text(tables(review_of(build, "review")))


def test_one_of_the_reviewers_may_settle_and_both_answers_are_kept(kettles):
    build = answer(answer(kettles(1), "Ada"), "Ben", but(k0=("No", "a red one")))
    build = answer(build, "Ben", to_settle=True)
    assert states(build) == {"k0-gold": "passed"}
    assert [len(answers) for answers in review_of(build, "review").answers.values()] == [3]


def test_answers_that_settle_are_no_part_of_the_agreement(kettles):
    build = answer(answer(kettles(2), "Ada"), "Ben", but(k0=("No", "a red one")))
    before = list(agreement(review_of(build, "review")))
    build = answer(build, "Cleo", to_settle=True)
    after = {(row.question, row.measure): row.estimate for row in agreement(review_of(build, "review"))}
    for row in before:
        assert str(after[row.question, row.measure]) == str(row.estimate)


def test_a_share_of_the_items_is_reviewed_and_the_others_pass(kettles):
    build = kettles(60, share=0.5)
    waiting = record(build).waiting
    assert 15 < waiting < 45
    assert record(build).left == 60 - waiting
    assert len(list(build.files["last"].items())) == 60 - waiting


def test_the_table_of_agreement_has_the_numbers_worked_out_by_hand(kettles):
    """Four items, two reviewers; Ben says No of the first. valid: Ada 1 1 1 1, Ben 0 1 1 1.

    Majority share (1/2 + 1 + 1 + 1) / 4. Cohen: observed 3/4, expected 1 * 3/4: 0. Randolph: (3/4 - 1/2) / (1/2) = 1/2.
    Alpha: of 8 values one is 0; observed disagreement 2/8, expected 2 * 1 * 7 / (8 * 7): 1 - (1/4) / (1/4) = 0.
    Top-1 of best: all eight choose the right one, but Ben on the first: 7/8. Accepted: of 3 that have a majority, all.
    """
    build = answer(answer(kettles(4), "Ada"), "Ben", but(k0=("No", "a red one")))
    found = {(row.question, row.measure): (row.items, row.estimate.value) for row in agreement(review_of(build, "review"))}
    assert found["valid", "majority share"] == (4, pytest.approx(7 / 8))
    assert found["valid", "Cohen's kappa, mean of pairs"] == (4, pytest.approx(0))
    assert found["valid", "Cohen's kappa: Ada, Ben"] == (4, pytest.approx(0))
    assert found["valid", "Randolph's kappa"] == (4, pytest.approx(1 / 2))
    assert found["valid", "Krippendorff's alpha"] == (4, pytest.approx(0))
    assert found["valid", "accepted by the majority"] == (3, 1)
    assert found["best", "top-1 accuracy"] == (4, pytest.approx(7 / 8))
    # of three options chance is 1/3: (3/4 - 1/3) / (2/3) = 5/8
    assert found["best", "Randolph's kappa"] == (4, pytest.approx(5 / 8))


def test_the_datasheet_has_the_agreement_without_anybodys_name(kettles):
    assert build_facts(kettles(4))["agreement"] == []
    build = answer(answer(kettles(4), "Ada"), "Ben", but(k0=("No", "a red one")))
    rows = {(row["step"], row["question"], row["measure"]): row["value"] for row in build_facts(build)["agreement"]}
    assert rows["review", "valid", "Randolph's kappa"] == pytest.approx(1 / 2)
    assert not [key for key in rows if "Ada" in key[2]]


def test_in_python_it_is_the_same(kettles):
    build = tandem_ir.Build(kettles(2).path)
    for name in ("Ada", "Ben"):
        page = build.export_review("review", build._build.path / f"{name}.html", reviewers=[name])
        content = saved(page_data(page), name, agreeing)
        done = build.import_review(write_saved(page.with_suffix(".json"), content))
        assert done == {"new": 2, "known": 0, "partial": 0, "reviewers": (name,)}
    assert build.run().set_index("step").left["review"] == 2
    numbers = build.agreement().set_index(["question", "measure"]).value
    assert numbers["best", "top-1 accuracy"] == 1


def test_a_review_may_look_at_a_step_that_waits_for_nobody(kettles):
    """As InstructIR's evaluation by people: it measures, and rejects nothing."""
    build = kettles(2)
    with pytest.raises(ToolkitError, match="the step given is none of review"):
        export_review(build, "given", build.path / "look.html")
    export_review(build, "given", build.path / "look.html", form="form.yaml")
    data = page_data(build.path / "look.html")
    for name in ("Ada", "Ben"):
        import_review(build, [write_saved(build.path / "look.json", saved(data, name, agreeing))])
    review = review_of(build, "given")
    assert [len(answers) for answers in review.answers.values()] == [2, 2]
    assert all(state.is_done for state in build.states())


def test_nobody_is_shown_what_is_out_of_date(kettles):
    build = kettles(2)
    (build.path / "items.json").write_text("[]")
    with pytest.raises(ToolkitError, match=r"the step given is not up to date \(changed: files\)"):
        export_review(build, "review", build.path / "form.html")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"form": ""}, "no form is named"),
        ({"reviewers": 0}, "1 at least has to answer"),
        ({"share": 0}, "no share of the items"),
    ],
)
def test_wrong_parameters_are_said_when_the_build_is_read(kettles, parameters, problem):
    with pytest.raises(ToolkitError) as refused:
        kettles(1, **parameters)
    assert problem in "\n".join(refused.value.lines())
