"""Inputs for `wsgi.input`: one that raises an error, and one whose body is still arriving."""

from __future__ import annotations

import asyncio
import io
from typing import Any

from app.http_server.request_bodies import BodyCutError, BodyTornError, Reading, RequestBodies


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
