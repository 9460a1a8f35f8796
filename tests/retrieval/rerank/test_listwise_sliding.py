import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from endpoint import Script, oracle, serving

from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.runs import Run, ScoredDoc, join_runs
from toolkit.core.specs import SystemSpec
from toolkit.core.topics import Topic
from toolkit.models.rerankers.listwise_ranker import load_ranker
from toolkit.retrieval.rerank.listwise import passage_text, plan_listwise, rerank_listwise, spans

SPEC = SystemSpec(name="tiny", description="", kind="listwise", loader="endpoint", parameters={"model": "m"})
TOPIC = Topic("q", "cats")


class Oracle:
    """A ranker that errs nowhere: passages end in their worth."""

    def __init__(self):
        self.calls = []

    def check(self):
        pass

    def rank(self, windows, advance=None):
        self.calls.append([(window.label, len(window.passages)) for window in windows])
        return [self.order(window) for window in windows]

    def order(self, window):
        worth = [int(passage.rpartition(" ")[2]) for passage in window.passages]
        return tuple(sorted(range(len(worth)), key=lambda position: -worth[position]))

    def facts(self):
        return {"model": "oracle"}


def texts(count=100):
    return {f"d{number}": Doc(f"d{number}", "", f"worth {number}") for number in range(count)}


def run_of(order, query_id="q"):
    """A run with these documents in this order; scores are 2000, 1999, ..."""
    return Run.from_rows([ScoredDoc(query_id, f"d{number}", 2000.0 - rank) for rank, number in enumerate(order)], tag="first")


def ranking(run, query_id="q"):
    return [int(doc_id[1:]) for doc_id in run.to_dict()[query_id]]


def shuffled(count=100, seed=1):
    return random.Random(seed).sample(range(count), count)


BEST = list(range(99, -1, -1))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (1, []),
        (2, [(0, 2)]),
        (20, [(0, 20)]),
        (21, [(1, 21), (0, 11)]),
        (25, [(5, 25), (0, 15)]),
        (30, [(10, 30), (0, 20)]),
        (100, [(80, 100), (70, 90), (60, 80), (50, 70), (40, 60), (30, 50), (20, 40), (10, 30), (0, 20)]),
    ],
)
def test_windows_go_from_the_bottom_to_the_top(count, expected):
    assert spans(count, 20, 10) == expected


@pytest.mark.parametrize("order", [shuffled(), list(range(100))], ids=["shuffled", "reversed"])
def test_one_pass_brings_the_best_ten_of_a_hundred_to_the_top(order):
    """Window 20 and step 10: half of each window, the best 10 of what was seen so far, goes on to the next."""
    run, _ = rerank_listwise(run_of(order), [TOPIC], texts(), SPEC, Oracle())
    assert ranking(run)[:10] == BEST[:10]
    assert ranking(run) != BEST
    assert sorted(ranking(run)) == sorted(BEST)


@pytest.mark.parametrize("passes", range(1, 10))
def test_each_pass_puts_ten_more_into_their_places(passes):
    run, _ = rerank_listwise(run_of(range(100)), [TOPIC], texts(), SPEC, Oracle(), passes=passes)
    assert ranking(run)[: 10 * passes] == BEST[: 10 * passes]
    # the ninth pass sorts the last window of 20 as well: 90 and the 10 that are left
    assert (ranking(run) == BEST) == (passes == 9)


def test_the_reach_is_window_minus_step():
    run, _ = rerank_listwise(run_of(range(100)), [TOPIC], texts(), SPEC, Oracle(), window=30, step=5)
    assert ranking(run)[:25] == BEST[:25]
    assert ranking(run) != BEST


