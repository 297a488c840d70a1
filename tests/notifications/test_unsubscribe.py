"""Unsubscribing from mails: with one click, without an account, only with the token from a mail."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.notifications.models import NotificationHandler
from app.notifications.site import SiteUrls
from app.notifications.test_send import trial_message
from app.notifications.unsubscribe import REASON, stop_url
from tests.notifications.receivers import MailReceiver

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def path(app: Any) -> Callable[[NotificationHandler], str]:
    site = SiteUrls("https://go.example", "https://own.example")
    return lambda handler: stop_url(handler, site).removeprefix("https://own.example")


def test_one_click_switches_it_off(
    client: Any, session: Any, alice: User, make_handler: Any, path: Any
) -> None:
    """As mail programs send it: a POST without cookies and origin."""
    handler, other = make_handler(alice), make_handler(alice)
    answer = client.post(path(handler), data=ONE_CLICK, headers={"Origin": "https://mail.example"})
    assert answer.status_code == 200 and "You are unsubscribed" in answer.text
    session.expire_all()
    assert (handler.is_enabled, handler.off_reason, other.is_enabled) == (False, REASON, True)
    assert client.post(path(handler), data=ONE_CLICK).status_code == 200  # twice is no error
    multipart = client.post(path(other), data=ONE_CLICK, content_type="multipart/form-data")
    session.expire_all()
    assert multipart.status_code == 200 and not other.is_enabled


def test_opening_the_address_asks_first(
    client: Any, session: Any, alice: User, make_handler: Any, path: Any
) -> None:
    handler = make_handler(alice)
    page = client.get(path(handler))
    assert page.status_code == 200 and "Unsubscribe from these e-mails?" in page.text
    assert page.headers["Cache-Control"] == "no-store" and alice.email not in page.text
    session.expire_all()
    assert handler.is_enabled
    action = re.search(r'<form method="post" action="([^"]+)"', page.text)
    assert action and client.post(action[1]).status_code == 200
    session.expire_all()
    assert not handler.is_enabled
    assert "You are unsubscribed" in client.get(path(handler)).text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"),
        lambda t: "",
        lambda t: "x.y",
        lambda t: t.split(".")[0],
        lambda t: "%FF" + t,
    ],
)
def test_nobody_guesses_it(
    spoil: Any, client: Any, session: Any, alice: User, make_handler: Any, path: Any
) -> None:
    handler = make_handler(alice)
    start, _, token = path(handler).rpartition("/")
    for method in (client.get, client.post):
        assert method(f"{start}/{spoil(token)}").status_code == 404
    session.expire_all()
    assert handler.is_enabled


def test_the_mail_carries_it(
    client: Any,
    session: Any,
    alice: User,
    make_handler: Any,
    app: Any,
    mail: MailReceiver,
    make_outbound: Any,
) -> None:
    from app.notifications.delivery import attempt

    handler = make_handler(alice)
    site = SiteUrls("https://go.example", "https://own.example")
    outbound = make_outbound(smtp_url=f"smtp://127.0.0.1:{mail.port}")
    assert attempt("email", handler.settings, trial_message(handler, site), outbound).is_delivered
    found = mail.mails[0][1]
    address = found["List-Unsubscribe"].strip("<>")
    assert found["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert address.startswith("https://own.example/dashboard/stop/")
    assert client.post(address.removeprefix("https://own.example"), data=ONE_CLICK).status_code == 200
    session.expire_all()
    assert not handler.is_enabled
