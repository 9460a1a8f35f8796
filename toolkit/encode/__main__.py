"""encode a corpus or topics: vectors on disk, resumable

examples:
  tandem encode infosearch-mini-audience --system all-minilm-l6-v2 --output vectors   an interrupted one goes on
  tandem encode corpus.jsonl --system e5-large-v2 --output vectors --dry-run
  tandem encode --topics infosearch-mini-ins --system all-minilm-l6-v2 --output queries
  tandem encode verify vectors                                                        compare a folder with its metadata
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.shell import command, encoding_options, guard, note, report, topics_option

if TYPE_CHECKING:
    from toolkit.core.specs import SystemSpec
    from toolkit.models.encoders import Encoder

SUMMARY, _, EXAMPLES = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    parser = command("encode", SUMMARY, EXAMPLES)
    what = parser.add_argument_group("what to encode")
    what.add_argument(
        "what",
        nargs="*",
        metavar="CORPUS",
        help="a file or folder (JSONL, TSV, TREC text), a benchmark's corpus, an id of ir_datasets, -; or verify DIR",
    )
    topics_option(what, "topics instead: a benchmark's, an ir_datasets id, a file, or -")
    how = parser.add_argument_group("how")
    how.add_argument("--system", metavar="S", help="a dense system of the registry, a folder, or a Hugging Face id")
    how.add_argument("--systems", action="append", default=[], metavar="F", help="a YAML file with systems of your own")
    how.add_argument("--recipe", metavar="R", help="one of the system's recipes (default: its model card's)")
    encoding_options(how)
    out = parser.add_argument_group("output")
    out.add_argument("--output", metavar="DIR", help="the folder; what was begun in it is gone on with")
    out.add_argument("--shard-size", type=int, metavar="N", help="documents a shard (default: 16384)")
    out.add_argument("--dry-run", action="store_true", help="say what would be done and its size, and do nothing")
    return parser


def main(args: argparse.Namespace) -> int:
    if args.what[:1] == ["verify"] and len(args.what) == 2:
        return _verify(Path(args.what[1]))
    _check(args)
    from toolkit.models.checkpoints import check_usable
    from toolkit.registry import choose_system

    spec = choose_system(args.system, files=args.systems, recipe=args.recipe)
    if spec.kind != "dense":
        raise ToolkitError(f"{spec.name} is of kind {spec.kind}, not dense", "`tandem systems list` names the dense ones")
    check_usable(spec, device=args.device, trust_remote_code=args.trust_remote_code)
    return _encode_topics(spec, args) if args.topics else _encode_corpus(spec, args)


def _check(args: argparse.Namespace) -> None:
    """Refuse what needs no look at anything."""
    if args.topics and args.what:
        raise ToolkitError("a corpus and topics", "encode one after the other, each into its folder")
    if not args.topics and len(args.what) != 1:
        raise ToolkitError(f"{len(args.what)} corpora" if args.what else "no corpus to encode", "name one, or --topics T")
    if args.topics and args.shard_size is not None:
        raise ToolkitError("topics have one shard", "leave --shard-size out")
    if not args.system:
        raise ToolkitError("no system to encode with", "name one with --system, such as all-minilm-l6-v2")
    if not args.output:
        raise ToolkitError("no folder for the vectors", "name one with --output")
    for name, value in (("batch size", args.batch_size), ("shard size", args.shard_size)):
        if value is not None and value < 1:
            raise ToolkitError(f"{name} is {value}", "a whole number from 1 on")


def _encode_corpus(spec: SystemSpec, args: argparse.Namespace) -> int:
    from toolkit.encode import SHARD, encode_corpus
    from toolkit.formats.documents import is_empty
    from toolkit.index import named_corpus

    corpus, _ = named_corpus(args.what[0])
    if args.dry_run:
        count = sum(not is_empty(doc) for doc in corpus.documents())
        return _say_plan(f"encode {count:,} documents of {corpus.name}", count, spec, args)
    encoder = _load(spec, args)
    size = SHARD if args.shard_size is None else args.shard_size
    counts = encode_corpus(corpus, encoder, spec, args.output, shard_size=size)
    left_out = f", {counts.empty} empty ones left out" if counts.empty else ""
    note(f"{args.output}: {counts.documents} documents{left_out}, {encoder.dimension} dimensions")
    return 0


def _encode_topics(spec: SystemSpec, args: argparse.Namespace) -> int:
    from toolkit.benchmarks import resolve_topics
    from toolkit.encode import write_topics_vectors

    found = resolve_topics(args.topics)
    if args.dry_run:
        return _say_plan(f"encode {len(found.topics):,} topics of {found.name}", len(found.topics), spec, args)
    encoder = _load(spec, args)
    queries = write_topics_vectors(found.name, found.topics, encoder, spec, args.output)
    note(f"{args.output}: {queries} topics, {encoder.dimension} dimensions")
    return 0


def _load(spec: SystemSpec, args: argparse.Namespace) -> Encoder:
    from toolkit.models.encoders import load_encoder

    how = {"device": args.device, "precision": args.precision, "trust_remote_code": args.trust_remote_code}
    return load_encoder(spec, batch_size=args.batch_size, **how)


def _say_plan(what: str, count: int, spec: SystemSpec, args: argparse.Namespace) -> int:
    from toolkit.encode.estimate import estimate
    from toolkit.models.checkpoints import pick_device, pick_precision

    recipe = f", recipe {spec.recipe}" if spec.recipe else ""
    precision = pick_precision(spec, args.precision, pick_device(args.device))
    print("\n".join([what, f"system {spec.name}{recipe}", *estimate(spec, count, precision), f"write {args.output}"]))
    return 0


def _verify(folder: Path) -> int:
    from toolkit.formats.vectors import verify_vectors

    return report(folder, verify_vectors(folder))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
