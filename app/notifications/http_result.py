"""The result of a delivery by its HTTP status, for transports whose service defines nothing of its own."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from app.core.leases import precise_now
from app.i18n.messages import lazy_gettext as _l
from app.net.http import HttpResponse
from app.notifications.transport import Delivered, DeliveryFailed


def judge(answer: HttpResponse) -> Delivered:
    """2xx means delivered. Anything else raises DeliveryFailed: 410 as `gone`, the rest to be tried again."""
    said = text_of(answer)
    if 200 <= answer.status < 300:
        return Delivered(status_code=answer.status, answer=said)
    raise DeliveryFailed(
        reason_of(answer.status),
        retry_after=retry_after(answer),
        gone=answer.status == HTTPStatus.GONE,
        status_code=answer.status,
        answer=said,
    )


def text_of(answer: HttpResponse) -> str:
    return answer.body.decode("utf-8", "replace")


def reason_of(status: int) -> str:
    if 300 <= status < 400:
        return _l(
            "The server redirects elsewhere (%(status)s), and redirects are not followed.", status=status
        )
    try:
        return _l(
            "The server answered %(status)s %(phrase)s.", status=status, phrase=HTTPStatus(status).phrase
        )
    except ValueError:
        return _l("The server answered %(status)s.", status=status)


def retry_after(answer: HttpResponse) -> float | None:
    """The seconds that `Retry-After` asks for, given as a number or as a date; None without a valid one."""
    said = (answer.header("retry-after") or "").strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=dt.UTC)
    return max(0.0, (until - precise_now()).total_seconds())
