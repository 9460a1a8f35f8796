"""Documents split into passages of some words."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.files.texts.corpus import Batch, Entry
from toolkit.files.texts.documents import Corpus

SPLIT, DOCUMENTS_SPLIT = "split", "documents cut"


def split_corpus(corpus: Corpus, words: int) -> Corpus:
    """The passages of a corpus in place of its documents.

    words  in a passage, at most; ToolkitError for less than 1

    What was read is still the digest of the files; `about` gets the number of words, and how many documents there were.
    """
    if words < 1:
        raise ToolkitError(f"passages of {words} words", "--split takes a whole number from 1 on")
    about = corpus.about
    about.update({SPLIT: words, DOCUMENTS_SPLIT: 0})

    def batches(whole: Iterable[Batch]) -> Iterator[Batch]:
        for batch in whole:
            entries = batch.entries()
            about[DOCUMENTS_SPLIT] += sum(not entry.problem for entry in entries)
            yield Batch(partial(list, [part for entry in entries for part in _split(entry, words)]))

    return replace(corpus, parts=((file, batches(whole)) for file, whole in corpus.parts))


def _split(entry: Entry, words: int) -> Iterator[Entry]:
    if entry.problem:
        yield entry
    else:
        yield from (entry._replace(doc=passage) for passage in passages(entry.doc, words))


def passages(doc: Doc, words: int) -> Iterator[Doc]:
    """The document in pieces of so many words (what white space divides), the last one shorter, each with its title.

    Ids are `<doc>#<n>`, from 0, as in MS MARCO's segmented documents. A document without words is one piece.
    """
    tokens = doc.text.split()
    for number, start in enumerate(range(0, max(len(tokens), 1), words)):
        yield Doc(f"{doc.doc_id}#{number}", doc.title, " ".join(tokens[start : start + words]))
