"""Jobs: inputs with their records, steps, an output with its record. What a command and a call from Python both make."""

from toolkit.jobs.file_job import Job, Output, RunJob
from toolkit.jobs.run_jobs import fuse_job, pipeline_job, rerank_job, search_job

__all__ = ["Job", "Output", "RunJob", "fuse_job", "pipeline_job", "rerank_job", "search_job"]
