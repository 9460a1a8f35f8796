"""Answers as training pairs: what was asked, and yes or no."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.core.files import open_output
from toolkit.judge.judging import Row
from toolkit.models.judges import Judge
from toolkit.models.judges.judge import NO, YES


def export(rows: Sequence[Row], judge: Judge, path: str | Path) -> tuple[int, int]:
    """Write the answered pairs as JSON lines; (written, not answered yet). Asks nothing.

    A line has `messages` (the chat, the answer as the assistant's turn: Yes or No), and `query_id`, `perspective` (its
    number), `doc_id`, `label`; of a judge that gives one, its `share` too. Each pair once. Raises ToolkitError where nothing
    is answered.
    """
    if not judge.llm.backend.here:
        message = f"which commit of {judge.spec.checkpoint} gave the answers is not known"
        raise ToolkitError(message, "HF_HUB_OFFLINE=1 takes the one that is here, where none is pinned")
    pairs = {row.pair: row for row in rows if row.pair}
    known = judge.known(list(pairs))
    answered = [(row, verdict) for row, verdict in zip(pairs.values(), known, strict=True) if verdict]
    if not answered:
        raise ToolkitError(f"{judge.spec.name} has answered none of {len(pairs):,} pairs", "judge the run first")
    with open_output(path) as out:
        for row, verdict in answered:
            turn = {"role": "assistant", "content": YES if verdict.holds else NO}
            line = {"messages": [*judge.messages(row.pair), turn], "query_id": row.query_id, "perspective": int(row.subtopic)}
            line |= {"doc_id": row.doc_id, "label": int(verdict.holds)}
            line |= {"share": verdict.share} if verdict.share is not None else {}
            out.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
    return len(answered), len(pairs) - len(answered)
