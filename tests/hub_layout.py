"""What the hub's two addresses give for a data repository: the list of its files, and the files."""

import json

from serving import Files


def hub_files(folder, group):
    """The answers for a group's repository at its revision, from a folder with its files."""
    repository, revision = group["repository"], group["revision"]
    content, tree = {}, []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        content[f"/datasets/{repository}/resolve/{revision}/{name}"] = path.read_bytes()
        tree.append({"type": "file", "path": name, "oid": f"{len(tree):040x}", "size": path.stat().st_size})
    content[f"/api/datasets/{repository}/tree/{revision}"] = json.dumps(tree).encode()
    return Files(content, headers={"X-Repo-Commit": revision})
