"""Names into specs: what is loaded is checked, and what is unknown gets the nearest right name."""

import pytest

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import IndexSpec
from toolkit.models import choose_system

INDEX = """\
name: mine
description: an index of mine
kind: lucene
urls: [http://example.org/mine.tar.gz]
md5: 0123456789abcdef0123456789abcdef
size: 17
"""


def write(home, kind, name, text):
    path = home / "registry" / kind / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_infosearch_has_six_dimensions_with_the_published_counts():
    spec = registry.benchmark("infosearch")
    assert list(spec.modes.items()) == [("ori", "base"), ("ins", "instructed"), ("rev", "reversed")]
    assert [group["name"] for group in spec.groups] == ["audience", "keyword", "format", "language", "length", "source"]
    for count in ("cores", "queries", "documents"):
        assert sum(group["counts"][count] for group in spec.groups) == spec.counts[count]
    assert all(group["counts"]["documents"] == 4 * group["counts"]["queries"] for group in spec.groups)
    assert {group["repository"] for group in spec.groups} >= {"jianqunZ/Clarity-v1", "jianqunZ/Audience-v1"}
    assert all(len(group["revision"]) == 40 for group in spec.groups)


def test_bm25_has_anserinis_parameters():
    assert registry.system("bm25").parameters == {"k1": 0.9, "b": 0.4, "rm3": False}


def test_short_names_are_pyserinis_indexes():
    assert registry.index("msmarco").name == "msmarco-v1-passage"
    assert registry.index("msmarco").md5 == "678876e8c99a89933d553609a0fd8793"
    assert registry.index("wikipedia-dpr").name == "wikipedia-dpr-100w"


def test_the_snapshot_holds_every_index_of_pyserini():
    kinds = [spec.kind for spec in registry.indexes().values()]
    # 224 lexical and 95 impact entries, of which 7 and 2 are second names; 409 FAISS
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"lucene": 217, "impact": 93, "faiss": 409}
    assert len(registry.index_aliases()) == 9 + 1  # msmarco; wikipedia-dpr is Pyserini's own second name too
    assert all(alias not in registry.indexes() for alias in registry.index_aliases())
    for spec in registry.indexes().values():
        assert isinstance(spec, IndexSpec)
        assert spec.urls
        assert len(spec.md5) == 32
        assert spec.size > 0
        assert spec.documents > 0


