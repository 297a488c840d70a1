"""Posting of JSON to a service, and the reading of its JSON answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.net.session import OutboundSession
from app.notifications.http_result import judge, text_of
from app.notifications.transport import Delivered, DeliveryFailed

JSON = {"content-type": "application/json; charset=utf-8"}

#: whether an answer (status and body) means that nothing sent to this URL will arrive any more
IsGone = Callable[[int, str], bool]


def post_json(outbound: OutboundSession, url: str, value: Mapping[str, Any], is_gone: IsGone) -> Delivered:
    """Post `value`. Raises NoAnswer, and DeliveryFailed, with `gone` where `is_gone` says so."""
    answer = outbound.request("POST", url, headers=JSON, body=json.dumps(value, ensure_ascii=False).encode())
    try:
        return judge(answer)
    except DeliveryFailed as refused:
        refused.gone = refused.gone or is_gone(answer.status, text_of(answer))
        raise


def read_object(body: str) -> dict[str, Any]:
    """The JSON object in `body`; an empty one for anything else, such as a proxy's error page."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
