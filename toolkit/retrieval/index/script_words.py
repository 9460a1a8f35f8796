"""A word of each script that a corpus holds, and a document that has it: an index that was built soundly finds each of them."""

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolkit.core.documents import Doc
from toolkit.core.topics import Topic
from toolkit.files.texts.corpus import Batch

LATIN = "LATIN"
LONGEST = 100  # characters of a word: of scripts without blanks it may be a sentence


class ScriptWords:
    """Words, collected while documents pass. Scripts are called as Unicode's names of characters begin (`CYRILLIC`, `CJK`)."""

    def __init__(self) -> None:
        self._words: dict[str, dict[str, str]] = {}
        self._seen: set[str] = set()

    def see(self, doc: Doc) -> None:
        """Look at a document."""
        for script in self._new_scripts(doc.contents):
            words = (word for word in doc.contents.split() if any(_script(character) == script for character in word))
            self._words[script] = {"word": max(words, key=len)[:LONGEST], "document": doc.doc_id}

    def see_batch(self, batch: Batch) -> None:
        """Look at the documents of a batch of JSON lines, which are taken apart only where one has a new script."""
        if self._new_scripts(batch.ready.decode(errors="replace")):
            self._seen.clear()
            for entry in batch.entries():
                self.see(entry.doc)

    def facts(self) -> dict[str, dict[str, str]]:
        """Script -> a word and the id of the document that has it, for the record."""
        return dict(sorted(self._words.items()))

    def _new_scripts(self, text: str) -> list[str]:
        """The scripts of a text that no text before had."""
        if text.isascii() and LATIN in self._words:
            return []
        new = set(text) - self._seen
        self._seen |= new
        return sorted({_script(character) for character in new} - self._words.keys() - {""})


def unfound_words(folder: Path, language: str, words: Mapping[str, Any]) -> Iterator[str]:
    """A line for each of the words of a record that a Lucene index does not find in the document that has it."""
    from toolkit.models.lucene.anserini import Searcher

    searcher = Searcher(folder, language=language)
    for script, known in words.items():
        word, doc_id = (known.get(key) if isinstance(known, Mapping) else None for key in ("word", "document"))
        if not isinstance(word, str) or not isinstance(doc_id, str):
            yield f"{script}: the record does not say which word of which document"
        elif (
            searcher.tokens(word)
            and not searcher.search([Topic("word", word)], candidates={"word": [doc_id]}, hits=1).query_ids
        ):
            yield f"{script}: document {doc_id} is not found by its word {word!r}"


def _script(character: str) -> str:
    """The script of a letter; empty for other characters."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
