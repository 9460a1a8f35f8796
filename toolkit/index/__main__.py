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
  tandem index list [WORD]             the prebuilt indexes, those whose name holds WORD
  tandem index fetch NAME              download one, or build a benchmark's own
  tandem index verify DIR              compare an index with its metadata
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError
from toolkit.shell import command, encoding_options, guard, note, report

if TYPE_CHECKING:
    from toolkit.core.specs import SystemSpec
    from toolkit.formats.documents import Corpus
    from toolkit.index import Counts

SUMMARY, _, USAGE = (__doc__ or "").partition("\n\n")


def parser() -> argparse.ArgumentParser:
    parser = command("index", SUMMARY, USAGE)
    parser.add_argument("what", nargs="+", metavar="CORPUS", help="the corpus; or list, fetch, verify and a name")
    build = parser.add_argument_group("building")
    build.add_argument(
        "--output", metavar="DIR", help="the index's folder; an older index in it is replaced when the new one is complete"
    )
    build.add_argument(
        "--type", metavar="T", help="lucene, impact, faiss, multivector (default: what the system searches, else lucene)"
    )
    build.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="default: one a core")
    build.add_argument("--language", metavar="XX", help="Lucene's analyzer (default: en, or what the benchmark states)")
    build.add_argument("--skip-invalid", action="store_true", help="leave broken documents out, and say how many (Lucene)")
    build.add_argument("--split", type=int, metavar="N", help="cut documents into passages of N words, called <document>#<n>")
    build.add_argument(
        "--per-question",
        action=argparse.BooleanOptionalAction,
        help="one corpus for each question that the documents name (default: where they name one)",
    )
    model = parser.add_argument_group("encoding")
    model.add_argument("--system", metavar="S", help="of the registry, a folder, or a Hugging Face id")
    model.add_argument("--systems", action="append", default=[], metavar="F", help="a YAML file with systems of your own")
    model.add_argument("--recipe", metavar="R", help="one of the system's recipes (default: its model card's)")
    model.add_argument("--pooling", metavar="P", help="cls, mean, last, pooler, or own: as the checkpoint says")
    model.add_argument("--factory", default="Flat", metavar="F", help="what FAISS builds: Flat, HNSW32, IVF1024,SQ8, ...")
    model.add_argument("--tuning", default="", metavar="T", help="how FAISS searches it: nprobe=32 (IVF), efSearch=256 (HNSW)")
    model.add_argument("--keep-vectors", action="store_true", help="leave the encoded vectors in DIR.vectors (faiss)")
    encoding_options(model)
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
    from toolkit.index import kind_for
    from toolkit.index.build import check_output
    from toolkit.index.dense import holds_vectors
    from toolkit.index.kinds import FAISS, LUCENE

    _check(args)
    check_output(Path(args.output))
    spec = _system(args)
    kind = args.type or kind_for(spec)
    if spec and kind != kind_for(spec):
        raise ToolkitError(f"system {spec.name} searches indexes of type {kind_for(spec)}, not {kind}", "leave --type out")
    if holds_vectors(Path(name)):
        if kind != FAISS or spec:
            raise ToolkitError(f"{name} holds vectors, which say what made them", "name --type faiss, and no --system")
        return _from_vectors(name, args)
    if kind != LUCENE and spec is None:
        raise ToolkitError(f"no system for an index of type {kind}", "name one with --system, such as all-minilm-l6-v2")
    if kind != LUCENE and (args.language or args.skip_invalid):
        raise ToolkitError("--language and --skip-invalid are Lucene's", f"leave them out of an index of type {kind}")
    return _lucene(name, args) if kind == LUCENE else _encoded(name, kind, spec, args)


def _check(args: argparse.Namespace) -> None:
    from toolkit.index.kinds import KINDS

    if not args.output:
        raise ToolkitError("no folder for the index", "name one with --output")
    if args.threads < 1 or args.batch_size < 1:
        raise ToolkitError(f"threads is {args.threads}, batch size is {args.batch_size}", "both are whole numbers from 1 on")
    if args.type and args.type not in KINDS:
        raise ToolkitError(f"no type of index {args.type!r}", f"known: {', '.join(KINDS)}")


def _system(args: argparse.Namespace) -> SystemSpec | None:
    from toolkit.registry import choose_system

    if not args.system:
        return None
    return choose_system(args.system, files=args.systems, recipe=args.recipe, pooling=args.pooling)


def _lucene(name: str, args: argparse.Namespace) -> int:
    from toolkit.index import build_index, build_per_question
    from toolkit.models.jvm import check_installed

    check_installed()
    corpus, language = _corpus(name, args)
    language, output = args.language or language, Path(args.output)
    if args.dry_run:
        cut = f", cut into passages of {args.split} words" if args.split else ""
        print(f"index {corpus.name} ({', '.join(corpus.files) or 'its documents'}{cut}) for language {language} into {output}")
        return 0
    how = {"language": language, "threads": args.threads, "command": _command()}
    if _per_question(corpus, args):
        skip, command = args.skip_invalid, how["command"]
        counts = build_per_question(
            corpus, output, lambda its, folder: build_index(its, folder, **how), skip_invalid=skip, command=command
        )
    else:
        counts = build_index(corpus, output, **how, skip_invalid=args.skip_invalid)
    return _say(output, counts, corpus)


