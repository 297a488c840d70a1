"""With what does a transport reach the outside? One door for one try, whose time is the try's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.config import Settings
from app.notifications import outbound
from app.notifications.dial import EVERYWHERE, Deadline
from app.notifications.networks import Network
from app.notifications.outbound import SECONDS, Answer


class Door:
    """All of one try's requests share its 15 seconds; `settings` are the instance's own."""

    def __init__(self, settings: Settings, seconds: float = SECONDS) -> None:
        self.settings = settings
        self.allowed: Sequence[Network] = settings.allow_private_networks
        self.deadline = Deadline(seconds)

    def left(self) -> float:
        """Seconds that are left. Raises TimeoutError where there are none."""
        return self.deadline.left()

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """One request to an address that an owner typed. Raises NoAnswer."""
        return outbound.request(
            method, url, headers=headers, body=body, allowed=self.allowed, seconds=self.left()
        )

    def connect_named(self, host: str, port: int) -> outbound.Socket:
        """A line to a server that the operator named in a setting, wherever that is. Raises NoAnswer."""
        return outbound.connect(host, port, allowed=EVERYWHERE, seconds=self.left())
