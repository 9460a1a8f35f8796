"""A run is compared with its metadata and its benchmark; what is made of it says where it comes from."""

import hashlib
import os
import sys

import pytest
import yaml
from command import tandem
from published_layout import write_infosearch

from toolkit.core.runs import Run, ScoredDoc
from toolkit.evaluation.run_checks import against_benchmark
from toolkit.files.provenance import read_record, write_record

CLEAN = "q1-ori Q0 a 1 2.25 bm25\nq1-ori Q0 b 2 1.5 bm25\nq1-ins Q0 a 1 1 bm25\n"
SHA256 = hashlib.sha256(CLEAN.encode()).hexdigest()
FACTS = {"sha256": SHA256, "lines": 3, "queries": 2}
MINI = "--benchmark", "infosearch-mini-audience"


def runs(folder, *arguments, status=0):
    done = tandem("runs", *arguments, cwd=folder)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (tmp_path / "clean.trec").write_text(CLEAN)
    return tmp_path


def about(run, tag="bm25", **facts):
    write_record(run, {"tag": tag, "method": {"automatic": True}, "data": {"run": {**FACTS, **facts}}})


def audience_run(modes=("ori", "ins", "rev"), others=()):
    """A run of every query of the dimension audience, one document each; then the other lines."""
    from toolkit.datasets import load

    topics = [topic.query_id for mode in modes for topic in load("infosearch-mini").topics("audience", mode)]
    lines = [*(f"{query_id} Q0 audience-001 1 2.5 made" for query_id in topics), *others]
    return "".join(f"{line}\n" for line in lines)


def test_a_run_that_agrees_with_its_metadata_verifies(folder):
    about(folder / "clean.trec")
    assert runs(folder, "verify", "clean.trec")[0] == "clean.trec: no problems, no warnings\n"
    assert "  record     of this run (SHA-256)\n" in runs(folder, "show", "clean.trec")[0]


def test_a_compressed_run_is_digested_decompressed(folder):
    runs(folder, "convert", "clean.trec", "--to", "trec", "--output", "packed.trec.gz")
    assert read_record(folder / "packed.trec.gz")["data"]["run"]["sha256"] == SHA256
    assert runs(folder, "verify", "packed.trec.gz")[0] == "packed.trec.gz: no problems, no warnings\n"


def test_a_changed_digit_is_found(folder):
    about(folder / "clean.trec")
    (folder / "clean.trec").write_text(CLEAN.replace("2.25", "2.26"))
    changed = hashlib.sha256(CLEAN.replace("2.25", "2.26").encode()).hexdigest()
    assert runs(folder, "verify", "clean.trec", status=1)[0] == (
        f"clean.trec: M002 SHA-256 is {changed}, clean.trec.yaml says {SHA256}\nclean.trec: 1 problem, no warnings\n"
    )
    assert "  record     of another run: its SHA-256 differs\n" in runs(folder, "show", "clean.trec")[0]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"lines": 4}, "M003 number of lines is 3, clean.trec.yaml says 4"),
        ({"queries": 3}, "M004 number of queries is 2, clean.trec.yaml says 3"),
        ({"tag": "other"}, "M005 tag is bm25, clean.trec.yaml says other"),
    ],
)
def test_counts_and_tag_are_held_against_the_metadata(folder, facts, message):
    about(folder / "clean.trec", **facts)
    assert runs(folder, "verify", "clean.trec", status=1)[0].splitlines()[0] == f"clean.trec: {message}"


def test_metadata_that_cannot_be_read_are_a_problem(folder):
    (folder / "clean.trec.yaml").write_text("- a list\n")
    out, _ = runs(folder, "verify", "clean.trec", status=1)
    assert out.splitlines()[0] == "clean.trec: M001 clean.trec.yaml: expected a mapping, found list"


@pytest.mark.parametrize("text", ["tag: bm25\n", "data: text\n", "data: {run: [1]}\n"])
def test_metadata_without_a_digest_are_a_warning(folder, text):
    (folder / "clean.trec.yaml").write_text(text)
    out, _ = runs(folder, "verify", "clean.trec")
    assert out.splitlines()[0] == "clean.trec: M101 warning: clean.trec.yaml says no SHA-256 of the run"


def test_a_run_of_all_a_benchmark_has_fits_it(folder):
    (folder / "run.trec").write_text(audience_run())
    assert runs(folder, "verify", "run.trec", *MINI)[0] == "run.trec: no problems, no warnings\n"


