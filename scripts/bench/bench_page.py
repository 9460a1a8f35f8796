"""The page of `tandem diff --html` at its limits, in real Chromium: size, first paint, filter, sort, and the first click.

Two runs of 1,600 queries in 3 modes, 1,000 lines a list, over a pool of documents with texts of 300 characters and more.
`--pool` is how many documents there are: 6,392 as InfoSearch has, or as many as no page can hold.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from generate import texts, vocabulary

from toolkit.core.documents import Doc
from toolkit.core.qrels import Qrel, Qrels
from toolkit.core.runs import Run
from toolkit.core.topics import Topic
from toolkit.evaluation.scores.judgments import Judgments, Part
from toolkit.reporting.pages import browse, render

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

MODES = ("ori", "ins", "rev")
MEASURES = ("nDCG@10", "RR@1", "pMRR", "SICR", "WISE@20")
WORDS = (60, 80)  # of a text: 400 characters and more
PAINT = "return performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint').startTime"
# from the event to the frame after it: what a reader waits for
FRAME = "const [done, start] = [arguments[arguments.length - 1], performance.now()];{}" + (
    "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)))"
)
FILTER = "const box = document.querySelector('.filter'); box.value = '{}'; box.dispatchEvent(new Event('input'));"
CLICK = "document.querySelector('{}').click();"
OPENED = (
    "const [done, start] = [arguments[0], performance.now()];document.querySelector('tbody button').click();"
    "const look = () => document.querySelector('tr.detail') ? done(performance.now() - start) : setTimeout(look);look()"
)


def write_page(path: Path, queries: int, hits: int, pool: int) -> None:
    """The page of two runs, the second the first with its ranks shaken."""
    rng = np.random.default_rng(0)
    words = vocabulary(rng)
    contents = list(texts(pool, WORDS, words, rng))
    query_texts = list(texts(queries, (6, 12), words, rng))
    bases = [f"core{number // 4:03d}-{number % 4 + 1}" for number in range(queries)]
    columns = {name: ([], [], []) for name in "ab"}
    judged = []
    for base in bases:
        docs = rng.permutation(pool)[:hits]
        judged += [
            Qrel(f"{base}-{mode}", f"doc{docs[place]}", int(mode == "ori" or place % 2 == 0))
            for mode in MODES
            for place in (3, 40)
        ]
        for mode in MODES:
            for name, noise in (("a", 0.02), ("b", 0.05)):
                order = docs[np.argsort(np.arange(hits) + noise * hits * rng.random(hits))]
                ids, doc_ids, scores = columns[name]
                ids += [f"{base}-{mode}"] * hits
                doc_ids += [f"doc{doc}" for doc in order.tolist()]
                scores += np.sort(rng.gamma(2.0, 8.0, hits))[::-1].tolist()
    runs = [Run.from_columns(*its, tag=name) for name, its in columns.items()]
    topics = [
        Topic(f"{base}-{mode}", text, query=text) for base, text in zip(bases, query_texts, strict=True) for mode in MODES
    ]
    judgments = Judgments("bench", MODES, (Part("all", Qrels.from_rows(judged)),), MEASURES)

    def find(group: str, doc_ids: list[str]) -> dict[str, Doc]:
        return {doc_id: Doc(doc_id, "", contents[int(doc_id[3:])]) for doc_id in doc_ids}

    start = time.perf_counter()
    browsed = browse(runs, ("a", "b"), judgments, MEASURES, topics=topics, find=find)
    path.write_text(render(browsed, title="a and b"), encoding="utf-8")
    print(
        f"{sum(map(len, runs)):,} lines, {len(browsed.docs):,} documents shown, written in {time.perf_counter() - start:.1f} s"
    )


def chromium(size: str, seconds: int) -> Chrome:
    """A headless browser with a window of a size (`1400,1000`), whose scripts may take so many seconds."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={size}"):
        options.add_argument(word)
    options.binary_location = shutil.which("chromium")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(seconds)
    return driver


def load(driver: Chrome, path: Path) -> None:
    """Opens a page and waits until it is loaded: `get` returns before that, about once in 20 times with Chromium 150."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(path.as_uri())
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return document.readyState") == "complete")


def measure(path: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each, a page load a round."""
    driver = chromium("1400,1000", 120)
    times: dict[str, list[float]] = {}
    try:
        for _ in range(rounds):
            load(driver, path)
            found = {"first paint": driver.execute_script(PAINT)}
            found["filter, few left"] = driver.execute_async_script(FRAME.format(FILTER.format("core012")))
            found["filter, all back"] = driver.execute_async_script(FRAME.format(FILTER.format("")))
            found["sort"] = driver.execute_async_script(FRAME.format(CLICK.format("th[data-key=run0] button")))
            found["first query opened"] = driver.execute_async_script(OPENED)
            for name, value in found.items():
                times.setdefault(name, []).append(value)
    finally:
        driver.quit()
    return times


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--queries", type=int, default=1600)
    made.add_argument("--hits", type=int, default=1000)
    made.add_argument("--pool", type=int, default=6392)
    made.add_argument("--rounds", type=int, default=5)
    args = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-page-") as folder:
        path = Path(folder) / "page.html"
        write_page(path, args.queries, args.hits, args.pool)
        print(f"{path.stat().st_size / 1e6:.2f} MB")
        for name, its in measure(path, args.rounds).items():
            print(f"{name:<20} {statistics.median(its):8.1f} ms (median of {args.rounds}; {min(its):.1f} to {max(its):.1f})")


if __name__ == "__main__":
    main()
