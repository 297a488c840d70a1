"""Webhooks: the official library of Standard Webhooks verifies our requests and rejects changed ones."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from app.core.leases import precise_now
from app.net.session import OutboundSession
from app.notifications.transports.webhook import new_secret, payload, replaced, secrets_of, send, signed
from tests.notifications.messages import LINK, MOMENT, event, nasty, report
from tests.notifications.receivers import Heard, WebReceiver

ID = "msg_0011223344556677"


@pytest.fixture
def heard(web: WebReceiver, outbound: OutboundSession) -> Callable[..., Heard]:
    """`heard(fields)`: the request that arrives for a message sent with these settings."""

    def heard(fields: dict[str, str], message=event) -> Heard:
        send({"webhook": f"{web.url}/hook", **fields}, message(), outbound)
        return web.heard[-1]

    return heard


@pytest.mark.parametrize("message", [event, report, nasty])
def test_the_official_library_knows_it(heard: Callable[..., Heard], message) -> None:
    secret = new_secret()
    found = heard({"secret": secret}, message)
    said = Webhook(secret).verify(found.body, dict(found.headers))
    assert said == json.loads(json.dumps(payload(message())))
    assert list(said) == ["type", "timestamp", "data"]
    assert found.headers["webhook-id"] == ID and found.headers["content-type"] == "application/json"
    assert found.headers["user-agent"] == "Waypost"


def test_the_payload() -> None:
    assert payload(event()) == {
        "type": "link.clicks_limit_reached",
        "timestamp": "2026-11-21T12:30:00Z",
        "data": {"link": LINK, "clicks_limit": 500},
    }


@pytest.mark.parametrize("spoilt", ["body", "webhook-id", "webhook-timestamp", "webhook-signature", "secret"])
def test_and_nothing_else(heard: Callable[..., Heard], spoilt: str) -> None:
    secret = new_secret()
    found = heard({"secret": secret})
    headers, body = dict(found.headers), found.body
    if spoilt == "body":
        body = body.replace(b"500", b"501")
    elif spoilt == "secret":
        secret = new_secret()
    else:
        swap = {
            "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1),
            "webhook-signature": "v1,AAAA",
        }
        headers[spoilt] = swap.get(spoilt, "msg_other")
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)


def test_for_a_day_both_secrets_verify(heard: Callable[..., Heard]) -> None:
    old = new_secret()
    fields = replaced({"webhook": "x", "secret": old}, precise_now())
    assert fields["webhook"] == "x" and fields["secret"] not in {old, fields["secret_before"]}
    found = heard({name: fields[name] for name in fields if name != "webhook"})
    for secret in (old, fields["secret"]):
        assert Webhook(secret).verify(found.body, dict(found.headers))
    assert found.headers["webhook-signature"].count("v1,") == 2


@pytest.mark.parametrize(("hours", "count"), [(0, 2), (23.99, 2), (24, 1), (1000, 1)])
def test_and_then_only_the_new_one(hours: float, count: int) -> None:
    fields = replaced({"secret": new_secret()}, MOMENT)
    now = MOMENT + dt.timedelta(hours=hours)
    assert (
        len(secrets_of(fields, now))
        == count
        == signed(fields, ID, "{}", now)["webhook-signature"].count("v1,")
    )
