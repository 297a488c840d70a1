"""The watch of files: loops that wait for something to be written are woken by it, and only these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import FileWatch, PollLoop, Quiet
from tests.server import wait_for

TICK = 0.001


class Loop(PollLoop):
    """Counts its turns and its looks."""

    def __init__(self, file: Path | None, due_seconds: float = 3600.0) -> None:
        quiet = Quiet(partial(list, [file]), due_seconds) if file else None
        super().__init__("loop", TICK, ErrorBoundary("loop"), quiet=quiet)
        self.turns = self.looks = 0

    def is_quiet(self) -> bool:
        self.looks += 1
        return super().is_quiet()

    def turn(self) -> None:
        self.turns += 1


class Watch(FileWatch):
    """Counts its turns, and may have the next ones fail."""

    turns, is_failing = 0, False

    def turn(self) -> None:
        self.turns += 1
        if self.is_failing:
            raise OSError
        super().turn()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "main.db-wal", tmp_path / "clicks.db-wal"]
    for file in found:
        write(file, 1)
    return found


@pytest.fixture
def running() -> Iterator[list[PollLoop]]:
    """Loops that end with the test."""
    loops: list[PollLoop] = []
    yield loops
    for loop in loops:
        loop.stop()
        assert not loop.is_alive()


def write(file: Path, moment: int) -> None:
    """Change a file in one step, with a time of long ago: what was written just now is looked at again."""
    draft = file.with_suffix(".draft")
    draft.write_bytes(b"x" * moment)
    os.utime(draft, ns=(moment, moment))
    draft.replace(file)


def start(running: list[PollLoop], *loops: Loop) -> Watch:
    watch = Watch(TICK, loops)
    running += [*loops, watch]
    for loop in running:
        loop.start()
    for each in loops:
        wait_for(lambda each=each: each.waits_for_news or not each.quiet, "a loop that waits")
    return watch


def pass_turns(watch: Watch) -> None:
    """Wait until the watch has looked some more times, and whoever was woken by it has looked, too."""
    until = watch.turns + 20
    wait_for(lambda: watch.turns > until, "more turns of the watch")


def test_what_is_written_wakes_the_loops_of_that_file(files: list[Path], running: list[PollLoop]) -> None:
    loops = Loop(files[0]), Loop(files[0]), Loop(files[1])
    watch = start(running, *loops)
    pass_turns(watch)
    turns, looks = [loop.turns for loop in loops], [loop.looks for loop in loops]
    pass_turns(watch)
    assert [loop.looks for loop in loops] == looks, "nothing was written, so none looks itself"
    write(files[0], 2)
    wait_for(lambda: [loop.turns for loop in loops[:2]] == [turns[0] + 1, turns[1] + 1], "a turn of both")
    pass_turns(watch)
    assert (loops[2].turns, loops[2].looks) == (turns[2], looks[2])


def test_what_comes_due_by_time_needs_no_news(files: list[Path], running: list[PollLoop]) -> None:
    loop = Loop(files[0], due_seconds=0.02)
    start(running, loop)
    wait_for(lambda: loop.turns > 3, "turns")


def test_the_rest_after_a_turn_is_not_cut_short(files: list[Path]) -> None:
    loop = Loop(files[0])
    loop.hear_news()
    assert not loop.woken.is_set()
    assert [loop.attempt_turn() for _ in range(2)] == [False, False]
    loop.hear_news()
    assert (loop.turns, loop.woken.is_set()) == (1, True)


def test_news_that_come_during_the_look_are_heard(files: list[Path]) -> None:
    """What is written after the loop has looked, and before it rests, must not wait until something is due."""
    loop = Loop(files[0])
    watch = Watch(TICK, [loop])
    loop.attempt_turn()
    watch.turn()
    looked = loop.quiet.is_quiet if loop.quiet else None
    assert looked

    def look_and_be_late() -> bool:
        found = looked()
        write(files[0], 2)
        watch.turn()
        return found

    loop.woken.clear()
    setattr(loop.quiet, "is_quiet", look_and_be_late)  # noqa: B010  a method of one object
    loop.attempt_turn()
    assert (loop.waits_for_news, loop.woken.is_set()) == (True, True)


def test_a_look_that_fails_does_not_end_the_watch(files: list[Path], running: list[PollLoop]) -> None:
    loop = Loop(files[0])
    watch = start(running, loop)
    pass_turns(watch)
    turns, watch.is_failing = loop.turns, True
    pass_turns(watch)
    write(files[0], 2)
    watch.is_failing = False
    wait_for(lambda: loop.turns == turns + 1, "a turn")


def test_loops_without_files_are_left_alone(running: list[PollLoop]) -> None:
    loop = Loop(None)
    watch = start(running, loop)
    wait_for(lambda: loop.turns > 9, "turns")
    assert not watch.is_alive()
    assert not loop.is_watched
