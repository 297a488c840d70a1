"""Fixtures for deliveries: receivers, one of each a module, and outbound sessions that may reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from app.net.networks import Network
from app.net.session import OutboundSession
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
def make_outbound() -> Callable[..., OutboundSession]:
    """`make_outbound(smtp_url=…)`: an outbound session that may reach the loopback, with these settings."""

    def make(seconds: float = 15.0, **settings: Any) -> OutboundSession:
        values = {"smtp_url": None, "mail_from": None, "allow_private_networks": LOOPBACK, **settings}
        return OutboundSession(SimpleNamespace(**values), seconds)  # type: ignore[arg-type]

    return make


@pytest.fixture
def outbound(make_outbound: Callable[..., OutboundSession]) -> OutboundSession:
    return make_outbound()
