"""Run a module of Pyserini as it is, in a process whose JVM is started as Tandem starts it.

python scripts/bench/peer.py pyserini.search.lucene --index ...
"""

import os
import runpy
import sys

from toolkit.core.system.progress import set_debug
from toolkit.models.lucene import jvm

if __name__ == "__main__":
    os.environ.setdefault("OPENAI_API_KEY", "none")  # importing pyserini.search fails without one
    set_debug(True)  # Pyserini's own settings: its log is part of its work
    jvm.start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
