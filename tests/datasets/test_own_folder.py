"""A folder is a benchmark: what may lie in it, what it is called, how it is begun and registered."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
import zstandard
from command import ROOT, tandem
from own_folders import GOOD, good

import tandem_ir
from toolkit.core.errors import ToolkitError
from toolkit.datasets import find, load, resolve_topics
from toolkit.datasets.names import selected_whole
from toolkit.datasets.own.own_folder import open_folder

MODES = ("base", "pos", "neg")
GUIDE = ROOT / "docs" / "guides" / "own-benchmark.md"


def judged(benchmark, group="all", mode=""):
    return [(row.query_id, row.doc_id, row.relevance) for row in benchmark.qrels(group, mode)]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return load(str(good(tmp_path / "mine")))


def test_ids_stay_with_the_mode_behind_them_and_queries_of_equal_text_are_variants(mine):
    assert mine.groups == ("all",)
    topics = mine.topics("all", "pos")
    assert [(t.query_id, t.text, t.group_id, t.original_id) for t in topics] == [
        ("q1-pos", "what helps against jet lag For children.", "q1", "q1"),
        ("q2-pos", "what helps against jet lag For crews.", "q1", "q2"),
    ]
    assert judged(mine, mode="pos") == [("q1-pos", "d1", 0), ("q1-pos", "d2", 1), ("q2-pos", "d3", 1)]
    assert [doc.contents for doc in mine.docs("all")][2] == "Pilots rest for two nights, say the rules for crews."
    assert mine.spec.modes == {"base": "base", "pos": "instructed", "neg": "reversed"}


@pytest.mark.parametrize(
    ("name", "modes", "canonical"),
    [
        ("mine", MODES, "good"),
        ("mine/", MODES, "good"),
        ("./mine", MODES, "good"),
        ("mine/benchmark.yaml", MODES, "good"),
        ("mine/pos", ("pos",), "good-pos"),
        ("mine-pos", ("pos",), "good-pos"),
        ("mine/all/neg", ("neg",), "good-all-neg"),
        ("mine-all-neg", ("neg",), "good-all-neg"),
    ],
)
def test_a_folder_and_its_parts_have_names(mine, name, modes, canonical):
    selection = find(name)
    assert (selection.groups, selection.modes, selection.name) == (("all",), modes, canonical)
    assert find(selection.reference) == selection  # wherever it is asked


def test_all_groups_of_a_folder_are_meant_by_its_whole_path_too(mine):
    assert selected_whole(str(Path("mine").absolute())).groups == selected_whole("mine").groups == ("all",)


def test_what_is_no_part_is_said_with_those_that_are(mine):
    with pytest.raises(ToolkitError, match="the benchmark in mine has no part 'psoitive'") as error:
        find("mine/psoitive")
    assert "known: base, pos, neg" in error.value.hint
    assert find("mine/topics.jsonl") is None  # a file
    with pytest.raises(ToolkitError, match=r"is a folder without benchmark\.yaml"):
        resolve_topics(str(Path.cwd()))


def test_a_name_of_the_registry_comes_before_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good(tmp_path / "infosearch-mini")
    assert find("infosearch-mini").benchmark == "infosearch-mini"
    assert find("./infosearch-mini").name == "good"


def test_groups_have_documents_of_their_own_or_share_them(tmp_path):
    topics = [
        {"id": f"{group}{n}", "query": "x", "instructions": {"pos": "a", "neg": "b"}, "group": group, "core": f"{group}-core"}
        for group in ("length", "style", "tone")
        for n in (1, 2)
    ]
    folder = good(tmp_path / "mine", topics__jsonl="".join(json.dumps(topic) + "\n" for topic in topics))
    for mode in MODES:
        (folder / f"qrels.{mode}.txt").write_text("length1 0 d1 1\nstyle2 0 s1 1\ntone1 0 d2 1\n")
    (folder / "corpus.style.tsv").write_text("s1\tone\ns2\ttwo\n")
    benchmark = load(str(folder))
    assert benchmark.groups == ("length", "style", "tone")
    assert [benchmark.spec.corpus(group) for group in benchmark.groups] == ["length", "style", "length"]
    assert [doc.doc_id for doc in benchmark.docs("style")] == ["s1", "s2"]
    assert judged(benchmark, "style", "neg") == [("style2-neg", "s1", 1)]
    assert {topic.group_id for topic in benchmark.topics("tone", "base")} == {"tone-core"}


def test_topics_are_files_a_mode_too_compressed_too(tmp_path):
    folder = good(tmp_path / "mine")
    (folder / "topics.jsonl").unlink()
    (folder / "topics.base.tsv").write_text("q1\tjet lag\nq2\tjet lag\n")
    with gzip.open(folder / "topics.pos.jsonl.gz", "wt") as file:
        file.writelines(f'{{"id": "{each}-pos", "query": "jet lag", "instruction": "for crews"}}\n' for each in ("q1", "q2"))
    (folder / "topics.neg.trec").write_text(
        "".join(f"<top>\n<num> Number: {each}\n<title> jet lag, not for crews\n</top>\n" for each in ("q1", "q2"))
    )
    benchmark = load(str(folder))
    texts = {topic.query_id: topic.text for mode in MODES for topic in benchmark.topics("all", mode)}
    assert (texts["q1-base"], texts["q2-pos"], texts["q1-neg"]) == ("jet lag", "jet lag for crews", "jet lag, not for crews")
    assert {topic.group_id for mode in MODES for topic in benchmark.topics("all", mode)} == {"q1"}


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_every_file_may_be_compressed(tmp_path, ending, pack):
    folder = good(tmp_path / "mine")
    for path in [path for path in folder.iterdir() if path.suffix != ".yaml"]:
        path.with_name(f"{path.name}.{ending}").write_bytes(pack(path.read_bytes()))
        path.unlink()
    packed, plain = load(str(folder)), load(str(GOOD))
    assert list(packed.docs("all")) == list(plain.docs("all"))
    for mode in MODES:
        assert packed.topics("all", mode) == plain.topics("all", mode)
        assert judged(packed, mode=mode) == judged(plain, mode=mode)


def test_one_file_of_judgments_has_ids_with_modes_and_candidates_are_taken(tmp_path):
    folder = good(tmp_path / "mine")
    lines = [
        f"{line.split()[0]}-{mode} {line.split(None, 1)[1]}" for mode in MODES for line in (folder / f"qrels.{mode}.txt").open()
    ]
    expected = {mode: judged(load(str(GOOD)), mode=mode) for mode in MODES}
    for mode in MODES:
        (folder / f"qrels.{mode}.txt").unlink()
        (folder / f"candidates.{mode}.trec").write_text("q1 Q0 d2 1 2.0 x\nq1 Q0 d1 2 1.0 x\nq2 Q0 d3 1 1.0 x\n")
    (folder / "qrels.txt").write_text("".join(lines))
    benchmark = load(str(folder))
    assert {mode: judged(benchmark, mode=mode) for mode in MODES} == expected
    assert benchmark.scoreddocs("all", "neg").query_ids == ("q1-neg", "q2-neg")


def test_without_modes_queries_keep_their_ids_and_perspectives_are_subtopics(tmp_path):
    row = '{"id": 7, "query": "is it so?", "perspectives": ["yes", "no"]}\n'
    folder = good(tmp_path / "mine", benchmark__yaml="name: mine\n", topics__jsonl=row, qrels__txt="7 1 d1 1\n7 2 d2 1\n")
    for mode in MODES:
        (folder / f"qrels.{mode}.txt").unlink()
    benchmark = load(str(folder))
    [topic] = benchmark.topics("all")
    assert (topic.query_id, topic.perspectives, topic.mode) == ("7", ("yes", "no"), "")
    (tmp_path / "run.trec").write_text("7 Q0 d1 1 2.0 x\n7 Q0 d2 2 1.0 x\n")
    scores = tandem_ir.evaluate(tmp_path / "run.trec", benchmark=folder)
    assert scores["MRecall@5"] == 1.0


def test_several_modes_may_be_instructed(tmp_path):
    folder = good(tmp_path / "mine", benchmark__yaml="name: mine\nmodes: {base: base, pos: instructed, neg: instructed}\n")
    assert load(str(folder)).spec.modes.of("instructed") == ("pos", "neg")


def test_a_folder_is_read_again_when_a_file_changes(tmp_path):
    folder = good(tmp_path / "mine")
    assert len(load(str(folder)).topics("all", "base")) == 2
    (folder / "topics.jsonl").write_text('{"id": "q1", "query": "x", "instructions": {"pos": "a", "neg": "b"}}\n')
    for mode in MODES:
        (folder / f"qrels.{mode}.txt").write_text("q1 0 d1 1\n")
    assert len(load(str(folder)).topics("all", "base")) == 1


def test_an_example_is_written_that_is_sound_and_nothing_is_written_over(tmp_path):
    ended = tandem("benchmarks", "new", "mine", "--modes", "plain=base", "asked=instructed", cwd=tmp_path)
    assert ended.stdout.split() == [
        f"mine/{name}" for name in ("corpus.jsonl", "topics.jsonl", "qrels.plain.txt", "qrels.asked.txt", "benchmark.yaml")
    ]
    assert tandem("benchmarks", "check", "mine", cwd=tmp_path).returncode == 0
    assert open_folder(tmp_path / "mine").spec.modes == {"plain": "base", "asked": "instructed"}
    again = tandem("benchmarks", "new", "mine", cwd=tmp_path)
    assert (again.returncode, again.stderr.splitlines()[0]) == (2, "error: mine has corpus.jsonl already")


def test_beirs_layout_becomes_a_folder_whose_other_modes_wait_for_labels(tmp_path):
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "", "text": "one"}\n{"_id": "d2", "title": "t", "text": "two"}\n'
    )
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "first"}\n{"_id": "2", "text": "of another split"}\n')
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td2\t2\n")
    assert tandem("benchmarks", "new", "plain", "--from-beir", "beir", cwd=tmp_path).returncode == 0
    assert judged(load(str(tmp_path / "plain"))) == [("1", "d2", 2)]
    tandem("benchmarks", "new", "asked", "--from-beir", "beir", "--modes", "og=base", "ch=instructed", cwd=tmp_path, check=True)
    assert (tmp_path / "asked" / "qrels.ch.txt").read_text() == "1 0 d2 ?\n"
    ended = tandem("benchmarks", "check", "asked", cwd=tmp_path)
    assert ended.stdout.splitlines() == [
        "asked/qrels.ch.txt, line 1: a document is not judged yet; write 1 or 0 in place of each ?"
    ]


def test_tables_in_memory_become_a_folder(tmp_path):
    import pandas as pd

    qrels = {"base": {"q1": {"d1": 1}}, "pos": {"q1": {"d1": 0}}}
    made = tandem_ir.load(
        tmp_path / "mine",
        docs=pd.DataFrame({"docno": ["d1", "d2"], "title": ["t", None], "text": ["one", "two"]}),
        topics=pd.DataFrame({"qid": ["q1"], "query": ["x"], "instructions": [{"pos": "a"}]}),
        qrels=qrels,
        modes={"base": "base", "pos": "instructed"},
        measures=["pMRR"],
    )
    assert [tuple(doc) for doc in made.docs("all")] == [("d1", "t", "one"), ("d2", "", "two")]
    assert judged(made, mode="pos") == [("q1-pos", "d1", 0)]
    assert tandem_ir.load(str(tmp_path / "mine")).spec.measures == ("pMRR",)
    with pytest.raises(ToolkitError, match="judgments of query q1 carry no mode"):
        tandem_ir.load(tmp_path / "b", topics={"q1": "x"}, qrels=qrels["base"], modes={"base": "base"})


def test_a_registered_folder_is_a_name_everywhere(tmp_path):
    good(tmp_path / "mine")
    env = {"TANDEM_HOME": str(tmp_path / "home"), "PATH": ""}

    def run(*words):
        return tandem(*words, cwd=tmp_path, env=env)

    assert run("benchmarks", "add", "mine").returncode == 0
    assert "good\t1\tbase,pos,neg\tall\t" in run("benchmarks", "list", "--format", "tsv").stdout
    assert run("benchmarks", "verify", "good").stdout.split()[:3] == ["good", "files", "OK"]
    assert run("benchmarks", "export", "good-pos", "--to", "exported").returncode == 0
    assert (tmp_path / "exported" / "qrels.good-all.pos.txt").read_text() == "q1-pos 0 d1 0\nq1-pos 0 d2 1\nq2-pos 0 d3 1\n"
    assert run("benchmarks", "add", "mine").returncode == 0  # again, after a change
    (tmp_path / "mine" / "qrels.pos.txt").write_text("q9 0 d1 1\n")
    assert run("benchmarks", "verify", "good").returncode == 1
    ended = run("benchmarks", "add", "mine")
    assert (ended.returncode, "there is no query q9" in ended.stderr) == (2, True)
    good(tmp_path / "other", benchmark__yaml="name: infosearch\n" + (GOOD / "benchmark.yaml").read_text().split("\n", 1)[1])
    assert "there is another benchmark infosearch" in run("benchmarks", "add", "other").stderr


@pytest.mark.lucene
def test_a_run_says_which_folder_it_is_of_and_every_command_takes_it(tmp_path, monkeypatch):
    good(tmp_path / "a" / "mine")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")

    def run(*words):
        return tandem(*words, cwd=Path.cwd(), check=True)

    run("search", "--topics", "mine", "--output", "../b/all.trec")
    run("search", "--topics", "mine/pos", "--index", "mine", "--output", "../b/pos.trec")
    assert run("runs", "verify", "../b/all.trec", "--benchmark", "mine").returncode == 0
    monkeypatch.chdir(tmp_path / "b")
    evaluated = run("evaluate", "all.trec")
    assert "judged by" in evaluated.stdout
    assert "WISE@20" in evaluated.stdout
    assert run("evaluate", "all.trec", "--benchmark", "../a/mine").stdout.splitlines()[:4] == evaluated.stdout.splitlines()[:4]
    assert "gold" in run("evaluate", "all.trec", "--explain", "q1").stdout
    assert run("evaluate", "pos.trec", "-m", "nDCG@10").returncode == 0
    run("fuse", "all.trec", "all.trec", "--output", "fused.trec")
    assert run("evaluate", "fused.trec", "-m", "nDCG@10").returncode == 0
    assert "texts of documents" not in run("report", "all.trec", "--output", "report.html").stderr
    run("benchmarks", "new", "judged", "--from-runs", "all.trec", "--depth", "1")
    assert load(str(tmp_path / "b" / "judged")) is not None
    (tmp_path / "a" / "mine").rename(tmp_path / "a" / "moved")
    gone = tandem("evaluate", "all.trec", cwd=tmp_path / "b").stderr
    assert f"the benchmark good is no longer in {tmp_path / 'a' / 'mine'}" in gone
    assert "hint:  --benchmark ID, or --qrels F" in gone


def test_the_guide_goes_from_an_empty_folder_to_the_report_in_six_commands():
    section = GUIDE.read_text(encoding="utf-8").partition("## From an empty folder to the report")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```bash\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r"(?s)cat > .*?^END\n", "", block, flags=re.MULTILINE).splitlines()]
    commands = [shlex.split(line)[:3] for line in lines]
    assert [words[0] for words in commands] == ["tandem", "python", *["tandem"] * 4]
    assert "3 modes, 20 core queries, 20 queries, 200 documents" in section
    assert commands[-1][1] == "report"
