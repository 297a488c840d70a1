"""Reads request bodies on the event loop, with deadlines and bounds, before a thread is needed.

A slow body costs one place and a little memory, never a thread. When all places are taken, the slowest body
of the network that holds the most of them is cut off, so one client cannot take them from others.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from app.http_server.granian_worker import AsgiProtocol

MAX_BODIES = 256
# of one body in memory; a longer one goes to a file
MEMORY_BYTES = 256 * 1024
# of all bodies together, in memory and files
MAX_BYTES = 256 * 1024 * 1024

IDLE_SECONDS = 10.0
TOTAL_SECONDS = 60.0
# a body may take longer than TOTAL_SECONDS if it arrives at this rate, in bytes a second
MIN_RATE = 16 * 1024
DRAINING_SECONDS = 8.0
SWEEP_SECONDS = 0.5
# a body younger than this is not slow yet
GRACE_SECONDS = 0.25

# the event loop reads about so many small pieces a second, of all bodies together. Hundreds of bodies sent
# byte by byte have to wait between two bytes, and cost no more than a few
SMALL_PIECE = 512
FREE_PIECES = 4
MAX_SMALL_PIECES_A_SECOND = 4000

# of a refused body: a client that is still sending when its connection ends may never see the answer
MAX_DISCARDED = 64 * 1024 * 1024
# so many refused bodies are read on at once; the rest of a flood is cut off
MAX_DISCARDS = 4
# each takes its place for so long, even if its client has gone as soon as it was answered: it comes again
DISCARD_SECONDS = 1.0
# in bytes a second, of all refused bodies together: a flood of them must not keep the event loop busy
DISCARD_RATE = 16 * 1024 * 1024
# of a body that was cut: a client that sends slowly then sees why, one that sends fast costs no more
MAX_SIPPED = 16 * 1024

Spool = SpooledTemporaryFile[bytes]


class BodyTornError(Exception):
    """The connection ended before the body did."""


class BodyTooLargeError(Exception):
    """The body is larger than its path allows."""


class BodyCutError(Exception):
    """The body was too slow (`is_slow`), or its place is needed for others."""

    def __init__(self, *, is_slow: bool) -> None:
        super().__init__()
        self.is_slow = is_slow


@dataclass(eq=False)
class Reading:
    """One body that is being read. Times are of the monotonic clock."""

    proto: AsgiProtocol
    network: str
    length: int | None
    limit: int
    began: float = field(default_factory=time.monotonic)
    # since when the next piece is awaited
    waiting_since: float = 0.0
    received: int = 0
    stored: int = 0
    small_pieces: int = 0
    is_ended: bool = False
    task: asyncio.Task[Any] | None = None
    # set when the body is cut: whether for being slow. An exception kept here would keep this object and the
    # connection alive by its traceback
    was_slow: bool | None = None

    def end(self, *, is_slow: bool) -> None:
        """Make the task that waits for this body raise BodyCutError."""
        if self.was_slow is None:
            self.was_slow = is_slow
        if self.task is not None:
            self.task.cancel()

    def is_late(self, now: float) -> bool:
        if self.task is None:  # no task waits for the client
            return False
        allowed = max(TOTAL_SECONDS, self.received / MIN_RATE)
        return now - self.waiting_since > IDLE_SECONDS or now - self.began > allowed

    def rate(self, now: float) -> float:
        return self.received / max(now - self.began, 0.001)


class RequestBodies:
    """All bodies that one process reads. Everything here runs on its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, directory: Path) -> None:
        self.loop = loop
        self.directory = directory
        self.readings: set[Reading] = set()
        self.stored = 0
        self.discards = 0
        self.disk = ThreadPoolExecutor(2, "spool")
        self.ends_at: float | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_swept = False  # the next sweep is scheduled

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task that reads a body, and keep it: the loop itself holds only weak references."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def sweep(self) -> None:
        """Cut the bodies that are late, and schedule the next sweep if there are others."""
        now = time.monotonic()
        is_over = self.ends_at is not None and now > self.ends_at
        for reading in [each for each in self.readings if is_over or each.is_late(now)]:
            reading.end(is_slow=True)
        self.is_swept = bool(self.readings)
        if self.is_swept:
            self.loop.call_later(SWEEP_SECONDS, self.sweep)

    def drain(self) -> None:
        """Give the bodies under way some seconds before the process ends."""
        self.ends_at = time.monotonic() + DRAINING_SECONDS

    async def read(self, reading: Reading) -> Spool:
        """Read the whole body, rewound. Raises BodyTornError, BodyTooLargeError or BodyCutError."""
        if reading.limit == 0 or (reading.length is not None and reading.length > reading.limit):
            raise BodyTooLargeError
        self.add(reading)
        spool: Spool = SpooledTemporaryFile(MEMORY_BYTES, dir=str(self.directory))  # noqa: SIM115  the caller's
        try:
            while not reading.is_ended:
                await self.store(spool, await self.receive(reading), reading)
            spool.seek(0)
        except BaseException:
            spool.close()
            raise
        finally:
            self.remove(reading)
        return spool

    def are_many_refused(self) -> bool:
        """Whether so many refused bodies are being read on that the next one is cut off."""
        return self.discards >= MAX_DISCARDS

    async def discard(self, reading: Reading) -> None:
        """Read the rest of a body for a while, so that a client that is still sending sees its answer.

        This helps even if the end is out of reach: a proxy that can't go on writing answers 502 by itself,
        but stops writing once it has the answer.
        """
        if self.are_many_refused():
            return
        self.discards += 1
        free_at = self.loop.time() + DISCARD_SECONDS
        try:
            self.add(reading)
            while not reading.is_ended and reading.received < MAX_DISCARDED:
                piece = await self.receive(reading)
                await asyncio.sleep(len(piece) * self.discards / DISCARD_RATE)
        except (BodyTornError, BodyCutError):
            return
        finally:
            self.loop.call_at(free_at, self.end_discard)
            self.remove(reading)

    def end_discard(self) -> None:
        self.discards -= 1

    async def sip(self, reading: Reading) -> None:
        """Read the first bytes that come after a cut: those left unread would reset the connection."""
        sipped = 0
        while sipped < MAX_SIPPED:
            message = await reading.proto.receive()
            if message["type"] != "http.request" or not message["more_body"]:
                return
            sipped += len(message["body"])

    async def receive(self, reading: Reading) -> bytes:
        """The next piece. Raises BodyTornError, or BodyCutError after `Reading.end`."""
        reading.task, reading.waiting_since = asyncio.current_task(), time.monotonic()
        message: dict[str, Any] = {}
        try:
            if reading.small_pieces > FREE_PIECES:
                await asyncio.sleep(len(self.readings) / MAX_SMALL_PIECES_A_SECOND)
            if reading.was_slow is None:
                message = await reading.proto.receive()
        except asyncio.CancelledError:
            if reading.was_slow is None or reading.task is None:
                raise
            reading.task.uncancel()
        finally:
            reading.task = None
        if reading.was_slow is not None:
            raise BodyCutError(is_slow=reading.was_slow)
        if message["type"] != "http.request":
            raise BodyTornError
        piece: bytes = message["body"]
        reading.received += len(piece)
        reading.small_pieces = reading.small_pieces + 1 if len(piece) < SMALL_PIECE else 0
        # with a known length nothing follows the last byte, and reading on would wait in vain
        reading.is_ended = not message["more_body"] or reading.received == reading.length
        return piece

    async def store(self, spool: Spool, piece: bytes, reading: Reading) -> None:
        """Append a piece. A thread writes it if it goes to disk, because a disk may stall."""
        if reading.received > reading.limit:
            raise BodyTooLargeError
        reading.stored += len(piece)
        self.stored += len(piece)
        if reading.stored <= MEMORY_BYTES:
            spool.write(piece)
            return
        if self.stored > MAX_BYTES:
            self.make_room(reading, lambda each: each.stored, lambda each: -each.stored)
        await self.loop.run_in_executor(self.disk, spool.write, piece)

    def add(self, reading: Reading) -> None:
        """Give a body a place, if necessary that of another. Raises BodyCutError if there is none."""
        if len(self.readings) >= MAX_BODIES:
            now = time.monotonic()
            self.make_room(reading, lambda _: 1, lambda each: each.rate(now))
        self.readings.add(reading)
        if not self.is_swept:
            self.is_swept = True
            self.loop.call_later(SWEEP_SECONDS, self.sweep)

    def remove(self, reading: Reading) -> None:
        self.readings.discard(reading)
        self.stored -= reading.stored
        reading.stored = 0

    def make_room(
        self, reading: Reading, weight: Callable[[Reading], int], order: Callable[[Reading], float]
    ) -> None:
        """Cut the first body by `order` of the network with the most by `weight`.

        If that is the network of `reading`, and no body of it is slow yet, `reading` itself is refused.
        """
        taken: Counter[str] = Counter()
        for each in self.readings | {reading}:
            taken[each.network] += weight(each)
        network, _ = taken.most_common(1)[0]
        now = time.monotonic()
        found = [each for each in self.readings if each.network == network]
        slow = [each for each in found if now - each.began > GRACE_SECONDS]
        if not (slow or found) or (not slow and network == reading.network):
            raise BodyCutError(is_slow=False)
        loser = min(slow or found, key=order)
        if loser is reading:
            raise BodyCutError(is_slow=False)
        self.remove(loser)
        loser.end(is_slow=False)


