"""A local server in the form of the Hugging Face hub: folders under the names and revisions that the registry knows.

    FOLDER/models/ORG/NAME/...              the files of a repository, at every one of its revisions
    FOLDER/datasets/ORG/NAME/...
    FOLDER/models/ORG/NAME@REVISION/...     the files at this revision, where they are others

It answers as huggingface.co does: facts, lists of files, files by HEAD and GET, large ones from another host, its own words for
what it refuses. A test has huggingface_hub itself download from it.
"""

import functools
import hashlib
import json
import re
from contextlib import contextmanager
from urllib.parse import parse_qs, unquote

from hub_layout import git_blob, is_large, sibling
from serving import Files, Reply, serving

from toolkit import registry

COMMIT = re.compile(r"[0-9a-f]{40}")
API = re.compile(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+)(?:/(.+))?|/(refs))?")
FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
STORED = re.compile(r"/stored/([0-9a-f]{64})")
DATE = "2024-11-22T10:00:00.000Z"


@contextmanager
def serve(folder, *, gated=()):
    """The address of a hub that has the repositories of a folder.

    gated  models that are given to requests with a token alone
    """
    with serving(Hub(folder, gated)) as hub:
        yield hub.base


class Hub(Files):
    """What the server gives. `requests` and the ways to fail are those of `Files`."""

    def __init__(self, folder, gated=(), **how):
        super().__init__({}, **how)
        self.folder, self.gated = folder, frozenset(gated)
        self.revisions = pinned_revisions()
        self.stored = {}

    def reply(self, address, headers):
        path, _, query = unquote(address).partition("?")
        if stored := STORED.fullmatch(path):
            # as the hub's storage, which takes no token: a client must not send it there
            if headers.get("Authorization"):
                return Reply(400)
            return Reply(200, self.stored[stored[1]].read_bytes(), {"ETag": f'"{stored[1]}"'})
        if found := API.fullmatch(path):
            kind, name, what, revision, inner, refs = found.groups()
            repository = Repository(self, kind, name, revision or "main")
            deep = parse_qs(query).get("recursive", [""])[0].lower() in ("1", "true")
            answers = {"tree": functools.partial(repository.tree, inner or "", deep), "refs": repository.refs}
            refusal = repository.refusal("", headers if what == "tree" else None)
            return refusal or answers.get(what or refs, repository.facts)()
        if found := FILE.fullmatch(path):
            dataset, name, revision, inner = found.groups()
            repository = Repository(self, "datasets" if dataset else "models", name, revision)
            return repository.refusal(inner, headers) or repository.file(inner)
        return Reply(404)


class Repository:
    """A repository at a revision."""

    def __init__(self, hub, kind, name, revision):
        self.hub, self.name = hub, name
        place = hub.folder / kind / name
        self.newest, self.commit = (full_commit(f"{kind}/{name}", named) for named in ("main", revision))
        known = {full_commit(f"{kind}/{name}", named): named for named in ("main", *hub.revisions.get(f"{kind}/{name}", ()))}
        own = place.with_name(f"{place.name}@{known.get(self.commit)}")
        self.folder = own if own.is_dir() else place
        self.exists, self.has_revision = place.is_dir(), self.commit in known

    def refusal(self, inner, headers):
        """Why a request is refused, in the hub's words; None where it is not. headers: None for what a gate does not close."""
        code, status = "", 404
        if not self.exists:
            code, status = "RepoNotFound", 401  # whether it is private is not said
        elif not self.has_revision:
            code = "RevisionNotFound"
        elif headers is not None and self.name in self.hub.gated and not headers.get("Authorization"):
            code, status = "GatedRepo", 401
        elif inner and not (self.folder / inner).is_file():
            code = "EntryNotFound"
        return Reply(status, b"", {"X-Error-Code": code, "X-Error-Message": f"{code}: {self.name}"}) if code else None

    def facts(self):
        facts = {"id": self.name, "modelId": self.name, "author": self.name.partition("/")[0], "sha": self.commit}
        facts |= {"private": False, "disabled": False, "gated": "manual" if self.name in self.hub.gated else False}
        facts |= {"lastModified": DATE, "createdAt": DATE, "downloads": 0, "likes": 0, "tags": []}
        return self._json({**facts, "siblings": [sibling(name, path.read_bytes()) for name, path in self._files()]})

    def tree(self, inner, recursive):
        """Folders and files below a folder, as the hub lists them."""
        entries = {}
        for name, path in self._files():
            below = name.removeprefix(f"{inner}/") if inner else name
            if inner and below == name:
                continue
            parents = below.split("/")[:-1]
            for depth in range(1, len(parents) + 1):
                place = "/".join(filter(None, [inner, *parents[:depth]]))
                if recursive or depth == 1:
                    entries[place] = {
                        "type": "directory",
                        "oid": hashlib.sha1(place.encode()).hexdigest(),
                        "size": 0,
                        "path": place,
                    }
            if recursive or not parents:
                entries[name] = self._entry(name, path)
        return self._json(list(entries.values()))

    def refs(self):
        branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": self.newest}
        return self._json({"branches": [branch], "tags": [], "converts": []})

    def file(self, inner):
        """A small file, or where a large one lies: on another host, by its SHA-256."""
        path = self.folder / inner
        data = path.read_bytes()
        headers = {"X-Repo-Commit": self.commit, "Accept-Ranges": "bytes"}
        if not is_large(inner):
            return Reply(200, data, {**headers, "ETag": f'"{git_blob(data)}"'})
        digest = hashlib.sha256(data).hexdigest()
        self.hub.stored[digest] = path
        elsewhere = f"{self.hub.base.replace('127.0.0.1', 'localhost')}/stored/{digest}"
        linked = {"X-Linked-ETag": f'"{digest}"', "X-Linked-Size": str(len(data)), "ETag": f'"{digest}"'}
        return Reply(302, b"", {**headers, **linked, "Location": elsewhere})

    def _files(self):
        """(name, path) of all files."""
        paths = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return [(path.relative_to(self.folder).as_posix(), path) for path in paths]

    @staticmethod
    def _entry(name, path):
        data = path.read_bytes()
        entry = {"type": "file", "oid": git_blob(data), "size": len(data), "path": name}
        if is_large(name):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    @staticmethod
    def _json(content):
        return Reply(200, json.dumps(content).encode(), {"Content-Type": "application/json"})


def pinned_revisions():
    """`models/ORG/NAME` or `datasets/ORG/NAME` -> the revisions that the registry names of it."""
    pinned = {}
    for spec in registry.systems().values():
        for checkpoint, revision in ((spec.checkpoint, spec.revision), (spec.base, spec.base_revision)):
            if checkpoint and revision:
                pinned.setdefault(f"models/{checkpoint}", set()).add(revision)
    for benchmark in registry.benchmarks().values():
        for group in benchmark.groups:
            if "repository" in group:
                pinned.setdefault(f"datasets/{group['repository']}", set()).add(group["revision"])
    return pinned


def full_commit(repository, revision):
    """The 40 digits of a revision: those of a pinned commit; of its first digits, of a branch, made up of the name."""
    if COMMIT.fullmatch(revision):
        return revision
    made = hashlib.sha1(f"{repository} {revision}".encode()).hexdigest()
    return revision + made[len(revision) :] if re.fullmatch(r"[0-9a-f]{7,39}", revision) else made
