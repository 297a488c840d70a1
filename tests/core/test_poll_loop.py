"""Polling loops: turns without a rest while there is something to do, and never an end by an error."""

from __future__ import annotations

import threading
from math import inf

import pytest

from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop, take_turns
from tests.server import wait_for

RESTS = {
    "always something": ([True, True, True], 0.0, []),
    "nothing": ([False] * 4, 0.0, [1.0] * 4),
    "nothing, longer and longer": ([False] * 5, 3.0, [1.0, 2.0, 3.0, 3.0, 3.0]),
    "something in between": ([False, False, True, False], 4.0, [1.0, 2.0, 1.0]),
}


@pytest.mark.parametrize(("turns", "longest", "expected"), RESTS.values(), ids=RESTS)
def test_rests(turns: list[bool], longest: float, expected: list[float]) -> None:
    ended, left, rests = threading.Event(), list(turns), list[float]()

    def turn() -> bool:
        if len(left) == 1:
            ended.set()
        return left.pop(0)

    take_turns(turn, rests.append, ended, 1.0, longest)
    assert (left, rests) == ([], expected)


class Loop(PollLoop):
    def __init__(self) -> None:
        super().__init__("loop", 0.001, ErrorBoundary("loop", max_outages=inf), 0.001)
        self.turns = 0

    def turn(self) -> bool:
        self.turns += 1
        if self.turns % 2:
            raise ValueError(self.turns)
        return self.turns % 4 == 0


def test_a_turn_that_raises_does_not_end_the_loop() -> None:
    loop = Loop()
    loop.start()
    wait_for(lambda: loop.turns > 9, "more turns")
    loop.stop()
    assert not loop.is_alive()


def test_one_that_never_ran_can_be_stopped() -> None:
    Loop().stop(1.0)
