"""Lines below a table: their weight, and that they stay text wherever they go."""

import copy
import json
import pickle

import yaml

from toolkit.core.notes import MISLEADS, READS, ROUTINE, Note, most_important, weight_of

NOTES = [*(Note(f"routine {n}", ROUTINE) for n in range(3)), "plain 1", "plain 2", "plain 3", Note("misleads", MISLEADS)]


def test_the_weightiest_come_first_and_the_rest_are_counted():
    assert most_important(NOTES) == (["misleads", "plain 1", "plain 2", "plain 3", "routine 0"], 2)
    assert most_important(NOTES[:5]) == (NOTES[:5], 0)  # few stay in their order


def test_a_note_is_text_in_every_form_and_keeps_its_weight_in_copies():
    note = Note("text: of a note", MISLEADS)
    assert yaml.safe_load(yaml.safe_dump({"notes": [note]})) == {"notes": ["text: of a note"]}
    assert json.loads(json.dumps([note])) == ["text: of a note"]
    assert [weight_of(each) for each in (copy.deepcopy(note), pickle.loads(pickle.dumps(note)), "plain")] == [
        MISLEADS,
        MISLEADS,
        READS,
    ]
