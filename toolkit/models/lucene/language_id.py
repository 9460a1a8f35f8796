"""Which script a text is written in, by the Unicode blocks of its characters. No model, no dependency.

A script is not a language: Latin letters are taken for English by who asks here, and nothing tells Spanish from it.
"""

import re

# Blocks: Unicode 16. A run of letters of an alphabet is one word, a Han character or syllable one by itself
WORDS = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"),
    "kana": re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]"),
    "hangul": re.compile(r"[\uac00-\ud7af\u1100-\u11ff\u3130-\u318f]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+"),
    "cyrillic": re.compile(r"[\u0400-\u052f]+"),
    "arabic": re.compile(r"[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]+"),
}
KANA_SHARE = 0.1  # Japanese mixes both: that much kana beside Han makes a text Japanese


def script(text: str) -> str:
    """The script of most words of a text (a key of WORDS); `` for a text without letters.

    Japanese is `kana`, however many of its characters are Han.
    """
    counts = {name: len(words.findall(text)) for name, words in WORDS.items()}
    if counts["kana"] and counts["kana"] >= KANA_SHARE * (counts["han"] + counts["kana"]):
        counts["kana"] += counts.pop("han")
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ""
