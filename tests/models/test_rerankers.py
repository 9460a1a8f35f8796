"""Pointwise rerankers: the score of a pair is the one that the model gives it alone, computed here literally."""

import json

import numpy as np
import pytest
import tiny

from toolkit.core.errors import ToolkitError
from toolkit.core.templates import Input
from toolkit.models.rerankers import base, load_reranker

pytestmark = pytest.mark.model

QUERIES = ["a cat", "find the long river of the bird and the house"]
PAIRS = [(Input("", query), Input("", text)) for query in QUERIES for text in tiny.TEXTS]
ASKED = "<s>[INST] Query: {query}\nDocument: {document}\nRelevant: [/INST]"


def texts_of(pair):
    return [text.whole for text in pair]


def prompt_file(folder, *turns):
    rows = [{"role": role, "content": content} for role, content in turns]
    path = folder / "asked.yaml"
    path.write_text(json.dumps({"kind": "pointwise", "turns": rows}))
    return str(path)


def of_two(logits):
    """The share of the first of two logits in their softmax."""
    return float(logits.double().softmax(-1)[0])


def assert_scores(reranker_of, expected):
    """For batches of one pair and of many: as computed one by one, to 1e-5."""
    for batch_size in (1, 32):
        scores = reranker_of(batch_size=batch_size).score(PAIRS)
        assert scores.dtype == np.float64
        assert np.abs(scores - expected).max() < 1e-5
    assert np.ptp(expected) > 1e-3  # the pairs are told apart


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    tiny.tiny_bert(root / "bert", "BertForSequenceClassification", num_labels=1)
    tiny.tiny_roberta(root / "xlm-roberta", "XLMRobertaForSequenceClassification", num_labels=1)
    tiny.tiny_deberta(root / "deberta", "DebertaV2ForSequenceClassification", num_labels=1)
    tiny.tiny_t5(root / "t5", "T5ForConditionalGeneration")
    tiny.tiny_t5(root / "mt5", "MT5ForConditionalGeneration")
    for family in ("Llama", "Mistral", "Qwen2", "Qwen3"):
        tiny.tiny_decoder(root / family, family, "ForCausalLM")
    return root


def cross_encoder(folder, **parameters):
    spec = tiny.tiny_spec(folder, "cross-encoder", parameters=parameters)
    return lambda **how: load_reranker(spec, **how)


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "deberta"])
def test_a_cross_encoder_gives_a_pair_its_logit(folders, name):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folders / name).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / name)
    reranker = cross_encoder(folders / name, length=40)
    expected = []
    for pair in PAIRS:
        sent = tokenizer(*texts_of(pair), truncation=True, max_length=40, return_tensors="pt")
        with torch.inference_mode():
            expected.append(float(model(**sent).logits[0, 0]))
        assert reranker().tokens(pair) == sent["input_ids"][0].tolist()
    assert_scores(reranker, expected)


def test_the_sigmoid_of_the_logit_where_the_entry_says_so(folders):
    logits = cross_encoder(folders / "bert")().score(PAIRS)
    scores = cross_encoder(folders / "bert", activation="sigmoid")().score(PAIRS)
    assert np.allclose(scores, 1 / (1 + np.exp(-logits)), atol=1e-12)


def test_a_query_is_cut_to_its_share_and_the_document_to_the_rest(folders):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders / "bert")
    query, document = "the cat " * 20, "a dog " * 20
    begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    queries, documents = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (query, document))
    reranker = cross_encoder(folders / "bert", length=20, query_share=0.75)()
    # 15 tokens of the query, 3 special ones, and what is left
    assert reranker.tokens((Input("", query), Input("", document))) == [begin, *queries[:15], end, *documents[:2], end]


def test_a_query_that_is_cut_counts_where_its_document_fits(folders):
    reranker = cross_encoder(folders / "bert", length=20, query_share=0.75)()
    texts = [("the cat " * 20, "a"), ("the cat", "a dog"), ("the cat", "a dog " * 20)]
    reranker.score([(Input("", query), Input("", document)) for query, document in texts])
    assert reranker.truncated == 2


@pytest.mark.parametrize("kind", ["Llama", "Qwen2"])
def test_a_classifier_on_a_decoder_reads_the_last_token_before_the_padding(tmp_path, kind):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = tiny.tiny_decoder(tmp_path / "decoder", kind, "ForSequenceClassification", num_labels=1)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    expected = []
    for pair in PAIRS:
        sent = tokenizer(*texts_of(pair), return_tensors="pt")
        with torch.inference_mode():
            expected.append(float(model(**sent).logits[0, 0]))
    assert_scores(cross_encoder(folder, length=200), expected)


