"""Judges of every kind on tiny checkpoints, beside the same computed literally, and how their answers are read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from endpoint import Script, serving
from tiny import bert_tokenizer, llama_tokenizer, tiny_bert, tiny_deberta, tiny_decoder, tiny_lora, tiny_spec, tiny_t5

from toolkit import registry
from toolkit.core.errors import ToolkitError
from toolkit.models.judges import STANCE, Pair, Shot, Sides, load_judge, read_shots
from toolkit.models.llm import Answer
from toolkit.models.llm.paper_prompts import PublishedPrompt

pytestmark = pytest.mark.model

CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
PLAIN = """
kind: judge
turns:
  - {role: user, content: "{document} | {statement}"}
"""
PAIRS = [Pair("the cat is in the house", "a cat"), Pair("a dog", "a cat"), Pair("a dog", "the bird is in the house")]
LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("judges")
    tokenizer = llama_tokenizer()
    tokenizer.chat_template = CHAT
    tiny_decoder(root / "llama", "Llama", "ForCausalLM", tokenizer=tokenizer)
    tiny_t5(root / "t5", "T5ForConditionalGeneration", vocab_size=300)
    tiny_bert(root / "nli", "BertForSequenceClassification", num_labels=3, id2label=LABELS)
    tiny_deberta(root / "deberta", num_labels=3, id2label=LABELS, max_position_embeddings=512)
    tiny_decoder(root / "long", "Mistral", "ForCausalLM", tokenizer=tokenizer, max_position_embeddings=2048)
    from transformers import AutoModelForCausalLM

    tiny_lora(root / "lora", root / "llama", kind=AutoModelForCausalLM)
    tiny_lora(root / "long-lora", root / "long", kind=AutoModelForCausalLM)
    (root / "plain.yaml").write_text(PLAIN)
    return root


def judge_of(folder, tmp_path, parameters, loader="transformers", base="", **how):
    spec = tiny_spec(folder, "judge", loader=loader, parameters=parameters, base=str(base))
    return load_judge(spec, cache=tmp_path / "answers.sqlite", **how)


def test_an_entailment_classifier_gives_the_share_of_its_class(folders, tmp_path, home):
    import torch
    from transformers import AutoModelForSequenceClassification

    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folders / "nli").eval(), bert_tokenizer()
    with torch.no_grad():
        logits = [model(**tokenizer(*pair, return_tensors="pt")).logits[0].double() for pair in PAIRS]
    expected = [float(row.softmax(-1)[1]) for row in logits]
    judge = judge_of(folders / "nli", tmp_path, {"positive": "entailment"})
    verdicts = judge.judge(PAIRS)
    assert np.abs(np.array([verdict.share for verdict in verdicts]) - expected).max() < 1e-5
    assert [verdict.holds for verdict in verdicts] == [share >= 0.5 for share in expected]
    assert np.ptp(expected) > 1e-3


def test_true_compares_two_token_ids_at_the_first_decoder_step(folders, tmp_path, home):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    entry = registry.system("true-nli-t5-xxl")
    assert (entry.parameters["tokens"], entry.parameters["threshold"], entry.parameters["length"]) == ([209, 3], 0.5, 256)
    model = AutoModelForSeq2SeqLM.from_pretrained(folders / "t5").eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / "t5")
    expected = []
    for document, statement in PAIRS:
        inputs = tokenizer(f"premise: {document} hypothesis: {statement}", return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        expected.append(float(logits[[209, 3]].double().softmax(-1)[0]))
    parameters = entry.parameters
    judge = judge_of(folders / "t5", tmp_path, parameters)
    assert np.abs(np.array([verdict.share for verdict in judge.judge(PAIRS)]) - expected).max() < 1e-5
    with pytest.raises(ToolkitError, match=r"tokens, and none of id 20009"):
        judge_of(folders / "t5", tmp_path / "other", {**parameters, "tokens": [20009, 3]}).judge(PAIRS)


def yes_no_by_hand(model, tokenizer, text):
    import torch

    with torch.no_grad():
        logits = model(**tokenizer(text, return_tensors="pt", add_special_tokens=False)).logits[0, -1]
    return float(logits[tokenizer.convert_tokens_to_ids(["Y", "N"])].double().softmax(-1)[0])


@pytest.mark.parametrize("adapter", [False, True])
def test_an_instruction_model_is_asked_for_one_of_two_tokens(folders, tmp_path, home, adapter):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folders / "llama").eval(),
        AutoTokenizer.from_pretrained(folders / "llama"),
    )
    if adapter:
        model = PeftModel.from_pretrained(model, folders / "lora").eval()
    expected = [yes_no_by_hand(model, tokenizer, f"<s>user: {d} | {s}\nassistant:") for d, s in PAIRS]
    how = {"loader": "peft", "base": folders / "llama"} if adapter else {}
    folder = folders / ("lora" if adapter else "llama")
    parameters = {"positive": "token", "tokens": ["Y", "N"]}
    judge = judge_of(folder, tmp_path, parameters, prompt=str(folders / "plain.yaml"), **how)
    assert np.abs(np.array([verdict.share for verdict in judge.judge(PAIRS)]) - expected).max() < 1e-5
    assert ("base" in judge.facts()) == adapter


@pytest.mark.parametrize("batch_size", [1, 32])
def test_an_adapter_writes_as_the_merged_model_does(folders, tmp_path, home, batch_size):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders / "llama")
    base = AutoModelForCausalLM.from_pretrained(folders / "llama")
    model = PeftModel.from_pretrained(base, folders / "lora").eval()
    expected = []
    for document, statement in PAIRS:
        told = tokenizer(f"<s>user: {document} | {statement}\nassistant:", return_tensors="pt", add_special_tokens=False)
        written = model.generate(**told, do_sample=False, max_new_tokens=6, pad_token_id=2)[0, told["input_ids"].shape[1] :]
        expected.append(tokenizer.decode(written, skip_special_tokens=True).strip())
    how = {"loader": "peft", "base": folders / "llama", "prompt": str(folders / "plain.yaml"), "batch_size": batch_size}
    judge = judge_of(folders / "lora", tmp_path, {"max_tokens": 6}, **how)
    assert [verdict.said for verdict in judge.judge(PAIRS)] == expected
    plain = judge_of(folders / "llama", tmp_path, {"max_tokens": 6}, prompt=how["prompt"])
    assert [verdict.said for verdict in plain.judge(PAIRS)] != expected


def test_the_sampled_zephyr_draws_with_a_seed_whatever_is_beside_a_pair(folders, tmp_path, home):
    parameters = registry.system("zephyr-7b-beta-judge").parameters | {"max_tokens": 8}
    how = {"prompt": str(folders / "plain.yaml")}

    def said(folder, pairs=PAIRS, **told):
        judge = judge_of(folders / "llama", tmp_path / folder, parameters, **how, **told)
        return [verdict.said for verdict in judge.judge(pairs)]

    first = said("a")
    assert first == said("b", batch_size=1) == [said(f"c{n}", [pair])[0] for n, pair in enumerate(PAIRS)]
    assert first != said("d", seed=1)
    assert said("d", seed=1) == said("e", seed=1)


def test_draws_have_the_shares_of_the_model():
    import torch

    from toolkit.models.llm.local import GumbelSampling

    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    count = 4000
    drawing = GumbelSampling({"temperature": 1.0, "top_p": 0.9}, [str(number) for number in range(count)])
    drawn = drawing(torch.zeros(count, 1, dtype=torch.long), logits.expand(count, 4).clone()).argmax(-1)
    shares = torch.bincount(drawn, minlength=4) / count
    # the first three make up 0.95 >= 0.9: the fourth is out, the others are 0.5/0.95, ...
    assert torch.allclose(shares, torch.tensor([0.526, 0.316, 0.158, 0.0]), atol=0.03)
    greedy = GumbelSampling({"temperature": 0.7, "top_k": 1, "seed": 5}, ["x"])
    assert greedy(torch.zeros(1, 1, dtype=torch.long), logits[None].clone()).argmax().item() == 0


@pytest.mark.parametrize(
    ("text", "holds", "unclear"),
    [
        ("Yes", True, 0),
        (" yes, it does", True, 0),
        ("The answer is Yes", True, 0),
        ("True.", True, 0),
        ("Entailment", True, 0),
        ("No", False, 0),
        ("The answer is no.", False, 0),
        ("It may or may not", False, 1),
        ("", False, 1),
    ],
)
def test_an_answer_in_words_is_read_as_the_release_reads_it(tmp_path, home, text, holds, unclear):
    judge = load_judge(tiny_spec("", "judge", loader="endpoint", parameters={"model": "m"}))
    assert judge.read(Answer(text)).holds is holds
    judge.llm.complete = lambda requests, advance: [Answer(text)]
    assert [verdict.holds for verdict in judge.judge(PAIRS[:1])] == [holds]
    assert judge.counts.unclear == unclear
    assert judge.read(Answer("", error="no answer in 7 attempts")) == (None, None, "no answer in 7 attempts")


def test_a_share_is_kept_and_no_weights_are_loaded_for_what_is_known(folders, tmp_path, home):
    first = judge_of(folders / "nli", tmp_path, {"positive": "entailment"})
    verdicts = first.judge(PAIRS)
    again = judge_of(folders / "nli", tmp_path, {"positive": "entailment"}, replay=True)
    assert again.judge(PAIRS) == verdicts == again.known(PAIRS)
    assert "model" not in vars(again.llm.backend)
    assert again.plan([*PAIRS, Pair("new", "new")])[:3] == (4, 3, 1)
    # the threshold decides what a share means, not what it is
    strict = judge_of(folders / "nli", tmp_path, {"positive": "entailment", "threshold": 0.999}, replay=True)
    assert not any(verdict.holds for verdict in strict.judge(PAIRS))


def test_prompt_shots_and_options_are_part_of_what_is_remembered(folders, tmp_path, home):
    shots = [Shot("a bird", "bird", 1), Shot("a house", "a dog", 0)]
    spec = tiny_spec("", "judge", loader="endpoint", parameters={"model": "m", "prompt_source": "somewhere"})
    with serving(Script(lambda messages: "Yes")) as script:
        home_of = {"cache": tmp_path / "answers.sqlite"}
        import os

        os.environ["OPENAI_BASE_URL"] = script.base
        try:
            for how in ({}, {"shots": shots}, {"prompt": str(folders / "plain.yaml")}, {"shots": shots}, {"task": STANCE}):
                judge = load_judge(spec, **home_of, **how)
                judge.judge([Sides("a bird?", "a bird", "no bird")] if "task" in how else PAIRS[:1])
        finally:
            del os.environ["OPENAI_BASE_URL"]
    assert len(script.bodies) == 4
    roles = [[message["role"] for message in body["messages"]] for body in script.bodies]
    assert roles[0] == ["system", "user"]
    assert roles[1] == ["system", *["user", "assistant"] * 2, "user"]
    assert [m["content"] for m in script.bodies[1]["messages"] if m["role"] == "assistant"] == ["Yes", "No"]
    facts = load_judge(spec, **home_of, shots=shots).facts()
    assert (facts["prompt"], facts["prompt_name"], facts["shots"]) == ("ours", "judge-support.v1", 2)
    assert facts["prompt_sha256"] != load_judge(spec, **home_of).facts()["prompt_sha256"]
    assert "only that wording" in load_judge(spec, **home_of).remark()


def test_examples_of_the_users_make_a_published_prompt_another(folders, tmp_path, home, monkeypatch):
    spec = tiny_spec("", "judge", loader="endpoint", parameters={"model": "m", "prompt_source": "somewhere"})
    how = {"cache": tmp_path / "answers.sqlite", "prompt": str(folders / "plain.yaml")}
    whole = load_judge(spec, **how).prompt
    printed = PublishedPrompt("mine", "s", "Mine", "", "table 1", "judge", (), whole.wording, whole.layout)
    monkeypatch.setattr("toolkit.models.llm.paper_prompts.published_prompts", lambda: {"mine": printed})
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    judge = load_judge(spec, **how)
    assert (judge.facts()["prompt_of"], judge.remark()) == ("paper (Mine, table 1)", "")
    shown = load_judge(spec, **how, shots=[Shot("a bird", "bird", 1)])
    assert shown.facts()["prompt_of"] == "paper (Mine, table 1), with 1 example of the user's"
    assert "with examples of the user's: only that wording" in shown.remark()


def test_shots_stand_before_the_pair_of_a_model_that_is_read_by_its_logits(folders, tmp_path, home):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folders / "llama").eval(),
        AutoTokenizer.from_pretrained(folders / "llama"),
    )
    text = "<s>user: a bird | bird\nassistant: Yes\nuser: a dog | a cat\nassistant:"
    parameters = {"positive": "token", "tokens": ["Y", "N"]}
    how = {"prompt": str(folders / "plain.yaml"), "shots": [Shot("a bird", "bird", 1)]}
    (verdict,) = judge_of(folders / "llama", tmp_path, parameters, **how).judge(PAIRS[1:2])
    assert abs(verdict.share - yes_no_by_hand(model, tokenizer, text)) < 1e-5


def test_a_document_is_shortened_to_characters_and_then_to_tokens(folders, tmp_path, home):
    parameters = {"document_characters": 30, "length": 48, "max_tokens": 4}
    judge = judge_of(folders / "llama", tmp_path, parameters, prompt=str(folders / "plain.yaml"))
    long = Pair("the cat is in the house and the dog", "a cat")
    judge.judge([long])
    request = judge._request(long)
    shown = request.messages[0]["content"].removesuffix(" | a cat")
    assert 0 < len(shown) <= 30
    assert long.document.startswith(shown)
    assert judge.llm.backend.count_tokens(request.messages) <= 44
    assert judge.facts()["judgments"]["shortened"] == 1
    with pytest.raises(ToolkitError, match="a statement leaves no room for a document in 48 tokens"):
        judge.judge([Pair("a", "the cat is in the house and the bird is in the tree, all of them")])


@pytest.mark.parametrize(
    ("parameters", "how", "message"),
    [
        ({"positive": "token"}, {}, "tokens are"),
        ({"threshold": 1.5}, {}, "threshold is 1.5"),
        ({"window": 3}, {}, "kind judge has no parameter 'window'"),
        ({"positive": "entailment"}, {"prompt": "judge-support.v1"}, "is a classifier"),
        ({"positive": "entailment"}, {"task": STANCE}, "is a classifier"),
        ({"positive": "entailment"}, {"loader": "endpoint"}, "which a server does not give"),
        ({"prompt": "judge-stance.v2"}, {}, "is no prompt of kind judge"),
        ({"positive": "token", "tokens": ["Y", "N"]}, {"task": STANCE}, "tiny is read by its logits"),
        ({}, {"task": STANCE, "shots": [Shot("a", "b", 1)]}, "examples of --shots are answered by yes or no"),
        ({"prompt": "judge-support-shot.v1"}, {"shots": [Shot("a", "b", 1)]}, "has an example of its own"),
        (
            {"positive": "token", "tokens": ["Y", "N"]},
            {"prompt": "twice.yaml"},
            "prompt twice.yaml has the document more than once",
        ),
    ],
)
def test_what_no_judge_can_do_is_refused(home, tmp_path, monkeypatch, parameters, how, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.yaml").write_text(PLAIN.replace("{document}", "{document} {document}"))
    with pytest.raises(ToolkitError, match=message):
        load_judge(tiny_spec("x", "judge", loader="transformers", parameters=parameters), **how)


def test_a_classifier_without_entailment_is_refused(tmp_path, home):
    folder = tiny_bert(tmp_path / "other", "BertForSequenceClassification", num_labels=2)
    with pytest.raises(ToolkitError, match="tiny has no class entailment: it has label_0, label_1"):
        judge_of(folder, tmp_path, {"positive": "entailment"}).judge(PAIRS)


def test_every_judge_of_the_registry_is_understood(home):
    from toolkit.models.judges.loading import judge_prompt

    judges = [spec for spec in registry.systems().values() if spec.kind == "judge"]
    assert len(judges) >= 9
    for spec in judges:
        for used in (spec, *(spec.with_recipe(name) for name in spec.recipes)):
            prompt = judge_prompt(used)
            assert (prompt is None) == (used.parameters["positive"] == "entailment")


def greedy(folders, adapter, text, *, special):
    """What the model itself writes to a text: 4 tokens."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folders / "long")
    model = AutoModelForCausalLM.from_pretrained(folders / "long").eval()
    model = PeftModel.from_pretrained(model, folders / "long-lora").eval() if adapter else model
    told = tokenizer(text, return_tensors="pt", add_special_tokens=special)
    written = model.generate(**told, do_sample=False, max_new_tokens=4, pad_token_id=2)[0, told["input_ids"].shape[1] :]
    return tokenizer.decode(written, skip_special_tokens=True).strip()


