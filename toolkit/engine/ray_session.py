"""A connection to Ray: a cluster of this machine alone, which nobody else reaches, or one that somebody started."""

import atexit
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import RAY, lock_file, temporary_folder
from toolkit.core.system.installation import install_command
from toolkit.core.system.progress import say
from toolkit.engine.places import one_line

# read when Ray is imported. Without the first Ray takes the host's address in place of 127.0.0.1, and listens everywhere
SETTINGS = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
LOOPBACK = "127.0.0.1"
OBJECT_STORE = 80 << 20  # bytes: paths and counts are all that goes through it
OLDEST = (2, 54)
# seconds. Ray itself waits for 60 whether a head comes back, and then ends the process in the middle of whatever it does
HEAD_AWAITED, HEAD_ASKED = 40.0, 5.0
NODES_AWAITED = 300.0  # seconds for which a cluster that somebody started may be without a node for a worker
PLACE = Path("/tmp")  # whatever TMPDIR says: names of sockets end at 107 characters
LOG = re.compile(rf"{PLACE}/{RAY}[a-z0-9_]{{8}}(?=/ray/)")  # where the files of a cluster are that was started here
RAYS = re.compile(rb"ray::|([^\0]*\0(-u\0)?)?[^\0]*/ray/(core|_private|autoscaler|dashboard)/")  # command lines of Ray's own


class RaySession:
    """A connection, until `close`; Ray has one a process.

    address  of a cluster (`HOST:PORT`, `auto` for the one that was started on this machine); empty starts one here: on the
             loopback address alone, with token authentication, without dashboard and usage statistics

    Where Ray is connected already, as in a notebook, that connection is used and left as it is.
    """

    def __init__(self, address: str, cpus: int, gpus: int | None):
        self._is_ours = False
        self._heard = self._asked = self._room = time.monotonic()  # of the head; a node for a worker was there
        self._awaited = NODES_AWAITED if address else 0.0
        ray = _import_ray(started_here=not address)
        if ray.is_initialized():
            say("note: Ray is connected in this process already: that cluster is used")
            return
        self._is_ours = True
        quiet = {"log_to_driver": False, "logging_level": "critical"}
        ends = signal.getsignal(signal.SIGTERM)
        try:
            if address:
                if os.environ.get("RAY_AUTH_MODE", "").lower() == "disabled":
                    say("warning: RAY_AUTH_MODE is disabled: whoever reaches the cluster's ports runs code on its nodes")
                ray.init(address=address, **quiet)
            else:
                here = {"num_cpus": cpus, "num_gpus": gpus, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
                ray.init(address="local", _node_ip_address=LOOPBACK, _temp_dir=str(_private() / "ray"), **here, **quiet)
        except Exception as error:  # Ray raises just that where a node does not start in time
            place = f"the Ray cluster at {address}" if address else "Ray"
            raise ToolkitError(f"{place} is not reached: {one_line(error)}", HINT if address else "", status=1) from error
        if ends is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, ends)  # Ray's handler prints a stack of C++ and aborts
        from ray._private import worker

        # with any settings Ray prints on standard output that a worker ended; here that is a note, and output is a run
        self._printing, worker.print_to_stdstream = worker.print_to_stdstream, lambda *given, **how: None

    def check(self, has_room: Callable[[dict[str, float]], bool]) -> None:
        """Raise ToolkitError where the head has not named its nodes for HEAD_AWAITED, or where no node has room for a worker
        and none has come for NODES_AWAITED (none ever comes to a cluster started here); asks every HEAD_ASKED at most.
        """
        now = time.monotonic()
        if now - self._asked < HEAD_ASKED:
            return
        self._asked = now
        import ray

        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=HEAD_ASKED).close()
            nodes = self.nodes()
        except (OSError, ToolkitError) as error:
            if now - self._heard > HEAD_AWAITED:
                hint = "start the cluster anew: the same command computes what is left"
                raise ToolkitError(f"the head of the Ray cluster, {host}:{port}, is lost: {error}", hint, status=1) from error
            return
        self._heard = time.monotonic()
        if any(map(has_room, nodes)):
            self._room = now
        elif now - self._room > self._awaited:
            message = f"the Ray cluster at {host}:{port} has no node left for a worker"
            raise ToolkitError(message, "the same command computes what is left", status=1)

    def nodes(self) -> list[dict[str, float]]:
        """The resources of every node that is alive: `CPU`, `GPU`, `memory` in bytes; ToolkitError where the head is silent.

        `ray.nodes()` would wait without end, and after 60 seconds Ray ends the process.
        """
        from ray._private.worker import global_worker
        from ray.core.generated.gcs_pb2 import GcsNodeInfo
        from ray.exceptions import RayError

        try:
            nodes = global_worker.gcs_client.get_all_node_info(timeout=HEAD_ASKED).values()
        except RayError as error:
            raise ToolkitError(f"Ray names no nodes: {one_line(error)}", status=1) from error
        return [dict(node.resources_total) for node in nodes if node.state == GcsNodeInfo.ALIVE]

    def close(self) -> None:
        """Disconnect, and end what was started."""
        if self._is_ours:
            import ray
            from ray._private import worker

            ray.shutdown()
            worker.print_to_stdstream = self._printing


