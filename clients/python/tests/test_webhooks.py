"""Webhooks: our verification agrees with the library of Standard Webhooks, and with what a server sends."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from waypost_client import Client, SignatureInvalid, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = '{"type": "handler.test", "data": {"name": "Ü"}}'
MINUTES = dt.timedelta(minutes=1)
Headers = dict[str, str]


def signed(secret: str = SECRET, body: str = BODY, later: dt.timedelta = 0 * MINUTES) -> Headers:
    """The headers of a call that the library signs now, or that much later."""
    at = dt.datetime.now(dt.UTC) + later
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", at, body),
    }


def changed(name: str, change: Callable[[str], str]) -> Headers:
    found = signed()
    return {**found, name: change(found[name])}


# made when a test asks for it: a call is good for five minutes
CALLS: dict[str, tuple[Callable[[], Headers], bool]] = {
    "as it was sent": (lambda: signed(), True),
    "headers in capitals": (lambda: {name.upper(): value for name, value in signed().items()}, True),
    "two signatures, ours the second": (
        lambda: changed("webhook-signature", lambda ours: f"{signed(OTHER)['webhook-signature']} {ours}"),
        True,
    ),
    "another secret": (lambda: signed(OTHER), False),
    "another body": (lambda: signed(body="{}"), False),
    "another id": (lambda: changed("webhook-id", lambda _: "msg_2"), False),
    "another time": (lambda: changed("webhook-timestamp", lambda at: str(int(at) + 1)), False),
    "too old": (lambda: signed(later=-30 * MINUTES), False),
    "of the future": (lambda: signed(later=30 * MINUTES), False),
    "no time": (lambda: changed("webhook-timestamp", lambda _: "yesterday"), False),
    "another version": (lambda: changed("webhook-signature", lambda ours: ours.replace("v1,", "v2,")), False),
    "no version": (lambda: changed("webhook-signature", lambda ours: ours.removeprefix("v1,")), False),
    "not signed": (
        lambda: {name: value for name, value in signed().items() if name != "webhook-signature"},
        False,
    ),
    "an empty signature": (lambda: changed("webhook-signature", lambda _: ""), False),
    "no headers": (dict, False),
}


@pytest.mark.parametrize(("make", "is_good"), CALLS.values(), ids=CALLS)
def test_it_agrees_with_the_library(make: Callable[[], Headers], is_good: bool) -> None:
    headers = make()
    lower = {name.lower(): value for name, value in headers.items()}
    if is_good:
        assert verify_webhook(SECRET, headers, BODY.encode()) == Webhook(SECRET).verify(BODY, lower)
        return
    with pytest.raises(SignatureInvalid):
        verify_webhook(SECRET, headers, BODY.encode())
    with pytest.raises((WebhookVerificationError, ValueError)):
        Webhook(SECRET).verify(BODY, lower)


def test_a_secret_that_is_none_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook("whsec_no!", signed(), BODY.encode())


def test_a_call_of_a_real_server_is_verified(client: Client) -> None:
    received: list[tuple[dict[str, str], bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nothing to the tests' output."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        handler = client.notification_handlers.create("webhook", "Mine", webhook=address)
        assert client.notification_handlers.test(handler.id).status == "delivered"
        thread.join()
    headers, body = received[0]
    assert verify_webhook(handler.settings["secret"], headers, body)["data"]["handler"]["name"] == "Mine"
    with pytest.raises(SignatureInvalid):
        verify_webhook(OTHER, headers, body)
