"""do all of an experiment: search, rerank, evaluate and report several systems on several benchmarks

examples:
  tandem experiment bm25 all-minilm-l6-v2 --benchmarks infosearch-mini mfollowir-mini --output mine
  tandem experiment bm25 bm25+rules --benchmarks infosearch-mini --rerank bge-reranker-v2-m3 --depth 20 --output mine
  tandem experiment bm25 --benchmarks infosearch-mini --output mine --dry-run

The same command again makes only what is not there or out of date, as the records beside the runs say: after an interruption
it resumes. What fails does not end the rest, and is said at the end.
exit status: 0 where all was done, 1 where something failed, 2 where nothing was begun.
"""

import argparse
import sys

from toolkit.core.specs import ENGINE
from toolkit.judging_options import measure_option, missing_option
from toolkit.model_options import endpoint_options, engine_options, model_options, recipe_options
from toolkit.options import depth_option, dry_run_option, hits_option, table_options, threads_option
from toolkit.parsers import command, options_of
from toolkit.printing import failed, note, resumable, write_lines, write_tables
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    made = command("experiment", __doc__)
    what = made.add_argument_group("what is compared")
    what.add_argument("names", nargs="+", metavar="SYSTEM", help="systems of the registry, folders, or Hugging Face ids")
    text = "benchmarks, or groups or modes of them"
    what.add_argument("--benchmarks", nargs="+", action="extend", required=True, metavar="ID", help=text)
    recipe_options(what)
    text = "a YAML file of name: template: search with each, and with placebo, shuffled and no instructions"
    what.add_argument("--templates", metavar="F", help=text)
    hits_option(what)
    threads_option(what)
    second = made.add_argument_group("reranking")
    second.add_argument("--rerank", action="append", default=[], metavar="S", help="a reranker of every run; may be repeated")
    second.add_argument("--rerank-recipe", metavar="R", help="a recipe of the reranker")
    text = "kind of a reranker that is not in the registry (cross-encoder, monot5, ...)"
    second.add_argument("--rerank-kind", metavar="K", help=text)
    depth_option(second, None, 100)
    endpoint_options(made, instructed=True)
    model_options(made.add_argument_group("models"))
    engine_options(made)
    scored = made.add_argument_group("evaluation")
    without = "no run of each system with placebos in the place of instructions"
    scored.add_argument("--no-controls", dest="controls", action="store_false", help=without)
    measure_option(scored)
    missing_option(scored)
    out = made.add_argument_group("output")
    out.add_argument("--output", required=True, metavar="DIR", help="the folder of runs, scores and report")
    dry_run_option(out)
    table_options(made, output=False)
    return made


def main(args: argparse.Namespace) -> int:
    from toolkit.studies.experiment import Experiment, experiment

    given = Experiment(**options_of(args, experiment))
    if args.dry_run:
        write_lines(given.describe())
        return 0
    with resumable():
        results = given.make(**{name: getattr(args, name) for name in ENGINE})
    write_tables(results.tables(), args, output="-")
    if results.report:
        note(f"written: {results.report}")
    return failed(results.failures)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
