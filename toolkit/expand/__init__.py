"""Query expansion: one query for each perspective, and their lists as one."""
