"""What was a handler told, does it work, and how does it come by a new secret?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response

from app import trials
from app.api import envelope
from app.api.auth import caller
from app.api.notification_handlers import shown
from app.bodies import read_list_query, read_sent
from app.clock import written
from app.database import begin_write
from app.extensions import db
from app.lists import find_page
from app.notifications import services
from app.notifications.log import attempts_of, log_of
from app.notifications.models import Delivery, DeliveryAttempt, NotificationHandler
from app.ownership import get_owned


def find(id: int) -> Response:
    """Newest first."""
    handler = get_owned(caller(), NotificationHandler, id)
    page = find_page(log_of(handler), caller().id, {"order_type": "DESC", **dict(read_list_query())})
    tries = attempts_of([row.id for row in page.rows])
    return envelope.listed(page, [delivery(row, tries.get(row.id, ())) for row in page.rows])


def test(id: int) -> Response:
    """Send a test at once, once. That it did not arrive is no error: the answer says why."""
    read_sent()
    made, tried = trials.test(caller(), id)
    data = {"delivery_id": made.id, "status": made.status, "detail": tried.detail}
    return envelope.answer({"data": data})


def renew_secret(id: int) -> Response:
    """The old one signs beside the new one for a day."""
    read_sent()
    begin_write(db.session)
    handler = services.renew(get_owned(caller(), NotificationHandler, id))
    answer = envelope.answer({"data": shown([handler])[0]})
    db.session.commit()
    return answer


def ask_for_confirmation(id: int) -> Response:
    """Have the mail with the link sent once more."""
    read_sent()
    handler = trials.ask_again(caller(), id)
    return envelope.answer({"data": shown([handler])[0]})


def delivery(row: Delivery, tries: Sequence[DeliveryAttempt]) -> dict[str, Any]:
    return {
        "id": row.id,
        "type": row.type,
        "status": row.status,
        "attempts": [attempt(one) for one in tries],
        "next_attempt": written(row.next_attempt),
        "datetime": written(row.datetime),
    }


def attempt(row: DeliveryAttempt) -> dict[str, Any]:
    return {
        "datetime": written(row.datetime),
        "status_code": row.status_code,
        "detail": row.detail,
        "duration_ms": row.duration_ms,
    }
