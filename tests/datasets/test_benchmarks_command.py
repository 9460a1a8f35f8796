"""`python -m toolkit.benchmarks` as a user meets it."""

import json

import pytest
from command import tandem
from published_layout import write_infosearch

from toolkit import registry
from toolkit.files.formats import read_qrels, read_run, read_topics


def run(*arguments):
    return tandem("benchmarks", *arguments)


def here(*names):
    """What `list` says of benchmarks: which of their groups are on this machine."""
    rows = {line.split("\t")[0]: line.split("\t") for line in run("list").stdout.splitlines()}
    return [rows[name][3] for name in names]


def test_the_list_says_what_is_here(home):
    rows = [line.split("\t") for line in run("list").stdout.splitlines()]
    assert rows[0] == ["name", "groups", "modes", "here", "description"]
    found = {row[0]: row[1:4] for row in rows[1:]}
    assert found.keys() == registry.benchmarks().keys()
    assert found["infosearch"] == ["6", "ori,ins,rev", "none"]
    assert found["infosearch-mini"] == ["6", "ori,ins,rev", "all"]
    assert found["mfollowir"] == ["6", "og,changed", "none"]
    assert found["instructir"][1] == ""


def test_show_tells_repository_revision_and_counts(home):
    stdout = run("show", "infosearch").stdout
    assert "arXiv 2410.23841" in stdout
    line = next(line for line in stdout.splitlines() if "infosearch-keyword" in line)
    assert "(not fetched)" in line
    assert "revision 4c1892c874d09877c00243fac16452f3353039aa" in line
    assert "queries 288; documents 1152" in line


def test_an_unknown_benchmark_is_usage(home):
    done = run("show", "infosaerch")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: no benchmark 'infosaerch'"
    assert "did you mean 'infosearch'?" in done.stderr


def test_fetch_from_a_folder_reports_what_it_took_and_what_it_put_right(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", ("audience", "keyword"), with_candidates=True)
    done = run("fetch", "infosearch", "--from", root)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "infosearch-audience: 2 cores, 4 queries, 16 documents, candidates in ori, ins, rev",
        "infosearch-keyword: 2 cores, 4 queries, 16 documents, candidates in ori, ins, rev",
    ]
    assert "note: audience: 4 instructions began with their core query; it was taken off" in done.stderr
    assert here("infosearch", "infosearch-mini") == ["audience,keyword", "all"]


def test_fetch_of_a_dimension_takes_that_one(home, tmp_path):
    root = write_infosearch(tmp_path / "copy")
    assert run("fetch", "infosearch-clarity", "--from", root).stdout.startswith("infosearch-keyword: ")
    assert here("infosearch", "infosearch-mini") == ["keyword", "all"]
    assert len(run("fetch", "infosearch", "--from", root).stdout.splitlines()) == 6


def test_a_users_benchmark_lacking_a_revision_is_one_error(home):
    entry = home / "registry" / "benchmarks" / "mine.yaml"
    entry.parent.mkdir(parents=True)
    entry.write_text(
        "{name: mine, description: d, layout: infosearch, modes: {ori: base}, groups: [{name: a, repository: x/y}], "
        "measures: [], source: {}}"
    )
    done = run("verify", "mine")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: benchmark mine: a group lacks revision (text)"


def test_a_broken_copy_is_one_error_with_file_and_line(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", ("audience",))
    qrels = root / "Audience-v1" / "qrels_og" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("q1-gold-a", "nothing", 1))
    done = run("fetch", "infosearch", "--from", root)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"error: {root}/Audience-v1 has 2 problems"
    assert done.stderr.splitlines()[1] == f"  {qrels}, line 2: unknown document nothing"
    assert here("infosearch") == ["none"]


