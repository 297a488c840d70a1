"""The two clients: the same resources, for threads and for asyncio."""

from __future__ import annotations

import re
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


def base_of(url: str) -> str:
    """The address of an instance in its one spelling, as it is connected to. Raises ValueError for any other.

    Two addresses are of the same instance where this is equal: scheme, host, port and path.
    """
    try:
        parts = httpx.URL(str(httpx.URL(url)))  # the second reading drops the port of a scheme in capitals
        _ = urlsplit(url).port  # raises ValueError for ports and hosts that httpx does not check
    except (httpx.InvalidURL, ValueError):
        parts = httpx.URL("")
    if parts.userinfo:  # httpx would send it instead of the key; it may be a password, so it is not repeated
        raise ValueError("The address of a Waypost has no user name and no password in it.")
    if parts.scheme not in {"http", "https"} or not parts.host or "?" in url or "#" in url:
        raise ValueError(f"{url!r} is not the address of a Waypost, such as https://go.example")
    host, path = parts.netloc.decode("ascii"), parts.raw_path.decode("ascii")
    return f"{parts.scheme}://{host}{path.rstrip('/')}"


def instance_at(url: str, key: str, retries: Retries) -> Instance:
    """The instance at this address. Raises ValueError where that is none, or where the key can be none."""
    if not re.fullmatch("[!-~]*", key):  # an error of the connection would repeat it
        raise ValueError("A key of Waypost is one line without spaces, of ASCII characters.")
    return Instance(base_of(url), key, retries)


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
