"""list the systems known, and show exactly what each is sent

examples:
  tandem systems list --kind dense --paper infosearch
  tandem systems show e5-mistral-7b-instruct
  tandem systems fetch smollm2-135m-instruct
  tandem systems convert contriever --to contriever-safetensors
  tandem systems check vllm:Qwen/Qwen3-Reranker-0.6B --kind cross-encoder --like qwen3-reranker-0.6b
  tandem systems explain bge-large-en-v1.5 --recipe infosearch --topics infosearch-mini --query audience-001-1
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from toolkit.core.errors import ToolkitError, three
from toolkit.core.system.terminal import width_of
from toolkit.model_options import instruction_as_option, recipe_option, remote_code_option, systems_option, template_options
from toolkit.models import choose_system
from toolkit.options import docs_option, table_options, topics_option
from toolkit.parsers import command, main, subcommands
from toolkit.printing import note, write_lines, write_tables
from toolkit.registry.loader import did_you_mean
from toolkit.shell import guard

if TYPE_CHECKING:
    from toolkit.core.documents import Doc
    from toolkit.core.topics import Topic
    from toolkit.datasets import TopicPart, TopicSet


def parser() -> argparse.ArgumentParser:
    result = command("systems", __doc__)
    add = subcommands(result)
    list_parser = add("list", "list every system, and how far it was verified", list_all)
    list_parser.add_argument("--kind", metavar="K", help="only of one kind (dense, cross-encoder, ...)")
    list_parser.add_argument("--paper", metavar="P", help="only those that a paper reports (infosearch, instructir, ...)")
    table_options(list_parser, numbers=False, tsv=True)
    show_parser = add("show", "show all that is known of one system", show)
    check_parser = add("check", "check whether a system does what a run takes for granted", check)
    fetch_parser = add("fetch", "download a system's checkpoint, as its first use would", fetch)
    convert_parser = add("convert", "write a checkpoint as safetensors that keep the entry", convert)
    convert_parser.add_argument("--to", required=True, metavar="DIR", help="a new folder, which is a system itself")
    explain_parser = add("explain", "show exactly what a system is sent for a query: text, token ids, digest", explain)
    for sub in (show_parser, explain_parser, fetch_parser, convert_parser):
        sub.add_argument("name", metavar="NAME", help="a system, a folder, or a Hugging Face id")
        if sub in (show_parser, explain_parser):
            recipe_option(sub)
        sub.add_argument("--kind", metavar="K", help="kind of a checkpoint that is not in the registry (default: dense)")
    table_options(check_parser, numbers=False, tsv=True)
    check_parser.add_argument("name", metavar="NAME", help="a system, http:MODEL on a server, or python:MODULE:FACTORY")
    recipe_option(check_parser)
    check_parser.add_argument("--kind", metavar="K", help="kind of a checkpoint that is not in the registry (default: dense)")
    check_parser.add_argument("--like", metavar="S", help="the system whose scores it should have")
    text = "queries and texts: of a YAML file, or ours, also for an object of your own"
    check_parser.add_argument("--canaries", nargs="?", const="", metavar="F", help=text)
    check_parser.add_argument("--language", metavar="L", help="of queries and texts: en (default), fa, ru, zh")
    text = "a server (OPENAI_BASE_URL), or this machine"
    check_parser.add_argument("--loader", choices=("endpoint", "transformers"), help=text)
    instruction_as_option(check_parser)
    for sub in (list_parser, show_parser, check_parser, explain_parser, fetch_parser, convert_parser):
        systems_option(sub)
    what = explain_parser.add_argument_group("what is sent")
    topics_option(what, required=True)
    what.add_argument("--query", required=True, metavar="ID", help="a query id; without its mode: in every mode")
    what.add_argument("--doc", metavar="ID", help="a document, too; of the topics' own corpus or of --docs")
    docs_option(what)
    template_options(what)
    instruction_as_option(what)
    passage = "template of a document, with {contents}, {title} or {text} (default: the system's)"
    what.add_argument("--passage-template", metavar="T", help=passage)
    for group in (check_parser, fetch_parser, what):
        remote_code_option(group)
    return result


def list_all(args: argparse.Namespace) -> None:
    from toolkit.core.tables.aligned_table import Table
    from toolkit.models.systems.system_facts import COLUMNS, listing
    from toolkit.registry.choice import known_systems

    known, unread, broken = known_systems(args.systems)
    known = known.values()
    for one in (*unread, *broken):
        note(f"warning: left out: {one}")
    for option, wanted, values in (
        ("kind", args.kind, {spec.kind for spec in known}),
        ("paper", args.paper, {paper for spec in known for paper in spec.papers}),
    ):
        if wanted is not None and wanted not in values:
            raise ToolkitError(f"no {option} {wanted!r}", f"{did_you_mean(wanted, values)}known: {', '.join(sorted(values))}")
    write_tables(Table(COLUMNS, list(listing(known, args.kind, args.paper))), args)


def show(args: argparse.Namespace) -> None:
    from toolkit.models.systems.system_facts import overview

    spec = choose_system(args.name, files=args.systems, recipe=args.recipe, kind=args.kind)
    width = width_of(sys.stdout)
    write_lines(overview(spec, width) if width else overview(spec), exact=True)


def check(args: argparse.Namespace) -> int:
    from toolkit.core.tables.aligned_table import Column, Table
    from toolkit.models.systems.canary_checks import canaries
    from toolkit.models.systems.contract import check_system

    how = {"files": args.systems, "recipe": args.recipe, "kind": args.kind}
    asked = args.canaries is not None or args.language
    how["texts"] = canaries(args.canaries, args.language or "en") if asked else None
    how |= {name: getattr(args, name) for name in ("like", "loader", "instruction_as", "trust_remote_code")}
    checks = check_system(args.name, **how)
    columns = (Column("outcome", label=True), Column("method", label=True), Column("what", prose=True))
    rows = []
    for one in checks:
        rows.append(("FAIL" if one.problem else "ok", one.method, ": ".join(filter(None, (one.what, one.problem or one.seen)))))
    write_tables(Table(columns, rows), args, heads=False)
    return int(any(one.problem for one in checks))


def fetch(args: argparse.Namespace) -> None:
    from toolkit.models.checkpoints.local_checkpoints import fetch_system

    spec = choose_system(args.name, files=args.systems, kind=args.kind)
    for folder in fetch_system(spec, trust_remote_code=args.trust_remote_code):
        print(folder)


def convert(args: argparse.Namespace) -> None:
    from toolkit.models.checkpoints.local_checkpoints import convert_system

    print(convert_system(choose_system(args.name, files=args.systems, kind=args.kind), args.to))


def explain(args: argparse.Namespace) -> None:
    from toolkit.core.templates import template_digest
    from toolkit.datasets import resolve_topics
    from toolkit.registry.system_kinds import loaded_by

    templates = {f"{name}_template": getattr(args, f"{name}_template") for name in ("query", "plain", "passage")}
    spec = choose_system(args.name, files=args.systems, recipe=args.recipe, kind=args.kind, **templates)
    spec = loaded_by(spec, None, args.instruction_as)
    topic_set = resolve_topics(args.topics)
    part, topics = _topics(topic_set, args.query)
    if args.docs and not args.doc:
        raise ToolkitError("--docs without --doc", "say which document with --doc ID")
    doc = _doc(topic_set, part, args.doc, args.docs) if args.doc else None
    os.environ["HF_HUB_OFFLINE"] = "1"  # a checkpoint of many gigabytes is not downloaded for token ids

    from toolkit.models.systems import explain

    print(f"{spec.name}, {f'recipe {spec.recipe}' if spec.recipe else 'as its model card says'}")
    for each in explain(spec, topics, doc, trust_remote_code=args.trust_remote_code):
        print(f"{each.topic.query_id}:")
        write_lines(each.lines(), indent=9, exact=True)
    print(f"template digest {template_digest(spec)}")


def _topics(topic_set: TopicSet, query: str) -> tuple[TopicPart, list[Topic]]:
    """The topics of an id, or of an id without its mode."""
    for part in topic_set.parts:
        if topics := [topic for topic in part.topics if query in (topic.query_id, topic.base_id)]:
            return part, topics
    near = did_you_mean(query, [topic.query_id for topic in topic_set.topics])
    hint = f"{near}some of its: {three(topic.query_id for topic in topic_set.topics)}"
    raise ToolkitError(f"{topic_set.name} has no query {query!r}", hint)


def _doc(topic_set: TopicSet, part: TopicPart, doc_id: str, files: str | None) -> Doc:
    """The document of an id, from files or from the topics' own corpus."""
    from toolkit.files.texts.documents import corpus_from_files

    if files is None and topic_set.benchmark is None:
        raise ToolkitError(f"{topic_set.name} has no documents", "name some with --docs, or take the topics of a benchmark")
    for doc in corpus_from_files(files).documents() if files else topic_set.benchmark.docs(part.group):
        if doc.doc_id == doc_id:
            return doc
    raise ToolkitError(f"no document {doc_id!r} in {files or f'{topic_set.name}, {part.group}'}", "see the corpus, or a run")


if __name__ == "__main__":
    sys.exit(guard(parser, main))