def test_a_mini_needs_no_fetching(home, tmp_path):
    done = run("fetch", "infosearch-mini", "--from", tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: infosearch-mini comes with Tandem"


def test_export_writes_what_other_tools_read(home, tmp_path):
    done = run("export", "infosearch-mini-audience-ins", "--to", tmp_path)
    stem = "infosearch-mini-audience"
    names = [f"topics.{stem}.ins.trec", f"topics.{stem}.ins.tsv", f"qrels.{stem}.ins.txt", f"corpus.{stem}.jsonl"]
    assert done.stdout.splitlines() == [str(tmp_path / name) for name in names]
    assert "TsvString" in done.stderr
    assert read_topics(tmp_path / names[0])[0].query_id == "audience-001-1-ins"
    assert (tmp_path / names[1]).read_text(encoding="utf-8").startswith("audience-001-1-ins\thow do mRNA vaccines")
    (counts,) = (group["counts"] for group in registry.benchmark("infosearch-mini").groups if group["name"] == "audience")
    assert len(read_qrels(tmp_path / names[2]).query_ids) == counts["queries"]
    assert len((tmp_path / names[3]).read_text(encoding="utf-8").splitlines()) == counts["documents"]


def test_export_with_published_ids_shares_them_over_modes(home, tmp_path):
    run("fetch", "infosearch", "--from", write_infosearch(tmp_path / "copy", ("audience",), with_candidates=True))
    assert run("export", "infosearch-audience", "--to", tmp_path / "out", "--ids", "published").returncode == 0
    for mode in ("ori", "ins", "rev"):
        stem = tmp_path / "out" / f"topics.infosearch-audience.{mode}.trec"
        assert [topic.query_id for topic in read_topics(stem)] == ["q1_a", "q1_b", "q2_a", "q2_b"]
    assert read_qrels(tmp_path / "out" / "qrels.infosearch-audience.rev.txt").query_ids == ("q1_a", "q1_b", "q2_a", "q2_b")
    candidates = read_run(tmp_path / "out" / "candidates.infosearch-audience.rev.trec")
    assert candidates.to_dict()["q1_a"] == {"q1-gold-b": 0.9, "q1-gold-a": 0.8}
    assert candidates.tag == "e5-mistral-7b-instruct"


def test_verify_is_content_with_the_mini(home):
    done = run("verify", "infosearch-mini")
    assert done.returncode == 0, done.stdout
    assert {line.split("\t")[2] for line in done.stdout.splitlines()} == {"OK"}
    assert len(done.stdout.splitlines()) == 12


def test_verify_names_changed_files_and_other_counts(home, tmp_path):
    run("fetch", "infosearch", "--from", write_infosearch(tmp_path / "copy", ("audience",)))
    done = run("verify", "infosearch")
    assert done.returncode == 1  # the fixture is not of the published size
    assert done.stdout.splitlines() == [
        "audience\tchecksums\tOK",
        "audience\tcounts\t100 cores expected, 2 found; 210 queries expected, 4 found; 840 documents expected, 16 found",
        "infosearch\ttable 9\taudience ori n_queries: 100 expected, 2 found; audience ori avg_query_words: 9.02 expected, "
        "4.00 found; audience ins avg_query_words: 20.46 expected, 9.00 found; audience rev avg_query_words: 15.91 expected, "
        "7.00 found; audience n_docs: 840 expected, 16 found",
    ]
    queries = next(home.rglob("queries.jsonl"))
    queries.write_text("broken")
    assert run("verify", "infosearch").stdout == "audience\tchecksums\tchanged since it was fetched: queries.jsonl\n"


def test_verify_without_data_says_how_to_get_them(home):
    done = run("verify", "infosearch")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: nothing of infosearch is on this machine",
        "hint:  tandem benchmarks fetch infosearch",
    ]


def test_show_and_verify_take_the_name_of_a_group_too(home, tmp_path):
    assert run("show", "infosearch/clarity").stdout.splitlines()[-1].startswith("  infosearch-keyword (not fetched): ")
    assert "infosearch-audience" not in run("show", "infosearch-keyword").stdout
    assert run("verify", "infosearch-mini-audience").stdout == "audience\ttopics and qrels\tOK\naudience\tcounts\tOK\n"
    done = run("show", "infosearch-audiance")
    assert done.stderr.splitlines() == [
        "error: no benchmark 'infosearch-audiance'",
        f"hint:  did you mean 'infosearch-audience'? known: {', '.join(registry.benchmarks())}",
    ]


def test_fetch_of_a_mode_means_all_groups_also_where_some_are_here(home, tmp_path):
    run("fetch", "infosearch", "--from", write_infosearch(tmp_path / "one", ("audience",)))
    done = run("fetch", "infosearch-ins", "--from", write_infosearch(tmp_path / "two", ("source",)))
    assert done.stdout.startswith("infosearch-source: ")
    assert "on this machine" not in done.stderr
    assert "note: source: not the published counts: 100 cores expected, 2 found; " in done.stderr


def test_queries_without_candidates_are_told(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", ("audience",), with_candidates=True)
    path = root / "lisewise" / "dimension" / "Audience-v1_re_retrieval_results.json"
    path.write_text(json.dumps(json.loads(path.read_text())[1:]))
    done = run("fetch", "infosearch", "--from", root)
    assert "note: audience: 1 queries of rev have no candidates" in done.stderr.splitlines()


def test_a_kept_copy_that_has_changed_says_how_to_get_it_again(home, tmp_path):
    run("fetch", "infosearch", "--from", write_infosearch(tmp_path / "copy", ("audience",)))
    queries = next(home.rglob("queries.jsonl"))
    queries.write_text("broken")
    done = run("export", "infosearch-audience-ins", "--to", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: {queries}, line 1: not JSON: Expecting value at column 1",
        f"hint:  the copy has changed: tandem cache remove {queries.parent.relative_to(home)}, and fetch it again",
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [None, "}{", "sha256: [1]\n", ""])
def test_verify_tells_of_facts_that_are_missing_or_damaged(home, tmp_path, content):
    run("fetch", "infosearch", "--from", write_infosearch(tmp_path / "copy", ("audience",)))
    facts = next(home.rglob("kept.yaml"))
    facts.unlink() if content is None else facts.write_text(content)
    done = run("verify", "infosearch")
    assert done.stdout == f"audience\tchecksums\t{facts} is missing or damaged\n", done.stderr
    assert done.returncode == 1
