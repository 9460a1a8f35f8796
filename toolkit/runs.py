"""show, verify, convert and pool run files"""

import argparse
import sys

from toolkit.core.errors import SHOWN_PROBLEMS, ToolkitError, from_os_error
from toolkit.core.system.lazy_names import yaml
from toolkit.judging_options import benchmark_option, ids_option, qrels_option
from toolkit.options import depth_option, docs_option, run_output, topics_option
from toolkit.parsers import command, main, subcommands
from toolkit.printing import make_runs, note, write_lines
from toolkit.shell import guard

FORMATS = ("trec", "json", "parquet", "mteb", "rank-llm")
READ = ("trec", "json", "jsonl", "parquet", "csv", "msmarco", "tsv", "mteb", "rank-llm", "lz4", "pickle")


def parser() -> argparse.ArgumentParser:
    top = command("runs", __doc__)
    add = subcommands(top)
    show = add("show", "show what a run holds: lines, queries, modes, depth, ties, digits; and its record", run_show)
    show.add_argument("run", nargs="+", metavar="F", help="run file in any format")
    summary = "find everything that is wrong with runs (lines, record, benchmark) or qrels"
    verify = add("verify", summary, run_verify, VERIFY_EPILOG)
    verify.add_argument("run", nargs="*", metavar="F", help="run file in any format; - is standard input")
    text = "qrels files (TREC, or BEIR's TSV)"
    verify.add_argument("--qrels", nargs="+", action="extend", default=[], metavar="QRELS", help=text)
    verify.add_argument("--benchmark", metavar="ID", help="also check the runs' queries and documents against a benchmark's")
    text = "write a repaired copy of the one file named to OUT, where the repair is safe"
    verify.add_argument("--fix", metavar="OUT", help=text)
    verify.add_argument("--all", action="store_true", help=f"show all problems of a file, not the first {SHOWN_PROBLEMS}")
    verify.add_argument("--codes", action="store_true", help="show what each code means")
    to = add("convert", "write a run in another format; that of F is recognised by its content", run_convert, CONVERT_EPILOG)
    to.add_argument("run", metavar="F", help="run file in any format; - is standard input")
    to.add_argument("--from", dest="form", choices=READ, default="", help="the format of F, where its content fits two")
    to.add_argument("--to", required=True, choices=FORMATS, help="the format to write")
    run_output(to, required=True)
    to.add_argument("--benchmark", metavar="ID", help="for rank-llm and --ids: whose queries and documents they are")
    ids_option(to, None)
    text = "with --ids: the mode that a file with published ids holds, or the one to write"
    to.add_argument("--mode", metavar="MODE", help=text)
    texts = to.add_argument_group("texts for rank-llm, instead of --benchmark")
    topics_option(texts)
    docs_option(texts)
    pooled = add("pool", "pool the candidates of several runs: the first of each, then the second of each, and so on", run_pool)
    pooled.add_argument("run", nargs="+", metavar="F", help="run file in any format; their order counts")
    depth_option(pooled, None, "all")
    pooled.add_argument("--size", type=int, default=1000, metavar="N", help="documents a query (default: 1000)")
    judged = pooled.add_argument_group("compared with judgments: how many documents are judged, and relevant ones reached")
    benchmark_option(judged)
    qrels_option(judged)
    run_output(pooled, required=True)
    return top


CONVERT_EPILOG = """formats that are read, here and by every command that takes a run:
  trec      query_id Q0 doc_id rank score tag (trec_eval, Anserini, PyTerrier)
  json      {query_id: {doc_id: score}} (pytrec_eval, ranx, BEIR); mteb: MTEB's predictions of one subset and split
  jsonl     an object a line, with query_id, doc_id and score
  parquet   columns query_id, doc_id and score (or qid, docno); csv: the same, divided by commas or tabs
  msmarco   query_id, doc_id and rank, divided by tabs; tsv: query_id, doc_id and score
  rank-llm  requests with the texts of candidates; lz4: as ranx saves runs; pickle: a dictionary, never executed
files ending in .gz and .zst are read and written compressed."""
VERIFY_EPILOG = """exit status: 0 where there are at most warnings, 1 where there are problems, 2 where a file cannot be read.
--fix numbers the ranks by score, sorts the lines, drops lines that are there twice, and cleans white space,
line ends and the byte order mark; scores stay as they are written. With a problem left nothing is written."""


