"""Data repositories of the hub: their Parquet files, and what its two addresses give (the list of files, and the files)."""

import hashlib
import json
from pathlib import Path

from serving import Files


def write_parquet(path, rows):
    """One table, its folder made."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_parquet_tables(folder, tables, path="{name}/test"):
    """Every configuration as one Parquet file, and a README that says where each is; returns the folder.

    path  of a table without the shard's number: a form, or a function of its name; its last part is the split
    """
    folder, head = Path(folder), ["---", "configs:"]
    for name, rows in tables.items():
        place = path.format(name=name) if isinstance(path, str) else path(name)
        write_parquet(folder / f"{place}-00000-of-00001.parquet", list(rows))
        split = place.rpartition("/")[2]
        head += [f"- config_name: {name}", "  data_files:", f"  - split: {split}", f"    path: {place}-*"]
    (folder / "README.md").write_text("\n".join([*head, "---", "A data set.", ""]), encoding="utf-8")
    return folder


# what the hub stores apart from git (LFS), by the ending of the name
LARGE = (".safetensors", ".bin", ".model", ".parquet", ".gz", ".zst", ".zip", ".tar", ".h5", ".onnx", ".pkl", ".msgpack")


def is_large(name):
    """Whether the hub stores a file apart from git, and lists its SHA-256."""
    return name.endswith(LARGE)


def git_blob(data):
    """The id that git has for a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sibling(name, data):
    """A file as the hub lists it: large ones (LFS) with their SHA-256, others with the id of their git blob."""
    entry = {"rfilename": name, "size": len(data), "blobId": git_blob(data)}
    lfs = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return entry | ({"lfs": lfs} if is_large(name) else {})


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
