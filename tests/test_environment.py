"""What the environment says of languages, Java and threads changes no index and no run."""

import json
import os
import subprocess
import sys

import pytest

from toolkit.files.formats.indexes import read_index_record
from toolkit.models.lucene import jvm
from toolkit.models.lucene.stored_texts import StoredTexts
from toolkit.retrieval.index import verify_index

DOCS = {
    "en": "Iridescent apples IN ITALY", "fr": "préférées à la plage", "ru": "зелёные яблоки", "zh": "如何执行程序",
    "ar": "تفاح أخضر", "el": "πράσινα μήλα", "emoji": "\U0001f34e pomme", "ko": "초록 사과", "tr": "IŞIK ışık",
}  # fmt: skip
TOPICS = {
    "1": "iridescent italy",
    "2": "préférées",
    "3": "яблоки",
    "4": "执行",
    "5": "أخضر",
    "6": "μήλα",
    "7": "사과",
    "8": "ISIK ışık",
}
LOG4J = """<Configuration><Appenders><Console name="c" target="SYSTEM_OUT"><PatternLayout pattern="%m%n"/></Console></Appenders>
<Loggers><Root level="trace"><AppenderRef ref="c"/></Root></Loggers></Configuration>"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    rows = [{"id": name, "contents": text} for name, text in DOCS.items()]
    # lines in Anserini's own form are handed over as they are; with a title they are put together here
    (folder / "ready.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    rows = [{"id": f"{name}2", "title": "été", "text": text} for name, text in DOCS.items()]
    (folder / "titled.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    (folder / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in TOPICS.items()), encoding="utf-8")
    for name in ("log4j2.xml", "log4j2-test.xml"):
        (folder / name).write_text(LOG4J)
    return folder


def made(place, name, **environment):
    """The run of an index that was both made and searched with this environment, what was printed, and the index."""
    (place / name).mkdir()
    corpus = place / name / "corpus"
    corpus.mkdir()
    for file in ("ready.jsonl", "titled.jsonl"):
        (corpus / file).write_bytes((place / file).read_bytes())
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))} | environment
    code = (
        "import sys\nfrom toolkit.index import main, parser\nfrom toolkit.search import main as search\n"
        "from toolkit.search import parser as search_parser\nfrom toolkit.shell import guard\n"
        f"sys.exit(guard(parser, main, ['{name}/corpus', '--output', '{name}/index', '--threads', '2'])\n"
        f"    or guard(search_parser, search, ['--topics', 'topics.tsv', '--index', '{name}/index', '--output', '-']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done, place / name / "index"


@pytest.mark.process
@pytest.mark.lucene
def test_hostile_environments_make_the_same_index_and_run(place):
    plain, index = made(place, "plain", LC_ALL="C.UTF-8")
    assert {line.split()[0].decode() for line in plain.stdout.splitlines()} == set(TOPICS)
    java = "-Dfile.encoding=ISO-8859-1 -Dsun.jnu.encoding=ISO-8859-1 -Duser.language=tr -Xmx512m"
    hostile = {
        "java": {"JAVA_TOOL_OPTIONS": java, "_JAVA_OPTIONS": java, "JDK_JAVA_OPTIONS": java, "CLASSPATH": str(place)},
        "locale": {
            **{
                "LC_ALL": "C",
                "PYTHONIOENCODING": "latin-1",
                "PYTHONUTF8": "0",
                "PYTHONCOERCECLOCALE": "0",
                "LC_CTYPE": "tr_TR",
            },
            **{"OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "true", "TOKENIZERS_PARALLELISM": "false"},
            "LOG4J_CONFIGURATION_FILE": str(place / "log4j2.xml"),
        },
    }
    for name, environment in hostile.items():
        done, other = made(place, name, **environment)
        assert done.stdout == plain.stdout, name
        assert sorted(StoredTexts(other)) == sorted(StoredTexts(index))
        ours, theirs = read_index_record(index), read_index_record(other)
        assert (theirs["corpus"]["sha256"], theirs["statistics"]) == (ours["corpus"]["sha256"], ours["statistics"])
        assert theirs["words"] == ours["words"]
        notes = [line.partition(" is not used")[0] for line in done.stderr.decode().splitlines() if " is not used" in line]
        read_by_java = [key for key in environment if key.startswith(("J", "_J", "LOG4J", "CLASS"))]
        assert sorted(notes) == sorted(f"note: {key}" for key in read_by_java)
    assert list(read_index_record(index)["words"]) == ["ARABIC", "CJK", "CYRILLIC", "GREEK", "HANGUL", "LATIN"]
    assert verify_index(index) == []


@pytest.mark.lucene
def test_an_index_that_does_not_find_a_word_of_a_script_is_not_sound(place, tmp_path):
    from toolkit.core.documents import Doc
    from toolkit.retrieval.index import build_index, corpus_from_docs
    from toolkit.retrieval.index.build import unfound_words

    build_index(corpus_from_docs("c", [Doc("a", "", "the apple"), Doc("b", "", "зелёные яблоки")]), tmp_path / "index")
    words = read_index_record(tmp_path / "index")["words"]
    assert words == {"CYRILLIC": {"word": "зелёные", "document": "b"}, "LATIN": {"word": "apple", "document": "a"}}
    garbled = "зелёные".encode().decode("latin-1")  # as a wrong encoding would have had it
    asked = {**words, "CYRILLIC": {"word": garbled, "document": "b"}, "STOP": {"word": "the", "document": "a"}}
    found = list(unfound_words(tmp_path / "index", "en", asked))
    assert found == [f"CYRILLIC: document b is not found by its word {garbled!r}"]


@pytest.mark.lucene
def test_java_keeps_what_is_about_memory(monkeypatch, capsys):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx2g -Dfile.encoding=ISO-8859-1 -XX:MaxRAMPercentage=50.5")
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xms1g")
    assert sorted(jvm.settle_environment()) == ["-XX:MaxRAMPercentage=50.5", "-Xms1g", "-Xmx2g"]
    assert not {"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"} & os.environ.keys()
    note = "note: JAVA_TOOL_OPTIONS is not used (-Dfile.encoding=ISO-8859-1): it could change results\n"
    assert capsys.readouterr().err == note


ENCODED = """
import hashlib
from toolkit import registry
from toolkit.core.templates import Input
from toolkit.models.encoders import load_encoder
encoder = load_encoder(registry.system("all-minilm-l6-v2"), device="cpu")
inputs = [Input("", "green apples " * number) for number in range(1, 60)]
print(hashlib.sha256(encoder.encode(inputs, "passage").tobytes()).hexdigest())
"""


@pytest.mark.process
@pytest.mark.model
def test_vectors_depend_on_no_variable_of_the_libraries():
    from toolkit.models.computing import ARITHMETIC

    plain = {name: value for name, value in os.environ.items() if name not in ARITHMETIC}
    hostile = {
        "MKL_CBWR": "COMPATIBLE",
        "ATEN_CPU_CAPABILITY": "default",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    printed = [
        subprocess.run([sys.executable, "-c", ENCODED], env=plain | more, capture_output=True, text=True, check=True)
        for more in ({}, hostile)
    ]
    assert printed[0].stdout == printed[1].stdout != ""
    assert printed[1].stderr.count("it could change results") == 2
