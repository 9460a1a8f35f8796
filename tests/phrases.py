"""Words, phrases and sentences of texts that must not repeat one another."""

import re

SIZE = 6  # words of a phrase that no two texts share


def words(text):
    return re.findall(r"\w+", text.lower())


def phrases(text):
    found = words(text)
    return {" ".join(found[at : at + SIZE]) for at in range(len(found) - SIZE + 1)}


def sentences(text):
    return [" ".join(words(part)) for part in re.split(r"(?<=[.!?])\s+", text) if len(words(part)) > 2]
