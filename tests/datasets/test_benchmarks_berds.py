"""BERDS in its published forms: the release's files, a repository of the hub, the labelled pairs as a collection."""

import json
import os
from pathlib import Path

import pytest
from command import process
from hub_layout import hub_files, write_parquet
from serving import serving

import tandem_ir
from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel
from toolkit.datasets.copies import local_copies
from toolkit.datasets.layouts import berds

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "berds"
ROWS = [
    {"id": "774", "question": "Cats?", "perspectives": ["Cats are good.", "Cats are bad."]},
    {"id": 775, "question": "Which pet? ", "perspectives": ["A cat.", "A dog.", "None."], "type": "multi"},
]
WRITTEN = [{"name": "Joy", "text": "Cats bring joy."}, {"name": "Cost", "text": "Cats cost."}]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(folder, name="kialo/dev"):
    spec = registry.benchmark("berds")
    return berds.read(folder, spec, spec.group(name))


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "kialo.dev.jsonl", [{**ROWS[0], "expansions": WRITTEN}, ROWS[1]])
    return tmp_path


def test_a_question_is_a_topic_with_its_perspectives(folder):
    part = read(folder)
    first, second = part.topics[""]
    assert (first.query_id, first.original_id, first.group_id, first.mode) == ("kialo-774", "774", "kialo-774", "")
    assert (first.text, first.query, first.instruction) == ("Cats?", "Cats?", "")
    assert first.perspectives == ("Cats are good.", "Cats are bad.")
    assert (second.query_id, second.text, len(second.perspectives)) == ("kialo-775", "Which pet?", 3)


def test_a_type_that_is_not_published_follows_from_the_number_of_perspectives(folder):
    write(folder / "kialo.dev.jsonl", [ROWS[0], ROWS[1], {**ROWS[1], "id": "776", "type": None}])
    part = read(folder)
    assert [topic.condition for topic in part.topics[""]] == ["binary", "multi", "multi"]
    assert part.notes == ("kialo/dev: 2 questions have no type; it follows from the number of their perspectives",)