HINT = "is the address right, and the token? `ray get-auth-token` prints that of the node where the cluster was started"


def _import_ray(*, started_here: bool) -> Any:
    """Ray, with the settings that it reads when it is imported; ToolkitError where it came without them, or is too old."""
    global _is_private
    if "ray" not in sys.modules:
        os.environ.update(SETTINGS)
        if started_here:
            token = _private() / "token"
            if not token.exists():
                with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(32))
            os.environ.pop("RAY_AUTH_TOKEN", None)
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))
        _is_private = started_here
    import ray

    if tuple(map(int, ray.__version__.split(".")[:2])) < OLDEST:
        raise ToolkitError(f"Ray is {ray.__version__}", f"{install_command('ray')} brings 2.54 or later", status=1)
    if started_here and not _is_private and not ray.is_initialized():
        message = "Ray was imported before: a cluster started now would have no token and listen on all addresses"
        raise ToolkitError(message, "call ray.init() yourself, or take another process")
    return ray


_is_private = False  # whether Ray was imported here, with the settings of a cluster of this machine alone


@cache  # Ray reads the token once a process, so it is the same for every cluster started here
def _private() -> Path:
    """The folder of clusters that this process starts, which only its user may read; removed when the process ends, or by the
    next one. Ray opens its own folder to everybody: it lies in this one.
    """
    _end_orphans()
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(temporary_folder(PLACE, RAY))


def _end_orphans() -> None:
    """End the processes of clusters whose command was killed: Ray's agents outlive it. One that lives has locked its folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, is another user's, or its command lives
            if process.stat().st_uid != os.geteuid() or not RAYS.match((process / "cmdline").read_bytes()):
                continue
            # known by the files that it writes: an agent's name has overwritten its environment
            files = map(os.readlink, (process / "fd").iterdir())
            if found := next(filter(None, map(LOG.match, files)), None):
                with suppress(FileNotFoundError):  # removed already
                    handle = lock_file(Path(found[0]))
                    if handle is None:
                        continue
                    os.close(handle)
                os.kill(int(process.name), signal.SIGKILL)


STRANGER = """
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1]).internal_kv_keys(b"", b"")
except AuthenticationError:
    sys.exit(3)
"""


def answers_anybody(address: str, seconds: float = 12.0) -> bool | None:
    """Whether a cluster answers one who has no token; None where it is not reached.

    Another process asks, as Ray has one mode a process.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH_")}
    environment |= {**SETTINGS, "RAY_AUTH_MODE": "disabled"}
    try:
        done = subprocess.run([sys.executable, "-c", STRANGER, address], env=environment, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return {0: True, 3: False}.get(done.returncode)
