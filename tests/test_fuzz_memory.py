"""Small files that would take all memory: each ends in a line, within a bound of memory."""

import gzip
import resource
import subprocess
import sys

import cbor2
import pyarrow
import pyarrow.parquet
import pytest

MOST = 3 << 30  # bytes of address space: what libraries map counts too


def lz4(data):
    return memoryview(pyarrow.Codec("lz4").compress(data)).tobytes()


def parquet():
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * (1 << 20), pyarrow.int32()), ["d" * 4000])
    table = pyarrow.table({"query_id": column, "doc_id": column, "score": pyarrow.repeat(1.0, 1 << 20)})
    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, out, store_schema=False)
    return out.getvalue().to_pybytes()


FILES = {
    "run.gz": lambda: gzip.compress(b"\0" * (3 << 29), 1),
    "run.lz4": lambda: lz4(lz4(lz4(lz4(b"\0" * (1 << 31))))),
    "cbor.lz4": lambda: lz4(b"\x9f" * (1 << 26)),
    "arrays.lz4": lambda: lz4(cbor2.dumps({"q": {"d": 1.0}})[:1] + b"\x9b" + b"\xff" * 8),
    "run.parquet": parquet,
    "run.json": lambda: b"[" * (1 << 24),
    "run.pickle": lambda: b"\x80\x04" + b"}" * (1 << 24) + b".",
    "run.yaml": lambda: b"[" * (1 << 22),
}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_bomb_ends_in_a_line(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    line = [sys.executable, "-m", "toolkit.runs", "show", path]
    bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))  # noqa: E731
    done = subprocess.run(line, capture_output=True, text=True, preexec_fn=bound)
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) <= 22
