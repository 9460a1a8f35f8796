"""What the hub's two addresses give for a data repository: the list of its files, and the files."""

import hashlib
import json

from serving import Files


def sibling(name, data):
    """A file as the hub lists it: large ones (LFS) with their SHA-256, others with the id of their git blob."""
    entry = {"rfilename": name, "size": len(data), "blobId": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
    return entry | (
        {"lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}} if name.endswith(".safetensors") else {}
    )


def hub_files(folder, group, commit=""):
    """The answers for a group's repository at its revision, from a folder with its files.

    commit  the full id of a revision that is a short one
    """
    repository, revision = group["repository"], commit or group["revision"]
    content, siblings = {}, []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        content[f"/datasets/{repository}/resolve/{revision}/{name}"] = path.read_bytes()
        siblings.append(sibling(name, path.read_bytes()))
    content[f"/api/datasets/{repository}/revision/{group['revision']}"] = json.dumps(
        {"sha": revision, "siblings": siblings}
    ).encode()
    return Files(content)
