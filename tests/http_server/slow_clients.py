"""Hundreds of clients that send a request body byte by byte and never finish."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

SECONDS = 90
PAUSE_SECONDS = 0.2


class DrippingClients:
    """Connections that each send a request's head and then its body, a byte at a time, until they are cut.

    They run in a thread with an event loop of their own. `answers` holds the responses to those that ended.
    """

    def __init__(self, port: int, head: bytes, connections: int, source: str = "127.0.0.1") -> None:
        self.port, self.head, self.source = port, head, source
        self.connections = connections
        self.dripping = 0
        self.answers: list[bytes] = []
        self.stopped = asyncio.Event()
        self.loop = asyncio.new_event_loop()
        self.all_drip: Future[None] = Future()
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(self.run()))

    def __enter__(self) -> DrippingClients:
        self.thread.start()
        self.all_drip.result(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.stopped.set)
        self.thread.join(SECONDS)
        self.loop.close()

    async def run(self) -> None:
        tasks = [self.loop.create_task(self.drip()) for _ in range(self.connections)]
        await self.stopped.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drip(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.source, 0))
        try:
            writer.write(self.head)
            await writer.drain()
            self.dripping += 1
            if self.dripping == self.connections:
                self.all_drip.set_result(None)
            answer = asyncio.create_task(reader.read())
            while not answer.done():
                writer.write(b"a")
                await asyncio.wait([answer], timeout=PAUSE_SECONDS)
            self.answers.append(answer.result())
        except OSError:
            self.answers.append(b"")
        finally:
            writer.close()
