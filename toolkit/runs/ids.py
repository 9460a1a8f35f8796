"""A run under the query ids that its benchmark published, or under ours."""

from __future__ import annotations

from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run

IDS = ("tandem", "published")


def with_ids(run: Run, ids: str, benchmark: str, mode: str = "") -> Run:
    """The run with its query ids as one of IDS.

    benchmark  whose ids they are, or a part of it (`infosearch-audience`): only its queries are written then
    mode       of a file with published ids, which the modes share: the one it holds, or the one to write

    Raises ToolkitError for an id that is not the benchmark's, and where published ids do not tell queries apart.
    """
    from toolkit.benchmarks import PublishedIds, find, resolve_topics

    selection = find(benchmark)
    if selection is None:
        raise ToolkitError(f"{benchmark} has no published ids", "name one of `tandem benchmarks list`")
    if mode and mode not in selection.modes:
        raise ToolkitError(f"{benchmark} has no mode {mode!r}", f"known: {', '.join(selection.modes) or 'none'}")
    part = PublishedIds.of(resolve_topics(benchmark).topics)
    if ids == "tandem":
        return run.with_query_ids(part.rename(run.query_ids, mode, run.source))
    whole = PublishedIds.of(resolve_topics(selection.benchmark).topics)
    chosen = [
        query_id
        for query_id in run.query_ids
        # an id that is nobody's stays, for `publish` to refuse
        if query_id not in whole.originals or (query_id in part.originals and query_id.endswith(f"-{mode}" if mode else ""))
    ]
    if not chosen:
        raise ToolkitError(f"{run.source} has no query of {benchmark}{f' in mode {mode}' if mode else ''}", "name another")
    return run.select(chosen).with_query_ids(whole.publish(chosen, run.source))