def run_show(args: argparse.Namespace) -> None:
    from toolkit.evaluation.run_checks import describe_digest, summarise
    from toolkit.files.formats import read_run
    from toolkit.files.provenance import read_record

    for number, path in enumerate(args.run):
        run = read_run(path)
        record = read_record(path)
        print("\n" * bool(number) + run.source)
        for label, value in summarise(run).items():
            write_lines([f"  {label:<10} {value}"], indent=11)
        if record is None:
            print(f"  {'record':<10} none beside the file")
        else:
            text = yaml.safe_dump(record, sort_keys=False, allow_unicode=True)
            write_lines([f"  {'record':<10} {describe_digest(path, record)}"], indent=11)
            write_lines((f"    {line}" for line in text.splitlines()), exact=True)


def run_verify(args: argparse.Namespace) -> int:
    from toolkit.files.runs.problems import codes

    if args.codes:
        for name, code in codes().items():
            write_lines([f"{name}  {code.severity:<7}  {'fixable' if code.fixable else '':<7}  {code.explanation}"], indent=24)
        return 0
    files = [(path, False) for path in args.run] + [(path, True) for path in args.qrels]
    if not files:
        raise ToolkitError("no file to verify", "tandem runs verify F..., or --qrels F...")
    if args.fix and len(files) > 1:
        raise ToolkitError(f"--fix OUT repairs one file, {len(files)} are named", "repair one after the other")
    if args.fix and args.benchmark:
        raise ToolkitError("--fix OUT repairs lines, --benchmark looks at ids", "repair the file, then verify OUT")
    return max(_verify(path, is_qrels, args) for path, is_qrels in files)


def _verify(path: str, is_qrels: bool, args: argparse.Namespace) -> int:
    """Print what is wrong with one file; its exit status."""
    from toolkit.evaluation.run_checks import is_repaired, repair_file, verify_run
    from toolkit.files.formats import lint_qrels
    from toolkit.files.runs.problems import found
    from toolkit.files.texts.lines import source_name

    try:
        if args.fix:
            problems = repair_file(path, args.fix, is_qrels=is_qrels)
        else:
            problems = lint_qrels(path) if is_qrels else verify_run(path, args.benchmark or "")
    except (ToolkitError, OSError) as error:
        if args.fix and isinstance(error, OSError):  # there is no other file to go on with
            raise
        print("\n".join((error if isinstance(error, ToolkitError) else from_os_error(error)).lines()), file=sys.stderr)
        return 2
    name = source_name(path)
    report = sys.stderr if args.fix == "-" else sys.stdout
    for problem in problems if args.all else problems[:SHOWN_PROBLEMS]:
        kind = "" if problem.is_error else " warning:"
        write_lines([f"{name}{problem.place}: {problem.code}{kind} {problem.message}"], file=report)
    if len(problems) > SHOWN_PROBLEMS and not args.all:
        print(f"{name}: ... and {len(problems) - SHOWN_PROBLEMS:,} more (--all shows them)", file=report)
    errors = sum(problem.is_error for problem in problems)
    print(f"{name}: {found(errors, len(problems) - errors)}", file=report)
    if args.fix:
        repaired = is_repaired(problems)
        note(f"{args.fix}: written" if repaired else f"{args.fix}: not written, some problems have no safe repair")
        return 0 if repaired else 1
    return 1 if errors else 0


def run_convert(args: argparse.Namespace) -> None:
    from toolkit.evaluation.run_checks import convert_run

    given = {name: getattr(args, name) for name in ("form", "tag", "ids", "benchmark", "mode", "topics", "docs")}
    run = convert_run(args.run, args.to, args.output, **given)
    note(f"{run.source}: {len(run):,} documents of {len(run.query_ids):,} queries written as {args.to}")


def run_pool(args: argparse.Namespace) -> None:
    from toolkit.evaluation.run_checks import Pool
    from toolkit.jobs import runs_job

    qrels = None
    if args.benchmark or args.qrels:
        from toolkit.evaluation.scores.judgments import judged_by

        qrels = judged_by(args.benchmark, args.qrels).qrels
    step = Pool(depth=args.depth, size=args.size, qrels=qrels)
    make_runs(runs_job(step, args.run, output=args.output, tag=args.tag or "pool"), args)


if __name__ == "__main__":
    sys.exit(guard(parser, main))