class FailedInput(io.RawIOBase):
    """Raises the same error at every read: the application answers it, after its own earlier checks."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self.error = error

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any) -> int:
        raise self.error


class StreamedInput(io.RawIOBase):
    """A body that is read while it arrives, for uploads larger than memory.

    RequestBodies bounds its bytes, deadlines and place; only the waiting is done by the reading thread. A
    body that ends early or is cut off raises OSError.
    """

    def __init__(self, bodies: RequestBodies, reading: Reading, *, is_coming: bool = True) -> None:
        super().__init__()
        self.bodies, self.reading = bodies, reading
        self.is_coming = is_coming  # False: the client waits for `100 Continue`
        self.piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.piece and not self.reading.is_ended:
            # the future gets no name: its error would keep this frame alive, and with it the connection
            self.piece = memoryview(
                asyncio.run_coroutine_threadsafe(self.receive(self.reading), self.bodies.loop).result()
            )
        count = min(len(buffer), len(self.piece))
        buffer[:count], self.piece = self.piece[:count], self.piece[count:]
        return count

    def close(self) -> None:
        """Give up the place, and read the rest of a refused body."""
        if not self.closed:
            is_coming = self.is_coming or bool(self.reading.received)
            self.bodies.loop.call_soon_threadsafe(self.bodies.run, self.leave(self.reading, is_coming))
            del self.reading  # other references to this input must not keep the connection open
        super().close()

    async def leave(self, reading: Reading, is_coming: bool) -> None:
        self.bodies.remove(reading)
        if not reading.is_ended and is_coming:
            await self.bodies.discard(reading)

    async def receive(self, reading: Reading) -> bytes:
        try:
            if reading not in self.bodies.readings:
                self.bodies.add(reading)
            return await self.bodies.receive(reading)
        except BodyTornError:
            raise ConnectionError("the body ended early") from None
        except BodyCutError:
            raise TimeoutError("the body was too slow") from None
