"""What does an HTTP answer mean for what was sent? (For transports whose service adds nothing of its own.)"""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from app.claims import moment
from app.notifications.outbound import Answer
from app.notifications.transport import Refused, Sent


def judge(answer: Answer) -> Sent:
    """2xx has arrived, 410 is gone for good, all else is tried again. Raises Refused."""
    said = text_of(answer)
    if 200 <= answer.status < 300:
        return Sent(status_code=answer.status, answer=said)
    raise Refused(
        reason_of(answer.status),
        retry_after=retry_after(answer),
        gone=answer.status == HTTPStatus.GONE,
        status_code=answer.status,
        answer=said,
    )


def text_of(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")


def reason_of(status: int) -> str:
    if 300 <= status < 400:
        return f"The server redirects elsewhere ({status}), which is not followed."
    try:
        return f"The server answered {status} {HTTPStatus(status).phrase}."
    except ValueError:
        return f"The server answered {status}."


def retry_after(answer: Answer) -> float | None:
    """The seconds that `Retry-After` asks for: it has a number, or a date."""
    said = (answer.header("retry-after") or "").strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=dt.UTC)
    return max(0.0, (until - moment()).total_seconds())
