"""Requests to end that wait."""

import signal
import threading
import time

import pytest

from ucad.interrupts import asked_again, deferred

NUMBERS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture(autouse=True)
def _as_the_command_line_has_it():
    before = {number: signal.signal(number, signal.default_int_handler) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_request_waits_and_is_answered_when_asked(number):
    done = []
    with deferred() as request:
        signal.raise_signal(number)
        done.append("all")
    assert done == ["all"]
    with pytest.raises(KeyboardInterrupt):
        request.answer()


@pytest.mark.parametrize("second", NUMBERS)
def test_a_second_request_is_not_kept_waiting(second):
    with deferred() as request:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(second)
    assert request.came


@pytest.mark.parametrize("number", NUMBERS)
def test_afterwards_requests_are_as_before(number):
    with deferred() as request:
        pass
    request.answer()
    assert signal.getsignal(number) is signal.default_int_handler


def test_a_handler_of_the_users_own_is_left_alone():
    seen = []
    signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    with deferred() as request:
        signal.raise_signal(signal.SIGTERM)
    assert (seen, request.came) == ([signal.SIGTERM], False)


def test_other_threads_hold_nothing_back():
    found = []

    def work():
        with deferred() as request:
            found.append(request.came)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]


class Cleared:
    """Something that is asked to end while it is cleared up."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_a_request_that_python_drops_comes_again():
    def work():
        with asked_again():
            Cleared()
            time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_request_that_python_drops_is_forgotten_when_all_is_done():
    with asked_again():
        Cleared()
