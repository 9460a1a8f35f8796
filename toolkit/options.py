"""Options that several commands have, each declared once: it has one spelling, type and help everywhere.

Where a default is the command's own, its help says so in brackets at the end.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from toolkit import __version__
from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from toolkit.evaluation.comparison.comparison import Testing


def common(parser: argparse.ArgumentParser) -> None:
    """`--quiet`, `--debug`, `--version`."""
    group = parser.add_argument_group("everywhere")
    group.add_argument("--quiet", action="store_true", help="no progress and no notes on standard error")
    group.add_argument("--debug", action="store_true", help="tracebacks, and the log of Anserini and other libraries")
    group.add_argument("--version", action="version", version=f"tandem-ir {__version__}", help="print the version, and exit")


def table_options(
    parser: argparse.ArgumentParser,
    *formats: str,
    numbers: bool = True,
    output: bool = True,
    tsv: bool = False,
) -> None:
    """How tables are shown, for `shell.write_tables`: `--format`, `--all`, `--notes`, `--sort`, `--decimals`, `--output`.

    formats  what the command can write beside the usual forms
    numbers  whether there are scores, for `--percent` and `--decimals`
    output   whether `--output` is a file for the tables; otherwise the command has an option of that name itself
    tsv      whether a pipe gets tab-separated lines, otherwise the aligned table
    """
    group = parser.add_argument_group("tables")
    known = ("table", "json", "csv", "tsv", "latex", "markdown", *formats)
    default = "table; tsv in a pipe" if tsv else "table"
    group.add_argument("--format", choices=known, help=_with_default("how results are written", default))
    parser.set_defaults(format_piped="tsv" if tsv else "table")
    group.add_argument("--all", action="store_true", help="every column, also those that do not fit the terminal")
    group.add_argument("--notes", action="store_true", help="every note, also those beyond the five that a terminal shows")
    group.add_argument("--sort", metavar="COLUMN", help="order rows by a column, best or largest first")
    if numbers:
        number_options(group, 4)
    if output:
        output_option(group)


def number_options(group: argparse._ActionsContainer, decimals: int) -> None:
    """`--percent`, `--decimals`. decimals: of what is no per cent, where nobody says."""
    group.add_argument("--percent", action="store_true", help="show fractions times 100 (not in json and csv)")
    digits = f"digits after the decimal point, not in json and csv (default: {decimals}; {decimals - 2} with --percent)"
    group.add_argument("--decimals", type=int, choices=range(17), metavar="N", help=digits)


def output_option(group: argparse._ActionsContainer) -> None:
    """`--output` of results."""
    group.add_argument("--output", default="-", metavar="F", help="where to write (default: standard output)")


def dry_run_option(group: argparse._ActionsContainer) -> None:
    """`--dry-run`."""
    group.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def by_query_option(group: argparse._ActionsContainer) -> None:
    """`--by-query`."""
    group.add_argument("--by-query", action="store_true", help="also the values of each query")


def baseline_option(group: argparse._ActionsContainer, default: str = "") -> None:
    """`--baseline`; default: what is taken without it."""
    text = "the run that others are compared with, by tag or file: what differs is marked, with intervals"
    group.add_argument("--baseline", metavar="RUN", help=_with_default(text, default))


def topics_option(group: argparse._ActionsContainer, default: str = "", **how: bool) -> None:
    """`--topics`, which may be repeated: a list, or None. default: what is taken without it."""
    text = "topics: a benchmark's (infosearch-ins), an ir_datasets id's, a file's, or -; may be repeated"
    group.add_argument("--topics", action="append", metavar="T", help=_with_default(text, default), **how)


def _with_default(text: str, default: object) -> str:
    return f"{text} (default: {default})" if default not in ("", None) else text


def system_option(group: argparse._ActionsContainer, default: str = "", **how: Any) -> None:
    """`--system`: what searches, encodes or reranks."""
    text = "a system of the registry, a folder, a Hugging Face id, http:MODEL on a server, or python:MODULE:FACTORY"
    group.add_argument("--system", metavar="S", help=_with_default(text, default), **how)


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
    group.add_argument(
        "--plain-template", metavar="T", help="the same for topics without an instruction (default: the system's)"
    )


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
    precisions = ("fp32", "bf16", "fp16")
    group.add_argument(
        "--precision", choices=precisions, help="dtype of the model (default: the system's own on a GPU, fp32 on a CPU)"
    )
    remote_code_option(group)


def remote_code_option(group: argparse._ActionsContainer) -> None:
    """`--trust-remote-code`, and `--trust-python`."""
    group.add_argument("--trust-remote-code", action="store_true", help="run the code that a checkpoint's repository brings")
    trust_python_option(group)


def trust_python_option(group: argparse._ActionsContainer) -> None:
    """`--trust-python`, which may be repeated: `shell.guard` lets these objects be imported."""
    text = "run this object also where an entry under TANDEM_HOME, a build or a registered run names it; may be repeated"
    group.add_argument("--trust-python", action="append", default=[], metavar="python:MODULE:FACTORY", help=text)


def build_argument(parser: argparse.ArgumentParser) -> None:
    """The folder of a build."""
    parser.add_argument("folder", metavar="DIR", help="the folder of the build, with its build.yaml")


def reviewed_step_option(parser: argparse.ArgumentParser, default: str = "", **how: bool) -> None:
    """`--step`: whose items people review. default: what is taken without it."""
    parser.add_argument("--step", metavar="S", help=_with_default("the step whose items are reviewed", default), **how)


def endpoint_options(parser: argparse.ArgumentParser) -> None:
    """How a model on a server is reached: `core.specs.ENDPOINT`, each None where it is not given."""
    group = parser.add_argument_group("a model on a server")
    group.add_argument("--loader", choices=("endpoint", "transformers"), help="a server (OPENAI_BASE_URL), or this machine")
    group.add_argument("--concurrency", type=int, metavar="N", help="requests to a server at the same time (default: 16)")
    group.add_argument("--retries", type=int, metavar="N", help="how often a failed request is repeated (default: 6)")
    group.add_argument("--timeout", type=float, metavar="S", help="seconds that an answer may take (default: 600)")
    group.add_argument("--replay", action="store_true", default=None, help="use cached answers only")


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
    text = (
        "where units and results lie until the output is there, and all nodes see them: a folder, s3://BUCKET/FOLDER, gs://... "
    )
    group.add_argument("--units", metavar="PLACE", help=text + "(default: beside the output)")


def instruction_option(group: argparse._ActionsContainer) -> None:
    """`--instruction`: what the topics' instructions become."""
    group.add_argument(
        "--instruction",
        choices=("full", "short", "keywords", "placebo", "none"),
        default="full",
        help="the topics' instructions as they are (default), in the benchmark's own short wording or keywords (FollowIR has "
        "them), as placebo sentences of the same length, or left out",
    )