def test_windows_of_one_query_follow_one_another_and_queries_go_together():
    rows = [
        ScoredDoc(query_id, f"d{number}", 100.0 - number)
        for query_id, n in (("a", 40), ("b", 1), ("c", 20))
        for number in range(n)
    ]
    made = Oracle()
    topics = [Topic("a", "x"), Topic("b", "y"), Topic("c", "z"), Topic("without results", "w")]
    run, _ = rerank_listwise(Run.from_rows(rows), topics, texts(), SPEC, made)
    assert made.calls == [[("a", 20), ("c", 20)], [("a", 20)], [("a", 20)]]
    assert run.query_ids == ("a", "b", "c")
    assert ranking(run, "c") == list(range(19, -1, -1))
    assert ranking(run, "b") == [0]


class Threads:
    """Units at the same time, begun from the last to the first."""

    def map(self, compute, units):
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(compute, unit) for unit in reversed(list(units))]
            return [future.result() for future in reversed(futures)]


def test_units_of_queries_give_the_same_run_whoever_computes_them(monkeypatch):
    queries = [f"q{number}" for number in range(7)]
    run = join_runs(run_of(shuffled(40, number), q) for number, q in enumerate(queries))
    given = run, [Topic(q, "x") for q in queries], texts(), SPEC
    whole, alone = Oracle(), Oracle()
    expected, _ = rerank_listwise(*given, whole, shuffle=1)
    monkeypatch.setattr("toolkit.retrieval.rerank.listwise.UNIT", 3)
    made, _ = rerank_listwise(*given, alone, shuffle=1, executor=Threads())
    assert (made.query_ids, made.to_dict()) == (expected.query_ids, expected.to_dict())
    assert max(len(call) for call in whole.calls) == 7
    assert sorted(len(call) for call in alone.calls) == [1] * 3 + [3] * 6


def test_scores_by_rank_say_no_more_than_the_rank():
    run, report = rerank_listwise(run_of([0, 1, 2, 3]), [TOPIC], texts(), SPEC, Oracle())
    assert run.to_dict() == {"q": {"d3": 1.0, "d2": 1 / 2, "d1": 1 / 3, "d0": 1 / 4}}
    assert run.tag == "tiny"
    assert report["rank_only"] is True


def test_scores_by_rank_are_in_the_order_of_the_ranking_for_any_number_of_documents():
    order = shuffled(2000)
    run, _ = rerank_listwise(run_of(order), [TOPIC], texts(2000), SPEC, Oracle(), depth=20)
    assert ranking(run) == sorted(order[:20], reverse=True) + order[20:]


def test_scores_of_the_candidates_stay_at_their_ranks():
    run, report = rerank_listwise(run_of([0, 1, 2, 3]), [TOPIC], texts(), SPEC, Oracle(), depth=3, scores="candidates")
    assert run.to_dict() == {"q": {"d2": 2000.0, "d1": 1999.0, "d0": 1998.0, "d3": 1997.0}}
    assert (report["rank_only"], report["tied"]) == (False, 0)


def test_equal_scores_of_candidates_are_counted_as_ties_that_the_ranker_cannot_break():
    first = Run.from_rows([ScoredDoc("q", f"d{number}", score) for number, score in enumerate([5.0, 3.0, 3.0, 1.0])])
    run, report = rerank_listwise(first, [TOPIC], texts(), SPEC, Oracle(), scores="candidates")
    assert run.to_dict() == {"q": {"d3": 5.0, "d2": 3.0, "d1": 3.0, "d0": 1.0}}
    assert report["tied"] == 1
    assert "tied" not in rerank_listwise(first, [TOPIC], texts(), SPEC, Oracle())[1]


@pytest.mark.parametrize(("tail", "expected"), [("keep", [2, 1, 0, 9, 4]), ("drop", [2, 1, 0])])
def test_what_is_below_the_depth_keeps_its_order_or_goes(tail, expected):
    run, _ = rerank_listwise(run_of([0, 1, 2, 9, 4]), [TOPIC], texts(), SPEC, Oracle(), depth=3, tail=tail)
    assert ranking(run) == expected


