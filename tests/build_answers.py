"""What a scripted model answers to the prompts of builds: as a model would, and the same whenever it is asked.

`scripts/record_build_answers` records these answers for `tandem build new`.

`answer(messages)` finds by a phrase which prompt it is; a kind's answers are functions here, listed in ANSWERS.
"""

import hashlib
import json
import re

from toolkit.models.lucene.language_id import script

ANY_SEEDS = {"shortest": 1, "longest": 1000, "shortest_document": 1, "longest_document": 10_000}  # of the step `seeds`
MODELS = {name: {"system": "http:gpt-4o", "temperature": 1.0} for name in ("writer", "judge")}  # of a build, on a server
PEOPLE = ("a nurse", "a pilot", "a farmer", "a judge", "a tailor", "a diver", "a baker", "a miner", "a clerk", "a poet")


def part(text, before, after):
    """What stands between two phrases of a prompt."""
    return re.search(f"{re.escape(before)}(.*?){re.escape(after)}", text, re.DOTALL)[1].strip()


def number(text):
    """A number from 0 to 255 that the text decides."""
    return hashlib.sha256(text.encode()).digest()[0]


def count(text):
    """How many the prompt asks for."""
    return int(re.search(r"Write (\d+)", text)[1])


def scenarios(text):
    query = part(text, "Query: ", "\n")
    return json.dumps([f"Being {PEOPLE[n % 10]} {n}, I need it for {number(f'{query} {n}')}." for n in range(count(text))])


def target(text):
    """A plan, and the passage with a mark of the scenario, which `choice` knows it by."""
    said = part(text, "The reader says:", "Passage:")
    revised = f"{part(text, 'Passage:', 'Rewrite the passage')} ({hashlib.sha256(said.encode()).hexdigest()[:8]})"
    return f"PLAN: it is marked. [END]\nREVISED DOCUMENT: {revised} [END]"


def fit(text):
    """Two of 16 targets do not fit."""
    return str((5, 4, 3, 2)[0 if number(text) > 100 else 1 if number(text) > 32 else 2 if number(text) > 16 else 3])


def choice(text):
    """The target that was written for the scenario; one scenario of 16 is confused with another."""
    said = part(text, "The reader says:", "Passages:")
    mark = hashlib.sha256(said.encode()).hexdigest()[:8]
    shown = re.findall(r"^\[(\d+)\]", text, re.MULTILINE)
    if number(said) < 16:
        return shown[-1]
    return next(
        each for each, known in re.findall(r"^\[(\d+)\] .*?\((\w{8})\)$", text, re.MULTILINE | re.DOTALL) if known == mark
    )


def paraphrases(text):
    said = part(text, "says:", "Write")
    return json.dumps([f"In other words ({n}): {said}" for n in range(1, count(text) + 1)])


# a sentence with a number in the languages of the minis, by the script of what it is added to
REASONS = {
    "latin": "It says so for reason {}.",
    "arabic": "سند این را به دلیل {} می‌گوید.",
    "cyrillic": "Это сказано по причине {}.",
    "han": "它因为理由{}而这样说。",
}
LANGUAGES = {"Persian": "arabic", "Russian": "cyrillic", "Chinese": "han"}


def edits(text):
    """The narrative with a sentence more, another one for each search."""
    search, said = part(text, "Search: ", "\n"), part(text, "What counts as relevant: ", "\n")
    return json.dumps([f"{said} {REASONS[script(said)].format(number(f'{search} {n}'))}" for n in range(count(text))])


def still_relevant(text):
    """Of two documents about one."""
    return "Yes" if number(text) < 128 else "No"


def translated_edit(text):
    """The narrative and the same sentence for each number, in the language that is asked for."""
    language, _, narrative = part(text, "The same in ", "\n").partition(": ")
    reason = REASONS[LANGUAGES[language]].format(re.findall(r"\d+", part(text, "The description was changed: ", "\n"))[-1])
    return json.dumps({"changed": f"{narrative} {reason}"}, ensure_ascii=False)


def whole_answers(text):
    """Each answer with a beginning, a line each."""
    return "\n".join(f"The answer is: {one}." for one in re.findall(r"^\d+\. (.*)$", text, re.MULTILINE))


