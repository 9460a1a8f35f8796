"""What puts the stages together: topics, an index and a system make a run, written with its metadata."""

from toolkit.pipeline.job import Job, make_run, plan_run, run_name
from toolkit.pipeline.lexical import CORPUS

__all__ = ["CORPUS", "Job", "make_run", "plan_run", "run_name"]
