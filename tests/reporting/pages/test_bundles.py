"""The libraries of a page: what is cached is compared with its digest."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from command import ROOT
from markupsafe import Markup

from toolkit.reporting.pages import bundles
from toolkit.reporting.pages.render import page


@pytest.fixture
def cached(home, monkeypatch):
    """Where Vega is cached, with a small script in its place."""
    import vl_convert

    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "made('again\n');\r\n")
    bundles.vega.cache_clear()
    yield lambda: next((home / "pages").glob("vega-*.js"))
    bundles.vega.cache_clear()


def script_of_vega():
    bundles.vega.cache_clear()
    return bundles.vega().script


def test_what_is_cached_is_taken_where_it_has_its_digest(cached, monkeypatch):
    made = script_of_vega()
    assert cached().read_bytes() == f"// {hashlib.sha256(made.encode()).hexdigest()}\n{made}".encode()
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda: pytest.fail("it is cached"))
    assert script_of_vega() == made


@pytest.mark.parametrize(
    "damage",
    [lambda data: data + b"evil()", lambda data: data[:-3], lambda data: data.partition(b"\n")[2], lambda data: b"\xff"],
)
def test_a_script_with_another_digest_is_put_together_again(cached, damage):
    made = script_of_vega()
    before = cached().read_bytes()
    cached().write_bytes(damage(before))
    assert script_of_vega() == made
    assert cached().read_bytes() == before


def test_those_who_need_it_at_once_get_the_same_script(cached, monkeypatch):
    together, made = threading.Barrier(4), []

    def other_each_time():
        made.append("")
        return f"script({len(made)});"

    def need():
        together.wait(timeout=30)
        return bundles.vega.__wrapped__().script

    monkeypatch.setattr("vl_convert.javascript_bundle", other_each_time)
    with ThreadPoolExecutor(4) as threads:
        needed = [threads.submit(need) for _ in range(4)]
    assert [each.result() for each in needed] == ["script(1);"] * 4


@pytest.mark.parametrize(
    ("library", "holders"),
    [
        ("vega", ("University of Washington Interactive Data Lab", "Mike Bostock", "Redistribution and use in source")),
        ("datatables", ("SpryMedia Limited", "OpenJS Foundation", "Stuart Knightley", "Permission is hereby granted")),
    ],
)
def test_a_page_and_the_files_of_a_site_have_the_licences_of_what_is_in_them(library, holders):
    bundle = getattr(bundles, library)()
    scripts = [
        page("t", Markup(""), libraries=[bundle]),
        *(text for name, text in bundle.files.items() if name.endswith(".js")),
    ]
    assert len(scripts) == 2
    for text in scripts:
        licences, found, _ = text.partition(f"*/\n{bundle.script}")
        assert found
        assert all(holder in licences.rpartition("/*!")[2] for holder in holders)
    assert all(holder in (ROOT / "NOTICE").read_text() for holder in holders[:1])
