"""The two clients: the same resources, for threads and for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, Self
from urllib.parse import urlsplit

import httpx

from waypost_client.drivers import TIMEOUT_SECONDS, AsyncDriver, SyncDriver
from waypost_client.exchange import Instance, Retries
from waypost_client.operation import Async, M, Sync
from waypost_client.operations import (
    Account,
    Domains,
    Events,
    Links,
    NotificationHandlers,
    Pixels,
    Projects,
    Statistics,
    Subscriptions,
    Trash,
    Workspaces,
)

RETRIES = Retries()


class Resources(Generic[M]):
    """The groups of operations that both clients have."""

    def __init__(self, driver: SyncDriver | AsyncDriver) -> None:
        self.links: Links[M] = Links(driver)
        self.pixels: Pixels[M] = Pixels(driver)
        self.notification_handlers: NotificationHandlers[M] = NotificationHandlers(driver)
        self.projects: Projects[M] = Projects(driver)
        self.domains: Domains[M] = Domains(driver)
        self.statistics: Statistics[M] = Statistics(driver)
        self.subscriptions: Subscriptions[M] = Subscriptions(driver)
        self.events: Events[M] = Events(driver)
        self.trash: Trash[M] = Trash(driver)
        self.workspace: Workspaces[M] = Workspaces(driver)
        self.account: Account[M] = Account(driver)


def instance_at(url: str, key: str, retries: Retries) -> Instance:
    """The instance at this address. Raises ValueError where that is no address of one."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not the address of a Waypost, such as https://go.example")
    return Instance(url.rstrip("/"), key, retries)


class Client(Resources[Sync]):
    """A client for threads: `with Client("https://go.example", key) as way: way.links.create(…)`.

    `http`: a client of httpx to use instead, with its own proxies, certificates or time-outs.
    """

    def __init__(
        self, url: str, key: str, *, retries: Retries = RETRIES, http: httpx.Client | None = None
    ) -> None:
        self.http = http or httpx.Client(timeout=TIMEOUT_SECONDS)
        self.driver = SyncDriver(instance_at(url, key, retries), self.http)
        super().__init__(self.driver)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Resources[Async]):
    """A client for asyncio: `async with AsyncClient(url, key) as way: await way.links.create(…)`."""

    def __init__(
        self, url: str, key: str, *, retries: Retries = RETRIES, http: httpx.AsyncClient | None = None
    ) -> None:
        self.http = http or httpx.AsyncClient(timeout=TIMEOUT_SECONDS)
        self.driver = AsyncDriver(instance_at(url, key, retries), self.http)
        super().__init__(self.driver)

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
