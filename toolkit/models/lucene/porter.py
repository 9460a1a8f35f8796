"""Porter's stemmer as NLTK has it by default (`PorterStemmer()`, mode NLTK_EXTENSIONS), on which InfoSearch's BM25 rests.

Source: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. NLTK's departures from the paper, all of them
here: words of one or two letters stay; a few irregular forms; `-ies` and `-ied` of four letters keep their e (`dies`, `died`
-> `die`); a final y becomes i after a consonant only (`enjoy` stays, `fly` -> `fli`); `-bli`, `-fulli`, `-logi` and repeated
`-alli` in step 2; a stem of vowel and consonant counts as short (`ice` keeps its e). Lucene's PorterStemmer is another one:
it has none of these but the first, `-bli` and `-logi`.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import cache

VOWELS = frozenset("aeiou")
IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
    "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning", "howe": "howe",
    "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

# suffix and what takes its place where the stem before it is long enough; the first suffix that fits decides
STEP_1A = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"), ("alli", "al"),
    ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("fulli", "ful"),
)  # fmt: skip
STEP_3 = (("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""))
STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize",
)  # fmt: skip


@cache
def stem(word: str) -> str:
    """The stem of a word in lower case; letters beyond a to z count as consonants."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _step_2, _step_3, _step_4, _final_e, _double_l):
        word = step(word)
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _replace(word, STEP_1A, lambda stem: True)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and not all(_consonants(word[: -len(suffix)])):
            return _mended(word[: -len(suffix)])
    return word


def _mended(stem: str) -> str:
    """What -ed and -ing leave: `conflat` -> `conflate`, `hopp` -> `hop`, `fil` -> `file`."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _consonants(stem)[-1]:
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _is_short(stem) else stem


def _final_y(word: str) -> str:
    stem = word[:-1]
    return stem + "i" if word.endswith("y") and len(stem) > 1 and _consonants(stem)[-1] else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replace(word, STEP_2, _measure)


def _step_3(word: str) -> str:
    return _replace(word, STEP_3, _measure)


def _step_4(word: str) -> str:
    suffix = next((suffix for suffix in STEP_4 if word.endswith(suffix)), None)
    if suffix is None:
        return word
    stem = word[: -len(suffix)]
    wanted = suffix != "ion" or stem.endswith(("s", "t"))
    return stem if wanted and _measure(stem) > 1 else word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _is_short(stem)):
            return stem
    return word


def _double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replace(word: str, rules: Sequence[tuple[str, str]], fits: Callable[[str], object]) -> str:
    """The word under the first rule whose suffix it has, if what stands before fits."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + replacement if fits(stem) else word
    return word


def _consonants(word: str) -> list[bool]:
    """For each letter whether it is a consonant: not a, e, i, o, u, and y only at the start or after a vowel."""
    flags: list[bool] = []
    for letter in word:
        flags.append(letter not in VOWELS and (letter != "y" or not flags or not flags[-1]))
    return flags


def _measure(word: str) -> int:
    """m in Porter's [C](VC){m}[V]: how often a vowel is followed by a consonant."""
    letters = _consonants(word)
    return sum(not first and second for first, second in itertools.pairwise(letters))


def _is_short(word: str) -> bool:
    """Porter's *o (consonant, vowel, consonant other than w, x and y at the end), and vowel and consonant alone."""
    letters = _consonants(word)
    return letters == [False, True] or (letters[-3:] == [True, False, True] and word[-1] not in "wxy")
