"""README fits on a screen, and its pictures show what the runs score."""

import re
import runpy

import pytest
from command import ROOT, script

from toolkit.core.system.yaml_json import read_yaml

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = ROOT / "docs" / "assets" / "pictures"
SHOWN = re.compile(r'(?:\]\(|src(?:set)?=")(?:docs/)?assets/pictures/([\w.-]+)')


def test_readme_is_short_and_narrow():
    assert len(README.split()) <= 900
    assert [line for line in README.splitlines() if len(line) > 80] == []
    assert len(re.findall(r"\]\(", README)) == 4
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 11  # the import, and ten


@pytest.mark.lucene  # one is of a build whose passages BM25 finds
def test_pictures_show_the_numbers_of_today():
    done = script("render_pictures", "--check")
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


@pytest.mark.lucene  # one is of a build whose passages BM25 finds
def test_a_stale_picture_is_named(monkeypatch, tmp_path, capsys):
    made = runpy.run_path(str(ROOT / "scripts" / "render_pictures"))
    monkeypatch.setitem(made["main"].__globals__, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["render_pictures", "--check"])
    text = (PICTURES / "numbers.yaml").read_text(encoding="utf-8")
    for path in PICTURES.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    changed = re.sub(
        r"(?<=^diff.png:\n)(  commands:\n(?:  - .*\n)+  numbers: )\w+", rf"\g<1>{'0' * 64}", text, flags=re.MULTILINE
    )
    assert changed != text
    (tmp_path / "numbers.yaml").write_text(changed)
    (tmp_path / "board.png").write_bytes(b"another")
    assert made["main"]() == 1
    assert capsys.readouterr().out == "diff.png\nboard.png\n"


def test_pictures_are_light_and_all_are_shown():
    files = {path.name for path in PICTURES.iterdir()} - {"numbers.yaml"}
    assert sum((PICTURES / name).stat().st_size for name in files) <= 400_000
    pages = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("index.md", "gallery.md")}
    assert set(SHOWN.findall(pages["gallery.md"])) == files
    assert (
        set(SHOWN.findall(README)) == set(SHOWN.findall(pages["index.md"])) == {"report.png", "report-dark.png", "figure.svg"}
    )


def test_each_picture_of_the_gallery_names_its_command():
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    recorded = read_yaml(PICTURES / "numbers.yaml").values()
    commands = [command for each in recorded for command in each["commands"]]
    assert len(commands) > len(recorded)
    assert [command for command in commands if f"\n{command}\n" not in gallery] == []
