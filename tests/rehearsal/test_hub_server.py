"""The local hub answers as the real one: huggingface_hub itself lists and downloads from it."""

import hashlib
import json

import pytest
from hub_server import Hub, full_commit, pinned_revisions, serve
from serving import serving

pytestmark = pytest.mark.process

PINNED = next(revision for revision in pinned_revisions()["models/BAAI/bge-m3"])
WEIGHTS = b"weights" * 1000


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """huggingface_hub read the environment when it was imported."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@pytest.fixture
def folder(tmp_path):
    files = {"config.json": b"{}", "model.safetensors": WEIGHTS, "1_Pooling/config.json": b'{"mean": true}'}
    for repository in ("models/BAAI/bge-m3", "datasets/org/data", "models/BAAI/bge-m3@main", "models/org/gated"):
        for name, data in files.items():
            (tmp_path / repository / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / repository / name).write_bytes(data)
    (tmp_path / "models/BAAI/bge-m3@main/config.json").write_bytes(b'{"newer": 1}')
    return tmp_path


def test_a_snapshot_at_a_revision_is_the_folder(folder, tmp_path):
    from huggingface_hub import snapshot_download

    with serve(folder) as address:
        place = snapshot_download("BAAI/bge-m3", revision=PINNED, endpoint=address, cache_dir=tmp_path / "cache", token=False)
        newest = snapshot_download("BAAI/bge-m3", endpoint=address, cache_dir=tmp_path / "cache", token=False)
        data = snapshot_download("org/data", repo_type="dataset", endpoint=address, cache_dir=tmp_path / "cache", token=False)
    written = {path.relative_to(place).as_posix() for path in tmp_path.joinpath(place).rglob("*") if path.is_file()}
    assert written == {"config.json", "model.safetensors", "1_Pooling/config.json"}
    assert (tmp_path / place / "model.safetensors").read_bytes() == WEIGHTS
    assert (place.endswith(PINNED), newest.endswith(full_commit("models/BAAI/bge-m3", "main"))) == (True, True)
    read = [json.loads((tmp_path / path / "config.json").read_text()) for path in (place, newest, data)]
    assert read == [{}, {"newer": 1}, {}]


def test_facts_files_and_refusals_are_the_hubs_own(folder):
    from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    with serve(folder, gated=["org/gated"]) as address:
        api = HfApi(endpoint=address, token=False)
        info = api.model_info("BAAI/bge-m3", revision=PINNED, files_metadata=True)
        assert (info.id, info.sha) == ("BAAI/bge-m3", PINNED)
        large = {file.rfilename: file.lfs.sha256 for file in info.siblings if file.lfs}
        assert large == {"model.safetensors": hashlib.sha256(WEIGHTS).hexdigest()}
        tree = {entry.path for entry in api.list_repo_tree("BAAI/bge-m3", recursive=True)}
        assert tree == {"config.json", "model.safetensors", "1_Pooling", "1_Pooling/config.json"}
        assert {entry.path for entry in api.list_repo_tree("BAAI/bge-m3", "1_Pooling")} == {"1_Pooling/config.json"}
        assert [branch.name for branch in api.list_repo_refs("BAAI/bge-m3").branches] == ["main"]
        url = hf_hub_url("BAAI/bge-m3", "model.safetensors", revision=PINNED, endpoint=address)
        facts = get_hf_file_metadata(url, token=False, endpoint=address)
        assert (facts.commit_hash, facts.etag, facts.size) == (PINNED, hashlib.sha256(WEIGHTS).hexdigest(), len(WEIGHTS))
        with pytest.raises(RevisionNotFoundError):
            api.model_info("BAAI/bge-m3", revision="f" * 40)
        with pytest.raises(RepositoryNotFoundError):
            api.model_info("BAAI/nothing")
        with pytest.raises(EntryNotFoundError):
            get_hf_file_metadata(f"{url}.index", token=False, endpoint=address)
        with pytest.raises(GatedRepoError):
            get_hf_file_metadata(hf_hub_url("org/gated", "config.json", endpoint=address), token=False, endpoint=address)
        assert get_hf_file_metadata(hf_hub_url("org/gated", "config.json", endpoint=address), token="hf_x").size == 2


def test_large_files_come_in_parts_from_a_place_that_gets_no_token(folder):
    import requests

    with serving(Hub(folder)) as hub:
        url = f"{hub.base}/BAAI/bge-m3/resolve/{PINNED}/model.safetensors"
        first = requests.get(url, headers={"Authorization": "Bearer hf_x"}, allow_redirects=False)
        assert (first.status_code, first.headers["X-Linked-Size"]) == (302, str(len(WEIGHTS)))
        assert requests.get(first.headers["Location"], headers={"Authorization": "Bearer hf_x"}).status_code == 400
        part = requests.get(url, headers={"Authorization": "Bearer hf_x", "Range": "bytes=6990-"})
        assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, WEIGHTS[6990:], "bytes 6990-6999/7000")
        asked = requests.get(url, headers={"Range": "bytes=0-3"})
        assert (asked.status_code, asked.content) == (206, b"weig")
