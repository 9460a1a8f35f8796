"""Deadlines of requests: one thread ends them all, each in its time."""

import os
import socket
import threading
import time

import pytest

from toolkit.files.store.bounded_http import Deadline


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    theirs.settimeout(20)
    with ours, theirs:
        yield ours, theirs


def test_one_that_begins_later_and_ends_sooner_is_ended_in_its_time(pair):
    with Deadline(60) as long, Deadline(0.05) as short:
        short.watch(pair[0])
        assert pair[1].recv(1) == b""  # the connection is closed: without a deadline this would time out
        assert (short.passed, long.passed) == (True, False)


def test_a_connection_that_comes_when_the_time_is_up_is_closed_at_once(pair):
    with Deadline(0.01) as deadline:
        while not deadline.passed:
            time.sleep(0.001)
        deadline.watch(pair[0])
        assert pair[1].recv(1) == b""


def test_many_have_one_thread():
    with Deadline(60):
        before = threading.active_count()
        deadlines = [Deadline(60) for _ in range(50)]
        for deadline in deadlines:
            deadline.__enter__()
        assert threading.active_count() == before
        for deadline in deadlines:
            deadline.__exit__(None, None, None)


def test_one_that_is_extended_or_over_ends_nothing(pair):
    with Deadline(0.05) as extended, Deadline(0.05) as over:
        extended.extend(60)
        extended.watch(pair[0])
        over.__exit__(None, None, None)
        time.sleep(0.2)
        pair[0].sendall(b"x")
        assert pair[1].recv(1) == b"x"
        assert (extended.passed, over.passed) == (False, False)


def test_a_shortened_one_ends_sooner(pair):
    with Deadline(60) as deadline:
        deadline.watch(pair[0])
        deadline.extend(0.05)
        assert pair[1].recv(1) == b""


@pytest.mark.process
def test_a_forked_process_has_deadlines_too():
    with Deadline(60):
        pass
    child = os.fork()
    if not child:
        with Deadline(0.05) as deadline:
            until = time.monotonic() + 20
            while not deadline.passed and time.monotonic() < until:
                time.sleep(0.005)
        os._exit(0 if deadline.passed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
