"""Swapped instructions: each in the place of its opposite, and what has none is refused."""

import json

import pytest
from command import tandem

from toolkit.core.errors import ToolkitError
from toolkit.datasets import resolve_topics
from toolkit.retrieval.instructions import topics_sent

OPPOSITE = {"ins": "rev", "rev": "ins"}


def test_each_instruction_stands_where_its_opposite_stood():
    topics = resolve_topics(["infosearch-mini-audience"])
    before, after = ({topic.query_id: topic for topic in each.topics} for each in (topics, topics_sent(topics, "swapped")))
    assert list(before) == list(after)
    for query_id, topic in after.items():
        base, _, mode = query_id.rpartition("-")
        other = before[f"{base}-{OPPOSITE.get(mode, mode)}"]
        assert (topic.instruction, topic.query, topic.mode) == (other.instruction, before[query_id].query, mode)
        assert topic.text == other.text  # query and instruction are joined alike in both modes


def test_swapped_twice_is_as_it_was():
    topics = resolve_topics(["infosearch-mini"])
    assert topics_sent(topics_sent(topics, "swapped"), "swapped") == topics


@pytest.mark.parametrize("name", ["infosearch-mini-ins", "mfollowir-mini", "instructir-mini"])
def test_what_has_no_opposite_is_refused(name):
    with pytest.raises(ToolkitError, match="there is no opposite of its instruction"):
        topics_sent(resolve_topics([name]), "swapped")


@pytest.mark.lucene
def test_what_is_gained_when_instructed_was_lost_when_reversed(tmp_path):
    values = {}
    for how in ("full", "swapped"):
        run = tmp_path / f"{how}.trec"
        tandem("search", "--topics", "infosearch-mini-format", "--instruction", how, "--output", run, check=True)
        done = tandem("evaluate", run, "--benchmark", "infosearch-mini-format", "-m", "IRS", "--format", "json", check=True)
        values[how] = {row["mode"]: row["value"] for row in json.loads(done.stdout)["rows"]}
    assert values["swapped"]["ins"] == pytest.approx(-values["full"]["rev"]) != 0
