"""The candidates that a benchmark brings to be reranked."""

from toolkit.core.errors import ToolkitError, three
from toolkit.core.runs import Run, join_runs
from toolkit.datasets.names import TopicSet

CANDIDATES = "candidates"  # what a user says for them where a run is expected


def benchmark_candidates(topics: TopicSet) -> Run:
    """What a benchmark gives to be reranked, for each of the topics. ToolkitError where it gives nothing."""
    benchmark = topics.benchmark
    if benchmark is None:
        raise ToolkitError(f"{topics.name} is a file, which has no candidates", "name a benchmark's topics, or a run")
    runs, without = [], []
    for part in topics.parts:
        for mode in dict.fromkeys(topic.mode for topic in part.topics):
            run = benchmark.scoreddocs(part.group, mode)
            wanted = [topic.query_id for topic in part.topics if topic.mode == mode]
            runs += [run.select(wanted)] if run is not None else []
            without += [f"{part.group} {mode}".strip()] if run is None else []
    if without:
        message = f"{benchmark.spec.name} has no candidates on this machine for {three(without)}"
        raise ToolkitError(
            message, f"`tandem benchmarks show {benchmark.spec.name}` says what it has; or name a run with --run"
        )
    return join_runs(runs, source=f"the candidates of {benchmark.spec.name}")
