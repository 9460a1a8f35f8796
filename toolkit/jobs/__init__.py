"""Jobs: inputs with their records, steps, an output with its record. What a command and a call from Python both make."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "file_job": ("Job", "RunJob", "runs_job"),
        "search_jobs": ("pipeline_job", "rerank_job", "search_job"),
        "toolkit.files.provenance": ("Output",),
    },
)