def test_a_length_beyond_the_models_positions_is_refused_and_never_taken_unasked(tmp_path):
    tokenizer = tiny.bert_tokenizer()
    folder = tiny.tiny_bert(tmp_path / "bert", "BertForSequenceClassification", num_labels=1)
    tokenizer.model_max_length = 1 << 40  # as many checkpoints leave it
    tokenizer.save_pretrained(folder)
    with pytest.raises(ToolkitError, match="length is 65, but the model has 64 positions"):
        cross_encoder(folder, length=65)()
    reranker = cross_encoder(folder)()
    assert reranker.facts["length"] == 64
    assert len(reranker.tokens((Input("", "a cat"), Input("", "a dog " * 90)))) == 64


def test_what_is_in_memory_as_tokens_is_bounded_in_pairs_and_characters(monkeypatch):
    monkeypatch.setattr(base, "CHUNK", 3)
    monkeypatch.setattr(base, "CHUNK_CHARACTERS", 10)
    pairs = [(Input("", "ab"), Input("", "x" * length)) for length in (1, 1, 1, 1, 30, 4, 4)]
    assert [(unit.start, unit.stop) for unit in base.chunks(pairs)] == [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
    assert list(base.chunks([])) == []


def test_pairs_that_do_not_fit_are_counted(folders):
    reranker = cross_encoder(folders / "bert", length=20)()
    lengths = [len(cross_encoder(folders / "bert", length=64)().tokens(pair)) for pair in PAIRS]
    reranker.score(PAIRS)
    assert reranker.truncated == sum(length > 20 for length in lengths) > 0


@pytest.mark.parametrize(("name", "tokens"), [("t5", ["▁true", "▁false"]), ("mt5", ["▁yes", "▁no"]), ("mt5", ["▁true", "▁"])])
def test_monot5_compares_two_tokens_after_one_decoder_step(folders, name, tokens):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(folders / name).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / name)
    spec = tiny.tiny_spec(folders / name, "monot5", parameters={"length": 512, "tokens": tokens})
    compared = tokenizer.convert_tokens_to_ids(tokens)
    expected = []
    for pair in PAIRS:
        query, document = texts_of(pair)
        sent = tokenizer(f"Query: {query} Document: {document} Relevant:", return_tensors="pt")
        with torch.inference_mode():
            logits = model(**sent, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        expected.append(of_two(logits[compared]))
    assert_scores(lambda **how: load_reranker(spec, **how), expected)


@pytest.mark.parametrize("family", ["Llama", "Mistral", "Qwen2", "Qwen3"])
def test_a_language_model_compares_two_tokens_at_the_last_position(folders, family, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folders / family).eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / family)
    parameters = {"tokens": ["t", "f"], "prompt": prompt_file(tmp_path, ("user", ASKED)), "chat": False}
    spec = tiny.tiny_spec(folders / family, "yes-no", parameters=parameters)
    compared = tokenizer.convert_tokens_to_ids(["t", "f"])
    expected = []
    for pair in PAIRS:
        query, document = texts_of(pair)
        sent = tokenizer(f"<s>[INST] Query: {query}\nDocument: {document}\nRelevant: [/INST]", return_tensors="pt")
        with torch.inference_mode():
            expected.append(of_two(model(**sent).logits[0, -1, compared]))
    assert_scores(lambda **how: load_reranker(spec, **how), expected)


def test_markup_by_hand_has_two_beginnings_of_sequence(folders, tmp_path):
    parameters = {"tokens": ["t", "f"], "prompt": prompt_file(tmp_path, ("user", ASKED)), "chat": False}
    ids = load_reranker(tiny.tiny_spec(folders / "Mistral", "yes-no", parameters=parameters)).tokens(PAIRS[0])
    assert ids.count(1) == 2
    assert ids[:2] == [1, 1]