def test_what_was_written_for_query_expansion_is_kept_by_question(folder):
    assert read(folder).published["expansions"] == {"kialo-774": (("Joy", "Cats bring joy."), ("Cost", "Cats cost."))}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (ROWS[0], "question 774 for the second time"),
        ({**ROWS[1], "question": " "}, "question 775 has no text"),
        ({**ROWS[1], "perspectives": []}, "the perspectives of question 775 are not different texts, one at least"),
        ({**ROWS[1], "perspectives": ["x", "x"]}, "the perspectives of question 775 are not different texts, one at least"),
        ({**ROWS[1], "perspectives": "x"}, "the perspectives of question 775 are not different texts, one at least"),
        ({**ROWS[1], "expansions": [{"name": "x"}]}, "an expansion is not a `name` and a `text`"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_place(folder, row, problem):
    write(folder / "kialo.dev.jsonl", [ROWS[0], row])
    with pytest.raises(ToolkitError) as caught:
        read(folder)
    assert caught.value.message == f"{folder / 'kialo.dev.jsonl'}, line 2: {problem}"


def test_a_local_copy_is_found_under_the_releases_names_and_in_a_repositorys_folder(home, tmp_path):
    write(tmp_path / "copy" / "arguana_generated.test.jsonl", ROWS)
    write(tmp_path / "copy" / "kialo.dev.jsonl", ROWS)
    write(tmp_path / "copy" / "OpinionQA" / "validation.jsonl", ROWS)
    taken = datasets.take("berds", tmp_path / "copy")
    assert {name: part.topics[""][0].query_id for name, part in taken.items()} == {
        "arguana/test": "arguana-774",
        "kialo/dev": "kialo-774",
        "opinionqa/dev": "opinionqa-774",
    }
    assert datasets.resolve_topics("berds-kialo-dev").topics[1].perspectives == ("A cat.", "A dog.", "None.")


def test_a_split_that_berds_has_not_is_refused():
    with pytest.raises(ToolkitError, match="BERDS has no split 'train'"):
        berds.tables({"name": "kialo/train"})


@pytest.mark.process
def test_a_split_is_fetched_from_its_repository_of_the_hub(home, tmp_path):
    hub = tmp_path / "hub"
    write_parquet(hub / "data" / "validation-00000-of-00001.parquet", [{**ROWS[0], "type": "binary"}])
    write_parquet(hub / "data" / "test-00000-of-00001.parquet", [{**ROWS[0], "id": "1"}, {**ROWS[0], "id": "2"}])
    command = ["benchmarks", "fetch", "berds-kialo-test"]
    files = hub_files(hub, {"repository": "timchen0618/Kialo", "revision": COMMIT})
    listed = files.content[f"/api/datasets/timchen0618/Kialo/revision/{COMMIT}"]
    files.content["/api/datasets/timchen0618/Kialo/revision/main"] = listed
    with serving(files):
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process(*command, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "berds-kialo-test: 2 cores, 2 queries\n"
    assert (
        local_copies.facts(next(home.rglob("kept.yaml")).parent)["origin"]["revision"] == COMMIT
    )  # main is another one tomorrow
    assert [topic.query_id for topic in datasets.resolve_topics("berds-kialo-test").topics] == ["kialo-1", "kialo-2"]


def test_judgments_and_documents_are_not_part_of_it(home, folder):
    datasets.take("berds", folder)
    with pytest.raises(ToolkitError) as caught:
        datasets.load("berds").qrels("kialo/dev")
    assert (caught.value.message, caught.value.hint) == (
        "the qrels of berds-kialo-dev are not on this machine",
        "`tandem judge RUN --judge NAME` makes them",
    )
    with pytest.raises(ToolkitError) as caught:
        datasets.load("berds").docs("kialo/dev")
    assert "--index" in caught.value.hint


COMMIT = "1" * 40  # what the hub says that `main` is
PAIRS = [
    {"question": "Cats?", "document": "they purr", "perspective": "Yes.", "label": 1},
    {"question": "Cats?", "document": "they bite", "perspective": "No.", "label": 1},
    {"question": "Cats?", "document": "they purr", "perspective": "No.", "label": 0},
    {"question": "Dogs?", "document": "they bark", "perspective": "No.", "label": 1},
    {"question": "Cats?", "document": "they purr", "perspective": "No.", "label": 0},
]


def test_labelled_pairs_are_a_collection_in_order_of_first_appearance(tmp_path):
    write(tmp_path / "perspective_detection.test.jsonl", PAIRS)
    part = read(tmp_path, "perspective-detection")
    assert [(topic.query_id, topic.text, topic.perspectives) for topic in part.topics[""]] == [
        ("Q00", "Cats?", ("Yes.", "No.")),
        ("Q01", "Dogs?", ("No.",)),
    ]
    assert [tuple(doc) for doc in part.docs] == [
        ("P000", "", "they purr"),
        ("P001", "", "they bite"),
        ("P002", "", "they bark"),
    ]
    assert list(part.qrels[""]) == [
        Qrel("Q00", "P000", 1, "1"),
        Qrel("Q00", "P001", 1, "2"),
        Qrel("Q00", "P000", 0, "2"),
        Qrel("Q01", "P002", 1, "1"),
    ]


@pytest.mark.parametrize("label", [1, 2, "0", None])
def test_a_label_that_differs_or_is_none_is_refused(tmp_path, label):
    write(tmp_path / "perspective_detection.test.jsonl", [*PAIRS, {**PAIRS[2], "label": label}])
    with pytest.raises(ToolkitError, match=r"perspective_detection\.test\.jsonl, line 6: "):
        read(tmp_path, "perspective-detection")


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the checkout")
def test_the_published_questions_are_read(home):
    taken = datasets.take("berds", DATA)
    topics = {name: part.topics[""] for name, part in taken.items()}
    assert {name: (len(its), max(len(topic.perspectives) for topic in its)) for name, its in topics.items()} == {
        "arguana/dev": (250, 2),
        "kialo/dev": (258, 42),
        "opinionqa/dev": (294, 2),
        "perspective-detection": (30, 2),
    }
    means = [sum(map(len, taken[f"{name}/dev"].published["expansions"].values())) for name in ("arguana", "kialo", "opinionqa")]
    # the paper's 6.01, 6.10 and 6.08 a question
    assert [round(total / number, 2) for total, number in zip(means, (250, 258, 294), strict=True)] == [6.01, 6.1, 6.08]


@pytest.mark.regression
@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the checkout")
@pytest.mark.parametrize(
    ("system", "expected"), [("bm25", [0.2667, 0.3667, 0.3667, 0.28]), ("all-minilm-l6-v2", [0.3667, 0.4133, 0.40, 0.29])]
)
def test_the_labelled_pairs_give_the_figures_of_bm25_and_minilm(home, system, expected):
    datasets.take("berds", DATA, ["perspective-detection"])
    run = tandem_ir.search("berds-perspective-detection", system=system)
    wanted = ["MRecall@5", "PerspectiveP@5", "MRecall@10", "PerspectiveP@10"]
    scores = tandem_ir.evaluate(run, benchmark="berds-perspective-detection", measures=wanted)
    found = [scores.value(measure, mode="") for measure in wanted]
    print(system, dict(zip(wanted, found, strict=True)))
    assert found == pytest.approx(expected, abs=0.00005)