SYSTEM = "You check what a document says. You answer from the document alone, with Yes or No."
USER = "Document: {0}\n\nStatement: {1}\n\nDoes the document support the statement? Answer Yes or No and nothing else."


@pytest.mark.parametrize("recipe", ["", "berds"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemma-7b-it-judge", f"{SYSTEM}\n\n{USER}"),  # plain text
        ("mistral-7b-instruct-v0.2-judge", f"<s>user: {USER}\nassistant:"),  # no system turn
        ("berds-mistral-evaluator", f"<s>user: {USER}\nassistant:"),
        ("berds-mistral-evaluator-lora", f"<s>user: {USER}\nassistant:"),
    ],
)
def test_the_entries_that_answer_greedily_write_what_their_model_does(folders, tmp_path, home, name, recipe, text):
    spec = registry.system(name).with_recipe(recipe) if recipe else registry.system(name)
    base = str(folders / "long") if spec.base else ""
    folder = folders / ("long-lora" if spec.base else "long")
    parameters = {**spec.parameters, "max_tokens": 4}  # of 512 or 16: random models do not stop
    small = replace(spec, checkpoint=str(folder), base=base, base_revision="", revision="", parameters=parameters)
    judge = load_judge(small, cache=tmp_path / "answers.sqlite")
    expected = [greedy(folders, bool(base), text.format(*pair), special="<s>" not in text) for pair in PAIRS]
    assert [verdict.said for verdict in judge.judge(PAIRS)] == expected


