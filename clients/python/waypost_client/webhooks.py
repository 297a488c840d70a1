"""Verification of webhooks by the rules of Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from waypost_client.errors import SignatureInvalid

TOLERANCE_SECONDS = 300
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> Any:
    """The parsed body of a call that a handler with this secret has sent. Raises SignatureInvalid otherwise.

    `body`: as it came, before anything parsed it. Remember the `webhook-id` and ignore one that was seen
    before: a delivery may come more than once.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    if not all(sent.get(name) for name in HEADERS):
        raise SignatureInvalid("The headers of a webhook are missing.")
    id_, timestamp, signatures = (sent[name] for name in HEADERS)
    require_recent(timestamp)
    expected = base64.b64encode(
        hmac.digest(key_of(secret), f"{id_}.{timestamp}.".encode() + body, hashlib.sha256)
    )
    # a handler whose secret was renewed signs with both for a day
    versions = [each.partition(",") for each in signatures.split(" ")]
    if not any(name == "v1" and hmac.compare_digest(expected, mac.encode()) for name, _, mac in versions):
        raise SignatureInvalid("It was not signed with this secret.")
    return json.loads(body)


def require_recent(timestamp: str) -> None:
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise SignatureInvalid("Its time can't be read.")
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise SignatureInvalid("It was not sent just now.")


def key_of(secret: str) -> bytes:
    """The key of a secret. Raises ValueError where it is none."""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise ValueError("A webhook's secret is whsec_ and base64.") from error
