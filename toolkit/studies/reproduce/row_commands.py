"""The commands that make a row by hand, in the folder of the reproduction."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.registry.published.comparison import measures_of
from toolkit.studies.reproduce.row_files import CANDIDATES, RowFiles
from toolkit.studies.reproduce.table_rows import (
    AGREEMENT,
    COVERAGE,
    DIVERSIFY,
    EXPAND,
    OVERLAP,
    PARAPHRASES,
    STANCE,
    UNION,
    Row,
)


def commands(files: RowFiles, row: Row) -> list[str]:
    """What makes a row's run, its labels and its scores, a line each; of a part with other runs, what it makes of them.

    An index that is a folder below the output is named by its place there.
    """
    lines = [*_runs(files, row), *_labels(files, row), *_scores(files, row)]
    return [shlex.join(["tandem", *(str(word) for word in line)]) for line in lines]


def _runs(files: RowFiles, row: Row) -> Iterator[list[object]]:
    part, own = row.part, row.system.name
    if part.scores == STANCE:
        stances = _place(files, files.stances_path)
        how = _prompts(files, row, part.stances)
        yield ["judge", "--task", "stance", "--topics", part.topics, "--judge", part.stances, *how, "--output", stances]
    if not part.has_runs:
        return
    run = _place(files, files.path(row))
    if part.how == DIVERSIFY:
        lam, constant = files.mmr(row)
        source = _place(files, files.path(files.tables.row(f"{part.of}/{own}")))
        index = _given("--index", part.search.get("index", ""))
        how = ["--lam", f"{lam:g}", "--scale", constant]
        yield ["diversify", source, "--topics", part.topics, *index, *how, "--output", run, "--tag", own]
        return
    if part.how == EXPAND:
        queries, lists = f"{part.name}/queries.jsonl", f"{part.name}/{own}.lists.trec"
        how = _prompts(files, row, part.expander)
        yield ["expand", "topics", "--topics", part.topics, "--from", part.expander, *how, "--output", queries]
        yield _search(files, row, queries, lists)
        yield ["expand", "merge", lists, "--depth", part.search["hits"], "--output", run, "--tag", own]
        return
    if row.reranks:
        first = files.first_stage(row)
        source = _place(files, first.path) if first else row.system.parameters.get("run", CANDIDATES)
        how = [*_given("--recipe", row.recipe), *_given("--precision", files.models.get("precision", ""))]
        how += _prompts(files, row, own)
        yield ["rerank", "--run", source, "--topics", part.topics, "--system", own, *how, "--output", run, "--tag", own]
        return
    if files.builds_index(row):
        yield ["index", part.corpus, "--system", own, *_given("--recipe", row.recipe), "--output", _index(files, row)]
    yield _search(files, row, part.topics, run)


def _search(files: RowFiles, row: Row, topics: str, run: str) -> list[object]:
    own, how = row.system.name, row.part.search
    precision = files.models.get("precision", "") if row.system.checkpoint else ""
    options = [*_given("--recipe", row.recipe), *_given("--precision", precision), *_given("--index", _index(files, row))]
    options += [*_given("--hits", str(how.get("hits", ""))), *_given("--candidates", str(how.get("candidates", "")))]
    return ["search", "--topics", topics, "--system", own, *options, "--output", run, "--tag", own]


def _labels(files: RowFiles, row: Row) -> Iterator[list[object]]:
    part = row.part
    if not part.judge and row.system.kind != "judge":
        return
    labels = _place(files, files.qrels_path(row))
    runs = [_place(files, path) for path in files.scored(row)]
    name, depth = part.judge.get("name", row.system.name), part.judge.get("depth", files.labelled_depth)
    index = _given("--index", str(part.search.get("index", "")))
    how = [*_given("--recipe", "" if part.judge else row.recipe), *_prompts(files, row, name)]
    yield ["judge", *runs, "--judge", name, *how, "--topics", part.topics, *index, "--depth", depth, "--output", labels]


def _scores(files: RowFiles, row: Row) -> Iterator[list[object]]:
    part = row.part
    labels = _given("--qrels", _place(files, files.qrels_path(row)) if part.judge else "")
    runs = [_place(files, path) for path in files.scored(row)]
    if part.scores in (COVERAGE, UNION):
        yield ["analyze", "coverage", *runs, "--benchmark", part.topics, *labels, "--depth", part.judge["depth"]]
    elif part.scores == OVERLAP:
        lexical = _place(files, files.path(files.tables.row(f"{part.of}/{part.lexical}")))
        yield ["analyze", "overlap", *runs, "--filter-run", lexical, "--benchmark", part.topics]
    elif part.scores == PARAPHRASES:
        original = files.tables.row(f"{part.against}/{row.system.name}")
        yield ["analyze", "paraphrase", _place(files, files.path(original)), *runs, "--benchmark", original.part.topics]
    elif part.scores == STANCE:
        stances = ["--stances", _place(files, files.stances_path)]
        yield ["analyze", "stance", *runs, "--benchmark", part.topics, *labels, *stances]
    elif part.scores != AGREEMENT:
        yield ["evaluate", *runs, "--benchmark", part.topics, *labels, "-m", *measures_of(files.tables.paper)]


def _index(files: RowFiles, row: Row) -> str:
    try:
        name = files.index_of(row)
    except ToolkitError:
        return "DIR"  # it has to be named first
    return _place(files, Path(name)) if files.builds_index(row) else name


def _prompts(files: RowFiles, row: Row, system: str) -> list[str]:
    sent = row.sent_to(system)
    return _given("--prompts", _place(files, Path(files.tables.prompts)) if sent and sent.file else "")


def _place(files: RowFiles, path: Path) -> str:
    return os.path.relpath(path, files.output)


def _given(option: str, value: str) -> list[str]:
    return [option, value] if value else []
