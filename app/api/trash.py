"""API of the trash: what was deleted in the last 30 days, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flask import Response, request

from app.api import envelope, present
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.api.resource import retry_once
from app.api.resources import mask_handlers
from app.core.database import begin_write
from app.core.extensions import db
from app.input.data import RequestData
from app.input.listing import find_page
from app.links import services as link_services
from app.links.forms import RestoreForm
from app.notifications import services as handler_services
from app.pixels import services as pixel_services
from app.trash import services
from app.trash.models import Trashed
from app.web import application
from app.web.body import read_list_query, read_sent


class Restorer(NamedTuple):
    """How one kind of row is restored and shown."""

    restore: Callable[[Trashed, dict[str, Any]], Any]
    present: Callable[[Sequence[Any]], list[dict[str, Any]]]


RESTORERS = {
    "link": Restorer(link_services.restore, present.links),
    "pixel": Restorer(lambda one, _: pixel_services.restore(one), present.pixels),
    "notification_handler": Restorer(lambda one, _: handler_services.restore(one), mask_handlers),
}


@blueprint.get("/trash", endpoint="trash_find", strict_slashes=False)
def find() -> Response:
    """Lists the trash, newest first."""
    params = {"order_type": "DESC", **dict(read_list_query())}
    page = find_page(services.LISTING, request_access().workspace_id, params)
    return envelope.listed(page, [present.trashed(row) for row in page.rows])


@blueprint.post("/trash/<row_id:id>/restore", endpoint="trash_restore", strict_slashes=False)
def restore(id: int) -> Response:
    """Restores a row under its own id; a link by other `url` or `domain_id` where these are sent."""
    sent = read_sent()
    return retry_once(lambda: put_back(id, sent))


def put_back(id: int, sent: RequestData) -> Response:
    services.find(request_access().workspace_id, id)
    form = RestoreForm(sent, owner=request_access(), settings=application.settings(), host=request.host)
    form.require_valid()
    begin_write(db.session)
    one = services.find(request_access().workspace_id, id)
    services.require_readable([one])
    restorer = RESTORERS[one.kind]
    row = restorer.restore(one, form.changes)
    data = restorer.present([row])[0] if envelope.prefers_whole() else {"id": row.id}
    answer = envelope.json_response({"data": data})
    if envelope.prefers_whole():
        answer.headers["Preference-Applied"] = "return=representation"
    db.session.commit()
    return answer