def supports(text):
    """Of five pairs about one."""
    return "Yes" if number(text) < 51 else "No"


def keywords(text):
    """The longest words of the text, a line each."""
    words = {word.lower() for word in re.findall(r"[A-Za-z]{5,}", part(text, "Text: ", "Write "))}
    return "\n".join(sorted(words, key=lambda word: (-len(word), word))[: count(text)])


def instructed(text):
    """The search with a word more, and the wish."""
    return f"All on this: {part(text, 'Search: ', chr(10)).rstrip('?.')}. Show me {part(text, 'Wanted: ', chr(10))}."


def reversed_wish(text):
    return f"Show me anything but {part(text, 'What the wish asks for: ', chr(10))}."


def searched(text):
    """The search that a rewritten text still has to answer."""
    return re.search(r"(?:answers?) this search: (.*?)\.(?: Add|\n)", text)[1]


PLAIN, BLOG, FORUM, MANUAL = "In plain words: ", "From the blog of Ann: ", "Ann writes: ", "SYNOPSIS\n"  # how texts begin
NEAR = "Another matter"  # how what does not answer a search begins


def plain(text):
    return f"Layman: {PLAIN}{part(text, 'Text for specialists: ', 'Write it for readers')}"


def lengths(text):
    """One sentence, and the paragraph in three."""
    words = part(text, "Paragraph: ", "Write it twice more").split()
    third = len(words) // 3
    article = "\n\n".join(" ".join(each) for each in (words[:third], words[third : 2 * third], words[2 * third :]))
    return f"Sentence: This sentence says all on {searched(text).rstrip('?.')}.\nArticle: {article}"


def sources(text):
    report = part(text, "News report: ", "Write it twice more")
    return f"Blog: {BLOG}{report}\nForum: {FORUM}{report}\nBen: That helped."


def manual(text):
    """What is rewritten as anything else than the above."""
    return f"{MANUAL}{searched(text)}\nDESCRIPTION\n{part(text, 'Text: ', 'Rewrite it as')}"


def is_kind(text):
    """By how the document begins; one that nobody has rewritten is of any kind that none is rewritten as."""
    document, demand = text.removeprefix("Document: "), text.rpartition("Is the document ")[2]
    kinds = {"plain words": PLAIN, "entry of a blog": BLOG, "several users": FORUM, "reference manual": MANUAL}
    begin = next((each for known, each in kinds.items() if known in demand), "")
    return "Yes" if (document.startswith(begin) if begin else not document.startswith(tuple(kinds.values()))) else "No"


def answers_search(text):
    return "No" if NEAR in text else "Yes"


def neighbouring(text):
    """Another text for each seed."""
    return f"{NEAR}, number {text.rpartition('Seed: ')[2]}, has some words of it: {part(text, 'Search: ', chr(10))}."


# a phrase of a prompt -> what answers it
ANSWERS = {
    "each by another person who types exactly this query": scenarios,
    "Rewrite the passage so that": target,
    "How relevant is the passage to the query?": fit,
    "Which passage serves this reader best?": choice,
    "other wordings of it": paraphrases,
    "versions of the description": edits,
    "Does it meet the second one": still_relevant,
    "Change the description in": translated_edit,
    "Write each answer as one whole sentence": whole_answers,
    "Does the document support the statement?": supports,
    "names, terms or things from this text": keywords,
    "The first puts the search into other words": instructed,
    "Write one sentence in which the same searcher": reversed_wish,
    "Write it for readers without any training": plain,
    "as one single sentence and as an article": lengths,
    "As an entry of a blog": sources,
    "Rewrite it as a page of a reference manual": manual,
    "Is the document ": is_kind,
    "Does the document answer the search?": answers_search,
    "Write a text about a neighbouring subject": neighbouring,
}


def answer(messages, seed=1):
    """The answer to any prompt of a build; of a request with a seed another one where the prompt asks for something new."""
    text = messages[-1]["content"]
    text += f"\nSeed: {seed}" * ("neighbouring subject" in text)
    for phrase, function in ANSWERS.items():
        if phrase in text:
            return function(text)
    raise AssertionError(f"no answer to {text[:200]!r}")
