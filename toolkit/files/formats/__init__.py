"""Bytes <-> nouns: runs, qrels and topics in every form, documents, and the linter."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "toolkit.files.runs.lint": ("lint_qrels", "lint_run"),
        "toolkit.files.runs.problems": ("Problem",),
        "toolkit.files.runs.conversion": ("read_qrels", "write_qrels"),
        "toolkit.files.runs.requests": ("read_requests", "write_requests"),
        "toolkit.files.runs.runs": ("FORMS", "read_run"),
        "toolkit.files.texts.topics": ("read_topics", "write_topics"),
        "toolkit.files.runs.trec_runs": ("write_run",),
    },
)