@pytest.fixture
def with_template(folders, tmp_path):
    """A checkpoint with a chat template, and that template as a function."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders / "Mistral")
    tokenizer.chat_template = (
        "{{ bos_token }}{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
        "{{ date_string }}{% if add_generation_prompt %}<answer>{% endif %}"
    )
    folder = tiny.tiny_decoder(tmp_path / "chat", "Mistral", "ForCausalLM", tokenizer=tokenizer)
    return folder, tokenizer


def test_the_chat_template_of_the_checkpoint_is_put_around_the_turns(with_template, tmp_path):
    folder, tokenizer = with_template
    turns = [("system", "be short"), ("user", "{query} | {document}"), ("assistant", " Relevant:")]
    parameters = {"tokens": ["t", "f"], "prompt": prompt_file(tmp_path, *turns)}  # `chat` is left to the checkpoint
    reranker = load_reranker(tiny.tiny_spec(folder, "yes-no", parameters=parameters))
    text = "<s><system>be short<user>a cat | a dog26 Jul 2024<answer> Relevant:"
    expected = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert reranker.tokens((Input("", "a cat"), Input("", "a dog"))) == expected
    assert expected.count(1) == 1


def chat_model(folder, template):
    tokenizer = tiny.llama_tokenizer()
    tokenizer.chat_template = template
    return tiny.tiny_decoder(folder, "Mistral", "ForCausalLM", tokenizer=tokenizer)


TURNS = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
REFUSES = "{% if messages[0].role == 'system' %}{{ raise_exception('no system turns') }}{% endif %}"


def test_a_thought_that_the_template_opens_is_closed_before_the_answer(tmp_path):
    folder = chat_model(tmp_path / "thinks", TURNS + "{{ '<answer><think>\\n' }}")
    parameters = {"tokens": ["t", "f"], "prompt": prompt_file(tmp_path, ("user", "{query} | {document}"))}
    pair = (Input("", "a cat"), Input("", "a dog"))

    def sent(**more):
        reranker = load_reranker(tiny.tiny_spec(folder, "yes-no", parameters={**parameters, **more}))
        return tiny.llama_tokenizer().decode(reranker.tokens(pair))

    assert sent() == "<user>a cat | a dog<answer><think>\n\n</think>\n\n"
    assert sent(reasoning=6) == "<user>a cat | a dog<answer><think>\n"  # one that is to think does


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "no chat template for prompt asked.yaml: the tokenizer has none"),
        (REFUSES + TURNS, "the chat template refuses prompt asked.yaml: no system turns"),
        ("{{ messages[-1].content }}", r"the chat template drops {query} of prompt asked.yaml"),
    ],
)
def test_turns_that_a_chat_template_does_not_take_are_refused(tmp_path, template, message):
    prompt = prompt_file(tmp_path, ("system", "Q {query}"), ("user", "{document}"))
    spec = tiny.tiny_spec(
        chat_model(tmp_path / "chat", template or None),
        "yes-no",
        parameters={"tokens": ["t", "f"], "prompt": prompt, "chat": True},
    )
    with pytest.raises(ToolkitError, match=message) as caught:
        load_reranker(spec)
    assert "chat: false" in caught.value.hint or "user's turn" in caught.value.hint


def test_a_decoder_that_takes_no_positions_is_sent_none(tmp_path):
    import torch
    import transformers

    tokenizer = tiny.llama_tokenizer()
    config = transformers.BloomConfig(vocab_size=len(tokenizer), hidden_size=32, n_layer=2, n_head=4)
    folder = tiny.save(tiny.random_model(transformers.BloomForCausalLM, config), tokenizer, tmp_path / "bloom")
    model = transformers.BloomForCausalLM.from_pretrained(folder).eval()
    prompt = prompt_file(tmp_path, ("user", ASKED))
    spec = tiny.tiny_spec(folder, "yes-no", parameters={"tokens": ["t", "f"], "prompt": prompt})
    compared, expected = tokenizer.convert_tokens_to_ids(["t", "f"]), []
    for pair in PAIRS:
        query, document = texts_of(pair)
        sent = tokenizer(ASKED.replace("{query}", query).replace("{document}", document), return_tensors="pt")
        with torch.inference_mode():
            expected.append(of_two(model(input_ids=sent["input_ids"]).logits[0, -1, compared]))
    assert_scores(lambda **how: load_reranker(spec, **how), expected)


@pytest.mark.parametrize("kind", ["monot5", "yes-no"])
def test_a_long_document_is_cut_and_the_cue_stays(folders, tmp_path, kind):
    from transformers import AutoTokenizer

    folder = folders / {"monot5": "t5", "yes-no": "Qwen2"}[kind]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = {"monot5": ["▁true", "▁false"], "yes-no": ["t", "f"]}[kind]
    document = "the river and the ünïcödé tree 日本 " * 20
    parameters = {"tokens": tokens, "length": 60, "prompt": prompt_file(tmp_path, ("user", "Q {query} D {document} R:"))}
    reranker = load_reranker(tiny.tiny_spec(folder, kind, parameters=parameters))
    pair = (Input("", "a cat"), Input("", document))
    cut = reranker.tokens(pair)
    # the longest beginning of the document with which all of it fits
    fitting = [
        ids for end in range(len(document)) if len(ids := tokenizer(f"Q a cat D {document[:end]} R:")["input_ids"]) <= 60
    ]
    assert len(cut) in (59, 60)
    assert cut in fitting
    assert reranker.truncated == 0  # `tokens` counts nothing
    reranker.score([pair, PAIRS[0]])
    assert reranker.truncated == 1


def test_the_papers_way_cuts_the_end_of_the_whole_prompt(folders, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders / "Mistral")
    tokenizer.truncation_side = "left"  # whatever the checkpoint says of other uses
    folder = tiny.tiny_decoder(tmp_path / "left", "Mistral", "ForCausalLM", tokenizer=tokenizer)
    prompt = prompt_file(tmp_path, ("user", "Q {query} D {document} R:"))
    parameters = {"tokens": ["t", "f"], "length": 50, "prompt": prompt, "cut": "prompt"}
    reranker = load_reranker(tiny.tiny_spec(folder, "yes-no", parameters=parameters))
    document = "the river " * 20
    assert reranker.tokens((Input("", "a cat"), Input("", document))) == tokenizer(f"Q a cat D {document}")["input_ids"][:50]


def test_a_query_without_room_for_a_document_is_refused(folders, tmp_path):
    prompt = prompt_file(tmp_path, ("user", "Q {query} D {document} R:"))
    spec = tiny.tiny_spec(folders / "Mistral", "yes-no", parameters={"tokens": ["t", "f"], "length": 30, "prompt": prompt})
    with pytest.raises(ToolkitError, match="a query leaves no room for a document: 'the long river the long"):
        load_reranker(spec).score([(Input("", "the long river " * 5), Input("", "a dog"))])


def reasoning(folders, tmp_path, family="Qwen2"):
    prompt = prompt_file(tmp_path, ("user", "{query} {document}\n"), ("assistant", "<think>"))
    parameters = {"tokens": ["t", "f"], "prompt": prompt, "chat": False, "reasoning": 6, "length": 200}
    return load_reranker(tiny.tiny_spec(folders / family, "yes-no", parameters=parameters))


def test_a_reasoning_model_that_does_not_end_is_made_to(folders, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folders / "Qwen2").eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / "Qwen2")
    compared = tokenizer.convert_tokens_to_ids(["t", "f"])
    expected = []
    for pair in PAIRS:
        ids = tokenizer("{} {}\n<think>".format(*texts_of(pair)))["input_ids"]
        with torch.inference_mode():
            for _ in range(6):
                token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
                if token == tokenizer.eos_token_id:
                    break
                ids.append(token)
            ids += tokenizer("\n</think>")["input_ids"]
            expected.append(of_two(model(torch.tensor([ids])).logits[0, -1, compared]))
    reranker = reasoning(folders, tmp_path)
    # a checkpoint's own way of generating, as Qwen2.5's, is not for answers that are compared
    reranker._loaded.model.generation_config.repetition_penalty = 5.0
    assert np.abs(reranker.score(PAIRS) - expected).max() < 1e-5


def test_a_thought_that_the_model_ended_is_left_as_it_is(folders, tmp_path, monkeypatch):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folders / "Qwen2").eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / "Qwen2")
    written = tokenizer("so it is\n</think>")["input_ids"]
    reranker = reasoning(folders, tmp_path)

    def generate(self, input_ids, **how):
        assert (how["max_new_tokens"], how["do_sample"], how["stop_strings"]) == (6, False, "</think>")
        return torch.cat([input_ids, torch.tensor([[*written, tokenizer.pad_token_id]] * len(input_ids))], 1)

    monkeypatch.setattr(type(model), "generate", generate)
    pair = (Input("", "a cat"), Input("", "a dog"))
    sent = tokenizer("a cat a dog\n<think>")["input_ids"] + written
    with torch.inference_mode():
        logits = model(torch.tensor([sent])).logits[0, -1, tokenizer.convert_tokens_to_ids(["t", "f"])]
    assert abs(reranker.score([pair])[0] - of_two(logits)) < 1e-6


def test_batches_whose_scores_are_known_are_left_out_and_the_others_stay(folders):
    reranker = cross_encoder(folders / "bert")(batch_size=1)
    made = list(reranker.batches(PAIRS))
    known, partly = made[0][0], made[1][0][:1]
    assert len(made) == 3
    again = list(reranker.batches(PAIRS, done=[*known, *partly]))
    assert [batch for batch, _ in again] == [batch for batch, _ in made[1:]]
    assert all(np.array_equal(one, other) for (_, one), (_, other) in zip(again, made[1:], strict=True))


def test_a_batch_that_does_not_fit_into_the_gpu_is_a_failure_in_one_line(folders, monkeypatch):
    import torch

    def full(self, **batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    reranker = cross_encoder(folders / "bert")()
    monkeypatch.setattr("transformers.BertForSequenceClassification.forward", full)
    with pytest.raises(ToolkitError, match="a batch does not fit into the GPU's memory") as caught:
        reranker.score(PAIRS)
    assert caught.value.status == 1


def test_no_pairs_have_no_scores(folders):
    assert cross_encoder(folders / "bert")().score([]).shape == (0,)


@pytest.mark.parametrize(
    ("folder", "kind", "parameters", "message"),
    [
        ("labels", "cross-encoder", {}, "tiny has 2 labels: a cross-encoder has one"),
        ("bare", "cross-encoder", {}, r"lacks 2 weights of \w+ \(classifier\.bias, classifier\.weight\)"),
        ("t5", "yes-no", {}, "tiny does not load as a language model"),
        ("Mistral", "yes-no", {"tokens": ["Ġtrue", "t"]}, "its vocabulary has no token 'Ġtrue'"),
        ("bert", "cross-encoder", {"tokens": ["a", "b"]}, "kind cross-encoder has no parameter 'tokens'"),
        ("bert", "cross-encoder", {"activation": "tanh"}, "activation is 'tanh'"),
        ("bert", "dense", {}, "tiny is of kind dense, no pointwise reranker"),
    ],
)
def test_what_is_no_such_reranker_is_refused(folders, tmp_path, folder, kind, parameters, message):
    tiny.tiny_bert(tmp_path / "labels", "BertForSequenceClassification", num_labels=2)
    tiny.tiny_bert(tmp_path / "bare", "BertModel")
    place = tmp_path / folder if folder in ("labels", "bare") else folders / folder
    with pytest.raises(ToolkitError, match=message):
        load_reranker(tiny.tiny_spec(place, kind, parameters=parameters))


def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path):
    folder = tiny.tiny_bert(tmp_path / "bert", "BertForSequenceClassification", num_labels=1)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ToolkitError, match=r"model\.safetensors is no safetensors file"):
        cross_encoder(folder)()


def test_an_adapter_is_not_loaded_as_if_it_were_whole(tmp_path):
    folder = tiny.tiny_decoder(tmp_path / "base", "Llama", "ForCausalLM")
    adapter = tiny.tiny_lora(tmp_path / "adapter", folder)
    with pytest.raises(ToolkitError, match="tiny is an adapter, and no language model's: such are loaded whole"):
        load_reranker(tiny.tiny_spec(adapter, "cross-encoder", base=str(folder)))
    wrong = "the adapter in .* does not fit LlamaForCausalLM"  # it was made for the model without its head
    with pytest.raises(ToolkitError, match=wrong):
        load_reranker(tiny.tiny_spec(adapter, "yes-no", base=str(folder), parameters={"tokens": ["t", "f"]}))


def test_a_prompt_for_a_model_without_one_is_refused(folders):
    spec = tiny.tiny_spec(folders / "bert", "cross-encoder")
    with pytest.raises(ToolkitError, match="it has no prompt"):
        load_reranker(spec, prompt="pointwise-yes-no.v1")


def test_the_facts_name_device_precision_and_prompt(folders, tmp_path):
    prompt = prompt_file(tmp_path, ("user", "Q {query} D {document} R:"))
    parameters = {"tokens": ["t", "f"], "prompt": "pointwise-followir.v1", "prompt_source": "their model card"}
    spec = tiny.tiny_spec(folders / "Mistral", "yes-no", parameters=parameters)
    ours, theirs = load_reranker(spec).facts, load_reranker(spec, prompt=prompt).facts
    assert (ours["device"], ours["precision"]) == ("cpu", "fp32")
    assert (ours["prompt"], ours["prompt_name"], ours["prompt_source"]) == ("ours", "pointwise-followir.v1", "their model card")
    assert (ours["tokens"], ours["length"], ours["chat"], ours["cut"]) == (["t", "f"], 256, False, "document")
    assert theirs["prompt"] == "asked.yaml"
    assert theirs["prompt_sha256"] != ours["prompt_sha256"]
