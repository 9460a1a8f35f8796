"""The documentation site: it builds without a warning, holds what it should, leads nowhere wrong, and its search answers."""

import os
import re
import subprocess
import sys
import time
import tomllib
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import quote_plus, unquote, urldefrag, urlsplit

import pytest
from chromium import needs_chromium, wait
from command import ROOT
from filelock import FileLock

import tandem_ir
from toolkit.__main__ import commands
from toolkit.complete import with_subcommands

DOCS = ROOT / "docs"
OUTSIDE = re.compile(r"^(https?|mailto|data):|^//")
LOADED = re.compile(r"""url\(\s*["']?((?:https?:)?//[^)"']*)|@import\s+["']((?:https?:)?//[^"']*)""")
# the search's elements are in the shadow of one element
SEARCH = "return [...document.querySelectorAll('*')].find((each) => each.shadowRoot)?.shadowRoot"
# what a newcomer asks -> the page that answers it; the first result of the site's search is that page or `which-command`
QUESTIONS = {
    "which command compares two runs": "guides/diff.html",
    "how do I use my own model": "guides/systems.html",
    "how do I make an index of my own documents": "guides/index.html",
    "what does WISE reward": "concepts.html",
    "how do I add judgments": "guides/own-benchmark.html",
    "how do I rerank with an LLM behind a server": "guides/listwise.html",
    "how do I cite": "guides/regress.html",
    "why is my score -": "errors.html",
    "how do I use it from a notebook": "guides/python.html",
    "how do I make my own benchmark": "guides/own-benchmark.html",
}
# the same and other things in fewer words
KEYWORDS = {
    "compare runs": "guides/diff.html",
    "my own model": "guides/systems.html",
    "index my documents": "guides/index.html",
    "rerank LLM server": "guides/listwise.html",
    "citation": "guides/regress.html",
    "own benchmark": "guides/own-benchmark.html",
    "significance": "guides/inference.html",
    "gold document": "concepts.html",
    "no network": "errors.html",
    "out of memory": "errors.html",
    "error: no file": "errors.html",
}


class Page(HTMLParser):
    """What a page has of links, of places to link to, of text, and of files that it loads."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.ids, self.words = [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(found.get("href", ""))
        elif tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loads.append(found["src"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built once for all workers, and the seconds that took (without installing what builds it)."""
    base = tmp_path_factory.getbasetemp()
    seconds = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site-seconds"
    with FileLock(f"{seconds}.lock"):
        if not seconds.exists():
            subprocess.run(["bash", "-ec", "source scripts/environment; install_docs"], cwd=ROOT, check=True)
            start, env = time.monotonic(), {**os.environ, "RENDER_WITH": sys.executable}
            done = subprocess.run([ROOT / "scripts" / "docs"], env=env, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "No issues found" in done.stdout + done.stderr
            seconds.write_text(str(time.monotonic() - start))
    return ROOT / "site", float(seconds.read_text())


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site by its path."""
    folder, _ = site
    return {path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))}


@pytest.mark.slow
def test_the_site_builds_within_a_minute(site):
    folder, seconds = site
    assert (folder / "index.html").is_file()
    assert seconds < 60


@pytest.mark.slow
def test_nothing_on_the_site_leads_nowhere(site, pages):
    folder, _ = site
    dead = []
    for name, page in pages.items():
        for link in page.links:
            place, anchor = urldefrag(link)
            if OUTSIDE.match(link) or name == "404.html":  # which is shown at any depth, and links from the root
                continue
            target = (folder / name).parent / unquote(urlsplit(place).path) if place else folder / name
            target = target / "index.html" if target.is_dir() else target
            found = pages.get(os.path.relpath(target, folder))
            if not target.is_file() or (anchor and found and unquote(anchor) not in found.ids and anchor != "__top"):
                dead.append(f"{name}: {link}")
    assert dead == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_the_network(site, pages):
    folder, _ = site
    loads = [f"{name}: {place}" for name, page in pages.items() for place in page.loads if OUTSIDE.match(place)]
    loads += [f"{css.name}: {found}" for css in folder.rglob("*.css") for found in LOADED.findall(css.read_text())]
    assert [found for found in loads if ": data:" not in found] == []


@pytest.mark.slow
def test_every_public_name_of_the_api_is_on_the_site(pages):
    page = pages["reference/api.html"]
    assert [name for name in tandem_ir.__all__ if name != "__version__" and f"tandem_ir.{name}" not in page.ids] == []
    assert "tandem_ir.__version__" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_every_command_and_option_is_on_the_site(command, pages):
    text = pages[f"reference/commands/tandem-{command}.html"].text
    known = list(with_subcommands(f"tandem {command}", import_module(f"toolkit.{command}").parser()))
    assert [name for name, _ in known if name not in text] == []
    options = {option for _, parser in known for action in parser._actions for option in action.option_strings}
    assert [option for option in options if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)] == []
    helps = [action.help for _, parser in known for action in parser._actions if action.help and "%" not in action.help]
    assert [help for help in helps if " ".join(help.replace("`", "").split()) not in text] == []


def test_every_page_is_in_the_navigation():
    def named(entries):
        for entry in entries:
            for value in entry.values() if isinstance(entry, dict) else [entry]:
                yield from named(value) if isinstance(value, list) else [value]

    nav = set(named(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    listed_elsewhere = ("regressions/", "benchmarks/", "measure-cards/", "reference/commands/")
    found = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(page for page in found - nav if not page.startswith(listed_elsewhere)) == []
    assert {f"reference/commands/tandem-{command}.md" for command in commands()} <= nav
    assert [page for page in nav - found if not page.startswith("reference/commands/")] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_of_questions_answers_what_newcomers_ask(question):
    text = (DOCS / "which-command.md").read_text(encoding="utf-8")
    answers = dict(re.findall(r"^### (.*)\?\n\n((?:.+\n)+)", text, re.MULTILINE))
    asked = {title.replace("`", "").lower(): answer for title, answer in answers.items()}
    answer = next(answer for title, answer in asked.items() if question.lower() in title)
    links = re.findall(r"\]\(([^)#]+)", answer)
    assert QUESTIONS[question].replace(".html", ".md") in links
    assert [name for name in re.findall(r"`tandem (\w+)", answer) if name not in commands()] == []


@needs_chromium
@pytest.mark.parametrize("question", QUESTIONS | KEYWORDS)
def test_the_search_answers_what_newcomers_ask(question, site, chrome):
    folder, _ = site
    chrome.get((folder / "index.html").as_uri())  # from a file: as the site works without a server
    wait(chrome, lambda: chrome.find_elements("css selector", ".md-search__button"))[0].click()
    root = wait(chrome, lambda: chrome.execute_script(SEARCH))
    wait(chrome, lambda: root.find_elements("css selector", "input"))[0].send_keys(question)
    words = quote_plus(question)  # a result's address repeats what was asked: those of its first letters are not yet it
    first = wait(chrome, lambda: root.find_elements("css selector", f"a[href*='h={words}']"))[0].get_attribute("href")
    found = Path(unquote(urlsplit(first).path)).relative_to(folder).as_posix()
    assert found in ("which-command.html", (QUESTIONS | KEYWORDS)[question])
    assert chrome.get_log("browser") == []
