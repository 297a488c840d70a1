"""API of a notification handler's deliveries, test, secret and confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response

from app.accounts.access import get_owned
from app.api import envelope
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.api.resources import mask_handlers
from app.core.clock import format_utc
from app.core.database import begin_write
from app.core.extensions import db
from app.input.listing import find_page
from app.notifications import services, test_send
from app.notifications.log import attempts_of, log_of
from app.notifications.models import Delivery, DeliveryAttempt, NotificationHandler
from app.web.body import read_list_query, read_sent


@blueprint.get(
    "/notification-handlers/<row_id:id>/deliveries",
    endpoint="notification-handlers_deliveries",
    strict_slashes=False,
)
def find(id: int) -> Response:
    """Lists the deliveries of a handler, newest first."""
    handler = get_owned(request_access(), NotificationHandler, id)
    page = find_page(log_of(handler), handler.workspace_id, {"order_type": "DESC", **dict(read_list_query())})
    tries = attempts_of([row.id for row in page.rows])
    return envelope.listed(page, [delivery(row, tries.get(row.id, ())) for row in page.rows])


@blueprint.post(
    "/notification-handlers/<row_id:id>/test", endpoint="notification-handlers_test", strict_slashes=False
)
def test(id: int) -> Response:
    """Sends a test at once, without retries. A failed delivery is no API error: the answer says why."""
    read_sent()
    made, tried = test_send.test(request_access(), id)
    data = {"delivery_id": made.id, "status": made.status, "detail": str(tried.detail)}
    return envelope.json_response({"data": data})


@blueprint.post(
    "/notification-handlers/<row_id:id>/secret", endpoint="notification-handlers_secret", strict_slashes=False
)
def renew_secret(id: int) -> Response:
    """Renews the signing secret. For a day deliveries are signed with the old one, too."""
    read_sent()
    begin_write(db.session)
    handler = services.renew(get_owned(request_access(), NotificationHandler, id))
    answer = envelope.json_response({"data": mask_handlers([handler])[0]})
    db.session.commit()
    return answer


@blueprint.post(
    "/notification-handlers/<row_id:id>/confirmation",
    endpoint="notification-handlers_confirmation",
    strict_slashes=False,
)
def ask_for_confirmation(id: int) -> Response:
    """Sends the confirmation e-mail once more."""
    read_sent()
    handler = test_send.ask_again(request_access(), id)
    return envelope.json_response({"data": mask_handlers([handler])[0]})


def delivery(row: Delivery, tries: Sequence[DeliveryAttempt]) -> dict[str, Any]:
    return {
        "id": row.id,
        "type": row.type,
        "status": row.status,
        "attempts": [attempt(one) for one in tries],
        "next_attempt": format_utc(row.next_attempt),
        "datetime": format_utc(row.datetime),
    }


def attempt(row: DeliveryAttempt) -> dict[str, Any]:
    return {
        "datetime": format_utc(row.datetime),
        "status_code": row.status_code,
        "detail": str(row.detail),
        "duration_ms": row.duration_ms,
    }