def _corpus(name: str, args: argparse.Namespace) -> tuple[Corpus, str]:
    """The documents to index, and their language."""
    from toolkit.formats.passages import split_corpus
    from toolkit.index import named_corpus

    corpus, language = named_corpus(name, args.threads)
    return (corpus if args.split is None else split_corpus(corpus, args.split)), language


def _per_question(corpus: Corpus, args: argparse.Namespace) -> bool:
    """Whether each question gets an index: as asked, else where the documents name their questions, which is said."""
    if args.per_question is not None:
        return args.per_question
    named = corpus.names_questions()
    if named:
        note("the documents name their questions: each question gets a corpus of its own (--no-per-question for one of all)")
    else:
        corpus.refuse_questions()
    return named


def _from_vectors(name: str, args: argparse.Namespace) -> int:
    from toolkit.index import build_dense_index

    output = Path(args.output)
    if args.dry_run:
        print(f"index the vectors in {name} as {args.factory} into {output}")
        return 0
    return _say(
        output, build_dense_index(Path(name), output, args.factory, args.tuning, threads=args.threads, command=_command())
    )


def _encoded(name: str, kind: str, spec: SystemSpec, args: argparse.Namespace) -> int:
    from toolkit.formats.vectors import read_vectors_metadata
    from toolkit.index import build_per_question
    from toolkit.index.dense import holds_vectors
    from toolkit.index.encoded_index import build_encoded
    from toolkit.index.kinds import FAISS, IMPACT
    from toolkit.models.checkpoints import check_usable
    from toolkit.models.encoders import load_for
    from toolkit.models.jvm import check_installed

    corpus, output = _corpus(name, args)[0], Path(args.output)
    check_usable(spec, device=args.device, trust_remote_code=args.trust_remote_code)
    if kind == IMPACT:
        check_installed()
    if args.dry_run:
        system = f"{spec.name}, recipe {spec.recipe}" if spec.recipe else spec.name
        print(f"encode {corpus.name} with {system}; index it ({kind}{f', {args.factory}' * (kind == FAISS)}) into {output}")
        return 0
    how = {"device": args.device, "batch_size": args.batch_size, "precision": args.precision}
    how["trust_remote_code"] = args.trust_remote_code
    vectors = output.with_name(f"{output.name}.vectors")  # where an interrupted command goes on
    complete = kind == FAISS and holds_vectors(vectors) and read_vectors_metadata(vectors)["complete"]
    encoder = load_for(spec, **how)
    how = {"factory": args.factory, "tuning": args.tuning, "threads": args.threads, "command": _command()}
    if not _per_question(corpus, args):
        how["keep"] = args.keep_vectors or complete
        return _say(output, build_encoded(corpus, spec, encoder, output, vectors, **how), corpus)

    def build(its: Corpus, folder: Path) -> Counts:
        return build_encoded(its, spec, encoder, folder, vectors / folder.name, **how, keep=True)

    counts = build_per_question(corpus, output, build, command=how["command"])
    if cut := encoder.cut["passage"]:
        note(f"note: {cut:,} passages are longer than the model's limit and were cut")
    if vectors.exists() and not args.keep_vectors:
        shutil.rmtree(vectors)
    return _say(output, counts, corpus)


def _command() -> str:
    from toolkit.provenance import command_line

    return command_line()


def _say(output: Path, counts: Counts, corpus: Corpus | None = None) -> int:
    from toolkit.formats.pages import EMPTY, LONG, PAGES
    from toolkit.formats.passages import CUT, SPLIT
    from toolkit.formats.questions import has_questions, read_questions

    about, questions = corpus.about if corpus else {}, len(read_questions(output)) if has_questions(output) else 0
    each = lambda number: f", {number / questions:.1f} a question" if questions else ""  # noqa: E731
    if PAGES in about:
        note(f"{about[PAGES]} pages{each(about[PAGES])}; {about[EMPTY]} without text left out, {about[LONG]} read in part")
    if SPLIT in about:
        note(f"{about[CUT]} documents cut into passages of {about[SPLIT]} words")
    left_out = [f"{counts.empty} empty ones left out"] * bool(counts.empty)
    left_out += [f"{counts.skipped} invalid ones left out"] * bool(counts.skipped)
    of_questions = [f"{questions} questions"] * bool(questions)
    note(f"{output}: {', '.join([*of_questions, f'{counts.documents} documents{each(counts.documents)}', *left_out])}")
    return 0


def _list(word: str = "") -> int:
    from toolkit import registry
    from toolkit.store import index_folder

    registry.warn_unread("indexes")
    for spec in registry.indexes().values():
        if word in spec.name:
            documents = "" if spec.documents is None else spec.documents
            here = "here" if index_folder(spec).exists() else ""
            print(spec.name, spec.kind, f"{spec.size / 1e9:.2f} GB", documents, here, sep="\t")
    return 0


def _fetch(name: str, args: argparse.Namespace) -> int:
    from toolkit import registry
    from toolkit.benchmarks import find
    from toolkit.index import download_of, find_index

    selection, known = find(name), name in registry.indexes() or name in registry.index_aliases()
    where = (lambda group: download_of(registry.index(name))) if known else find_index(name)
    for group in selection.groups if selection else ("all",):
        source = where(group)
        if args.dry_run:
            print(source.plan)
        else:
            print(source.open(args.threads).folder)
    return 0


def _verify(folder: Path) -> int:
    from toolkit.index import verify_index

    return report(folder, verify_index(folder))


if __name__ == "__main__":
    sys.exit(guard(parser, main))
