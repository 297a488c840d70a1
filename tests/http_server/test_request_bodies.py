"""Request bodies: read whole, within deadlines and bounds; the slowest one loses its place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.http_server import request_bodies as module
from app.http_server.request_bodies import (
    BodyCutError,
    BodyTooLargeError,
    BodyTornError,
    Reading,
    RequestBodies,
)

TORN = {"type": "http.disconnect"}
KIB = 1024


class Sender:
    """A client that sends its pieces one by one, and then stays silent."""

    def __init__(self, *messages: Any, end: bool = True) -> None:
        self.left = list(messages)
        self.is_whole = end

    async def receive(self) -> dict[str, Any]:
        if not self.left:
            await asyncio.Event().wait()
        found = self.left.pop(0)
        if isinstance(found, dict):
            return found
        return {"type": "http.request", "body": found, "more_body": bool(self.left) or not self.is_whole}

    def send(self, _message: dict[str, Any]) -> None:
        raise AssertionError("nothing is answered here")


def reading(*messages: Any, network: str = "a", length: int | None = None, end: bool = True) -> Reading:
    return Reading(Sender(*messages, end=end), network, length, 1000 * KIB)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Callable[[RequestBodies], Awaitable[None]]], None]:
    """Runs a coroutine with bodies on a loop of its own."""

    def run(test: Callable[[RequestBodies], Awaitable[None]]) -> None:
        async def begin() -> None:
            bodies = RequestBodies(asyncio.get_running_loop(), tmp_path)
            await asyncio.wait_for(test(bodies), 60)
            assert not bodies.readings
            assert bodies.stored == 0
            bodies.disk.shutdown()

        # in a thread: this one may have a browser's loop running
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, begin()).result()

    return run


WHOLE = {
    "in chunks": (reading, [b"ab", b"c", b""], None),
    "of a length": (reading, [b"ab", b"c"], 3),
    "nothing in chunks": (reading, [b""], None),
    "to a file": (reading, [b"x" * 200 * KIB, b"y" * 200 * KIB, b"z"], None),
    "in many small pieces": (reading, [b"x"] * 100, 100),
}


@pytest.mark.parametrize(("make", "pieces", "length"), WHOLE.values(), ids=WHOLE)
def test_a_whole_body(run: Any, make: Any, pieces: list[bytes], length: int | None, tmp_path: Path) -> None:
    async def test(bodies: RequestBodies) -> None:
        with await bodies.read(make(*pieces, length=length)) as spool:
            assert spool.read() == b"".join(pieces)

    run(test)
    assert not list(tmp_path.iterdir())


def test_nothing_is_asked_for_behind_the_last_byte(run: Any) -> None:
    """A client that keeps the connection open sends no more: reading on would wait for its next request."""

    async def test(bodies: RequestBodies) -> None:
        with await bodies.read(reading(b"abc", length=3, end=False)) as spool:
            assert spool.read() == b"abc"

    run(test)


@pytest.mark.parametrize("length", [None, 10])
def test_a_torn_body(run: Any, length: int | None) -> None:
    async def test(bodies: RequestBodies) -> None:
        with pytest.raises(BodyTornError):
            await bodies.read(reading(b"abc", TORN, length=length))

    run(test)


def test_too_large(run: Any) -> None:
    async def test(bodies: RequestBodies) -> None:
        announced = reading(b"x", length=1001 * KIB)
        with pytest.raises(BodyTooLargeError):
            await bodies.read(announced)
        assert announced.received == 0
        found = reading(*[b"x" * 100 * KIB] * 11, b"", end=False)
        with pytest.raises(BodyTooLargeError):
            await bodies.read(found)
        assert found.received == 1100 * KIB

    run(test)


def test_the_rest_of_a_refused_body_is_read_within_bounds(run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_DISCARDED", 10 * KIB)

    async def test(bodies: RequestBodies) -> None:
        for sent, length, received in (
            ([b"x" * KIB] * 5, None, 5 * KIB),
            ([b"x" * KIB] * 50, None, 10 * KIB),
            ([b"x" * KIB] * 50, 50 * KIB, 10 * KIB),
            ([b"x", TORN], None, 1),
        ):
            refused = reading(*sent, length=length)
            await bodies.discard(refused)
            assert refused.received == received

    run(test)


def test_of_many_refused_bodies_few_are_read_on(run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_DISCARDS", 2)
    monkeypatch.setattr(module, "DISCARD_SECONDS", 0)

    async def test(bodies: RequestBodies) -> None:
        silent = [reading(b"x", end=False) for _ in range(2)]
        tasks = [asyncio.create_task(bodies.discard(each)) for each in silent]
        await asyncio.sleep(0)
        assert [each.received for each in silent] == [1, 1]
        third = reading(b"x", end=False)
        await bodies.discard(third)
        assert third.received == 0
        for each in silent:
            each.end(is_slow=True)
        await asyncio.gather(*tasks)
        await next_turn()
        again = reading(b"x")
        await bodies.discard(again)
        assert again.received == 1

    run(test)


async def next_turn() -> None:
    """Let the loop call what is due."""
    await asyncio.sleep(0.001)


def test_a_client_that_goes_with_its_answer_leaves_its_place_taken(run: Any, monkeypatch: Any) -> None:
    """It comes again at once, and a flood of such clients would never find all places taken."""
    monkeypatch.setattr(module, "MAX_DISCARDS", 1)
    monkeypatch.setattr(module, "DISCARD_SECONDS", 0.05)

    async def test(bodies: RequestBodies) -> None:
        await bodies.discard(reading(TORN))
        assert bodies.are_many_refused()
        while bodies.are_many_refused():
            await next_turn()

    run(test)


def test_the_rest_of_refused_bodies_is_read_slowly(run: Any, monkeypatch: Any) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    monkeypatch.setattr(module, "DISCARD_RATE", 10 * KIB)

    async def test(bodies: RequestBodies) -> None:
        bodies.discards = 1  # one more is under way
        await bodies.discard(reading(*[b"x" * KIB] * 3, length=3 * KIB))

    run(test)
    assert waited == [pytest.approx(0.2)] * 3


def test_silence_and_slowness_end_a_body(run: Any, monkeypatch: Any) -> None:
    clock = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.001)

    async def test(bodies: RequestBodies) -> None:
        silent, slow = reading(b"x", end=False), reading(b"x", end=False)
        quick = reading(b"x", end=False)
        silent.began = slow.began = quick.began = clock[0]
        tasks = await begin(bodies, silent, slow, quick)
        clock[0] += module.IDLE_SECONDS
        slow.waiting_since = quick.waiting_since = clock[0]  # these have just received bytes
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        clock[0] += 0.1
        with pytest.raises(BodyCutError) as cut:
            await tasks[0]
        assert cut.value.is_slow
        clock[0] = 1000 + 0.9 * module.TOTAL_SECONDS
        slow.waiting_since = quick.waiting_since = 1000 + 10 * module.TOTAL_SECONDS
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks[1:])
        clock[0] = 1000 + 1.1 * module.TOTAL_SECONDS
        slow.received, quick.received = 1000, 2 * int(module.TOTAL_SECONDS) * module.MIN_RATE
        with pytest.raises(BodyCutError):
            await tasks[1]
        assert not tasks[2].done()
        quick.waiting_since = clock[0] + 10 * module.TOTAL_SECONDS
        clock[0] = 1000 + 2.1 * module.TOTAL_SECONDS
        with pytest.raises(BodyCutError):
            await tasks[2]

    run(test)


def test_bodies_have_some_seconds_when_the_process_ends(run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(module, "DRAINING_SECONDS", 0.01)

    async def test(bodies: RequestBodies) -> None:
        task = asyncio.create_task(bodies.read(reading(b"x", end=False)))
        bodies.drain()
        with pytest.raises(BodyCutError):
            await task

    run(test)


async def begin(bodies: RequestBodies, *readings: Reading) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(bodies.read(each)) for each in readings]
    senders = [cast("Sender", each.proto) for each in readings]
    while any(sender.left for sender in senders) or not all(each.task for each in readings):  # noqa: ASYNC110
        await asyncio.sleep(0)
    return tasks


async def end(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def three_places(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_BODIES", 3)
    monkeypatch.setattr(module, "GRACE_SECONDS", -1)


@pytest.mark.usefixtures("three_places")
def test_the_slowest_of_the_network_with_the_most_loses_its_place(run: Any) -> None:
    async def test(bodies: RequestBodies) -> None:
        flood = [reading(b"x" * size, network="flood", end=False) for size in (500, 100)]
        other = reading(b"x", network="other", end=False)
        tasks = await begin(bodies, *flood, other)
        newcomer = await begin(bodies, reading(b"x", network="new", end=False))
        with pytest.raises(BodyCutError) as cut:
            await tasks[1]
        assert not cut.value.is_slow
        assert {each.network for each in bodies.readings} == {"flood", "other", "new"}
        assert flood[0] in bodies.readings
        await end([*tasks, *newcomer])

    run(test)


@pytest.mark.usefixtures("three_places")
def test_who_comes_from_that_network_gets_the_place_of_a_slow_one(run: Any) -> None:
    async def test(bodies: RequestBodies) -> None:
        slow = [reading(b"x" * size, end=False) for size in (3, 1, 2)]
        tasks = await begin(bodies, *slow)
        with await bodies.read(reading(b"abc", length=3)) as spool:
            assert spool.read() == b"abc"
        assert [each.was_slow is False for each in slow] == [False, True, False]
        await end(tasks)

    run(test)


def test_where_none_is_slow_yet_the_newcomer_of_that_network_is_refused(run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_BODIES", 3)
    monkeypatch.setattr(module, "GRACE_SECONDS", 1000)

    async def test(bodies: RequestBodies) -> None:
        young = [reading(b"x", end=False) for _ in range(3)]
        tasks = await begin(bodies, *young)
        with pytest.raises(BodyCutError):
            await bodies.read(reading(b"abc", length=3))
        assert not any(each.was_slow is False for each in young)
        others = await begin(bodies, reading(b"x", network="b", end=False))
        assert sum(each.was_slow is False for each in young) == 1
        await end([*tasks, *others])

    run(test)


def test_bytes_are_bounded_too(run: Any, monkeypatch: Any) -> None:
    """Over the limit of bytes, the largest body of the network with the most is cut, even the newest."""
    monkeypatch.setattr(module, "MAX_BYTES", 1000 * KIB)
    monkeypatch.setattr(module, "GRACE_SECONDS", -1)

    async def test(bodies: RequestBodies) -> None:
        flood = [reading(b"x" * size * KIB, network="flood", end=False) for size in (300, 600)]
        tasks = await begin(bodies, *flood)
        with await bodies.read(reading(b"x" * 300 * KIB, b"", network="b")) as spool:
            assert len(spool.read()) == 300 * KIB
        assert [task.done() for task in tasks] == [False, True]
        with pytest.raises(BodyCutError):
            await bodies.read(reading(b"x" * 900 * KIB, b"", network="b"))
        assert not tasks[0].done()
        await end(tasks)

    run(test)


def test_a_body_that_can_not_be_stored_keeps_no_place(run: Any, tmp_path: Path) -> None:
    tmp_path.rmdir()

    async def test(bodies: RequestBodies) -> None:
        with pytest.raises(FileNotFoundError):
            await bodies.read(reading(b"x" * 300 * KIB, b""))

    run(test)