def test_the_entry_of_the_small_classifier_reads_its_entailment(folders, tmp_path, home):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    small = replace(registry.system("nli-deberta-v3-base"), checkpoint=str(folders / "deberta"))
    model = AutoModelForSequenceClassification.from_pretrained(folders / "deberta").eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / "deberta")
    with torch.no_grad():
        logits = [model(**tokenizer(*pair, return_tensors="pt")).logits[0].double() for pair in PAIRS]
    shares = [verdict.share for verdict in load_judge(small, cache=tmp_path / "a.sqlite").judge(PAIRS)]
    assert np.abs(np.array(shares) - [float(row.softmax(-1)[1]) for row in logits]).max() < 1e-5


def test_shots_say_what_is_wrong_with_them(tmp_path):
    path = tmp_path / "shots.jsonl"
    good = {"document": "d", "statement": "s", "label": 1}
    path.write_text(json.dumps(good) + "\n")
    assert read_shots(path) == [Shot("d", "s", 1)]
    rows = [
        "{",
        json.dumps({**good, "label": 2}),
        json.dumps({**good, "statement": 3}),
        json.dumps({**good, "document": "{query}"}),
    ]
    path.write_text("\n".join(rows))
    with pytest.raises(ToolkitError) as caught:
        read_shots(path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["line 1", "line 2", "line 3", "line 4"]
