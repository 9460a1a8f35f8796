"""Invented package lists in Debian's form: no package, text or tag in them is Debian's."""

from pathlib import Path

PACKAGES = """\
Package: bee-viewer
Version: 1.2-1
Description: looks at bees
Description-md5: aaa
Tag: use::viewing, works-with::insects, made-in::wood,
 made-in::brass
Section: insects

Package: bee-viewer
Version: 1.10-1
Description: looks at bees
Description-md5: bbb
Tag: use::viewing, works-with::insects, made-in::wood

Package: ant-counter
Version: 2.0~rc1
Description: counts ants
 Counts every ant that comes by.
Tag: use::counting, works-with::insects, made-in::TODO

Package: moth-lamp
Version: 1:0.1
Description: calls moths
Description-md5: ccc
"""
TRANSLATIONS = """\
Package: bee-viewer
Description-md5: bbb
Description-en: looks at bees
 Looks at bees from afar,
 and at their hives.
 .
 It shows:
  * wings
  * stings

Package: moth-lamp
Description-md5: other
Description-en: calls moths
 Of another version.
"""
VOCABULARY = """\
Facet: works-with
Description: Works with

Tag: works-with::insects
Description: Insects and Spiders
 All that creeps.
"""


def write_lists(folder: Path, packages=PACKAGES, translations=TRANSLATIONS, vocabulary=VOCABULARY) -> Path:
    """A folder with the lists under names like apt's; those that are empty are left out."""
    folder.mkdir(exist_ok=True)
    names = {"main_binary-amd64_Packages": packages, "main_i18n_Translation-en": translations, "vocabulary": vocabulary}
    for name, text in names.items():
        if text:
            (folder / (name if name == "vocabulary" else f"deb.example.org_{name}")).write_text(text, encoding="utf-8")
    return folder
