"""Tables for papers: LaTeX that is never too wide, Markdown, and the options that choose among them."""

import functools
import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command import tandem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.core.errors import ToolkitError
from toolkit.core.tables.aligned_table import TableStyle
from toolkit.reporting.report.collect import collect
from toolkit.reporting.report.make_report import report, to_csv, to_markdown, to_text
from toolkit.reporting.tables.latex_output import COLUMN, PAGE, em, layout, lines, to_latex
from toolkit.reporting.tables.text_table import (
    BEST,
    DAGGER,
    OF_KIND,
    WORSE,
    Block,
    Cell,
    Head,
    Table,
    score,
    styled,
    transposed,
)

ROOT = Path(__file__).resolve().parents[2]
BASELINES, GOLDEN = ROOT / "runs" / "baselines", ROOT / "tests" / "golden" / "paper_tables"
MINIS = ("infosearch-mini", "instructir-mini", "mfollowir-mini", "berds-mini")
MARKS = {BEST: "the best", OF_KIND: "the best of its kind", DAGGER: "better than a & b", WORSE: "worse than a & b"}


def made_up(systems=3, measures=("RR", "nDCG@10"), name="a & b"):
    """A table of systems in two blocks; a measure in two modes each, and p-MRR below zero."""
    heads = [Head("", "system", False), *(Head(each, mode) for each in measures for mode in ("ori", "ins")), Head("pMRR", "")]
    rows = []
    for system in range(systems):
        cells = [score((system * 7 + place) % 10 / 10 + 0.0123) for place in range(len(heads) - 2)]
        rows.append((Cell(f"{name} {system + 1}"), *cells, score(-system / 8)))
    first = list(rows[0])
    first[1], first[2] = score(0.98765, f"{BEST} {DAGGER}"), score(0.5, f"{OF_KIND} {WORSE}")
    blocks = (Block("sparse & such", (tuple(first),)), Block("dense", tuple(rows[1:])))
    return Table("x_1.all", "x_1: 50 %", "Scores are fractions.", tuple(heads), blocks, "A mini.", marks=MARKS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("small.tex", lambda: to_latex([made_up()])),
        ("transposed.tex", lambda: to_latex([transposed(made_up())])),
        ("wide.tex", lambda: to_latex([made_up(3, [f"Measure{n}" for n in range(8)])], "column")),
        ("small.md", lambda: to_markdown([made_up(), transposed(made_up())])),
        ("small.csv", lambda: to_csv([made_up()])),
    ],
)
def test_a_made_up_report_is_written_as_these_files(name, text):
    assert text() == (GOLDEN / name).read_text(encoding="utf-8")


NUMBERS = re.compile(r"(?<![\w.])-?\d+\.\d{3}(?!\d)")


def numbers(text):
    return sorted(NUMBERS.findall(text.replace("$-$", "-").replace(r"\rlap", " ")))


