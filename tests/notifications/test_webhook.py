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
from app.notifications.transport import DeliveryFailed, all_transports
from app.notifications.transports.webhook import new_secret, payload, replaced, secrets_of, send, signed
from tests.notifications.messages import LINK, MOMENT, event, nasty, report
from tests.notifications.receivers import Heard, Says, WebReceiver

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


ANSWERS = {
    "200": (Says(200), None),
    "204": (Says(204), None),
    "299": (Says(299), None),
    "301": (Says(301, "", {"Location": "https://example.com/"}), (False, False, None)),
    "307": (Says(307, "", {"Location": "http://10.0.0.1/"}), (False, False, None)),
    "400": (Says(400, "bad"), (False, False, None)),
    "404": (Says(404), (False, False, None)),
    "410": (Says(410, "gone"), (False, True, None)),
    "429": (Says(429, "", {"Retry-After": "17"}), (False, False, 17)),
    "429, when is nonsense": (Says(429, "", {"Retry-After": "soon"}), (False, False, None)),
    "500": (Says(500), (False, False, None)),
    "503": (Says(503, "", {"Retry-After": "0"}), (False, False, 0)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    says, expected = ANSWERS[name]
    web.answers.append(says)
    fields = {"webhook": web.url, "secret": new_secret()}
    if expected is None:
        assert all_transports()["webhook"].send(fields, event(), outbound).status_code == says.status
        return
    with pytest.raises(DeliveryFailed) as caught:
        send(fields, event(), outbound)
    assert (caught.value.permanent, caught.value.gone, caught.value.retry_after) == expected
    assert (caught.value.status_code, caught.value.answer) == (says.status, says.body)
    assert len(web.heard) == 1
