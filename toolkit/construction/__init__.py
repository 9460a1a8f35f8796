"""Benchmarks of one's own documents, built as the papers built theirs: step by step, each item with its history.

A build is a folder with `build.yaml` (`build_config`). Its steps make and reject items (`steps`), which lie in
`steps/<step>.jsonl` with a record each (`step_files`); `build_folder` runs them and says how far they are. What the kinds of
benchmarks have of their own is in `kinds`.
"""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__, {"build_folder": ("BuildFolder",), "build_config": ("new_build",), "steps": ("Item", "Step")}
)
