"""Hostile archives: what `index fetch` makes of them. Nothing outside the index's folder, nothing half-unpacked, no code.
`faults_packed` has those of a reproduction, and what else others pack.
"""

import gzip
import hashlib
import io
import os
import random
import shutil
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import faults_packed
from bench_faults import CONTROL, Outcome, command, drawn
from serving import Files, serving

GOOD = ("index/segments_1", b"lucene")
BOMB = 1_500_000_000  # bytes that 1.5 MB unpack to: more than 20 times that and 1 GB
ENTRY = "{{name: mine, description: d, kind: lucene, urls: ['{url}'], md5: {md5}, size: {size}}}"


def tar(*members: tuple[str, object], form: str = "gz", **header: object) -> bytes:
    """A tar of (name, content) or (name, TarInfo type, link name)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{form}", **header) as packed:
        for name, *what in members:
            info = tarfile.TarInfo(name)
            if isinstance(what[0], bytes) and len(what) == 1 and what[0] not in TYPES:
                info.size = len(what[0])
                packed.addfile(info, io.BytesIO(what[0]))
            else:
                info.type, info.linkname = what[0], what[1] if len(what) > 1 else ""
                packed.addfile(info)
    return data.getvalue()


TYPES = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)


def zipped(*members: tuple[str, bytes], mode: int = 0, flags: int = 0) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            packed.writestr(info, content)
    raw = bytearray(data.getvalue())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.find(signature)
        while flags and start >= 0:
            raw[start + place : start + place + 2] = struct.pack("<H", flags)
            start = raw.find(signature, start + 4)
    return bytes(raw)


def header(**fields: object) -> bytes:
    """A tar header whose fields say what no writer would."""
    info = tarfile.TarInfo("index/x")
    raw = bytearray(info.tobuf())
    for (start, length), value in fields.items():
        raw[start : start + length] = value
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def claimed(size: int) -> bytes:
    """A header that announces more than the archive holds."""
    info = tarfile.TarInfo("index/x")
    info.size = size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"x" * 512)


def bomb(wrap: Callable[[Iterator[bytes]], bytes]) -> bytes:
    return wrap(b"\0" * (1 << 20) for _ in range(BOMB >> 20))


def gzip_bomb(blocks: Iterator[bytes]) -> bytes:
    info = tarfile.TarInfo("index/zeros")
    info.size = BOMB >> 20 << 20
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=9, mtime=0) as out:
        out.write(info.tobuf())
        for block in blocks:
            out.write(block)
        out.write(b"\0" * 1024)
    return data.getvalue()


def zip_bomb(blocks: Iterator[bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("index/zeros", "w") as out:
        for block in blocks:
            out.write(block)
    return data.getvalue()


def sparse() -> bytes:
    """A GNU sparse file: 8 GB of holes in half a kilobyte."""
    raw = bytearray(tarfile.TarInfo("index/sparse").tobuf(tarfile.GNU_FORMAT))
    raw[156:157] = tarfile.GNUTYPE_SPARSE
    raw[386:398] = raw[398:410] = b"%011o\0" % 0
    raw[483:495] = b"%011o\0" % ((1 << 33) - 1)
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return gzip.compress(bytes(raw) + b"\0" * 1024)


def pax(**records: str) -> bytes:
    return tar(GOOD, ("index/x", b"x"), format=tarfile.PAX_FORMAT, pax_headers=records)


def encrypted() -> bytes:
    return zipped(GOOD, flags=1)


# each with whether an index may come of it: a member outside, a link or a device is refused as a whole
ARCHIVES: dict[str, tuple[Callable[[], bytes], bool]] = {
    "tar: ../": (lambda: tar(GOOD, ("../../evil", b"x")), False),
    "tar: absolute": (lambda: tar(GOOD, ("/tmp/tandem-evil", b"x")), False),
    "tar: a/../../": (lambda: tar(GOOD, ("index/../../evil", b"x")), False),
    "tar: backslashes": (lambda: tar(GOOD, ("..\\..\\evil", b"x")), False),
    "tar: symlink to a file": (lambda: tar(GOOD, ("index/x", tarfile.SYMTYPE, "/etc/passwd")), False),
    "tar: through a symlink": (lambda: tar(GOOD, ("index/x", tarfile.SYMTYPE, "../.."), ("index/x/evil", b"x")), False),
    "tar: hard link outside": (lambda: tar(GOOD, ("index/x", tarfile.LNKTYPE, "/etc/passwd")), False),
    "tar: hard link ../": (lambda: tar(GOOD, ("index/x", tarfile.LNKTYPE, "../../evil")), False),
    "tar: character device": (lambda: tar(GOOD, ("index/x", tarfile.CHRTYPE)), False),
    "tar: block device": (lambda: tar(GOOD, ("index/x", tarfile.BLKTYPE)), False),
    "tar: pipe": (lambda: tar(GOOD, ("index/x", tarfile.FIFOTYPE)), False),
    "tar: bomb": (lambda: bomb(gzip_bomb), False),
    "tar: sparse": (sparse, False),
    "tar: size of 8 GB announced": (lambda: claimed(8 << 30), False),
    "tar: size of 8 EB announced": (lambda: claimed(8 << 60), False),
    "tar: deep folders": (lambda: tar(GOOD, ("index/" + "d/" * 2_000 + "x", b"x")), False),
    "tar: long name": (lambda: tar(GOOD, ("index/" + "x" * 5_000, b"x")), False),
    "tar: control characters": (lambda: tar(GOOD, ("index/\x1b[31m\x07", b"x")), True),
    "tar: name twice": (lambda: tar(GOOD, ("index/x", b"1"), ("index/x", b"2")), True),
    "tar: file, then a folder of its name": (lambda: tar(GOOD, ("index/x", b"1"), ("index/x/y", b"2")), False),
    "tar: folder, then a file of its name": (lambda: tar(GOOD, ("index/x/y", b"1"), ("index/x", b"2")), False),
    "tar: set-user-id": (lambda: tar(GOOD, ("index/x", b"#!/bin/sh")), True),
    "tar: header of pax of 20 MB": (lambda: pax(comment="x" * 20_000_000), True),
    "tar: path of pax ../": (lambda: pax(path="../../evil"), False),
    "tar: size of pax negative": (lambda: pax(size="-5"), False),
    "tar: 20,000 members": (lambda: tar(GOOD, *((f"index/{n}", b"") for n in range(20_000))), True),
    "tar: truncated": (lambda: tar(GOOD, ("index/x", os.urandom(50_000)))[:20_000], False),
    "tar: garbage behind": (lambda: tar(GOOD) + os.urandom(5_000), True),
    "tar: nothing": (lambda: tar(), False),
    "tar: bytes": (lambda: random.Random(0).randbytes(5_000), False),
    "zip: ../": (lambda: zipped(GOOD, ("../../evil", b"x")), False),
    "zip: absolute": (lambda: zipped(GOOD, ("/tmp/tandem-evil", b"x")), False),
    "zip: symlink": (lambda: zipped(GOOD, ("index/x", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), False),
    "zip: bomb": (lambda: bomb(zip_bomb), False),
    "zip: encrypted": (encrypted, False),
    "zip: name twice": (lambda: zipped(GOOD, ("index/x", b"1"), ("index/x", b"2")), True),
}


def tries(folder: Path, seed: int, numbers: range) -> Iterator[Outcome]:
    """One archive, pickle or published run each."""
    for number, case in drawn([*ARCHIVES, *faults_packed.CASES], seed, numbers):
        yield (
            outcome(number, case, folder / "archive")
            if case in ARCHIVES
            else faults_packed.outcome(number, case, folder / "packed")
        )


def outcome(number: int, name: str, folder: Path) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    home, elsewhere = folder / "outer" / "home", folder / "outer" / "elsewhere"
    elsewhere.mkdir(parents=True)
    make, may_come = ARCHIVES[name]
    data = make()
    path = home / "registry" / "indexes" / "mine.yaml"
    path.parent.mkdir(parents=True)
    with serving(Files({"/mine.tar.gz": data})) as files:
        url = f"{files.base}/mine.tar.gz"
        path.write_text(ENTRY.format(url=url, md5=hashlib.md5(data).hexdigest(), size=len(data)))
        done, problems = command("index", "fetch", "mine", cwd=elsewhere, env={**os.environ, "TANDEM_HOME": str(home)})
    outside = [each for each in folder.rglob("*") if home not in (each, *each.parents) and each not in (elsewhere, home.parent)]
    indexes = list((home / "indexes").glob("*")) if (home / "indexes").exists() else []
    links = [each for each in home.rglob("*") if each.is_symlink()]
    held = sum(each.stat().st_size for each in home.rglob("*") if each.is_file())
    problems += [f"outside: {outside[0]}"] if outside or Path("/tmp/tandem-evil").exists() else []
    problems += [f"a link: {links[0]}"] if links else []
    problems += ["no error: line"] if done.returncode in (1, 2) and b"error: " not in done.stderr else []
    problems += ["left behind: " + ", ".join(map(str, indexes))] if done.returncode and indexes else []
    problems += [f"{held / 1e6:.0f} MB are left on the disk"] if done.returncode and held > 30_000_000 else []
    problems += ["an index comes of it"] if done.returncode == 0 and not may_come else []
    problems += ["a control character in messages"] if CONTROL.search(done.stdout) else []
    ending = "an index" if done.returncode == 0 else "refused in a line, nothing left"
    detail = f"{name}: {'; '.join(problems)} [{done.stderr.decode(errors='replace').strip()[-200:]}]"
    return Outcome(number, "hostile archives", "; ".join(problems) or ending, not problems, detail)
