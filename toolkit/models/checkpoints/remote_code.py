"""Whether code that a checkpoint's repository brings is run: where the user says `--trust-remote-code`, decided here alone."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NoReturn

from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec

# options of transformers and torch, in any library's arguments -> whether a value of them has code imported or unpickled
FLAGS = ("trust_remote_code", "code_revision", "custom_generate", "use_kernels", "allow_all_kernels", "kernel_config")
RUNS_CODE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(FLAGS, bool),
    "weights_only": lambda value: value is not None and not value,
    "attn_implementation": lambda value: "/" in str(value),  # a repository of kernels
}


def option_with_code(options: Any, place: str = "") -> str:
    """The first option, in whatever others it stands, that would run code, as `a.b: value`; empty where there is none."""
    items = options.items() if isinstance(options, Mapping) else enumerate(options) if isinstance(options, list | tuple) else ()
    for key, value in items:
        if key in RUNS_CODE and RUNS_CODE[key](value):
            return f"{place}{key}: {value}"
        if found := option_with_code(value, f"{place}{key}."):
            return found
    return ""


def check_trust(spec: SystemSpec, trusted: bool) -> None:
    """ToolkitError for a system whose entry asks for its checkpoint's code, which the user does not trust."""
    if not trusted and (option := option_with_code(spec.parameters)):
        refuse(spec.name, f"its entry says {option}, which runs code that its checkpoint brings")
    if not trusted and spec.remote_code:
        refuse(spec.name, f"{spec.checkpoint} computes something else without its repository's own code")


def refuse(name: str, why: str) -> NoReturn:
    """The one line, with the flag."""
    raise ToolkitError(f"{name} is not loaded: {why}", "--trust-remote-code runs that code, with all that it may do")


@contextmanager
def code_of(name: str, trusted: bool) -> Iterator[None]:
    """Within it a library may run a repository's code only where that is trusted, whatever the library's own default is.

    Elsewhere ToolkitError for a module that transformers would import from a repository, and pickles give tensors alone.
    """
    if trusted or not all(map(find_spec, ("torch", "transformers"))):
        yield
        return
    from unittest.mock import patch

    import torch
    from transformers import dynamic_module_utils as dynamic

    def refused(*_: Any, **__: Any) -> NoReturn:
        refuse(name, "its checkpoint's repository brings code of its own, without which the library does not load it")

    def tensors(*given: Any, load: Callable[..., Any] = torch.load, **how: Any) -> Any:
        return load(*given, **{**how, "weights_only": True})

    # what fetches a module, what imports it, and what answers in place of a question on the terminal
    names = dict.fromkeys(("get_cached_module_file", "get_class_in_module", "_raise_timeout_error"), refused)
    with patch.multiple(dynamic, TIME_OUT_REMOTE_CODE=0, **names), patch.object(torch, "load", tensors):
        yield
