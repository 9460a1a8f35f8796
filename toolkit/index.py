"""build an index, or list, fetch and verify prebuilt ones

usage:
  tandem index CORPUS --output DIR     CORPUS: a file or folder (JSONL, TSV, TREC text; .gz and .zst too), a benchmark's
                                       corpus (infosearch-mini-audience), an id of ir_datasets, or - for standard input
  tandem index PAGES.jsonl --split 100 --output DIR
                                       saved pages or other web results, each with the question it was found for (query_id):
                                       passages of 100 words, and an index of each question's own
  tandem index CORPUS --system S --output DIR
                                       encode it with a dense, learned sparse or late interaction system first
  tandem index VECTORS --type faiss --output DIR
                                       from what `tandem encode` made
  tandem index CORPUS --output DIR --engine ray:HEAD:6379
                                       workers of a cluster index, or encode and index, shard by shard
  tandem index list [WORD]             the prebuilt indexes, those whose name holds WORD
  tandem index fetch NAME              download one, or build a benchmark's own
  tandem index verify DIR              compare an index with its record
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.model_options import endpoint_options, engine_options, model_options, pooling_option, recipe_options, system_option
from toolkit.options import dry_run_option, language_option, shard_size_option, table_options, threads_option
from toolkit.parsers import command, options_of
from toolkit.printing import make, note, report, write_lines, write_tables
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.files.texts.documents import Corpus
    from toolkit.retrieval.index import Counts


def parser() -> argparse.ArgumentParser:
    parser = command("index", __doc__)
    parser.add_argument("what", nargs="+", metavar="CORPUS", help="the corpus; or list, fetch, verify and a name")
    build = parser.add_argument_group("building")
    text = "the index's folder; an older index in it is replaced when the new one is complete"
    build.add_argument("--output", metavar="DIR", help=text)
    text = "lucene, impact, faiss, multivector (default: what the system searches, else lucene)"
    build.add_argument("--type", metavar="T", help=text)
    threads_option(build)
    language_option(build)
    shard_size_option(build)
    build.add_argument("--skip-invalid", action="store_true", help="leave broken documents out, and say how many (Lucene)")
    build.add_argument("--split", type=int, metavar="N", help="split documents into passages of N words, called <document>#<n>")
    text = "one corpus for each question that the documents name (default: where they name one)"
    build.add_argument("--per-question", action=argparse.BooleanOptionalAction, help=text)
    text = "largest size of the unpacked archive (default: 20 times its size and 1 GB)"
    parser.add_argument_group("fetching").add_argument("--unpacked", type=float, metavar="GB", help=text)
    model = parser.add_argument_group("encoding")
    system_option(model)
    recipe_options(model)
    pooling_option(model)
    text = "FAISS index_factory string: HNSW32, IVF1024,SQ8 (default: Flat)"
    model.add_argument("--factory", default="Flat", metavar="F", help=text)
    text = "search parameters of the FAISS index: nprobe=32 (IVF), efSearch=256 (HNSW)"
    model.add_argument("--tuning", default="", metavar="T", help=text)
    model.add_argument("--keep-vectors", action="store_true", help="leave the encoded vectors in DIR.vectors (faiss)")
    model_options(model)
    endpoint_options(parser)
    engine_options(parser)
    dry_run_option(parser)
    table_options(parser, numbers=False, output=False, tsv=True)
    return parser


def main(args: argparse.Namespace) -> int:

    verb, *names = args.what
    if verb == "list" and len(names) <= 1:
        return _list(args, *names)
    if verb in ("fetch", "verify") and len(names) == 1:
        return _fetch(names[0], args) if verb == "fetch" else _verify(Path(names[0]))
    if names:
        raise ToolkitError(f"{len(args.what)} corpora", "name one file or folder; or list, fetch NAME, verify DIR")
    if not args.output:
        raise ToolkitError("no folder for the index", "name one with --output")
    from toolkit.jobs.encode_jobs import IndexJob, index

    job = IndexJob(verb, **options_of(args, index))
    counts = make(job, args)
    return 0 if counts is None else _say(job.output.path, counts, job.corpus)


def _say(output: Path, counts: Counts, corpus: Corpus | None = None) -> int:
    from toolkit.files.texts.documents import DOCUMENTS_SPLIT, SPLIT
    from toolkit.files.texts.pages import EMPTY, LONG, PAGES
    from toolkit.files.texts.per_query_corpus import has_questions, read_questions

    about, questions = corpus.about if corpus else {}, len(read_questions(output)) if has_questions(output) else 0
    each = lambda number: f", {number / questions:.1f} a question" if questions else ""  # noqa: E731
    if PAGES in about:
        note(f"{about[PAGES]} pages{each(about[PAGES])}; {about[EMPTY]} without text left out, {about[LONG]} read in part")
    if SPLIT in about:
        note(f"{about[DOCUMENTS_SPLIT]} documents split into passages of {about[SPLIT]} words")
    left_out = [f"{counts.empty} empty ones left out"] * bool(counts.empty)
    left_out += [f"{counts.skipped} invalid ones left out"] * bool(counts.skipped)
    of_questions = [f"{questions} questions"] * bool(questions)
    note(f"{output}: {', '.join([*of_questions, f'{counts.documents} documents{each(counts.documents)}', *left_out])}")
    return 0


def _list(args: argparse.Namespace, word: str = "") -> int:
    from toolkit import registry
    from toolkit.core.tables.aligned_table import Column, Number, Table
    from toolkit.files.store import index_folder

    registry.warn_unread("indexes")
    rows = []
    for spec in registry.indexes().values():
        if word in spec.name:
            here = "here" if index_folder(spec).exists() else ""
            rows.append((spec.name, spec.kind, Number(spec.size, text=f"{spec.size / 1e9:.2f} GB"), spec.documents, here))
    columns = (Column("name", label=True), *map(Column, ("kind", "size", "documents", "here")))
    write_tables(Table(columns, rows), args, heads=False, output=args.output or "-")
    return 0


def _fetch(name: str, args: argparse.Namespace) -> int:
    from toolkit import registry
    from toolkit.datasets import find
    from toolkit.retrieval.index import download_of, find_index

    selection, known = find(name), name in registry.indexes() or name in registry.index_aliases()
    most = None if args.unpacked is None else int(args.unpacked * 1e9)
    where = (lambda group: download_of(registry.index(name), unpacked=most)) if known else find_index(name)
    for group in selection.groups if selection else ("all",):
        source = where(group)
        if args.dry_run:
            write_lines([source.plan])
        else:
            print(source.open(args.threads or os.cpu_count() or 1).folder)
    return 0


def _verify(folder: Path) -> int:
    from toolkit.retrieval.index import verify_index

    return report(folder, verify_index(folder))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