def test_only_what_is_shown_needs_a_text():
    known = {f"d{number}": Doc(f"d{number}", "", f"worth {number}") for number in (0, 1)}
    assert ranking(rerank_listwise(run_of([0, 1, 2]), [TOPIC], known, SPEC, Oracle(), depth=2)[0]) == [1, 0, 2]
    with pytest.raises(ToolkitError, match=r"(?m)^no text for 1 of 3 documents \(d2\) in the texts given$"):
        rerank_listwise(run_of([0, 1, 2]), [TOPIC], known, SPEC, Oracle())


def test_a_random_start_depends_on_seed_and_query_alone():
    class Lazy(Oracle):
        def order(self, window):
            return tuple(range(len(window.passages)))

    def start(seed, query_ids):
        rows = [ScoredDoc(query_id, f"d{number}", 100.0 - number) for query_id in query_ids for number in range(30)]
        topics = [Topic(query_id, "x") for query_id in query_ids]
        run, _ = rerank_listwise(Run.from_rows(rows), topics, texts(), SPEC, Lazy(), shuffle=seed)
        return {query_id: ranking(run, query_id) for query_id in query_ids}

    assert start(1, ["a", "b"]) == start(1, ["a", "b"])
    assert start(1, ["a", "b"])["b"] == start(1, ["b"])["b"]
    assert start(1, ["a"]) != start(2, ["a"])
    assert start(1, ["a", "b"])["a"] != start(1, ["a", "b"])["b"]
    assert start(1, ["a"])["a"] != list(range(30))
    assert start(None, ["a"])["a"] == list(range(30))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"passes": 0}, "passes is 0"),
        ({"window": 1, "step": 1}, "window is 1, step is 1"),
        ({"step": 0}, "window is 20, step is 0"),
        ({"step": 21}, "window is 20, step is 21"),
        ({"window": "20", "passes": 1.5}, "window is '20', passes is 1.5"),
        ({"shuffle": "yes"}, "shuffle is 'yes'"),
        ({"scores": "ranks"}, "scores is 'ranks'"),
        ({"tail": "cut"}, "tail is 'cut'"),
    ],
)
def test_values_without_meaning_are_refused(wrong, told):
    with pytest.raises(ToolkitError, match=f"(?m)^{told}$"):
        rerank_listwise(run_of([0, 1]), [TOPIC], texts(), SPEC, Oracle(), **wrong)


def test_queries_that_the_topics_do_not_have_are_refused():
    with pytest.raises(ToolkitError, match=r"(?m)^the run: 1 of 1 queries are not among the topics \(q\)$"):
        rerank_listwise(run_of([0, 1]), [Topic("other", "x")], texts(), SPEC, Oracle())


def test_a_titled_passage_has_the_form_of_the_recipe():
    titled = SystemSpec(
        name="s", description="", kind="listwise", parameters={"titled_passage": "Title: {title} Content: {text}"}
    )
    assert passage_text(titled, Doc("d", "Cats", "They purr.")) == "Title: Cats Content: They purr."
    assert passage_text(titled, Doc("d", "", "They purr.")) == "They purr."
    assert passage_text(SPEC, Doc("d", "Cats", "They purr.")) == "Cats They purr."


def test_an_empty_run_asks_nothing():
    run, _ = rerank_listwise(Run.from_rows([]), [TOPIC], texts(), SPEC, Oracle())
    assert len(run) == 0


@pytest.fixture
def asked(home, monkeypatch):
    """`asked(script, **settings)`: the run that 100 shuffled documents become with a ranker that asks a server."""

    def rerank(script, plan=False, replay=False, **settings):
        monkeypatch.setenv("OPENAI_BASE_URL", script.base)
        ranker = load_ranker(SPEC, replay=replay)
        function = plan_listwise if plan else rerank_listwise
        return function(run_of(shuffled()), [TOPIC], texts(), SPEC, ranker, **settings)

    return rerank


