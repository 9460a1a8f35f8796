"""Archives: complete or not at all, and nothing outside the folder."""

import io
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rights import small_disk

from toolkit.core.errors import ToolkitError
from toolkit.files.store import archives
from toolkit.files.store.archives import unpack

FILES = (("index/segments_1", b"one" * 100), ("index/deep/_0.cfs", bytes(range(256)) * 4))


def tar(path, *members, mode="w:gz"):
    """members: (name, content) or a TarInfo."""
    with tarfile.open(path, mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_an_archive_is_unpacked_with_its_folders(tmp_path):
    archive = tar(tmp_path / "x.tar.gz", ("index/segments_1", b"one"), ("index/deep/_0.cfs", b"two"))
    assert unpack(archive, tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out/index/segments_1").read_bytes() == b"one"
    assert (tmp_path / "out/index/deep/_0.cfs").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "x.tar.gz"]


def test_a_zip_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("index/segments_1", "one")
    unpack(tmp_path / "x.zip", tmp_path / "out")
    assert (tmp_path / "out/index/segments_1").read_text() == "one"


def sized(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info


def test_a_member_larger_than_the_disk_is_told_before_it_fills_it(tmp_path):
    # the header alone: a bomb need not hold what it announces
    (tmp_path / "x.tar").write_bytes(sized("index/_0.cfs", 10**18).tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(ToolkitError) as caught:
        unpack(tmp_path / "x.tar", tmp_path / "out")
    assert caught.value.message.startswith("no space left on the disk to unpack x.tar in ")
    assert caught.value.status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


ODD = {
    "a member in a file": (("a", b"x"), ("a/b", b"y")),
    "a file over a folder": (("a/b", b"x"), ("a", b"y")),
    "a name too long": (("a" * 300, b"x"),),
}


@pytest.mark.parametrize("case", ODD)
def test_members_that_no_disk_can_hold_are_a_damaged_archive(tmp_path, case):
    archive = tar(tmp_path / "x.tar", *ODD[case], mode="w:")
    with pytest.raises(ToolkitError) as caught:
        unpack(archive, tmp_path / "out")
    assert caught.value.message.startswith(f"{archive} is damaged or no archive (")
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


HOSTILE = {
    "parent": (("../evil", b"x"), "member '../evil' would land outside the folder"),
    "deep parent": (("a/../../evil", b"x"), "member 'a/../../evil' would land outside the folder"),
    "absolute": (("/tmp/evil", b"x"), "member '/tmp/evil' would land outside the folder"),
    "symbolic link": (special("link", tarfile.SYMTYPE, "/etc"), "member 'link' is a link"),
    "hard link": (special("link", tarfile.LNKTYPE, "../../etc/passwd"), "member 'link' is a link"),
    "device": (special("null", tarfile.CHRTYPE), "member 'null' is a device"),
    "pipe": (special("pipe", tarfile.FIFOTYPE), "member 'pipe' is a device"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_tar_is_refused_and_leaves_nothing(tmp_path, case):
    member, message = HOSTILE[case]
    archive = tar(tmp_path / "x.tar.gz", ("good", b"fine"), member)
    with pytest.raises(ToolkitError) as caught:
        unpack(archive, tmp_path / "in" / "out")
    assert caught.value.message == f"{archive}: {message}"
    assert list((tmp_path / "in").iterdir()) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "..\\evil", "C:\\evil"])
def test_a_hostile_zip_is_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(ToolkitError, match="would land outside the folder"):
        unpack(tmp_path / "x.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_zip_with_a_link_is_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc")
    with pytest.raises(ToolkitError, match="member 'link' is a link or device"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_an_unpacked_file_is_not_more_than_readable_and_executable(tmp_path):
    info = tarfile.TarInfo("set-user-id")
    info.mode = 0o4777
    unpack(tar(tmp_path / "x.tar", info, mode="w"), tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out/set-user-id").stat().st_mode) == 0o755


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_truncated_archive_is_refused_and_leaves_nothing(tmp_path, suffix):
    content = bytes(range(256)) * 400
    archive = tar(tmp_path / f"x{suffix}", ("a", content), ("b", content[::-1]), mode=f"w:{suffix[5:]}")
    archive.write_bytes(archive.read_bytes()[:-60])
    with pytest.raises(ToolkitError, match="is damaged or no archive"):
        unpack(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "page.tar.gz").write_text("<html>not found</html>")
    with pytest.raises(ToolkitError, match=r"page\.tar\.gz is damaged or no archive"):
        unpack(tmp_path / "page.tar.gz", tmp_path / "out")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    archive = tar(tmp_path / "x.tar.gz", ("a", b"x"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(ToolkitError, match="out is there already"):
        unpack(archive, tmp_path / "out")
    assert (tmp_path / "out/mine").read_text() == "mine"


@pytest.mark.process
def test_a_full_disk_is_one_line_and_gives_the_space_back(tmp_path):
    with small_disk(tmp_path / "small") as disk:
        archive = tar(tmp_path / "x.tar.gz", ("a", b"x" * 2_000_000))
        with pytest.raises(ToolkitError) as caught:
            unpack(archive, disk / "out")
        assert caught.value.message.startswith(f"no space left on the disk to unpack x.tar.gz in {disk}")
        assert list(disk.iterdir()) == []


def zipped(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_more_bytes_than_an_archive_of_its_size_has_are_refused_and_the_limit_can_be_raised(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "ROOM", 1 << 16)
    zeros = bytes(1 << 20)  # of which a thousandth is left when they are packed
    for archive in (tar(tmp_path / "x.tar.gz", ("a", zeros)), zipped(tmp_path / "x.zip", ("a", zeros))):
        with pytest.raises(ToolkitError, match="holds more files than its size lets expect") as caught:
            unpack(archive, tmp_path / "out")
        assert "--unpacked GB" in caught.value.hint
        assert not (tmp_path / "out").exists()
        unpack(archive, tmp_path / archive.suffix, most=1 << 20)


@pytest.mark.parametrize("members", [[("/".join("a" * 21), b"")], [(f"a{number}", b"") for number in range(11)]])
def test_too_many_members_and_too_deep_ones_are_refused(tmp_path, monkeypatch, members):
    monkeypatch.setattr(archives, "MEMBERS", 10)
    for archive in (tar(tmp_path / "x.tar.gz", *members), zipped(tmp_path / "x.zip", *members)):
        with pytest.raises(ToolkitError, match="has more than 10 files, or 20 folders in each other"):
            unpack(archive, tmp_path / "out")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_would_fill_the_memory_is_not_read(tmp_path, kind):
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, 1 << 40
    (tmp_path / "x.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16))
    with pytest.raises(ToolkitError, match="is damaged or no archive"):
        unpack(tmp_path / "x.tar", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


@given(data=st.data())
@settings(deadline=None)
def test_archives_with_other_bytes_are_unpacked_or_refused(data):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make = data.draw(st.sampled_from([lambda: tar(folder / "x.tar.gz", *FILES), lambda: zipped(folder / "x.zip", *FILES)]))
        archive = make()
        whole = bytearray(archive.read_bytes())
        for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=8)):
            whole[place] = value
        archive.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        try:
            unpack(archive, folder / "in" / "out")
        except ToolkitError:
            assert not (folder / "in" / "out").exists()
        assert {path.name for path in folder.iterdir()} <= {archive.name, "in"}


def test_an_archive_without_files_is_no_index(tmp_path):
    with pytest.raises(ToolkitError, match=r"x\.tar\.gz holds no files"):
        unpack(tar(tmp_path / "x.tar.gz"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
