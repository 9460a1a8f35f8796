"""What stands for GPT-4o and other chat models: a valid answer to each kind of prompt, which only the prompt decides."""

import json
import re

from endpoint import shown, worth

QUERY = re.compile(r"^Query: (.*)$", re.MULTILINE)
QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)


def answer(messages):
    """For `endpoint.Script`: an order, yes or no, one of two perspectives, or some as JSON; status 400 for any other prompt."""
    last = messages[-1]["content"]
    for asked, form in FORMS.items():
        if asked in last:
            return form(messages, last)
    return "status", 400


def _order(messages, last):
    query, passages = QUERY.findall(last)[-1], shown(messages)
    best_first = sorted(passages, key=lambda number: -worth(query, passages[number]))
    return " > ".join(f"[{number}]" for number in best_first)


def _yes_or_no(messages, last):
    return "Yes" if worth("", last) < 0.5 else "No"


def _perspectives(messages, last):
    question = QUESTION.findall(last)[0].rstrip("?")
    return json.dumps({name: f"{question}: {name} says so." for name in ("practice", "principle", "experience")})


def _stance(messages, last):
    return f"Perspective {1 if worth('', last) < 0.5 else 2}"


FORMS = {
    "in square brackets with >": _order,
    "Yes or No and nothing else": _yes_or_no,
    "Answer Perspective 1 or Perspective 2": _stance,
    "one JSON object": _perspectives,
}
