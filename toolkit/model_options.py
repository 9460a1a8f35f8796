"""Options of systems: which one, how it is asked, where it runs."""

import argparse
from typing import Any

from toolkit.options import with_default


def system_option(group: argparse._ActionsContainer, default: str = "", **how: Any) -> None:
    """`--system`: what searches, encodes or reranks."""
    text = "a system of the registry, a folder, a Hugging Face id, http:MODEL on a server, or python:MODULE:FACTORY"
    group.add_argument("--system", metavar="S", help=with_default(text, default), **how)


def systems_option(group: argparse._ActionsContainer) -> None:
    """`--systems`, which may be repeated."""
    group.add_argument("--systems", action="append", default=[], metavar="F", help="a YAML file with systems of your own")


def recipe_option(group: argparse._ActionsContainer) -> None:
    """`--recipe`."""
    group.add_argument("--recipe", metavar="R", help="settings of a paper for the system (default: its model card's)")


def recipe_options(group: argparse._ActionsContainer) -> None:
    """Which entry of the registry is meant: `--systems`, `--recipe`."""
    systems_option(group)
    recipe_option(group)


def template_options(group: argparse._ActionsContainer) -> None:
    """What is sent of a topic: `--query-template`, `--plain-template`."""
    sent = "template of a topic, e.g. 'query: {query} {instruction}' (default: the system's)"
    group.add_argument("--query-template", metavar="T", help=sent)
    plain = "the same for topics without an instruction (default: the system's)"
    group.add_argument("--plain-template", metavar="T", help=plain)


def pooling_option(group: argparse._ActionsContainer) -> None:
    """`--pooling`."""
    group.add_argument("--pooling", metavar="P", help="cls, mean, last, pooler, or own: as the checkpoint says")


def prompt_option(group: argparse._ActionsContainer) -> None:
    """`--prompt`."""
    group.add_argument("--prompt", metavar="F", help="a prompt of your own instead of the system's, with its slots in braces")


def prompts_option(group: argparse._ActionsContainer) -> None:
    """`--prompts`."""
    text = "a folder of published prompts (`tandem published prompts` makes it): send each system the one that it is known by"
    group.add_argument("--prompts", metavar="DIR", help=text)


def show_prompt_option(group: argparse._ActionsContainer) -> None:
    """`--show-prompt`."""
    group.add_argument("--show-prompt", action="store_true", help="print the prompt, and do nothing")


def model_options(group: argparse._ArgumentGroup) -> None:
    """How a model computes: `--batch-size`, `--device`, `--precision`, the model's own where None; and `remote_code_option`."""
    group.add_argument("--batch-size", type=int, metavar="N", help="batch size, counted in texts of 128 tokens (default: 32)")
    group.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1; encoders: cuda:0,cuda:1 too (default: the first GPU)")
    text = "dtype of the model (default: the system's own on a GPU, fp32 on a CPU)"
    group.add_argument("--precision", choices=("fp32", "bf16", "fp16"), help=text)
    remote_code_option(group)


def remote_code_option(group: argparse._ActionsContainer) -> None:
    """`--trust-remote-code`, and `--trust-python`."""
    group.add_argument("--trust-remote-code", action="store_true", help="run the code that a checkpoint's repository brings")
    trust_python_option(group)


def trust_python_option(group: argparse._ActionsContainer) -> None:
    """`--trust-python`, which may be repeated: `shell.guard` lets these objects be imported."""
    text = "run this object also where an entry under TANDEM_HOME, a build or a registered run names it; may be repeated"
    group.add_argument("--trust-python", action="append", default=[], metavar="python:MODULE:FACTORY", help=text)


def endpoint_options(parser: argparse.ArgumentParser, *, instructed: bool = False) -> None:
    """How a model on a server is reached: `core.specs.ENDPOINT`, each None where it is not given.

    instructed  also what becomes of instructions: `core.specs.SERVED`
    """
    group = parser.add_argument_group("a model on a server")
    group.add_argument("--loader", choices=("endpoint", "transformers"), help="a server (OPENAI_BASE_URL), or this machine")
    group.add_argument("--concurrency", type=int, metavar="N", help="requests to a server at the same time (default: 16)")
    group.add_argument("--retries", type=int, metavar="N", help="how often a failed request is repeated (default: 6)")
    group.add_argument("--timeout", type=float, metavar="S", help="seconds that an answer may take (default: 600)")
    group.add_argument("--replay", action="store_true", default=None, help="use cached answers only")
    if instructed:
        instruction_as_option(group)


def instruction_as_option(group: argparse._ActionsContainer) -> None:
    """`--instruction-as`."""
    text = "where a server's instructions go: the field that it has for them (the default where it has one), or the text"
    group.add_argument("--instruction-as", choices=("field", "text"), help=text)


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Who computes: `toolkit.core.specs.ENGINE`, each None where it is not given."""
    group = parser.add_argument_group("the engine")
    text = "who computes: this process (local, the default), ray (workers on this machine), ray:HOST:PORT (a cluster)"
    group.add_argument("--engine", metavar="E", help=text)
    group.add_argument("--workers", type=int, metavar="N", help="workers of a cluster (default: as many as it has room for)")
    text = "threads of a worker's model, and CPUs of the worker (default: 1; all cores without workers)"
    group.add_argument("--threads-per-worker", type=int, metavar="N", help=text)
    text = "how many GPUs a worker has, 0.5 for two on one (default: 1 where the cluster has GPUs)"
    group.add_argument("--gpus-per-worker", type=float, metavar="N", help=text)
    text = "where units and results lie until the output is there, and all nodes see them: a folder, s3://BUCKET/FOLDER, "
    group.add_argument("--units", metavar="PLACE", help=text + "gs://... (default: beside the output)")


def instruction_option(group: argparse._ActionsContainer) -> None:
    """`--instruction`: what the topics' instructions become."""
    text = "the topics' instructions as they are (default), in the benchmark's own short wording or keywords (FollowIR has "
    text += "them), as placebo sentences as long, those of another core query (shuffled) or of the opposite mode (swapped), "
    choices = ("full", "short", "keywords", "placebo", "shuffled", "swapped", "none")
    group.add_argument("--instruction", choices=choices, default="full", help=text + "or left out")
