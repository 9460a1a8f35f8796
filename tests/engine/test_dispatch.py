"""Units given to workers that are slow, fail, end and come back: a cluster of this process, without Ray."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workers import Here

from toolkit import __version__
from toolkit.core.errors import ToolkitError
from toolkit.core.system.progress import progress
from toolkit.engine import LocalExecutor, Work
from toolkit.engine.dispatch import Dispatch
from toolkit.engine.places import Place
from toolkit.engine.unit_files import UnitFiles
from toolkit.engine.worker import Failure, Settings, UnitWorker


@pytest.fixture(autouse=True)
def same_process(monkeypatch):
    """Workers of a test are in its process, whose threads, folder and notes stay as they are."""
    monkeypatch.setattr("toolkit.engine.worker.settle", lambda settings: None)


@dataclass
class Square(Work):
    """Squares numbers; a unit is a list of them."""

    LOADED = ("model",)

    name: str = "squaring"
    power: int = 2
    model: object = None
    origin: str = "a"

    def identity(self):
        return {"power": self.power}

    def facts(self):
        self.model = self.model or pow
        return {"origin": self.origin}

    def pack(self, unit):
        return list(unit)

    def compute(self, packed):
        if "bad" in packed:
            raise ToolkitError("bad is no number", "take numbers")
        return [self.model(number, self.power) for number in packed]

    def result(self, packed):
        return tuple(packed)


UNITS = [[number, number + 1] for number in range(7)]
SQUARES = [(number**2, (number + 1) ** 2) for number in range(7)]


def squares(folder, cluster, units=UNITS, workers=2, work=None):
    return list(Dispatch(cluster, work or Square(), workers, Place(folder)).map(units))


def test_one_process_and_any_workers_give_the_same(tmp_path):
    work = Square()
    work.facts()
    assert list(LocalExecutor().map(work, UNITS)) == SQUARES
    for workers in (1, 2, 5, 20):
        assert squares(tmp_path / str(workers), Here(), workers=workers) == SQUARES


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.lists(st.integers(0, 9), max_size=60), lost=st.sets(st.integers(0, 12), max_size=2), workers=st.integers(1, 4))
def test_results_come_in_the_order_of_the_units_whoever_is_first_or_lost(tmp_path_factory, order, lost, workers):
    places = iter(order)
    cluster = Here(lambda count: next(places, 0), lost=lost)
    folder = tmp_path_factory.mktemp("units")
    assert squares(folder, cluster, workers=workers) == SQUARES
    assert not list(folder.rglob("unit-*")), "units that are done are removed"


def test_a_lost_worker_costs_its_unit_and_is_replaced(tmp_path, capsys):
    cluster = Here(lost=[2])
    assert squares(tmp_path, cluster) == SQUARES
    assert (cluster.started, len(cluster.given)) == (3, 8)
    assert capsys.readouterr().err == "note: squaring, a unit of 2: attempt 1 of 3 failed: killed\n"


def test_a_unit_that_fails_three_times_is_named_and_the_rest_is_computed(tmp_path):
    cluster, work, seen = Here(), Square(), []
    units = [[1], ["bad"], [2], [3]]
    with pytest.raises(ToolkitError, match="squaring: 1 unit failed 3 times") as raised:
        seen.extend(Dispatch(cluster, work, 2, Place(tmp_path)).map(units))
    assert seen == [(1,)]
    [problem] = raised.value.problems
    assert problem.startswith("a unit of 1: ")
    assert problem.endswith(": bad is no number")
    assert raised.value.hint == "take numbers; all others are computed: the same command repeats these alone"
    assert raised.value.status == 1
    assert [unit for unit in cluster.given if "bad" not in unit] == [[1], [2], [3]]
    again = Here()
    assert squares(tmp_path, again, [[1], [4], [2], [3]]) == [(1,), (16,), (4,), (9,)]
    assert again.given == [[4]]


def test_a_node_whose_disk_is_full_is_left_to_the_others(tmp_path, capsys):
    cluster, units = Here(nodes="abab", full="b"), [[number] for number in range(40)]
    assert squares(tmp_path, cluster, units, workers=4) == [(number**2,) for number in range(40)]
    assert 3 <= cluster.where.count("b") <= 4, "one was on its way"
    printed = capsys.readouterr().err
    assert printed.count("note: b gets no more units while other nodes compute theirs: 3 failed there in a row\n") == 1
    assert "attempt 2 of 3" not in printed, "what failed on b went to a"


def test_units_that_fail_everywhere_cost_no_node_its_units(tmp_path):
    cluster, good = Here(nodes="ab"), [[number] for number in range(20)]
    with pytest.raises(ToolkitError, match="8 units failed 3 times"):
        squares(tmp_path, cluster, [*([f"{n}", "bad"] for n in range(8)), *good])
    last = cluster.where[-10:]
    assert last.count("a") == last.count("b") == 5


def test_where_the_good_node_is_lost_the_other_is_asked_again(tmp_path):
    """Its disk may have room by now; if not, all that is left is named."""
    cluster = Here(nodes="abb", full="b", lost=[8])
    with pytest.raises(ToolkitError, match=r"squaring: \d+ units failed 3 times"):
        squares(tmp_path, cluster, [[number] for number in range(9)])
    assert cluster.where[-3:] == ["b"] * 3


def test_a_node_in_trouble_waits_for_a_worker_that_starts_anew(tmp_path):
    cluster = Here(nodes="aba", full="b", lost=[10])
    units = [[number] for number in range(40)]
    assert squares(tmp_path, cluster, units) == [(number**2,) for number in range(40)]
    assert cluster.where.count("b") <= 4


def test_a_node_in_trouble_that_is_ready_first_fails_no_unit_for_good(tmp_path):
    cluster = Here(lambda due: due - 1, nodes="ab", full="b")
    assert squares(tmp_path, cluster) == SQUARES
    assert cluster.where[:4] == [*"bbb", "a"]


def test_what_fails_waits_no_longer_than_so_for_workers_that_never_come(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.engine.dispatch.PATIENCE", 0.0)
    with pytest.raises(ToolkitError, match="failed 3 times"):
        squares(tmp_path, Here(lambda due: due - 1, nodes="ab", full="b"))


def test_kinds_of_processors_are_said(tmp_path, capsys, monkeypatch):
    kinds = iter(["AVX2", "AVX512", "AVX512"])
    monkeypatch.setattr("toolkit.engine.worker.processor", lambda: next(kinds))
    squares(tmp_path, Here(nodes="abc"), workers=3)
    note = "note: b computes with AVX512, others with AVX2: last digits depend on who computed\n"
    assert capsys.readouterr().err == note


def test_units_workers_and_pace_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("toolkit.core.system.progress.LOG_EVERY", 0.0)
    work = Square()
    with pytest.raises(ToolkitError), progress("squaring", 16, "numbers") as work.advance:
        squares(tmp_path, Here(), [[1], ["bad"], *UNITS], work=work)
    last = [line for line in capsys.readouterr().err.splitlines() if "units done" in line][-1]
    line = r"squaring: 15 numbers \(94%\), [\d,.e+]+/s, 0:00:00 left; 8 units done, 1 failed, 2 of 2 workers"
    assert re.fullmatch(line, last)


def test_what_is_done_is_not_computed_again_whatever_the_number_of_workers(tmp_path):
    first = Dispatch(Here(), Square(), 2, Place(tmp_path)).map(iter(UNITS))
    assert [next(first) for _ in range(3)] == SQUARES[:3]
    cluster, moved, work = Here(), [], Square()
    work.advance = moved.append
    assert squares(tmp_path, cluster, workers=3, work=work) == SQUARES
    assert 0 < len(cluster.given) <= 4
    assert sum(moved) == 14, "what was done moves the progress too"


@pytest.mark.parametrize("work", [Square(power=3), Square(origin="b")])
def test_results_of_other_work_or_another_model_are_not_taken(tmp_path, work):
    squares(tmp_path, Here())
    cluster = Here()
    squares(tmp_path, cluster, work=work)
    assert len(cluster.given) == 7


@pytest.mark.parametrize("damage", ["", "{", '{"a": 1', "\x00" * 9, 3])
def test_a_result_that_was_damaged_is_computed_again(tmp_path, damage):
    squares(tmp_path, Here())
    [result] = [path for path in tmp_path.rglob("*.json") if "[9,16]" in path.read_text()]
    result.write_text(damage if isinstance(damage, str) else result.read_text().replace("16", "17"))
    cluster = Here()
    assert squares(tmp_path, cluster) == SQUARES
    assert cluster.given == [[3, 4]]


def test_units_are_read_as_workers_get_idle(tmp_path):
    read = []
    units = (read.append(unit) or unit for unit in UNITS)
    results = Dispatch(Here(), Square(), 2, Place(tmp_path)).map(units)
    next(results)
    assert len(read) <= 4


def test_workers_that_end_before_they_are_ready_are_an_error_after_three(tmp_path):
    assert squares(tmp_path / "two", Here(unready=2)) == SQUARES
    cluster = Here(unready=99)
    with pytest.raises(ToolkitError, match="workers end before they are ready: no memory"):
        squares(tmp_path / "all", cluster)
    assert cluster.started <= 5


def test_a_worker_that_cannot_load_is_an_error_at_once(tmp_path):
    with pytest.raises(ToolkitError, match=r"has tandem-ir 0\.0\.1, not|has tandem-ir .*, not 0\.0\.1"):
        squares(tmp_path, Here(version="0.0.1"))


def test_where_one_node_cannot_load_the_others_do_the_work(tmp_path, capsys):
    cluster = Here(nodes="ab", broken="b")
    assert squares(tmp_path, cluster) == SQUARES
    assert set(cluster.where) == {"a"}
    assert capsys.readouterr().err == "note: squaring: a worker could not start: b: No space left on device\n"
    with pytest.raises(ToolkitError, match="b: No space left on device"):
        squares(tmp_path / "all", Here(nodes="bb", broken="b"))


def test_workers_with_other_facts_are_refused(tmp_path):
    with pytest.raises(ToolkitError, match="workers differ in origin"):
        squares(tmp_path, Here(origins=["a", "b"]))


def test_what_is_loaded_and_the_progress_stay_here():
    work = Square(model=pow)
    work.advance = print
    assert work.__getstate__() == {"name": "squaring", "power": 2, "model": None, "origin": "a", "advance": None}


def test_closing_ends_every_worker(tmp_path):
    cluster = Here()
    dispatch = Dispatch(cluster, Square(), 3, Place(tmp_path))
    next(dispatch.map(UNITS))
    dispatch.close()
    assert len(set(map(id, cluster.ended))) == 3


def test_a_failing_result_folder_is_the_unit_s_failure_not_the_job_s(tmp_path, monkeypatch):
    """A full disk on one node: another attempt may land on another."""
    real, failing = Place.write, iter([OSError(28, "No space left on device")])

    def write(self, name, data):
        if not name.startswith("unit-") and (error := next(failing, None)):
            raise error
        real(self, name, data)

    monkeypatch.setattr(Place, "write", write)
    assert squares(tmp_path, Here()) == SQUARES


def test_a_failure_says_on_which_machine(tmp_path, monkeypatch):
    worker = UnitWorker()
    worker.load(Square(), Settings(1, "/nowhere", __version__))
    monkeypatch.setattr("toolkit.engine.unit_files.SEEN_LATE", 0.2)
    said = worker.compute(UnitFiles(Place(tmp_path), {}), 0, "0")
    assert isinstance(said, Failure)
    assert "FileNotFoundError" in said.message


def test_idle_workers_are_kept_for_other_work_and_all_others_end(tmp_path):
    cluster = Here(lost=[1], nodes="abc")
    dispatch = Dispatch(cluster, Square(), 2, Place(tmp_path))
    assert list(dispatch.map([[1], [2], [3]])) == [(1,), (4,), (9,)]
    [lost] = cluster.ended
    dispatch.close(keep=True)
    assert cluster.kept
    assert lost not in cluster.kept
    assert len(cluster.kept) + len(cluster.ended) == cluster.started


@pytest.mark.parametrize(("loads", "loaded"), [("a model", 1), ("another", 2)])
def test_the_next_work_of_a_worker_takes_over_the_same_model_alone(loads, loaded):
    class Modelled(Square):
        MODEL = "model"
        weights, count = "a model", 0

        def loads(self):
            return self.weights

        def facts(self):
            if self.model is None:
                Modelled.count += 1
                self.model = object()
            return {}

    worker, settings = UnitWorker(), Settings(1, "/nowhere", __version__)
    for weights in ("a model", loads):
        work = Modelled()
        work.weights = weights
        worker.load(work, settings)
    assert Modelled.count == loaded
