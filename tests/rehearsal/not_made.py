"""The page on the rehearsal: rows that cannot be made, and cells that no row is for, each with its reason.

.venv/bin/python tests/rehearsal/not_made.py
"""

import sys
from pathlib import Path

import yaml

from toolkit.registry.published.paper_tables import papers
from toolkit.studies.reproduce.table_rows import tables_of

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "rehearsal.md"
HEAD = """\
# The dress rehearsal

```sh
./scripts/rehearse
```

makes the tables of all four papers, `tandem reproduce PAPER`, on a machine that has nothing, and where the hub is a local
server: under the real names and revisions it has a small copy of every benchmark in its published layout, and for each system
a tiny random checkpoint in the published one's files. Prebuilt indexes come from a local mirror (`TANDEM_INDEX_MIRROR`) under
entries with their own digests (`TANDEM_HOME/registry/indexes`), what authors publish with their code from local clones
(`tandem benchmarks fetch --from`), and a scripted server answers for GPT-4o and GPT-4. The numbers mean nothing; that they
are made, does:

- each paper, from the first download to its page, with a number in every cell whose row can be made; a second time nothing is
  made again, and all files are the same bytes;
- killed (SIGKILL) in every kind of step (fetching data, checkpoints and indexes, indexing, encoding, searching, reranking,
  asking a server, judging, evaluating, writing), the same command ends with the bytes of a pass that was not interrupted;
- a system of each kind on a Ray cluster of two nodes, with the same bytes;
- every system of the registry, those of no paper too: fetched from the hub, no file that it needs lost, it searches, reranks or
  judges documents of a mini, and without a network gives the same bytes again.

`./scripts/rehearse --rehearse fifth` takes a fifth of the rows with every kind of system, as `.ci/run` does. What each run
took is printed.
"""
ROWS = """
## Rows that cannot be made

The rehearsal fails where one of these is made, and where another one is not.

"""
NO_ROWS = "There is none: every row of the four papers is made, and none runs the code of a repository.\n"
TABLE = """\
| paper | row | the command says |
| --- | --- | --- |
"""
REASONS = """
## Cells that no row is for

| paper | table | which | why |
| --- | --- | --- | --- |
"""

SYSTEMS = """
## Systems that are not loaded from the hub

| system | why |
| --- | --- |
"""


def not_made():
    """paper -> {part/system: what the command says}."""
    return yaml.safe_load((HERE / "not_made.yaml").read_text(encoding="utf-8"))


def page():
    """The text of docs/rehearsal.md."""
    rows = [f"| {paper} | `{row}` | ... {why} |\n" for paper, of_paper in not_made().items() for row, why in of_paper.items()]
    cells = []
    for paper in papers():
        for entry in tables_of(paper).unmade:
            which = ", ".join(f"{name} {value.strip('/')}" for name, value in entry.items() if name not in ("table", "why"))
            cells.append(f"| {paper} | {entry['table']} | {which} | {entry['why']} |\n")
    listed = yaml.safe_load((HERE / "checkpoints.yaml").read_text(encoding="utf-8"))["not_from_the_hub"]
    systems = [f"| `{name}` | {facts['why']} |\n" for name, facts in listed.items()]
    return "".join([HEAD, ROWS, *([TABLE, *rows] if rows else [NO_ROWS]), REASONS, *dict.fromkeys(cells), SYSTEMS, *systems])


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page(), encoding="utf-8") and 0)