def index_option(group: argparse._ActionsContainer) -> None:
    """`--index`."""
    text = "where documents are: a folder, a prebuilt index, or a benchmark (default: the benchmark's own corpora)"
    group.add_argument("--index", metavar="I", help=text)


def docs_option(group: argparse._ActionsContainer) -> None:
    """`--docs`."""
    group.add_argument("--docs", metavar="F", help="the texts of documents in files: JSONL, TSV or TREC text")


def text_options(group: argparse._ActionsContainer) -> None:
    """Where the texts of documents are: `--index`, `--docs`."""
    index_option(group)
    docs_option(group)


def language_option(group: argparse._ActionsContainer) -> None:
    """`--language`."""
    text = "language of Lucene's analyzer (default: what the index or the benchmark states, else en)"
    group.add_argument("--language", metavar="XX", help=text)


def threads_option(group: argparse._ActionsContainer) -> None:
    """`--threads`: None for one a core."""
    group.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one a core)")


def shard_size_option(group: argparse._ActionsContainer) -> None:
    """`--shard-size`."""
    text = "documents a shard (default: 16384 of vectors; all in one file of FAISS; 65536 of Lucene where workers build)"
    group.add_argument("--shard-size", type=int, metavar="N", help=text)


def hits_option(group: argparse._ActionsContainer, default: int = 1000) -> None:
    """`--hits`."""
    group.add_argument("--hits", type=int, default=default, metavar="N", help=f"documents of each query (default: {default})")


def depth_option(group: argparse._ActionsContainer, default: int | None, shown: object = None) -> None:
    """`--depth`. shown: what stands for the default in the help where it is None."""
    text = _with_default("how many of the best documents of each query are read", default if shown is None else shown)
    group.add_argument("--depth", type=int, default=default, metavar="N", help=text)


def tail_option(group: argparse._ActionsContainer) -> None:
    """`--tail`: None where it is not given."""
    text = "documents below the depth: kept behind the others, or dropped (default: keep)"
    group.add_argument("--tail", choices=("keep", "drop"), help=text)


def judgment_options(parser: argparse.ArgumentParser, *, benchmarks: bool = False) -> None:
    """What runs are evaluated against, and to which depth: evaluate, diff and report; `benchmarks`: one or more of them."""
    benchmark_option(parser, **({"nargs": "+", "action": "extend"} if benchmarks else {}))
    qrels_option(parser)
    mode_option(parser)
    measure_option(parser)
    depth_option(parser, None, "all")
    unjudged = "unanswered pairs of a document and a perspective (label -1): refused (default), or counted as negative"
    parser.add_argument("--unjudged", choices=("refuse", "negative"), default="refuse", help=unjudged)
    ids_option(parser, "tandem")
    missing_option(parser)


