"""Polling loops: turns without a rest while there is something to do, and never an end by an error."""

from __future__ import annotations

import os
import threading
import time
from math import inf
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from app.core.config import Settings
from app.core.database import prepare_engine
from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop, Quiet, quiet_database, take_turns
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


def test_a_file_that_was_written_to_needs_a_turn(tmp_path: Path) -> None:
    file, other = tmp_path / "main.db-wal", tmp_path / "main.db"
    quiet = Quiet(lambda: [file, other], seconds=3600)
    assert [quiet.is_quiet() for _ in range(3)] == [False, True, True], "nothing is known at first"
    file.write_bytes(b"commit")
    os.utime(file, ns=(1, 1))  # long ago
    assert [quiet.is_quiet() for _ in range(2)] == [False, True]
    os.utime(file, ns=(0, 0))  # of the same size, as a log that begins anew
    assert [quiet.is_quiet() for _ in range(2)] == [False, True]
    file.unlink()
    assert [quiet.is_quiet() for _ in range(2)] == [False, True]


def test_what_was_written_just_now_needs_another_turn(tmp_path: Path) -> None:
    """A second write within one tick of the clock changes neither the size nor the time of a file."""
    file = tmp_path / "main.db-wal"
    file.write_bytes(b"commit")
    tomorrow = time.time_ns() + 86_400 * 10**9
    os.utime(file, ns=(tomorrow, tomorrow))
    quiet = Quiet(lambda: [file], seconds=3600)
    assert [quiet.is_quiet() for _ in range(3)] == [False, False, False]
    os.utime(file, ns=(1, 1))
    assert [quiet.is_quiet() for _ in range(3)] == [False, True, True]


def test_a_turn_is_needed_for_what_comes_due_by_time(tmp_path: Path) -> None:
    quiet = Quiet(lambda: [tmp_path / "main.db"], seconds=0.0)
    assert [quiet.is_quiet() for _ in range(2)] == [False, False]


def test_a_turn_that_failed_is_taken_again(tmp_path: Path) -> None:
    loop = Loop()
    loop.quiet = Quiet(lambda: [tmp_path / "main.db"], seconds=3600)
    for _ in range(4):
        loop.attempt_turn()
    assert loop.turns == 2, "the first raised, and the second found nothing"


def test_a_commit_is_seen(settings: Settings) -> None:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings)
    quiet = quiet_database(engine, 3600)
    assert quiet
    with engine.begin() as connection:
        wait_for(quiet.is_quiet, "a tick since the last write")
        connection.execute(text("CREATE TABLE something (id INTEGER)"))
    assert not quiet.is_quiet()
    engine.dispose()


def test_without_a_file_that_tells_every_turn_is_taken() -> None:
    assert quiet_database(create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none"), 3600) is None
