"""The two drivers: they send and sleep as `exchange` says, in threads or in asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import httpx

from waypost_client.calls import Answer, Call, Endpoint, Request
from waypost_client.errors import WaypostError
from waypost_client.exchange import Failure, Got, Instance, Pause
from waypost_client.objects import Page

T = TypeVar("T")
Sleep = Callable[[float], None]
AsyncSleep = Callable[[float], Awaitable[None]]
TIMEOUT_SECONDS = 30.0
PAGE_SIZE = 100
# errors that come before a byte of the request has left
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class SyncDriver:
    """Sends in the calling thread."""

    def __init__(self, instance: Instance, http: httpx.Client, sleep: Sleep = time.sleep) -> None:
        self.instance, self.http, self.sleep = instance, http, sleep

    def send(self, endpoint: Endpoint, call: Call[T]) -> T:
        steps = self.instance.exchange(endpoint, call)
        got: Got = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as done:
                result: T = done.value
                return result
            got = self.take(step)

    def take(self, step: Request | Pause) -> Got:
        if isinstance(step, Pause):
            self.sleep(step.seconds)
            return None
        try:
            return answer_of(self.http.request(**arguments(step)))
        except httpx.InvalidURL as error:
            raise WaypostError(f"This can't be sent: {error}") from error
        except httpx.HTTPError as error:
            return failure_of(error)

    def pages(
        self, endpoint: Endpoint, build: Callable[[int], Call[Page[T]]], number: int = 1
    ) -> Iterator[T]:
        """All rows from page `number` on, each page asked for when its first row is."""
        while True:
            page = self.send(endpoint, build(number))
            yield from page.data
            if number >= page.meta.total_pages:
                return
            number += 1


class AsyncDriver:
    """Sends in the running event loop."""

    def __init__(
        self, instance: Instance, http: httpx.AsyncClient, sleep: AsyncSleep = asyncio.sleep
    ) -> None:
        self.instance, self.http, self.sleep = instance, http, sleep

    async def send(self, endpoint: Endpoint, call: Call[T]) -> T:
        steps = self.instance.exchange(endpoint, call)
        got: Got = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as done:
                result: T = done.value
                return result
            got = await self.take(step)

    async def take(self, step: Request | Pause) -> Got:
        if isinstance(step, Pause):
            await self.sleep(step.seconds)
            return None
        try:
            return answer_of(await self.http.request(**arguments(step)))
        except httpx.InvalidURL as error:
            raise WaypostError(f"This can't be sent: {error}") from error
        except httpx.HTTPError as error:
            return failure_of(error)

    async def pages(
        self, endpoint: Endpoint, build: Callable[[int], Call[Page[T]]], number: int = 1
    ) -> AsyncIterator[T]:
        """All rows from page `number` on, each page asked for when its first row is."""
        while True:
            page = await self.send(endpoint, build(number))
            for row in page.data:
                yield row
            if number >= page.meta.total_pages:
                return
            number += 1


def arguments(request: Request) -> dict[str, Any]:
    """What httpx needs for a request.

    No redirect is followed, whatever the client of httpx says: the key is for
    the named instance alone.
    """
    found: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "headers": dict(request.headers),
        "params": request.params,
        "follow_redirects": False,
    }
    if request.parts is not None:
        return {**found, "files": request.parts}
    return {**found, "content": request.content} if request.content is not None else found


def answer_of(response: httpx.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


def failure_of(error: httpx.HTTPError) -> Failure:
    url = ""
    with suppress(RuntimeError):  # an error without its request
        url = f" at {error.request.url.scheme}://{error.request.url.netloc.decode('ascii')}"
    reason = str(error) or type(error).__name__
    return Failure(f"Waypost{url} gave no answer: {reason}", was_sent=not isinstance(error, NOT_SENT))
