"""On what do the tests of deliveries stand? Receivers, one for each module, and a door that leads to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from app.notifications.door import Door
from app.notifications.networks import Network
from tests.notifications.receivers import MailReceiver, WebReceiver

LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def web_receiver() -> Iterator[WebReceiver]:
    receiver = WebReceiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def web(web_receiver: WebReceiver) -> WebReceiver:
    web_receiver.clear()
    return web_receiver


@pytest.fixture(scope="module")
def mail_receiver() -> Iterator[MailReceiver]:
    receiver = MailReceiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def mail(mail_receiver: MailReceiver) -> MailReceiver:
    mail_receiver.clear()
    return mail_receiver


@pytest.fixture
def make_door() -> Callable[..., Door]:
    """`make_door(smtp_url=…)`: one that leads to the loopback, with these settings."""

    def make(seconds: float = 15.0, **settings: Any) -> Door:
        values = {"smtp_url": None, "mail_from": None, "allow_private_networks": LOOPBACK, **settings}
        return Door(SimpleNamespace(**values), seconds)  # type: ignore[arg-type]

    return make


@pytest.fixture
def door(make_door: Callable[..., Door]) -> Door:
    return make_door()