@given(
    systems=st.integers(2, 30),
    measures=st.integers(1, 9),
    width=st.sampled_from([None, "column", "page"]),
    # a name that reads as a number would be counted as one
    name=st.text(alphabet="aB-_ .+W0é编|", max_size=60).filter(lambda name: not NUMBERS.search(name)),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_every_number_is_in_some_part_once_and_no_part_is_too_wide(systems, measures, width, name):
    table = made_up(systems, [f"M{n}@10" for n in range(measures)], name or "s")
    values = [f"{cell.value:z.3f}" for block in table.blocks for row in block.rows for cell in row if cell.value is not None]
    text = to_latex([table], width)
    assert numbers(re.sub(r"\\(fontsize|parbox).*?\}", "", text)) == sorted(values)
    assert "resizebox" not in text
    for part in layout(table, width):
        assert part.total <= part.limit
        assert part.limit in {"column": (COLUMN,), "page": (PAGE,), None: (COLUMN, PAGE)}[width]
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(set(labels)) == len(labels) == text.count(r"\begin{table")


def test_a_table_that_fits_a_column_is_in_one_and_a_wider_one_is_over_both():
    assert [part.limit for part in layout(made_up())] == [COLUMN]
    assert [part.limit for part in layout(made_up(20, [f"M{n}" for n in range(4)]))] == [PAGE]
    few_systems = layout(made_up(3, [f"M{n}" for n in range(10)]))
    assert [part.table.heads[0].name for part in few_systems] == ["measure"]


def test_columns_of_a_measure_stay_together_where_a_table_is_divided():
    parts = layout(made_up(18, [f"Measure{n}@10" for n in range(12)]), "column")
    assert len(parts) > 1
    for part in parts:
        of_measure = [head.above for head in part.table.heads[1:] if head.above]
        assert all(len(list(group)) == 2 for _, group in itertools.groupby(of_measure))


def test_a_long_table_is_divided_between_rows():
    parts = layout(made_up(100))
    rows = [row[0].text for part in parts for block in part.table.blocks for row in block.rows]
    assert rows == [f"a & b {number}" for number in range(1, 101)]
    assert len(parts) > 1


def test_lines_are_broken_between_words_and_behind_signs_but_not_in_numbers_or_p_mrr():
    assert lines("bm25.rerank-smollm2-135m", 6.5) == ["bm25.", "rerank-", "smollm2-", "135m"]
    assert lines("p-MRR of v1.5", 1) == ["p-MRR", "of", "v1.5"]
    assert lines("bm25 · placebo", 5) == ["bm25", "·\u00a0placebo"]
    assert [len(line) for line in lines("x" * 30, 1)] == [12, 12, 6]


def test_tables_are_chosen_by_name_and_in_the_order_of_the_names():
    paths = [str(path) for path in sorted(BASELINES.glob("instructir-mini.*.v2.trec.gz"))]
    made = report(collect(paths, ["instructir-mini"]))
    titles = re.findall("## (.*)", to_text(made, "markdown", tables=["cost", "main"]))
    assert titles == ["instructir-mini: cost beside quality", made.sections[0].main.title]
    with pytest.raises(ToolkitError, match="no table 'mian'") as error:
        to_text(made, "latex", tables=["mian"])
    assert error.value.hint.startswith("did you mean 'main'? tables: ")
    with pytest.raises(ToolkitError, match="this report has no table 'overview'"):
        to_text(made, "csv", tables=["overview"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tables", "main"], "--tables is not for --format html"),
        (["--tables", "gruops", "--format", "csv"], "no table 'gruops'"),
        (["--tables", "", "--format", "csv"], "no table ''"),
        (["--transpose", "--format", "csv"], "--transpose is not for --format csv"),
        (["--width", "column", "--format", "markdown"], "--width is not for --format markdown"),
    ],
)
def test_options_that_a_format_has_not_are_refused_before_runs_are_read(options, message):
    done = tandem("report", "no-such-run.trec", *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")


def test_the_command_writes_the_table_that_was_asked_for():
    runs = [str(BASELINES / f"instructir-mini.{name}.v2.trec.gz") for name in ("bm25", "all-minilm-l6-v2")]
    words = [
        "report",
        *runs,
        "--benchmark",
        "instructir-mini",
        "--tables",
        "main",
        "--percent",
        "--decimals",
        "2",
        "-m",
        "nDCG@10",
    ]
    done = tandem(*words, "--format", "latex", "--transpose", "--width", "page")
    assert done.returncode == 0
    assert done.stdout.count(r"\begin{table*}") == 1
    row = next(line for line in done.stdout.splitlines() if line.startswith("nDCG@10"))
    values = [
        cell.value
        for block in report(collect(runs, ["instructir-mini"], measures=["nDCG@10"])).sections[0].main.blocks
        for line in block.rows
        for cell in line
        if cell.number
    ]
    assert re.findall(r"\d+\.\d+", row) == [f"{100 * value:.2f}" for value in values]


# -------------------------------------------------------------------------------------------------------------- TeX

needs_tex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not here")
# ACL's style is in no TeX distribution: its columns are 7.7 cm, 0.6 cm apart, its text 16 cm by 24.7 cm
CLASSES = {
    "article": r"\documentclass{article}\usepackage{booktabs}",
    "acl": r"\documentclass[11pt,a4paper,twocolumn]{article}\usepackage{booktabs}\usepackage{times}\usepackage[T1]{fontenc}"
    r"\setlength{\textwidth}{16cm}\setlength{\columnsep}{0.6cm}\setlength{\textheight}{24.7cm}"
    r"\setlength{\oddsidemargin}{0pt}\setlength{\topmargin}{-1cm}",
    "acm": r"\documentclass[sigconf,nonacm]{acmart}\title{T}\author{A}\affiliation{\institution{I}\country{C}}",
}
FILES = {"article": "booktabs.sty", "acl": "times.sty", "acm": "acmart.cls"}


def compiled(folder, name, preamble, body):
    """The log of pdflatex; fails where it stops at an error."""
    (folder / f"{name}.tex").write_text(f"{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")


def has(file):
    return subprocess.run(["kpsewhich", file], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def all_tables():
    """Every table of the minis' registered runs, and of 18 systems, whole and transposed."""
    tables = []
    for mini in MINIS:
        paths = [str(path) for path in sorted(BASELINES.glob(f"{mini}.*.v2.trec.gz"))]
        tables += report(collect(paths, [mini])).tables
    (model,) = collect([str(path) for path in sorted(BASELINES.glob("infosearch-mini.*.v2.trec.gz"))], ["infosearch-mini"])
    eighteen = [
        replace_names(table, [f"{name}-{number}" for number in range(3) for name in SYSTEMS])
        for table in report([model]).tables
        if table.kind in ("main", "groups", "cost")
    ]
    assert any(len(list(itertools.chain(*(block.rows for block in table.blocks)))) == 18 for table in eighteen)
    return [*tables, *eighteen, *map(transposed, eighteen), styled(made_up(18), TableStyle(percent=True))]


SYSTEMS = (
    "bm25",
    "E5-Mistral-7B-Instruct",
    "bge-large-en-v1.5",
    "Llama-3.1-8B · infosearch",
    "gpt-4o-2024-08-06",
    "RankZephyr",
)


def replace_names(table, names):
    """The table with rows of these names, its own in turn."""
    rows = itertools.cycle([row for block in table.blocks for row in block.rows])
    renamed = tuple((Cell(name), *next(rows)[1:]) for name in names)
    return Table(**{**vars(table), "blocks": (Block("", renamed),)})


@pytest.fixture(scope="module")
def floats(all_tables):
    """`floats(width)`: all of them as LaTeX, laid out once for every class that sets them."""
    return functools.cache(lambda width: to_latex(all_tables, width))


@pytest.fixture(scope="module")
def parts(all_tables):
    """All of them laid out, at both widths."""
    return [part for table in all_tables for width in (None, "column") for part in layout(table, width)]


@needs_tex
@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("width", [None, "column", "page"])
def test_nothing_is_overfull_in_the_usual_classes(tmp_path, floats, name, width):
    if not has(FILES[name]) or (name == "acm" and not has("xstring.sty")):
        pytest.skip(f"{FILES[name]} or what it needs is not here")
    set_apart = floats(width).replace("\n\n\\begin{table", "\n\n\\clearpage\\begin{table")
    title = "\\maketitle\n" if name == "acm" else ""
    log = compiled(tmp_path, name, CLASSES[name], f"{title}Text.\n{set_apart}")
    assert re.findall(r"Overfull.*|Float too large.*", log) == []


@needs_tex
@pytest.mark.slow
@pytest.mark.parametrize("name", ["article", "acl"])
def test_no_table_is_wider_than_it_was_estimated(tmp_path, parts, name):
    if not has(FILES[name]):
        pytest.skip(f"{FILES[name]} is not here")
    body = []
    for part in parts:
        size, height, gap = part.font
        how = f"\\fontsize{{{size}}}{{{height}}}\\selectfont\\setlength{{\\tabcolsep}}{{{gap}pt}}%"
        body.append(f"\\setbox0\\hbox{{{how}\n{part.tabular}}}\\typeout{{WIDE \\the\\wd0}}")
    widths = [
        float(width) for width in re.findall(r"WIDE ([\d.]+)pt", compiled(tmp_path, name, CLASSES[name], "\n".join(body)))
    ]
    assert len(widths) == len(parts)
    too_wide = [(part.table.title, width, part.total) for part, width in zip(parts, widths, strict=True) if width > part.total]
    assert too_wide == []
    # an estimate that is far too wide would divide what fits
    assert sum(widths) > 0.75 * sum(part.total for part in parts)


def test_widths_of_unknown_signs_are_not_underestimated():
    assert em("编") >= 1
    assert em("é") == em("e")
