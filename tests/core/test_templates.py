"""Topics and documents in a system's templates: what is sent, to the blank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import registry
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import (
    SLOT,
    Input,
    check_template,
    doc_input,
    template_digest,
    topic_input,
    topic_template,
    without_slots,
)
from toolkit.core.topics import Topic

INS = Topic("1-ins", "wind power For experts.", query="wind power", instruction="For experts.")
ORI = Topic("1-ori", "wind power", query="wind power", released="Find pages.")
BARE = Topic("1", "wind power?")  # of a file that knows no instructions
SWAPPED = Topic("q", "] wind power [SEP] For experts. [")


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
        ({"query": "Instruct: {instruction}\nQuery: {query}"}, ORI, Input("", "wind power")),
        ({"query": "Instruct: {instruction}\nQuery: {query}"}, INS, Input("Instruct: For experts.\nQuery: ", "wind power")),
        ({"query": "{query} (as {released})"}, BARE, Input("", "wind power?")),
        # InstructIR's code takes what stands before the separator for the instruction, in either order
        ({"plain": "{before_sep}  {after_sep}"}, SWAPPED, Input("] wind power  ", "For experts. [")),
        ({"plain": "I: {before_sep}\nQ: {after_sep}</s>"}, SWAPPED, Input("I: ] wind power\nQ: ", "For experts. [</s>")),
        ({"plain": "I: {before_sep}\nQ: {after_sep}</s>"}, BARE, Input("", "wind power?</s>")),
    ],
)
def test_a_topic_in_a_template(templates, topic, sent):
    assert topic_input(templates, topic) == sent


@pytest.mark.parametrize(
    ("template", "left"),
    [
        # lines
        ("Instruct: {instruction}\nQuery: {query}</s>", "{query}</s>"),
        ("Rank pages.\nInstruct: {instruction}\n\nQuery: {query}\n", "Rank pages.\n{query}\n"),
        ("Instruct:\n{instruction}\n\nQuery:\n{query}", "{query}"),
        ("Query: {query}\n\nInstruct: {instruction}", "Query: {query}"),
        ("{query}\n\n{instruction}\n", "{query}"),
        ("<|user|>\n{instruction}\n<|embed|>\n{query}", "<|embed|>\n{query}"),
        ("<|user|>\n{instruction}\n{query}<|end|>", "<|user|>\n{query}<|end|>"),
        # clauses
        ("{query} {instruction}", "{query}"),
        ("query:  {question} {instruction}", "query:  {question}"),
        ("query: {instruction} {query}", "query: {query}"),
        ("Instruct: {instruction} Query: {query}", "{query}"),
        ("{instruction} [SEP] {query}</s>", "{query}</s>"),
        ("{query}: {instruction}", "{query}"),
        ("Find {query}. Note: {instruction}.", "Find {query}."),
        ("{query} ({instruction})</s>", "{query}</s>"),
        ("指令：{instruction} 查询：{query}", "{query}"),
        ("<i>{instruction}</i><q>{query}</q>", "<q>{query}</q>"),
        ("<q>{query}</q> <i>{instruction}</i></s>", "<q>{query}</q></s>"),
        ("{query} for {instruction} or {released}", "{query} {released}"),
        ("Q: {query}", "Q: {query}"),
    ],
)
def test_what_stands_there_for_an_absent_slot_alone_goes(template, left):
    assert without_slots(template, ["instruction"]) == left


labels = st.sampled_from(["", "Instruct: ", "query: ", "Find ", "<t>", "("])
ends = st.sampled_from(["", ".", "</t>", ")", " [SEP]", "</s>"])
pieces = st.builds("{}{{{}}}{}".format, labels, st.sampled_from(["query", "question", "instruction", "released"]), ends)
written = st.lists(st.tuples(pieces, st.sampled_from([" ", "", "\n", "\n\n", ", "])), min_size=1, max_size=5)


@given(written.map(lambda parts: "".join(part + between for part, between in parts)))
def test_the_other_slots_stay_in_their_order_and_nothing_is_added(template):
    left = without_slots(template, ["instruction", "released"])
    stay = [slot for slot in SLOT.findall(template) if slot in ("query", "question")]
    assert SLOT.findall(left) == stay
    assert without_slots(left, ["instruction", "released"]) == left
    rest = iter(template)
    assert all(letter in rest for letter in left)  # a subsequence of the template
    if len(stay) == len(SLOT.findall(template)):
        assert left == template


def test_queries_without_instruction_are_sent_as_by_the_shipped_systems():
    derived, given = {}, {}
    for name, system in registry.systems().items():
        recipes = [recipe for recipe, told in system.recipes.items() if "unknown" not in told]
        for spec in (system, *map(system.with_recipe, recipes)):
            if {"query", "plain"} <= spec.templates.keys():
                key = f"{name} {spec.recipe}".strip()
                derived[key] = without_slots(spec.templates["query"], ["instruction"])
                given[key] = without_slots(spec.templates["plain"], ["released", "before_sep"]).replace("after_sep", "query")
    # a sentence of the paper's or the model card's in the instruction's place, and a label that stays
    other = {key for key in given if given[key] != derived[key]}
    assert {key.partition("-")[0] for key in other} == {"bge", "qwen3", "mxbai"}
    assert len(given) > 4 * len(other)


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


def test_the_template_of_a_topic_is_what_its_text_is_put_into():
    templates = {"query": "Instruct: {instruction}\nQuery: {query}", "passage": "{text}"}
    assert (topic_template(templates, INS), topic_template(templates, ORI)) == (templates["query"], "{query}")
    assert topic_template({**templates, "plain": "Q: {query} {released}"}, ORI) == "Q: {query} {released}"
    assert topic_template({**templates, "plain": "Q: {query} {released}"}, BARE) == "Q: {query}"
    assert topic_template({}, BARE) == "{query}"


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