@pytest.mark.parametrize(
    ("look_up", "name", "message", "hint"),
    [
        (registry.benchmark, "infosaerch", "no benchmark 'infosaerch'", "did you mean 'infosearch'? known: "),
        (registry.system, "bm52", "no system 'bm52'", "did you mean 'bm25'? known: "),
        (
            registry.index,
            "msmarco-v1-pasage",
            "no prebuilt index 'msmarco-v1-pasage'",
            "did you mean 'msmarco-v1-passage'? known: 7",
        ),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(look_up, name, message, hint):
    with pytest.raises(ToolkitError) as caught:
        look_up(name)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_a_users_entry_is_read_beside_ours(home):
    write(home, "indexes", "mine.yaml", INDEX)
    assert registry.index("mine").urls == ("http://example.org/mine.tar.gz",)
    assert registry.index("mine").documents is None
    assert registry.index("msmarco").name == "msmarco-v1-passage"


def test_a_users_entry_does_not_replace_ours(home):
    write(home, "indexes", "mine.yaml", INDEX.replace("name: mine", "name: msmarco"))
    with pytest.raises(ToolkitError, match=r"mine\.yaml: the name 'msmarco' is taken already"):
        registry.index("msmarco")
    assert registry.index("msmarco-v1-passage").kind == "lucene"
    path = write(home, "systems", "x.yaml", "name: bm25\ndescription: mine\nkind: bm25\n")
    with pytest.raises(ToolkitError) as caught:
        registry.system("bm25")
    assert caught.value.message == f"{path}: the name 'bm25' is taken already"


def test_a_users_index_stands_in_the_place_of_ours_where_it_says_so(home):
    mine = INDEX.replace("name: mine", "name: wikipedia-dpr-100w") + "override: true\n"
    write(home, "indexes", "mine.yaml", mine)
    assert registry.index("wikipedia-dpr").urls == ("http://example.org/mine.tar.gz",)
    assert registry.index("msmarco").name == "msmarco-v1-passage"


def test_all_wrong_keys_of_a_file_are_told_together(home):
    text = INDEX.replace("md5: ", "mdf5: ").replace("size: 17", "size: big")
    path = write(home, "indexes", "mine.yaml", text)
    [unread] = registry.unread("indexes")
    assert unread.error.message == f"{path}: 3 invalid keys"
    assert unread.error.problems == (
        "unknown key 'mdf5' did you mean 'md5'?",
        "missing key 'md5'",
        "key 'size': expected a whole number, found 'big'",
    )


GROUPS = "description: d, layout: infosearch, modes: {}, measures: [], source: {}, groups:"
ODD = {
    f"{{name: ../x, {GROUPS} []}}": "'../x' is no name (letters, digits and . _ + -, in parts divided by /)",
    f"{{name: x, {GROUPS} [{{revision: a}}]}}": "1 invalid key: key 'groups', 1: missing key 'name'",
    f"{{name: x, {GROUPS} [{{name: 5}}]}}": "1 invalid key: key 'groups', 1, 'name': expected text, found 5",
    f"{{name: x, {GROUPS} [{{name: a}}, {{name: a}}]}}": "two of its groups have one name",
}


@pytest.mark.parametrize("entry", ODD)
def test_names_that_no_path_could_hold_are_refused(home, entry):
    path = write(home, "benchmarks", "mine.yaml", entry)
    [unread] = registry.unread("benchmarks")
    assert str(unread) == f"{path}: {ODD[entry]}"


@pytest.mark.parametrize("urls", ["[]", "['http://host/']"])
def test_an_index_needs_the_address_of_a_file(home, urls):
    path = write(home, "indexes", "mine.yaml", f"{{name: x, description: d, kind: lucene, urls: {urls}, md5: a, size: 1}}")
    [unread] = registry.unread("indexes")
    assert unread.error.message == f"{path}: urls must be addresses of files"


def test_broken_yaml_names_file_and_line(home):
    path = write(home, "systems", "x.yaml", "name: x\ndescription: a: b\n")
    [unread] = registry.unread("systems")
    assert unread.error.message.startswith(f"{path}, line 2: ")


def test_a_name_is_no_entry(home):
    path = write(home, "systems", "x.yaml", "bm26\n")
    [unread] = registry.unread("systems")
    assert unread.error.message == f"{path} is no mapping of keys to values"


BROKEN = "name: x\ndescription: a: b\n"
LIST = """\
- {name: one, description: d, kind: dense}
- {name: two, description: d, kind: dense}
"""


@pytest.mark.parametrize(("first", "second"), [("Mine", "mine"), ("a-b", "a/b"), ("MSMARCO-v1-passage", "")])
def test_two_names_that_become_one_file_are_refused(home, first, second):
    for number, name in enumerate(filter(None, (first, second))):
        write(home, "indexes", f"{number}.yaml", INDEX.replace("name: mine", f"name: {name}"))
    [wrong] = registry.unread("indexes")
    assert "become one in names of files (there / is -, and case and composed letters may not count)" in str(wrong)
    assert len({first, second} & set(registry.indexes())) == bool(second)


def test_a_file_may_hold_a_list_of_entries(home):
    write(home, "systems", "x.yaml", LIST)
    assert list(registry.systems())[-2:] == ["one", "two"]


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("name: two", "name: one", ": the name 'one' is taken already"),
        ("name: two", "name: bm25", ": the name 'bm25' is taken already"),
        ("name: two", "name: ../x", ": '../x' is no name (letters, digits and . _ + -, in parts divided by /)"),
        ("kind: dense}\n- {name: two, description: d, kind: dense", "kind: dense}\n- {name: two", ": 2 invalid keys"),
        ("{name: two, description: d, kind: dense}", "two", " is no mapping of keys to values"),
    ],
)
def test_what_is_wrong_in_a_list_names_the_entry(home, old, new, wrong):
    assert old in LIST
    path = write(home, "systems", "x.yaml", LIST.replace(old, new))
    [unread] = registry.unread("systems")
    assert unread.error.message == f"{path}, entry 2{wrong}"


@pytest.mark.parametrize(
    ("kind", "look_up", "other"),
    [
        ("benchmarks", registry.benchmark, "infosearch"),
        ("systems", registry.system, "bm25"),
        ("indexes", registry.index, "msmarco"),
        ("regressions", registry.regression, "infosearch-mini.bm25.v2"),
    ],
)
def test_a_file_that_is_no_entry_is_named_where_a_name_is_not_found(home, capsys, kind, look_up, other):
    wrong = f"{write(home, kind, 'x.yaml', BROKEN)}, line 2: not YAML: mapping values are not allowed"
    assert look_up(other)
    with pytest.raises(ToolkitError) as caught:
        look_up("x")
    [problem] = caught.value.problems
    assert problem.startswith(wrong)
    registry.warn_unread(kind)
    assert capsys.readouterr().err.startswith(f"warning: left out: {wrong}")


def test_a_file_that_cannot_be_read_is_left_out_and_the_others_are_not(home):
    (home / "registry" / "systems" / "folder.yaml").mkdir(parents=True)
    write(home, "systems", "good.yaml", "{name: good, description: d, kind: dense, checkpoint: a/b}")
    write(home, "systems", "same.yaml", "{name: good, description: d, kind: dense, checkpoint: a/b}")
    assert registry.system("bm25").name == "bm25"
    assert [one.name for one in registry.unread("systems")] == ["", "good"]
    with pytest.raises(ToolkitError, match=r"same\.yaml: the name 'good' is taken already"):
        choose_system("good")


def test_a_broken_file_of_the_users_own_is_a_warning_unless_its_entry_is_wanted(home, capsys):
    files = [write(home, "mine", "x.yaml", BROKEN), write(home, "mine", "y.yaml", LIST)]
    assert choose_system("bm25", files=files).name == "bm25"
    assert capsys.readouterr().err.startswith(f"warning: left out: {files[0]}, line 2: ")
    with pytest.raises(ToolkitError, match=r"x\.yaml, line 2: "):
        choose_system("three", files=files)
