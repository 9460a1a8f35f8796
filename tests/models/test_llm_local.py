"""A causal language model on this machine, beside the same computed literally with transformers."""

import json
import shutil

import pytest
from tiny import llama_tokenizer, tiny_bert, tiny_decoder, tiny_spec

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.models.llm import AnswerCache, Request, load_llm
from toolkit.models.rerankers.base import Window
from toolkit.models.rerankers.listwise_ranker import load_ranker

pytestmark = pytest.mark.model

CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
TEXTS = ["the cat is in the house", "a dog", "find the long river of the bird and the tree", "query"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizer = llama_tokenizer()
    tokenizer.chat_template = CHAT
    return tiny_decoder(tmp_path_factory.mktemp("llm") / "tiny", "Llama", "ForCausalLM", tokenizer=tokenizer)


def requests(texts=TEXTS, **options):
    return [Request([{"role": "user", "content": text}], {"max_tokens": 8, **options}) for text in texts]


def load(folder, tmp_path, batch_size=32, **parameters):
    spec = tiny_spec(folder, "listwise", loader="transformers", parameters=parameters)
    return load_llm(spec, cache=tmp_path / "answers.sqlite", batch_size=batch_size)


def literal(folder, text, steps, special=False):
    """Greedy decoding by hand: the likeliest next token, one after the other."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer(text, add_special_tokens=special)["input_ids"]
    written = []
    with torch.no_grad():
        for _ in range(steps):
            best = model(torch.tensor([ids + written])).logits[0, -1].argmax().item()
            written.append(best)
            if best == tokenizer.eos_token_id:
                break
    return tokenizer.decode(written, skip_special_tokens=True).strip(), len(ids), len(written)


@pytest.mark.parametrize("batch_size", [1, 32])
def test_answers_are_those_of_greedy_decoding_in_the_chat_template(folder, tmp_path, home, batch_size):
    llm = load(folder, tmp_path, batch_size)
    answers = llm.complete(requests())
    for text, answer in zip(TEXTS, answers, strict=True):
        expected = literal(folder, f"<s>user: {text}\nassistant:", 8)
        assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == expected
        assert answer.finish == ("length" if answer.completion_tokens == 8 else "stop")
    assert len({answer.text for answer in answers}) > 1
    assert llm.usage.models == {str(folder): 4}


def test_an_answer_keeps_its_own_limit_beside_longer_ones(folder, tmp_path, home):
    mixed = [Request(one.messages, {"max_tokens": limit}) for one, limit in zip(requests(), [2, 8, 3, 6], strict=True)]
    together = load(folder, tmp_path / "together").complete(mixed)
    assert together == load(folder, tmp_path / "alone", batch_size=1).complete(mixed)
    assert [answer.completion_tokens for answer in together if answer.finish == "length"][:1] == [2]


def test_answers_are_kept_and_no_weights_loaded_for_what_is_known(folder, tmp_path, home):
    first = load(folder, tmp_path).complete(requests())
    again = load(folder, tmp_path)
    assert [answer.text for answer in again.complete(requests())] == [answer.text for answer in first]
    assert (again.usage.cached, "model" in vars(again.backend)) == (4, False)


def test_another_training_is_another_model(tmp_path, home):
    spec = tiny_spec(tiny_bert(tmp_path / "a"), "listwise", loader="transformers")
    before = load_llm(spec).facts()
    assert load_llm(spec).facts() == before
    tiny_bert(tmp_path / "a", seed=1)
    assert load_llm(spec).facts() != before


@pytest.mark.parametrize("parameters", [{"chat": False}, {"chat_template": "{{ messages[0]['content'] }}"}])
def test_another_form_of_the_chat_is_another_question(folder, home, parameters):
    plain = load_llm(tiny_spec(folder, "listwise")).facts()
    assert load_llm(tiny_spec(folder, "listwise", parameters=parameters)).facts() == {**plain, **parameters}


def test_without_a_chat_turns_are_plain_text(folder, tmp_path, home):
    llm = load(folder, tmp_path, chat=False)
    messages = [{"role": "system", "content": "be short"}, {"role": "user", "content": "a dog"}]
    (answer,) = llm.complete([Request(messages, {"max_tokens": 4})])
    assert (answer.text, answer.prompt_tokens) == literal(folder, "be short\n\na dog", 4, special=True)[:2]


def test_the_entrys_chat_template_stands_in(folder, tmp_path, home):
    llm = load(folder, tmp_path, chat_template="{{ bos_token }}{{ messages[0]['content'] }} ->")
    (answer,) = llm.complete(requests(["a dog"]))
    assert answer.text == literal(folder, "<s>a dog ->", 8)[0]


def test_a_tokenizer_that_knows_no_chat_is_refused(tmp_path, home):
    silent = tiny_decoder(tmp_path / "silent", "Llama", "ForCausalLM")
    with pytest.raises(ToolkitError, match="the tokenizer of tiny has no chat template"):
        load(silent, tmp_path).check()


def test_a_checkpoint_that_cannot_write_is_refused(tmp_path, home):
    spec = tiny_spec(tiny_bert(tmp_path / "bert"), "listwise", parameters={"chat": False})
    with pytest.raises(ToolkitError, match="lacks 6 weights of BertLMHeadModel"):
        load_llm(spec).complete(requests(["query"]))


def test_more_tokens_than_the_checkpoint_has_places_for_are_refused(folder, tmp_path, home):
    with pytest.raises(ToolkitError, match=r"(?m)^prompt and answer have \d+ tokens, but tiny takes 256$"):
        load(folder, tmp_path).complete(requests(["a dog " * 60]))


def test_a_folder_without_a_tokenizer_is_refused(folder, tmp_path, home):
    (tmp_path / "bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "bare" / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(ToolkitError, match=r"tiny: transformers [\d.]+ cannot load .*tokenizer"):
        load_llm(tiny_spec(tmp_path / "bare", "listwise")).check()


def test_a_template_that_refuses_the_system_turn_is_told(folder, tmp_path, home):
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turns') }}{% endif %}x"
    ranker = load_ranker(tiny_spec(folder, "listwise", loader="transformers", parameters={"chat_template": strict}))
    with pytest.raises(ToolkitError, match="the chat template of tiny refuses the prompt: no system turns") as caught:
        ranker.rank([Window("q", "cats", ("a", "b"))])
    assert "system: merge" in caught.value.hint


def test_sampling_is_refused_here(folder, tmp_path, home):
    with pytest.raises(ToolkitError, match="tiny has no logit_bias, stop on this machine"):
        load(folder, tmp_path).complete(requests(logit_bias={"1": 2}, stop=["."], temperature=0.7))
    load(folder, tmp_path).complete(requests(["query"], temperature=0))


def test_looking_downloads_nothing(home, monkeypatch):
    def forbidden(*args, **told):
        raise AssertionError("a dry run asked the hub")

    monkeypatch.setattr("toolkit.models.checkpoints.local_checkpoints.fetch_checkpoint", forbidden)
    ranker = load_ranker(registry.system("rank-zephyr-7b"))
    order, tokens = ranker.peek(Window("q", "cats", ("the cat is in the house", "a dog")))
    assert order is None
    assert tokens > 50
    with pytest.raises(AssertionError):
        ranker.check()


def test_looking_does_not_ask_the_hub_for_a_newer_commit_of_what_is_here(folder, home, monkeypatch):
    def forbidden(*args, **told):
        raise AssertionError("a dry run asked the hub")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("toolkit.models.checkpoints.hub.list_files", forbidden)
    kept = home / "models" / "castorini--rank_zephyr_7b_v1_full" / ("a" * 40)
    shutil.copytree(folder, kept)
    window = Window("q", "cats", ("the cat is in the house", "a dog"))
    spec = registry.system("rank-zephyr-7b")
    assert load_ranker(spec).peek(window)[0] is None
    with pytest.raises(ToolkitError, match="--replay sends no request to the hub"):
        load_ranker(spec, replay=True).check()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline = load_ranker(spec, replay=True)
    offline.check()
    assert offline.peek(window)[0] is None
    assert offline.llm.facts()["commits"] == {"castorini/rank_zephyr_7b_v1_full": "a" * 40}


def test_a_window_is_ranked_within_the_models_tokens(folder, tmp_path, home):
    """Random weights answer nonsense: it is repaired, counted, and the prompt keeps within `length`."""
    prompt = tmp_path / "short.yaml"
    turns = [{"role": "user", "content": "{count} {query}"}, {"each": [{"role": "user", "content": "[{number}] {passage}"}]}]
    prompt.write_text(json.dumps({"kind": "listwise", "turns": turns}))  # JSON is YAML
    spec = tiny_spec(folder, "listwise", loader="transformers", parameters={"length": 250, "output": 10})
    ranker = load_ranker(spec, prompt=str(prompt), cache=tmp_path / "answers.sqlite")
    (order,) = ranker.rank([Window("q", "cats", ("the cat is in the house " * 20, "a dog", "find the bird"))])
    assert sorted(order) == [0, 1, 2]
    facts = ranker.facts()
    assert (facts["windows"]["shortened"], facts["usage"]["asked"], facts["prompt"]) == (1, 1, "short.yaml")
    assert 200 < facts["usage"]["prompt_tokens"] <= 240
    assert facts["usage"]["completion_tokens"] <= 10
    assert AnswerCache(tmp_path / "answers.sqlite").path.exists()


def test_vicuna_gets_its_form_of_a_chat():
    tokenizer = llama_tokenizer()
    tokenizer.chat_template = registry.system("rank-vicuna-7b").parameters["chat_template"]
    turns = [
        {"role": role, "content": text} for role, text in (("system", "S."), ("user", "U"), ("assistant", "A"), ("user", "V"))
    ]
    sent = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert sent == "<s>S. USER: U ASSISTANT: A</s>USER: V ASSISTANT:"