def test_unknown_queries_and_documents_are_counted_with_three_examples(folder):
    others = [f"nobody-{number}-ins Q0 audience-001 1 2 made" for number in range(4)]
    others += ["audience-001-1-ins Q0 keyword-001 2 1 made", "audience-001-1-ins Q0 nothing 3 0.5 made"]
    (folder / "run.trec").write_text(audience_run(others=others))
    queries = len(audience_run().splitlines()) + 4
    assert runs(folder, "verify", "run.trec", *MINI, status=1)[0].splitlines() == [
        f"run.trec, line {queries + 1}: R104 warning: lines of 1 of {queries} queries are apart or not best first",
        f"run.trec: B001 4 of {queries} queries are not of infosearch-mini-audience: "
        "nobody-0-ins, nobody-1-ins, nobody-2-ins, ...",
        "run.trec: B002 2 of 3 documents are not in the corpus of their query's group of infosearch-mini-audience: "
        "keyword-001 (audience), nothing (audience)",
        "run.trec: 2 problems, 1 warning",
    ]


def test_a_document_of_another_dimension_is_not_of_the_querys_group(folder):
    (folder / "run.trec").write_text("audience-001-1-ins Q0 keyword-001 1 2 made\n")
    out, _ = runs(folder, "verify", "run.trec", "--benchmark", "infosearch-mini", status=1)
    assert out.splitlines()[0].startswith("run.trec: B002 1 of 1 documents are not in the corpus of their query's group")


def test_ids_that_read_as_judged_ones_are_named_beside_the_documents_that_are_not_there(folder):
    (folder / "run.trec").write_text(audience_run(modes=("ori",)).replace(" audience-001 ", " Audience-001 "))
    strange, _, near, said = runs(folder, "verify", "run.trec", *MINI, status=1)[0].splitlines()
    assert strange.endswith(": Audience-001 (audience)")
    assert near == (
        "run.trec: B103 warning: 1 ids of judged documents are in the run but for case, composed letters or no-break spaces "
        "('audience-001' and 'Audience-001')"
    )
    assert said == "run.trec: 1 problem, 2 warnings"


def test_missing_modes_and_queries_are_warnings(folder):
    lines = audience_run(modes=("ori", "ins")).splitlines(keepends=True)
    (folder / "run.trec").write_text("".join(lines[1:]))
    first = lines[0].split()[0]
    assert runs(folder, "verify", "run.trec", *MINI)[0].splitlines() == [
        "run.trec: B101 warning: 1 of 3 modes of infosearch-mini-audience are missing: rev",
        f"run.trec: B102 warning: 1 of {len(lines)} queries of infosearch-mini-audience are missing: {first}",
        "run.trec: no problems, 2 warnings",
    ]


def test_a_benchmark_that_is_none_is_refused(folder):
    (folder / "topics.tsv").write_text("q1-ori\twhy\n")
    for name in ("infosearch-minni", "topics.tsv"):
        _, errors = runs(folder, "verify", "clean.trec", "--benchmark", name, status=2)
        assert errors.startswith(f"error: no topics {name!r}")


def test_published_ids_become_ours_and_back(folder):
    lines = [line for line in audience_run().splitlines(keepends=True) if "-ins " in line]
    (folder / "ours.trec").write_text(audience_run())
    ids = (*MINI, "--mode", "ins", "--quiet")
    runs(folder, "convert", "ours.trec", "--to", "trec", "--output", "theirs.trec", "--ids", "published", *ids)
    assert (folder / "theirs.trec").read_text() == "".join(lines).replace("-ins ", " ")
    out, _ = runs(folder, "convert", "theirs.trec", "--to", "trec", "--output", "-", "--ids", "tandem", *ids)
    assert out == "".join(lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ids", "published", *MINI], "run.trec has queries that share their published ids: audience-001-1, audience-001-2"),
        (["--ids", "tandem", *MINI], "run.trec has ids that were not published: audience-001-1-ins"),
        (["--ids", "published", "--benchmark", "infosearch-mini-keyword"], "run.trec has no query of infosearch-mini-keyword"),
        (["--ids", "published", *MINI, "--mode", "og"], "infosearch-mini-audience has no mode 'og'"),
        (["--ids", "published"], "--ids needs the benchmark whose ids they are"),
        (["--mode", "ins"], "--mode says which mode published ids are of"),
    ],
)
def test_ids_that_cannot_be_told_apart_are_refused(folder, arguments, message):
    (folder / "run.trec").write_text(audience_run())
    _, errors = runs(folder, "convert", "run.trec", "--to", "trec", "--output", "other", *arguments, status=2)
    assert errors.startswith(f"error: {message}")
    assert not (folder / "other").exists()


