"""A Ray cluster of two nodes on this machine, with a CPU each."""

import json
import os
import re
import subprocess
import sys

SOON = {"RAY_health_check_period_ms": "500"}  # of 3,000: five that a node does not answer at all are its end
CLUSTER = """
import json, os, sys
from ray.cluster_utils import Cluster
how = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"}
head = json.loads(sys.argv[1])
how |= {"memory": head["memory"]} if "memory" in head else {}
cluster = Cluster(initialize_head=True, head_node_args={**how, "include_dashboard": False, **head})
os.environ.update(json.loads(sys.argv[2]))
node = cluster.add_node(**how)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(node, allow_graceful=False)
    print("removed", flush=True)
cluster.shutdown()
"""


def started(environment, second=None, before=(), **head):
    """A cluster of two nodes with a CPU each: a process, and its address.

    A line on its input ends the second node.

    second  of the environment, what only the second node has
    before  words that the command begins with
    head    arguments of Ray's for the head: `temp_dir`, where its session lies; `memory` is that of both nodes
    """
    env = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0", **SOON, **environment}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    words = [*before, sys.executable, "-c", CLUSTER, json.dumps(head), json.dumps(second or {})]
    running = subprocess.Popen(words, env=env, **pipes)
    for line in running.stdout:
        if address := re.fullmatch(r"(127\.0\.0\.1:\d+)\n", line):
            return running, address[1]
    raise AssertionError("no cluster")
