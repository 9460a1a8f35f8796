"""TREC qrels, with subtopics in the second column where a benchmark has them, and BEIR's TSV."""

from pathlib import Path

from toolkit.core.qrels import Qrels
from toolkit.core.system.files import open_output
from toolkit.files.runs.lint import qrels_from_lines, scan_qrels
from toolkit.files.runs.problems import by_line, refuse
from toolkit.files.texts.lines import check_ids, read_bytes, source_name, text_problems
from toolkit.files.texts.parse import evened, parse_plain_qrels


def read_qrels(path: str | Path) -> Qrels:
    """Qrels of four columns divided by blanks or tabs, or of three after BEIR's header `query-id corpus-id score`.

    The same (query, iteration, document) twice counts once where the labels are equal. `#` lines are comments; .gz, .zst, `-`.

    Raises ToolkitError with all problems of the file (wrong number of columns, a relevance that is no whole number,
    contradictory judgments, bytes that are not UTF-8, no lines at all).
    """
    data, source = read_bytes(path), source_name(path)
    plain = parse_plain_qrels(data, source)
    plain = parse_plain_qrels(evened(data), source) if plain is None else plain
    if plain is not None:
        return plain
    lines, problems = scan_qrels(data)
    refuse(source, by_line(problems + text_problems(data)))
    return qrels_from_lines(lines, source)


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write TREC qrels, `query_id iteration doc_id relevance`, in the order of the judgments."""
    check_ids("query_id", qrels.query_ids)
    check_ids("doc_id", qrels.doc_ids)
    check_ids("iteration", qrels.iterations)
    with open_output(path) as out:
        for query_id, doc_id, relevance, iteration in qrels:
            out.write(f"{query_id} {iteration} {doc_id} {relevance}\n".encode())