def ori_unit_option(group: argparse._ActionsContainer) -> None:
    """`--ori-unit`."""
    text = "what counts once in means over the base mode: each instruction, or each core query, as in InfoSearch's table 1"
    group.add_argument("--ori-unit", choices=("instruction", "core"), default="instruction", help=text)


def missing_option(group: argparse._ActionsContainer) -> None:
    """`--missing`: None where it is not given."""
    text = "queries that a run lacks: their worst value, left out, or an error (default: worst)"
    group.add_argument("--missing", choices=("worst", "skip", "error"), help=text)


def benchmark_option(group: argparse._ActionsContainer, default: str | None = None, **how: Any) -> None:
    """`--benchmark`; `how` makes a list of it."""
    text = _with_default("a benchmark, one of its groups or modes, or an ir_datasets id", default)
    group.add_argument("--benchmark", default=None if how else default, metavar="ID", help=text, **how)


def qrels_option(group: argparse._ActionsContainer) -> None:
    """`--qrels`: a list, or None."""
    text = "qrels files (TREC, or BEIR's TSV), each as F or MODE=F"
    group.add_argument("--qrels", nargs="+", action="extend", metavar="QRELS", help=text)


def measure_option(group: argparse._ActionsContainer) -> None:
    """`-m`, `--measure`: a list in `measures`, or None."""
    several = {"dest": "measures", "nargs": "+", "action": "extend", "metavar": "MEASURE"}
    group.add_argument("-m", "--measure", help="measures, as in ir_measures: nDCG@10 WISE@20", **several)


def ids_option(group: argparse._ActionsContainer, default: str | None) -> None:
    """`--ids`; None leaves them as they are."""
    text = "query ids: Tandem's, which carry the mode, or as published"
    text = _with_default(text, default or "as they are")
    group.add_argument("--ids", choices=("tandem", "published"), default=default, help=text)


def mode_option(parser: argparse._ActionsContainer) -> None:
    """`--modes`: as (name, role) pairs."""
    text = "modes that query ids end in (q1-NAME), each with its role: base, instructed, reversed"
    parser.add_argument("--modes", nargs="+", action="extend", type=_name_and_role, metavar="NAME=ROLE", help=text)


def _name_and_role(given: str) -> tuple[str, str]:
    name, _, role = given.partition("=")
    return name, role


def significance_options(group: argparse._ArgumentGroup) -> None:
    """Whether a difference is chance, for `testing_of`: `--primary`, `--test`, `--samples`, `--seed`."""
    primary_option(group)
    text = (
        "t: Student's, over core queries (default); the papers' own: randomisation of signs (studentised), and wilcoxon, which "
    )
    text += "tests something else than the printed mean"
    group.add_argument("--test", choices=("t", "randomisation", "wilcoxon"), default="t", help=text)
    text = "with --test randomisation: assignments of signs that are drawn (default: 10000; all of them up to 16 core queries)"
    group.add_argument("--samples", type=int, metavar="N", help=text)
    seed_option(group)


def primary_option(group: argparse._ActionsContainer) -> None:
    """`--primary`."""
    text = "numbers of the average that are marked or decide: nDCG@10-ins, WISE@20 (default: the benchmark's leading one)"
    group.add_argument("--primary", nargs="+", action="extend", default=[], metavar="MEASURE[-MODE]", help=text)


def testing_of(args: argparse.Namespace) -> Testing:
    """What `significance_options` say. Raises ToolkitError for draws of a test that draws nothing."""
    from toolkit.evaluation.comparison.comparison import Testing

    drawn = {"samples": args.samples, "seed": args.seed}
    given = {name: value for name, value in drawn.items() if value}
    if given and args.test != "randomisation":
        raise ToolkitError(f"--test {args.test} draws nothing", f"leave --{next(iter(given))} out, or --test randomisation")
    return Testing(
        args.test, primary=tuple(args.primary), **{name: value for name, value in drawn.items() if value is not None}
    )


def seed_option(group: argparse._ActionsContainer) -> None:
    """`--seed`."""
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def metadata_option(group: argparse._ActionsContainer) -> None:
    """`--metadata`."""
    group.add_argument("--metadata", metavar="F", help="where to write the record (default: beside the output)")


def tag_option(group: argparse._ActionsContainer) -> None:
    """`--tag`."""
    group.add_argument("--tag", metavar="NAME", help="the new run's tag (default: made of what made it)")


def run_output(
    parser: argparse.ArgumentParser, default: str = "a name in runs/", *, required: bool = False
) -> argparse._ArgumentGroup:
    """Where a run goes: `--output`, without which it has its default, and `--tag`; the group, for what else is said of it."""
    out = parser.add_argument_group("output")
    text = _with_default("the new run's file, .gz or .zst too, or -", "" if required else default)
    out.add_argument("--output", required=required, metavar="F", help=text)
    tag_option(out)
    return out