def test_an_id_that_is_nobodys_is_not_written_as_published(folder):
    (folder / "run.trec").write_text(audience_run(modes=("ins",), others=["nobody-1-ins Q0 audience-001 1 2 made"]))
    arguments = ("--to", "trec", "--output", "other", "--ids", "published", *MINI)
    _, errors = runs(folder, "convert", "run.trec", *arguments, status=2)
    assert errors.startswith("error: run.trec has ids that are not of the benchmark: nobody-1-ins")


def test_published_ids_that_groups_share_are_written_one_group_a_file(folder):
    home = {**os.environ, "TANDEM_HOME": str(folder / "home")}
    data = write_infosearch(folder / "data")
    fetch = ["benchmarks", "fetch", "infosearch", "--from", data]
    tandem(*fetch, env=home, check=True)
    (folder / "run.trec").write_text("".join(f"{group}-001-1-ins Q0 q1-gold-a 1 2 made\n" for group in ("audience", "keyword")))
    convert = ["runs", "convert", "run.trec", "--to", "trec", "--output", "-", "--ids", "published"]

    def converted(benchmark):
        return tandem(*convert, "--benchmark", benchmark, "--quiet", cwd=folder, env=home)

    assert converted("infosearch-audience").stdout == "q1_a Q0 q1-gold-a 1 2 made\n"
    assert converted("infosearch").stderr.startswith("error: run.trec has queries that share their published ids: q1_a\n")


def test_a_collection_of_ir_datasets_is_a_benchmark_too(monkeypatch):
    import ir_datasets

    from toolkit import datasets
    from toolkit.datasets import names
    from toolkit.datasets.ir_datasets_adapter import IrDataset

    # a real handler of ir_datasets that needs no download: one of ours, taken for another's
    collection = IrDataset("theirs", ir_datasets.load("infosearch-mini/audience/ins"))
    monkeypatch.setattr(names, "open_ir_dataset", lambda name: collection)
    assert datasets.find("theirs") is None
    rows = [
        ("audience-001-1-ins", "audience-001", 2.0),
        ("audience-001-1-ins", "keyword-001", 1.0),
        ("nobody", "audience-001", 1.0),
    ]
    problems = against_benchmark(Run.from_rows(ScoredDoc(*row) for row in rows), "theirs")
    assert [problem.code for problem in problems] == ["B001", "B002", "B102"]
    assert problems[1].message.endswith(": keyword-001 (all)")


def test_a_converted_run_keeps_the_metadata_and_says_what_it_was(folder):
    about(folder / "clean.trec", file="first.trec")
    runs(folder, "convert", "clean.trec", "--to", "json", "--output", "clean.json")
    written = (folder / "clean.json").read_bytes()
    assert yaml.safe_load((folder / "clean.json.yaml").read_text()) == {
        "tag": "bm25",
        "method": {"automatic": True},
        "data": {
            "run": {
                "file": "clean.json",
                "sha256": hashlib.sha256(written).hexdigest(),
                "queries": 2,
                "lines": 3,
                "converted from": {**FACTS, "file": "clean.trec"},
            }
        },
    }
    runs(folder, "convert", "clean.json", "--to", "trec", "--output", "back.trec")
    assert (folder / "back.trec").read_text() == CLEAN  # the tag, which JSON has not, comes from the metadata


def test_the_metadata_of_a_run_that_is_written_over_do_not_stay(folder):
    (folder / "old.trec").write_text(CLEAN.replace("2.25", "3"))
    write_record(folder / "old.trec", {"tag": "old", "method": {"retrieval": "old"}})
    runs(folder, "convert", "clean.trec", "--to", "trec", "--output", "old.trec")
    metadata = read_record(folder / "old.trec")
    assert "method" not in metadata
    assert metadata["data"]["run"]["converted from"] == {"file": "clean.trec", "sha256": SHA256}
    runs(folder, "verify", "old.trec")


def test_metadata_of_another_run_do_not_go_on(folder):
    about(folder / "clean.trec", sha256="0" * 64)
    _, errors = runs(folder, "convert", "clean.trec", "--to", "trec", "--output", "other.trec")
    assert errors.splitlines()[0] == "warning: clean.trec.yaml is the record of another file: left out"
    assert "method" not in read_record(folder / "other.trec")


def test_a_repaired_run_has_its_own_metadata(folder):
    (folder / "odd.trec").write_text(CLEAN + CLEAN[:24])
    runs(folder, "verify", "odd.trec", "--fix", "odd.trec")
    assert read_record(folder / "odd.trec")["data"]["run"]["lines"] == 3
    assert runs(folder, "verify", "odd.trec")[0] == "odd.trec: no problems, no warnings\n"
