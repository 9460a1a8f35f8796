"""What calls from Python take: topics, runs and qrels in the forms that users have them in, for signatures alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from toolkit.core.qrels import Qrels
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.datasets.benchmark import Benchmark


class Frame(Protocol):
    """A DataFrame, or what ranx has for a run and qrels."""

    def to_dict(self) -> Any:
        """Its content."""


File = str | Path
Rows = Sequence[Sequence[object]]  # (query_id, doc_id, score or relevance), also as named tuples
RunForm = File | Run | Frame | Mapping[str, Mapping[str, float]] | Rows
# several are a list, or by name, by mode or both; each union has one sequence and one mapping, for checkers to see into
Runs = File | Run | Frame | Sequence[RunForm | Sequence[object]] | Mapping[str, RunForm | Mapping[str, RunForm | float]]
QrelsForm = File | Qrels | Frame | Mapping[str, Mapping[str, int]] | Rows
Judging = File | Qrels | Frame | Sequence[QrelsForm | Sequence[object]] | Mapping[str, QrelsForm | Mapping[str, int]]
Topics = File | Benchmark | Frame | Mapping[str, str] | Sequence[Topic | Mapping[str, Any] | File]
Records = Sequence[Mapping[str, Any]]  # rows by the names of their columns
Measures = str | Sequence[Any]  # in one text, or texts and measures of ir_measures
Modes = Mapping[str, str]  # name -> role

Ids = Literal["tandem", "published"]
Unjudged = Literal["refuse", "negative"]
Missing = Literal["worst", "skip", "error"]
Instruction = Literal["full", "short", "keywords", "placebo", "shuffled", "swapped", "none"]
Precision = Literal["fp32", "bf16", "fp16"]
Loader = Literal["endpoint", "transformers"]
X = Literal["parameters", "seconds", "tokens", "memory"]