def test_an_oracle_behind_a_server_sorts_a_hundred_in_nine_passes(asked):
    with serving(Script(oracle)) as script:
        assert ranking(asked(script)[0])[:10] == BEST[:10]
        assert ranking(asked(script, passes=9)[0]) == BEST


@pytest.mark.parametrize(
    ("answer", "windows"),
    [
        (lambda messages: oracle(messages).replace(">", "then"), {}),
        (lambda messages: f"Of the 20 passages, my order is:\n{oracle(messages)}\nI hope this helps in 2026!", {}),
        (lambda messages: f"{oracle(messages)} > {oracle(messages)}", {"doubled": 180}),
        (lambda messages: f"[0] > [21] > {oracle(messages)}", {"out_of_range": 18}),
        # the best half of each window alone; the rest follows in its old order
        (lambda messages: " > ".join(oracle(messages).split(" > ")[:10]), {"missing": 90}),
    ],
)
def test_malformed_answers_are_repaired_and_counted(asked, answer, windows):
    with serving(Script(answer)) as script:
        run, report = asked(script)
    assert ranking(run)[:10] == BEST[:10]
    repairs = {"doubled": 0, "out_of_range": 0, "missing": 0, "unreadable": 0, **windows}
    assert report["windows"]["repairs"] == repairs
    assert report["windows"]["repaired"] == (9 if windows else 0)


def test_refused_windows_keep_their_order_and_are_counted_and_warned_of(asked, capsys):
    refused = iter([True, *[False] * 8])
    with serving(Script(lambda messages: "I cannot help." if next(refused) else oracle(messages))) as script:
        run, report = asked(script)
    assert set(ranking(run)) == set(shuffled())
    assert report["windows"]["repairs"] == {"doubled": 0, "out_of_range": 0, "missing": 20, "unreadable": 1}
    assert "tiny: no id could be read in 1 of 9 answers" in capsys.readouterr().err


def test_a_model_that_always_refuses_gives_no_run(asked):
    refuses = serving(Script(lambda messages: "I cannot help with that."))
    with refuses as script, pytest.raises(ToolkitError, match="no id could be read in any of 9 answers"):
        asked(script)


def test_a_model_that_ranks_upside_down_brings_the_worst_to_the_top(asked):
    with serving(Script(lambda messages: " > ".join(reversed(oracle(messages).split(" > "))))) as script:
        assert ranking(asked(script)[0])[:10] == list(range(10))


def test_a_dry_run_counts_what_is_asked_and_what_is_known(asked):
    with serving(Script(oracle)) as script:
        plan = asked(script, plan=True)
        assert (plan["requests"], plan["cached"], script.bodies) == (9, 0, [])
        asked(script)
        sent = len(script.bodies)
        assert asked(script, plan=True) == {"requests": 9, "cached": 9, "tokens": 0}
        assert plan["tokens"] > 9 * 20 * 3
        # the second pass is not known before its first answer: all its windows count
        more = asked(script, plan=True, passes=2)
        assert (more["requests"], more["cached"], len(script.bodies)) == (18, 9, sent)


def test_replay_gives_the_same_run_and_asks_nothing(asked):
    with serving(Script(oracle)) as script:
        run, _ = asked(script)
        sent = len(script.bodies)
        again, report = asked(script, replay=True)
        assert again.to_dict() == run.to_dict()
        assert (report["usage"]["cached"], report["usage"]["asked"], len(script.bodies)) == (9, 0, sent)
        with pytest.raises(ToolkitError, match=r"1 of 1 answers of m are not in .*answers\.sqlite"):
            asked(script, replay=True, shuffle=1)


def test_slow_and_failing_answers_come_in_the_end(asked, monkeypatch):
    monkeypatch.setattr("toolkit.models.servers.client.BACKOFF", 0.001)
    with serving(Script(oracle, delay=0.02, faults=[429, 500, "close"])) as script:
        run, report = asked(script)
    assert ranking(run)[:10] == BEST[:10]
    assert report["usage"]["retries"] == 3
