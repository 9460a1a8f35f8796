"""encode a corpus or topics into vectors on disk, resumably

examples:
  tandem encode infosearch-mini-audience --system all-minilm-l6-v2 --output vectors   an interrupted one is resumed
  tandem encode corpus.jsonl --system e5-large-v2 --output vectors --dry-run
  tandem encode --topics infosearch-mini-ins --system all-minilm-l6-v2 --output queries
  tandem encode verify vectors                                                        compare a folder with its record
"""

import argparse
import sys
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.model_options import endpoint_options, engine_options, model_options, pooling_option, recipe_options, system_option
from toolkit.options import dry_run_option, shard_size_option, topics_option
from toolkit.parsers import command, options_of
from toolkit.printing import make, note, report
from toolkit.shell import guard


def parser() -> argparse.ArgumentParser:
    parser = command("encode", __doc__)
    what = parser.add_argument_group("what to encode")
    text = "a file or folder (JSONL, TSV, TREC text), a benchmark's corpus, an id of ir_datasets, -; or verify DIR"
    what.add_argument("what", nargs="*", metavar="CORPUS", help=text)
    topics_option(what)
    how = parser.add_argument_group("how")
    system_option(how)
    recipe_options(how)
    pooling_option(how)
    model_options(how)
    endpoint_options(parser, instructed=True)
    engine_options(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--output", metavar="DIR", help="the folder; partial vectors in it are resumed")
    shard_size_option(out)
    dry_run_option(out)
    return parser


def main(args: argparse.Namespace) -> int:
    if args.what[:1] == ["verify"] and len(args.what) == 2:
        from toolkit.files.formats.vectors import verify_vectors

        folder = Path(args.what[1])
        return report(folder, verify_vectors(folder))
    if len(args.what) > 1:
        raise ToolkitError(f"{len(args.what)} corpora", "name one, or --topics T")
    if not args.system:
        raise ToolkitError("no system to encode with", "name one with --system, such as all-minilm-l6-v2")
    if not args.output:
        raise ToolkitError("no folder for the vectors", "name one with --output")
    from toolkit.jobs.encode_jobs import EncodeJob, encode

    made = make(EncodeJob(args.what[0] if args.what else None, **options_of(args, encode)), args)
    if made is None:
        return 0
    counts, dimension = made
    left_out = f", {counts.empty} empty ones left out" if counts.empty else ""
    what = "topics" if args.topics else "documents"
    note(f"{args.output}: {counts.documents} {what}{left_out}, {dimension} dimensions")
    return 0


if __name__ == "__main__":
    sys.exit(guard(parser, main))
