"""Indexes of distributed-faiss: folders `0`, `1`, ... with `index.faiss` and pickled ids in each, searched as one."""

import itertools
import json
import pickle

import faiss
import numpy as np
import pytest

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.columns import to_arrow
from toolkit.models.lucene.docids import DocIds
from toolkit.models.vectors.faiss_shards import open_faiss, part_folders
from toolkit.retrieval.index.index_types import index_kind

VECTORS = np.random.default_rng(7).standard_normal((90, 8)).astype(np.float32)
QUERIES = np.random.default_rng(8).standard_normal((5, 8)).astype(np.float32)


def write_part(folder, rows, entries, settings=None):
    folder.mkdir(parents=True)
    index = faiss.IndexFlatIP(VECTORS.shape[1])
    index.add(VECTORS[rows])
    faiss.write_index(index, str(folder / "index.faiss"))
    (folder / "meta.pkl").write_bytes(pickle.dumps(entries, protocol=4))
    if settings:
        (folder / "cfg.json").write_text(json.dumps(settings))


@pytest.fixture
def parts(tmp_path, home):
    """Eleven parts: `10` comes after `9`, not after `1`."""
    folder, bounds = tmp_path / "sphere", np.linspace(0, 90, 12).astype(int)
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        write_part(folder / str(number), slice(start, stop), [(f"d{row}", "url") for row in range(start, stop)])
    return folder


def found(index, queries=QUERIES, hits=10):
    scores, positions = index.search(queries, hits)
    return scores, [index.ids.take(to_arrow(row)).to_pylist() for row in positions]


def test_parts_are_searched_as_one_index(parts, tmp_path):
    write_part(tmp_path / "whole", slice(None), [f"d{row}" for row in range(90)])
    assert index_kind(parts) == "faiss"
    assert [path.name for path in part_folders(parts)] == [str(number) for number in range(11)]
    (scores, ids), (expected, names) = found(open_faiss(parts)), found(open_faiss(tmp_path / "whole"))
    assert ids == names
    assert np.array_equal(scores, expected)


def test_a_missing_part_is_named(parts):
    (parts / "4" / "index.faiss").unlink()
    with pytest.raises(ToolkitError, match="lacks part 4 of an index: it has 10"):
        open_faiss(parts)


def test_ids_are_cached_as_lines_and_damaged_lines_are_not_taken(parts, home, capsys):
    assert DocIds(parts / "0").take(to_arrow(np.array([1]))).to_pylist() == ["d1"]
    assert "reading the ids of" in capsys.readouterr().err
    [lines] = (home / "ids").glob("*.txt")
    DocIds(parts / "0")
    assert capsys.readouterr().err == ""
    lines.write_text(lines.read_text().replace("d1\n", "x1\n"))
    assert DocIds(parts / "0").take(to_arrow(np.array([1]))).to_pylist() == ["d1"]
    assert "reading the ids of" in capsys.readouterr().err


def test_settings_say_where_the_id_stands_and_the_buffers_ids_are_left_out(tmp_path, home):
    entries = [("url", number, f"d{number}") for number in range(4)]  # the fourth waits in the buffer
    write_part(tmp_path / "0", slice(0, 3), entries, {"custom_meta_id_idx": 2})
    index = open_faiss(tmp_path)
    assert len(index) == 3
    assert index.ids.take(to_arrow(np.arange(3))).to_pylist() == ["d0", "d1", "d2"]
    (tmp_path / "0" / "cfg.json").write_text('{"custom_meta_id_idx": "id"}')
    with pytest.raises(ToolkitError, match="custom_meta_id_idx is 'id'"):
        open_faiss(tmp_path)


def test_fewer_ids_than_vectors_are_refused(tmp_path, home):
    write_part(tmp_path / "0", slice(0, 3), ["a", "b"])
    with pytest.raises(ToolkitError, match="has 3 vectors"):
        open_faiss(tmp_path)


def test_a_folder_of_other_folders_is_no_index(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "index").write_text("no FAISS index")
    assert part_folders(tmp_path) == []
    assert index_kind(tmp_path) is None
