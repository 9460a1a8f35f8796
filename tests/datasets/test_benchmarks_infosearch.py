"""InfoSearch in its published layout: what a local copy or the hub gives, and what is refused."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest
from command import process, tandem
from hub_layout import hub_files, write_parquet_tables
from published_layout import REPOSITORIES, tables, write_dimension, write_infosearch
from serving import serving

from toolkit import datasets, registry
from toolkit.core.errors import ToolkitError
from toolkit.core.qrels import Qrel
from toolkit.datasets.copies import local_copies
from toolkit.datasets.group_data import counts
from toolkit.datasets.layouts import infosearch


def read_dimension(folder, name):
    return infosearch.read(folder, registry.benchmark("infosearch"), {"name": name})


@pytest.fixture
def folder(tmp_path):
    write_dimension(tmp_path / "Audience-v1", "audience")
    return tmp_path / "Audience-v1"


def test_core_queries_and_instructions_are_numbered_in_order_of_appearance(folder):
    part = read_dimension(folder, "audience")
    assert [topic.query_id for topic in part.topics["ins"]] == [
        "audience-001-1-ins",
        "audience-001-2-ins",
        "audience-002-1-ins",
        "audience-002-2-ins",
    ]
    assert [topic.original_id for topic in part.topics["rev"]] == ["q1_a", "q1_b", "q2_a", "q2_b"]
    assert {topic.group_id for topic in part.topics["ori"]} == {"audience-001", "audience-002"}
    assert counts(part) == {"cores": 2, "queries": 4, "documents": 16}


def test_rows_of_one_core_query_are_grouped_wherever_they_stand(folder):
    lines = (folder / "queries.jsonl").read_text().splitlines(keepends=True)
    (folder / "queries.jsonl").write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
    part = read_dimension(folder, "audience")
    assert [(topic.query_id, topic.original_id) for topic in part.topics["ori"]] == [
        ("audience-001-1-ori", "q1_a"),
        ("audience-002-1-ori", "q2_a"),
        ("audience-001-2-ori", "q1_b"),
        ("audience-002-2-ori", "q2_b"),
    ]


def test_a_text_is_core_query_blank_instruction(folder):
    part = read_dimension(folder, "audience")
    texts = {mode: part.topics[mode][0].text for mode in part.topics}
    assert texts == {
        "ori": "how do vaccines work",
        "ins": "how do vaccines work Only plain pages of audience.",
        "rev": "how do vaccines work No plain pages.",
    }
    assert part.topics["ins"][0].instruction == "Only plain pages of audience."
    assert part.notes == ("audience: 4 instructions began with their core query; it was taken off",)


def test_the_original_modes_published_instruction_is_kept_beside_and_not_sent(folder):
    part = read_dimension(folder, "audience")
    assert {topic.released for topic in part.topics["ori"]} == {"Find documents."}
    assert {topic.instruction for topic in part.topics["ori"]} == {""}
    assert {topic.released for mode in ("ins", "rev") for topic in part.topics[mode]} == {""}


def test_data_without_the_original_modes_instruction_are_fine(folder):
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows[0].pop("instruction_og")
    rows[1] |= {"instruction_og": f"{rows[1]['text']} Find documents."}
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    part = read_dimension(folder, "audience")
    assert [topic.released for topic in part.topics["ori"]] == ["", *["Find documents."] * 3]


def test_the_column_of_the_instruction_alone_is_preferred(folder):
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows = [row | {"only_instruction_changed": "ONLY", "only_instruction_reversed": "NOT"} for row in rows]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    part = read_dimension(folder, "audience")
    assert {topic.instruction for topic in part.topics["ins"]} == {"ONLY"}
    assert part.notes == ()


def test_a_core_query_that_only_begins_a_word_is_left_in_the_instruction(folder):
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows[0] |= {"instruction_changed": f"{rows[0]['text']}ing"}
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_dimension(folder, "audience").topics["ins"][0].instruction == "how do vaccines working"


# core query, the published instruction behind it (with what stands between), the instruction alone
REPEATED = {
    "Chinese, a sentence": ("如何执行程序？", "文档必须是中文的。", "文档必须是中文的。"),
    "Chinese, no stop": ("如何执行程序", "文档必须是中文的。", "文档必须是中文的。"),
    "Chinese, the stop between": ("如何执行程序", "？文档必须是中文的。", "文档必须是中文的。"),
    "Chinese, quoted": ("什么是“机器学习？”", "请用中文。", "请用中文。"),
    "English before Chinese": ("what is a qubit", "请用中文回答", "请用中文回答"),
    "Chinese before English": ("什么是量子比特", "Only English pages", "Only English pages"),
    "Cantonese": ("點樣整蛋撻？", "要廣東話嘅網頁", "要廣東話嘅網頁"),
    "Japanese": ("プログラムの実行方法は？", "日本語の文書のみ。", "日本語の文書のみ。"),
    "Thai": ("วิธีทำต้มยำ", "ขอเอกสารภาษาไทย", "ขอเอกสารภาษาไทย"),
    "Lao": ("ວິທີເຮັດເຂົ້າໜຽວ", "ເອກະສານພາສາລາວ", "ເອກະສານພາສາລາວ"),
    "Khmer": ("របៀបធ្វើអាម៉ុក។", "ឯកសារជាភាសាខ្មែរ", "ឯកសារជាភាសាខ្មែរ"),
    "Burmese": ("မုန့်ဟင်းခါး ဘယ်လိုချက်မလဲ။", "မြန်မာလို စာရွက်များ", "မြန်မာလို စာရွက်များ"),
    "English, no blank behind the stop": (
        "How many calories are in a martini",
        ".Please provide a detailed response",
        "Please provide a detailed response",
    ),
    "English, the stop in the query": ("How many calories are in a martini.", "Please, briefly", "Please, briefly"),
    "Spanish": ("¿Cómo hacer pan?", "¿Hay páginas en español?", "¿Hay páginas en español?"),
    "French": ("Comment faire du pain", " ? En français", "En français"),
    "German": ("Wie backt man Brot?", "Nur auf Deutsch", "Nur auf Deutsch"),
    "Russian": ("Как испечь хлеб?", "Только на русском", "Только на русском"),
    "Arabic": ("كيف أخبز الخبز؟", "بالعربية فقط", "بالعربية فقط"),
    "Persian": ("چگونه نان بپزم", "؟ فقط فارسی", "فقط فارسی"),
    "Korean": ("빵은 어떻게 굽나요?", "한국어 문서만", "한국어 문서만"),
    "Hindi": ("रोटी कैसे बनाएं।", "केवल हिंदी में", "केवल हिंदी में"),
    "a quoted instruction": ("what is bread", ': "plain" pages', '"plain" pages'),
    "a dash": ("what is bread", " - plain pages", "plain pages"),
}
WORDS = [  # core query, what makes a longer word or number of its end
    ("how do vaccines work", "ing in children"),
    ("what is art", "’s purpose"),
    ("what is state", "-of-the-art encryption"),
    ("what costs 2", ".50 dollars"),
    ("как печь хлеб", "ный квас"),
    ("빵", "집을 찾는 방법"),
    ("रोट", "ी कैसे बनाएं"),  # a vowel sign, which is no letter to Python
    ("ท", "ี่พักในเชียงใหม่"),
    ("cafe", "\u0301 in Rome"),
]


@pytest.mark.parametrize("case", REPEATED)
def test_a_core_query_before_its_instruction_is_taken_off(folder, case):
    query, behind, instruction = REPEATED[case]
    topics, notes = with_instruction(folder, query, query + behind)
    assert (topics["ins"].instruction, topics["ins"].text) == (instruction, f"{query} {instruction}")
    assert notes == ("audience: 4 instructions began with their core query; it was taken off",)


@pytest.mark.parametrize(("query", "rest"), WORDS)
def test_a_core_query_that_only_begins_a_word_of_any_language_is_left(folder, query, rest):
    topics, notes = with_instruction(folder, query, query + rest)
    assert topics["ins"].instruction == query + rest
    assert notes == ("audience: 3 instructions began with their core query; it was taken off",)


def with_instruction(folder, query, instruction):
    """The first query's topics by mode, and the notes: its instruction is this, the others are as they are."""
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows[0] |= {"text": query, "instruction_changed": instruction, "instruction_reversed": "No plain pages."}
    (folder / "queries.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    part = read_dimension(folder, "audience")
    return {mode: topics[0] for mode, topics in part.topics.items()}, part.notes


def test_qrels_are_as_published(folder):
    part = read_dimension(folder, "audience")
    assert list(part.qrels["ins"])[:2] == [
        Qrel("audience-001-1-ins", "q1-gold-a", 1),
        Qrel("audience-001-1-ins", "q1-gold-b", 0),
    ]
    assert [row.relevance for row in part.qrels["ori"]] == [1] * 8
    assert [row.relevance for row in part.qrels["rev"]] == [0, 1] * 4


def replaced(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


BROKEN = {
    "unknown document": (
        "qrels_changed/test.tsv",
        "q1-gold-a",
        "nothing",
        "qrels_changed/test.tsv, line 2: unknown document nothing",
    ),
    "unknown query": ("qrels_og/test.tsv", "q2_b\tq2-gold-a", "q9\tq2-gold-a", "qrels_og/test.tsv, line 9: unknown query q9"),
    "document twice": (
        "corpus.jsonl",
        "q1-other-a1",
        "q1-gold-a",
        "corpus.jsonl, line 2: document q1-gold-a for the second time",
    ),
    "score": ("qrels_reversed/test.tsv", "\t0", "\thigh", "qrels_reversed/test.tsv, line 2: score 'high' is no whole number"),
    "no json": ("corpus.jsonl", "{", "[", "corpus.jsonl, line 1: not JSON: Expecting ',' delimiter at column 7"),
    "columns": ("qrels_og/test.tsv", "q1_a\t", "q1_a ", "qrels_og/test.tsv, line 2: expected 3 columns, found 2"),
    "no text": ("queries.jsonl", '"text"', '"words"', "queries.jsonl, line 1: no column 'text'"),
    "header": ("qrels_og/test.tsv", "query-id", "qid", "qrels_og/test.tsv, line 2: no column 'query-id'"),
    "two signs": ("qrels_og/test.tsv", "\t1\n", "\t--1\n", "qrels_og/test.tsv, line 2: score '--1' is no whole number"),
    "a huge score": ("qrels_og/test.tsv", "\t1\n", "\t1e99\n", "qrels_og/test.tsv, line 2: score '1e99' is no whole number"),
    "empty text": ("queries.jsonl", "how do vaccines work", " ", "queries.jsonl, line 1: query q1_a has no text"),
    "pandas' null": (
        "queries.jsonl",
        '"No plain pages."',
        "NaN",
        "queries.jsonl, line 1: expected text in 'instruction_reversed', found nan",
    ),
    "a null": ("queries.jsonl", '"how do vaccines work"', "null", "queries.jsonl, line 1: nothing in column 'text'"),
    "a list": ("corpus.jsonl", '"plain title"', "[1]", "corpus.jsonl, line 1: expected text in 'title', found [1]"),
    "id with a blank": (
        "corpus.jsonl",
        "q1-other-a1",
        "q1 other",
        "corpus.jsonl, line 2: the id 'q1 other' is empty or holds white space",
    ),
    "no id": ("queries.jsonl", '"q1_a"', '""', "queries.jsonl, line 1: the id '' is empty or holds white space"),
    "half a character": (
        "corpus.jsonl",
        "plain title",
        "\\ud800",
        "corpus.jsonl, line 1: not JSON: half a surrogate pair, which is no text",
    ),
    "carriage returns": (
        "qrels_og/test.tsv",
        "\tq1-gold-a",
        "\rq1-gold-a",
        "qrels_og/test.tsv, line 2: expected 3 columns, found 2",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_right_names_file_and_line(folder, case):
    name, old, new, message = BROKEN[case]
    replaced(folder / name, old, new)
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    first = caught.value.problems[0] if caught.value.problems else caught.value.message
    assert first == f"{folder}/{message}"


def as_gzip(folder):
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def edited(pattern, edit):
    def apply(folder):
        for path in folder.glob(pattern):
            path.write_bytes(edit(path.read_bytes()))

    return apply


def with_file(name, content):
    return lambda folder: (folder / name).write_text(content, encoding="utf-8")


README = "---\nconfigs:\n- config_name: corpus\n  data_files: {}\n---\n"
SAME = {
    "compressed": as_gzip,
    "Windows' line ends": edited("**/*.*", lambda data: data.replace(b"\n", b"\r\n")),
    "byte order marks": edited("**/*.*", lambda data: b"\xef\xbb\xbf" + data),
    "scores as floats": edited("qrels_*/*", lambda data: data.replace(b"\t1\n", b"\t1.0\n").replace(b"\t0\n", b"\t0.0\n")),
    "id for _id": edited("*.jsonl", lambda data: data.replace(b'"_id"', b'"id"')),
    "another form beside it": with_file("corpus.tsv", "_id\ttext\nother\twords\n"),
    "an older file beside it": with_file("corpus.old.jsonl", '{"_id": "other", "text": "words"}\n'),
    "a README of its own": with_file("README.md", "---\nnotes: [\n---\n"),
    "a README that names other files": with_file("README.md", README.format("corpus/*.parquet")),
    "a README that names files elsewhere": with_file("README.md", README.format("../**/*.jsonl")),
    "a README with an absolute path": with_file("README.md", README.format("/etc/*")),
    "a README with no pattern": with_file("README.md", README.format('""')),
    "a README with the folder itself": with_file("README.md", README.format('"."')),
    "a README with half a pattern": with_file("README.md", README.format('"a**b"')),
    "a README with an impossible date": with_file("README.md", "---\ndate: 2000-99-99\n---\n"),
    "a README without configurations": with_file("README.md", "---\nconfigs:\n---\n"),
}


@pytest.mark.parametrize("case", SAME)
def test_these_copies_are_read_as_the_same(folder, case):
    before = read_dimension(folder, "audience")
    SAME[case](folder)
    after = read_dimension(folder, "audience")
    assert (after.topics, after.docs, after.notes) == (before.topics, before.docs, before.notes)
    assert [list(qrels) for qrels in after.qrels.values()] == [list(qrels) for qrels in before.qrels.values()]


def test_damaged_compression_names_the_file(folder):
    as_gzip(folder)
    packed = bytearray((folder / "corpus.jsonl.gz").read_bytes())
    packed[30] ^= 0xFF
    (folder / "corpus.jsonl.gz").write_bytes(packed)
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message.startswith(f"{folder}/corpus.jsonl.gz: damaged after line ")


@pytest.mark.parametrize("table", ["corpus.jsonl", "queries.jsonl", "qrels_reversed/test.tsv"])
def test_a_table_without_rows_is_an_error(folder, table):
    (folder / table).write_text("query-id\tcorpus-id\tscore\n" if table.endswith("tsv") else "")
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message == f"{folder / table} has no rows"


def test_a_query_that_a_mode_does_not_judge_is_an_error_and_a_single_pair_is_told(folder):
    qrels = folder / "qrels_reversed" / "test.tsv"
    lines = qrels.read_text().splitlines(keepends=True)
    qrels.write_text("".join(lines[:-1]))
    assert read_dimension(folder, "audience").notes[-1] == (
        "audience: 1 pairs of query and document are not judged in all three modes"
    )
    qrels.write_text("".join(lines[:-2]))
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message == f"{folder}/queries.jsonl, line 4: query q2_b is not in qrels_reversed"


def test_a_missing_shard_is_an_error(folder):
    lines = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus").mkdir()
    for number in range(3):
        (folder / "corpus" / f"test-0000{number}-of-00003.jsonl").write_text("".join(lines[number * 6 : number * 6 + 6]))
    assert len(read_dimension(folder, "audience").docs) == 16
    (folder / "corpus" / "test-00001-of-00003.jsonl").unlink()
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message == f"{folder}/corpus: expected 3 shards, found 2"


def test_a_query_without_a_gold_document_is_an_error(folder):
    replaced(folder / "qrels_changed" / "test.tsv", "q1_a\tq1-gold-a\t1", "q1_a\tq1-gold-a\t0")
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message.startswith(f"{folder}/queries.jsonl, line 1: query q1_a has no gold document")


def test_a_duplicate_query_is_an_error(folder):
    replaced(folder / "queries.jsonl", "q1_b", "q1_a")
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message == f"{folder} has 7 problems"  # in three modes, two judgments of a query that is not there
    assert caught.value.problems[0] == f"{folder}/queries.jsonl, line 2: query q1_a for the second time"


def test_a_missing_table_is_named(folder):
    (folder / "qrels_reversed" / "test.tsv").unlink()
    with pytest.raises(ToolkitError) as caught:
        read_dimension(folder, "audience")
    assert caught.value.message == f"{folder} has no table 'qrels_reversed'"


def test_parquet_gives_the_same_as_text(folder, tmp_path):
    write_parquet_tables(tmp_path / "hub", tables("audience"))
    text, parquet = read_dimension(folder, "audience"), read_dimension(tmp_path / "hub", "audience")
    assert parquet.topics == text.topics
    assert parquet.docs == text.docs
    assert [list(parquet.qrels[mode]) for mode in parquet.qrels] == [list(text.qrels[mode]) for mode in text.qrels]


@pytest.mark.parametrize("owner", ["", "jianqunZ"])
def test_a_local_copy_is_taken_with_all_that_it_holds(home, tmp_path, owner):
    root = write_infosearch(tmp_path / "copy", owner=owner, with_candidates=True)
    parts = datasets.take("infosearch", root)
    assert list(parts) == list(REPOSITORIES)
    benchmark = datasets.load("infosearch")
    assert datasets.present_groups(benchmark) == benchmark.groups
    assert benchmark.topics("keyword", "ins")[0].query_id == "keyword-001-1-ins"
    assert benchmark.topics("keyword", "ori")[0].released == "Find documents."
    read_again = datasets.Benchmark(benchmark.spec)
    run = benchmark.scoreddocs("source", "rev")
    assert run.to_dict()["source-001-1-rev"] == {"q1-gold-b": 0.9, "q1-gold-a": 0.8}
    assert read_again.scoreddocs("source", "rev").to_dict() == run.to_dict()  # what is kept is what was taken


def test_candidates_alone_are_added_to_the_copies_that_are_here(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", with_candidates=True)
    datasets.take("infosearch", write_infosearch(tmp_path / "hub"))
    for repository in REPOSITORIES.values():
        shutil.rmtree(root / repository)
    parts = datasets.take("infosearch", root)
    assert list(parts) == list(REPOSITORIES)
    whole = datasets.Benchmark(registry.benchmark("infosearch")).part("source")
    assert (len(whole.docs), len(whole.topics["ori"])) == (16, 4)
    assert whole.scoreddocs["rev"].to_dict()["source-001-1-rev"] == {"q1-gold-b": 0.9, "q1-gold-a": 0.8}
    copy = local_copies.copy_folder(registry.benchmark("infosearch"), registry.benchmark("infosearch").group("source"))
    assert local_copies.facts(copy)["origin"] == {"folder": str(tmp_path / "hub" / "Source-v1"), "candidates": str(root)}
    assert tandem("benchmarks", "verify", "infosearch-source").stdout.count("changed") == 0


def test_a_subset_is_enough_and_is_told(home, tmp_path, capsys):
    datasets.take("infosearch", write_infosearch(tmp_path / "copy", ("audience", "keyword")))
    topics = datasets.resolve_topics("infosearch/ins")
    assert [part.group for part in topics.parts] == ["audience", "keyword"]
    assert topics.name == "infosearch-ins"
    known = ", ".join(REPOSITORIES)
    assert capsys.readouterr().err == f"infosearch: audience, keyword of {known} are on this machine\n"


def test_a_broken_copy_is_not_kept(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", ("audience",))
    replaced(root / "Audience-v1" / "qrels_og" / "test.tsv", "q1-gold-a", "nothing")
    with pytest.raises(ToolkitError):
        datasets.take("infosearch", root)
    assert datasets.present_groups(datasets.load("infosearch")) == ()
    assert [path for path in home.rglob("*") if path.is_file() and "locks" not in path.parts] == []


def test_a_folder_without_any_part_says_what_it_should_hold(home, tmp_path):
    with pytest.raises(ToolkitError) as caught:
        datasets.take("infosearch", tmp_path)
    assert caught.value.message == f"{tmp_path} holds no part of infosearch"
    assert caught.value.hint.startswith("it should hold some of Audience-v1/, Clarity-v1/")


def test_candidates_of_another_corpus_are_refused(home, tmp_path):
    root = write_infosearch(tmp_path / "copy", ("audience",), with_candidates=True)
    path = root / "lisewise" / "dimension" / "Audience-v1_ch_retrieval_results.json"
    replaced(path, "q1-gold-a", "nothing")
    with pytest.raises(ToolkitError) as caught:
        datasets.take("infosearch", root)
    assert caught.value.message == f"{path} does not fit audience: 1 unknown ids"
    assert caught.value.problems == ("unknown document nothing",)


FETCH = """
from toolkit.datasets import load
from toolkit.datasets.group_data import counts
print(counts(load("infosearch").part("audience")))
"""


@pytest.mark.process
def test_the_hub_is_asked_at_the_pinned_revision_and_once(home, tmp_path):
    write_parquet_tables(tmp_path / "hub", tables("audience"))
    group = registry.benchmark("infosearch").groups[0]
    with serving(hub_files(tmp_path / "hub", group)) as files:
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = subprocess.run([sys.executable, "-c", FETCH], env=env, capture_output=True, text=True)
        assert done.stdout == "{'cores': 2, 'queries': 4, 'documents': 16}\n", done.stderr
        assert done.stderr == f"fetching jianqunZ/Audience-v1 from {files.base}\n"
        got = len(files.requests)
        again = subprocess.run([sys.executable, "-c", FETCH], env=env, capture_output=True, text=True)
    assert again.stdout == done.stdout
    assert len(files.requests) == got
    kept = home / "benchmarks" / "infosearch" / "audience.9bc73db6f3ca"
    assert "repository: jianqunZ/Audience-v1" in (kept / "kept.yaml").read_text()
    assert list((home / "hub").iterdir()) == []


@pytest.mark.process
def test_a_damaged_download_is_not_met_again(home, tmp_path):
    write_parquet_tables(tmp_path / "hub", tables("audience"))
    group = registry.benchmark("infosearch").groups[0]
    good = hub_files(tmp_path / "hub", group).content
    corpus = next(name for name in good if "/corpus/" in name)
    path = tmp_path / "hub" / "corpus" / corpus.rpartition("/")[2]
    path.write_bytes(path.read_bytes()[:-9] + b"corrupted")
    hub = hub_files(tmp_path / "hub", group)  # lists what it gives
    with serving(hub) as files:
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        done = process("benchmarks", "fetch", "infosearch-audience", env=env)
        assert done.returncode == 1
        assert done.stderr.splitlines()[1:] == [
            "error: jianqunZ/Audience-v1 at 9bc73db6f3ca: corpus/test-00000-of-00001.parquet is no Parquet file",
            "hint:  run again, or take a local copy (tandem benchmarks fetch infosearch --from DIR), "
            "or use the mini (infosearch-mini)",
        ]
        hub.content.update({corpus: good[corpus]})  # which is not what is listed
        done = process("benchmarks", "fetch", "infosearch-audience", env=env)
        assert f"({path.name}: sha256 differs: expected " in done.stderr.splitlines()[1]
        hub.content.update(good)
        assert process("benchmarks", "fetch", "infosearch-audience", env=env).returncode == 0


@pytest.mark.process
def test_two_processes_fetch_once(home, tmp_path):
    write_parquet_tables(tmp_path / "hub", tables("audience"))
    hub = hub_files(tmp_path / "hub", registry.benchmark("infosearch").groups[0])
    with serving(hub) as files:
        env = os.environ | {"HF_ENDPOINT": files.base, "HF_HUB_OFFLINE": "0"}
        command = [sys.executable, "-c", FETCH]
        both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"]
        outputs = [one.communicate(timeout=60)[0] for one in both]
    assert outputs == ["{'cores': 2, 'queries': 4, 'documents': 16}\n"] * 2
    got = [path for path, _ in files.requests]
    assert sorted(got) == sorted(set(got))


@pytest.mark.process
def test_without_network_the_error_names_both_ways_out(home):
    env = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "0"}
    done = process("benchmarks", "fetch", "infosearch", env=env)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()[-2:]
    assert error.startswith("error: cannot fetch jianqunZ/Audience-v1 at 9bc73db6f3ca from http://127.0.0.1:1 (")
    assert hint == "hint:  take a local copy (tandem benchmarks fetch infosearch --from DIR), or use the mini (infosearch-mini)"
