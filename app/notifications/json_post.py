"""Sending of JSON to a service, and the reading of its JSON answers."""

# see docs/decisions/2026-11-25-six-more-transports.md
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import fitted, one_line
from app.notifications.http_result import judge, text_of
from app.notifications.transport import Delivered, DeliveryFailed

JSON = {"content-type": "application/json; charset=utf-8"}

MAX_QUOTE = 200

#: whether an answer (status and body) means that nothing sent to this URL will arrive, or this message won't
Judgement = Callable[[int, str], bool]


def post_json(
    outbound: OutboundSession,
    url: str,
    value: Mapping[str, Any],
    is_gone: Judgement,
    is_refused: Judgement = lambda status, body: False,  # noqa: ARG005
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Delivered:
    """Post `value`, or send it by another method.

    Raises NoAnswer, and DeliveryFailed: `gone` where `is_gone` says so, `permanent` where `is_refused` does.
    """
    body = json.dumps(value, ensure_ascii=False).encode()
    answer = outbound.request(method, url, headers={**JSON, **(headers or {})}, body=body)
    try:
        return judge(answer)
    except DeliveryFailed as refused:
        refused.gone = refused.gone or is_gone(answer.status, text_of(answer))
        refused.permanent = refused.permanent or is_refused(answer.status, text_of(answer))
        raise


def quote_service(refused: DeliveryFailed, service: str, said: object) -> None:
    """Make what a service says of an error the reason of the failure, if it says anything."""
    if isinstance(said, str) and (words := one_line(said).rstrip(".")):
        refused.reason = _l("%(service)s says: %(said)s.", service=service, said=fitted(words, MAX_QUOTE))


def json_size(value: Any) -> int:
    """The bytes of a value as `post_json` sends it."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def read_object(body: str) -> dict[str, Any]:
    """The JSON object in `body`; an empty one for anything else, such as a proxy's error page."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
