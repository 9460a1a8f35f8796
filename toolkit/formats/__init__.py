"""Bytes <-> nouns: runs, qrels and topics in every form, documents, and the linter."""

from toolkit.core.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "lint": ("lint_qrels", "lint_run"),
        "problems": ("Problem",),
        "qrels": ("read_qrels", "write_qrels"),
        "requests": ("read_requests", "write_requests"),
        "runs": ("FORMS", "read_run"),
        "topics": ("read_topics", "write_topics"),
        "trec_runs": ("write_run",),
    },
)
