"""Bytes <-> nouns: TREC runs, qrels and topics, their TSV, JSON and Parquet forms, run metadata, and the linter."""

from toolkit.formats.lint import lint_qrels, lint_run
from toolkit.formats.problems import Problem
from toolkit.formats.qrels import read_qrels, write_qrels
from toolkit.formats.requests import read_requests, write_requests
from toolkit.formats.runs import FORMS, read_run
from toolkit.formats.topics import read_topics, write_topics
from toolkit.formats.trec_runs import write_run

__all__ = [
    "FORMS",
    "Problem",
    "lint_qrels",
    "lint_run",
    "metadata_path",
    "read_metadata",
    "read_qrels",
    "read_requests",
    "read_run",
    "read_topics",
    "write_qrels",
    "write_requests",
    "write_run",
    "write_topics",
]
