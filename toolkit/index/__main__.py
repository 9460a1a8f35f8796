"""build a Lucene index, or list, fetch and verify prebuilt ones

usage:
  tandem index CORPUS --output DIR     CORPUS: a file or folder (JSONL, TSV, TREC text; .gz and .zst too), a benchmark's
                                       corpus (infosearch-mini-audience), an id of ir_datasets, or - for standard input
  tandem index list [WORD]             the prebuilt indexes, those whose name holds WORD
  tandem index fetch NAME              download one, or build a benchmark's own
  tandem index verify DIR              compare an index with its metadata
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from toolkit.core.errors import ToolkitError
from toolkit.shell import command, guard, note

SUMMARY, _, USAGE = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    parser = command("index", SUMMARY, USAGE)
    parser.add_argument("what", nargs="+", metavar="CORPUS", help="the corpus; or list, fetch, verify and a name")
    build = parser.add_argument_group("building")
    build.add_argument(
        "--output", metavar="DIR", help="the index's folder; an older index in it is replaced when the new one is complete"
    )
    build.add_argument(
        "--language", metavar="XX", help="which of Anserini's analyzers (default: en, or what the benchmark states)"
    )
    build.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="default: one a core")
    build.add_argument("--skip-invalid", action="store_true", help="leave broken documents out, and say how many")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    return parser


def main(args: argparse.Namespace) -> int:
    from toolkit.models import jvm

    jvm.set_debug(args.debug)
    verb, *names = args.what
    if verb == "list" and len(names) <= 1:
        return _list(*names)
    if verb in ("fetch", "verify") and len(names) == 1:
        return _fetch(names[0], args) if verb == "fetch" else _verify(Path(names[0]))
    if names:
        raise ToolkitError(f"{len(args.what)} corpora", "name one file or folder; or list, fetch NAME, verify DIR")
    return _build(verb, args)


def _build(name: str, args: argparse.Namespace) -> int:
    from toolkit.formats.provenance import command_line
    from toolkit.index import build_index, named_corpus
    from toolkit.index.build import check_output

    if not args.output:
        raise ToolkitError("no folder for the index", "name one with --output")
    if args.threads < 1:
        raise ToolkitError(f"threads is {args.threads}", "a whole number from 1 on")
    corpus, language = named_corpus(name)
    language, output = args.language or language, Path(args.output)
    check_output(output)
    if args.dry_run:
        print(f"index {corpus.name} ({', '.join(corpus.files) or 'its documents'}) for language {language} into {output}")
        return 0
    counts = build_index(
        corpus, output, language=language, threads=args.threads, skip_invalid=args.skip_invalid, command=command_line()
    )
    left_out = [f"{counts.empty} empty ones left out"] * bool(counts.empty)
    left_out += [f"{counts.skipped} invalid ones left out"] * bool(counts.skipped)
    note(f"{output}: {', '.join([f'{counts.documents} documents', *left_out])}")
    return 0


def _list(word: str = "") -> int:
    from toolkit import registry
    from toolkit.store import index_folder

    for spec in registry.indexes().values():
        if word in spec.name:
            documents = "" if spec.documents is None else spec.documents
            here = "here" if index_folder(spec).exists() else ""
            print(spec.name, spec.kind, f"{spec.size / 1e9:.2f} GB", documents, here, sep="\t")
    return 0


def _fetch(name: str, args: argparse.Namespace) -> int:
    from toolkit.benchmarks import find
    from toolkit.index import find_index

    where, selection = find_index(name), find(name)
    for group in selection.groups if selection else ("all",):
        source = where(group)
        if args.dry_run:
            print(source.plan)
        else:
            print(source.open(args.threads).folder)
    return 0


def _verify(folder: Path) -> int:
    from toolkit.index import verify_index

    problems = verify_index(folder)
    for problem in problems:
        print(f"{folder}: {problem}")
    if not problems:
        note(f"{folder}: as its metadata say")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
