"""Outbound session of a transport: the requests of one attempt, which share its deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.core.config import Settings
from app.net import http as net_http
from app.net.dial import EVERYWHERE, Deadline
from app.net.http import SECONDS, HttpResponse
from app.net.networks import Network


class OutboundSession:
    """All requests of one attempt share its 15 seconds. `settings` are the instance's own."""

    def __init__(self, settings: Settings, seconds: float = SECONDS) -> None:
        self.settings = settings
        self.allowed: Sequence[Network] = settings.allow_private_networks
        self.deadline = Deadline(seconds)

    def left(self) -> float:
        """The seconds that are left. Raises TimeoutError where there are none."""
        return self.deadline.left()

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """Sends one request to an address that an owner typed. Raises NoAnswer."""
        return net_http.request(
            method, url, headers=headers, body=body, allowed=self.allowed, seconds=self.left()
        )

    def connect_named(self, host: str, port: int) -> net_http.Socket:
        """A connection to a server that the operator named in a setting, in any network. Raises NoAnswer."""
        return net_http.connect(host, port, allowed=EVERYWHERE, seconds=self.left())
