"""Topics and documents in a system's templates: what is sent, to the blank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import Input, check_template, doc_input, template_digest, topic_input
from toolkit.core.topics import Topic

pytestmark = pytest.mark.unit

INS = Topic("1-ins", "wind power For experts.", query="wind power", instruction="For experts.")
ORI = Topic("1-ori", "wind power", query="wind power", released="Find pages.")
BARE = Topic("1", "wind power?")  # of a file that knows no instructions


@pytest.mark.parametrize(
    ("templates", "topic", "sent"),
    [
        ({}, INS, Input("", "wind power For experts.")),
        ({}, ORI, Input("", "wind power")),
        ({"query": "query: {query}"}, INS, Input("query: ", "wind power For experts.")),
        ({"query": "I: {instruction}\nQ: {query}"}, INS, Input("I: For experts.\nQ: ", "wind power")),
        ({"query": "{query} {instruction}"}, INS, Input("", "wind power For experts.")),
        ({"query": "{query} {instruction}"}, ORI, Input("", "wind power")),
        ({"query": "{instruction}: {query}", "plain": "None: {query}"}, ORI, Input("None: ", "wind power")),
        ({"query": "{instruction}: {query}", "plain": "None: {query}"}, INS, Input("For experts.: ", "wind power")),
        ({"query": "{query}", "plain": "{query} {released}"}, ORI, Input("", "wind power Find pages.")),
        ({"query": "{query}", "plain": "{query} {released}"}, BARE, Input("", "wind power?")),
        ({"query": "query:  {question} {instruction}"}, INS, Input("query:  ", "wind power? For experts.")),
        ({"query": "query:  {question} {instruction}"}, ORI, Input("query:  ", "wind power?")),
        ({"query": "query:  {question} {instruction}"}, BARE, Input("query:  ", "wind power?")),
        ({"query": "{instruction} {query}"}, INS, Input("For experts. ", "wind power")),
        ({"query": "{instruction} {query}"}, ORI, Input("", "wind power")),
        ({"query": "{query}</s>"}, BARE, Input("", "wind power?</s>")),
    ],
)
def test_a_topic_in_a_template(templates, topic, sent):
    assert topic_input(templates, topic) == sent


@pytest.mark.parametrize(
    ("template", "doc", "sent"),
    [
        (None, Doc("d", "T", "Text."), Input("", "T Text.")),
        (None, Doc("d", "", "Text."), Input("", "Text.")),
        ("passage: {contents}", Doc("d", "T", "Text."), Input("passage: ", "T Text.")),
        ("{text} {title}", Doc("d", "T", "Text."), Input("", "Text. T")),
        ("{text} {title}", Doc("d", "", "Text."), Input("", "Text.")),
        ("{title} {text}", Doc("d", "", "Text."), Input("", "Text.")),
        ("p: {title} {text}", Doc("d", "T", ""), Input("p: ", "T")),
        ("<|embed|>\n{contents}", Doc("d", "T", "Text."), Input("<|embed|>\n", "T Text.")),
    ],
)
def test_a_document_in_a_template(template, doc, sent):
    assert doc_input({"passage": template} if template else {}, doc) == sent


def test_what_is_sent_is_prefix_and_text():
    assert topic_input({"query": "query: {query}"}, ORI).whole == "query: wind power"


@given(st.text(), st.text())
def test_slots_in_a_text_are_text(query, instruction):
    topic = Topic("1", "both", query=query + "{title}", instruction=instruction + "{query}")
    sent = topic_input({"query": "{instruction}|{query}|"}, topic)
    assert sent == Input(f"{instruction}{{query}}|", f"{query}{{title}}|")


def test_a_slot_that_a_template_cannot_have_is_named():
    check_template("query", "{query} {question} {instruction} {released}")
    check_template("passage", "{title} {text} {contents}")
    with pytest.raises(ToolkitError, match=r"template plain has an unknown slot \{text\}"):
        check_template("plain", "{query} {text}")
    with pytest.raises(ToolkitError) as caught:
        check_template("passage", "{query}")
    assert caught.value.hint == "known: title, text, contents"


def spec(**given):
    return SystemSpec(name="x", description="d", kind="dense", **given)


def test_the_digest_tells_apart_what_shapes_the_input_and_nothing_else():
    base = {"parameters": {"pooling": "cls", "eos": True}, "templates": {"query": "q: {query}", "passage": "{text}"}}
    turned = {"parameters": {"eos": True, "pooling": "cls"}, "templates": {"passage": "{text}", "query": "q: {query}"}}
    digest = template_digest(spec(**base))
    assert template_digest(spec(**turned, notes="other", verified="run")) == digest
    others = [
        {**base, "templates": {"query": "q:  {query}", "passage": "{text}"}},
        {**base, "templates": {"query": "q: {query}"}},
        {**base, "parameters": {"pooling": "mean", "eos": True}},
    ]
    assert len({digest, *(template_digest(spec(**other)) for other in others)}) == 4
