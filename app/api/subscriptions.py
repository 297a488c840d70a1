"""API of the feed of events, and of subscriptions: REST hooks of programs such as n8n, Make and Zapier."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from app.api import envelope, present
from app.api.auth import may, request_access, request_key
from app.api.blueprint import blueprint
from app.api.idempotency import Keep, answer_once
from app.api.resource import retry_once
from app.api.workspace import add, answer_to_write, checked
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.events.feed.params import read_feed_params
from app.events.feed.reading import read as read_feed
from app.events.push.samples import bodies
from app.events.subscriptions import services
from app.events.subscriptions.forms import SUBSCRIBED, SubscriptionForm
from app.events.subscriptions.lists import subscriptions_of
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.listing import find_page, one_of
from app.input.params import ParamReader
from app.notifications.models import NotificationHandler
from app.notifications.site import site_of
from app.web import application, urls
from app.web.body import read_list_query, read_params, read_query, read_sent


@blueprint.get("/events", endpoint="events", strict_slashes=False)
def find_events() -> Response:
    """Lists the events after a cursor, oldest first. `next` is the cursor to go on with, at the end too."""
    asked = read_feed_params(RequestData(read_query()))
    page = read_feed(
        db.session,
        site_of(application.settings()),
        request_access().workspace_id,
        asked.after,
        types=asked.types,
        link_id=asked.link_id,
        limit=asked.limit,
    )
    return envelope.json_response({"data": page.events, "meta": {"next": page.next, "is_more": page.is_more}})


def show(row: NotificationHandler) -> dict[str, Any]:
    """A subscription as an object. Who may only read gets its address and its secret masked."""
    return present.subscription(row, with_secrets=may("read_secrets"))


@add("/subscriptions", "GET", "subscriptions_find")
def find() -> Response:
    listing = subscriptions_of(request_access().workspace_id)
    page = find_page(listing, request_access().workspace_id, dict(read_list_query()))
    return envelope.listed(page, [show(row) for row in page.rows])


@add("/subscriptions/<row_id:id>", "GET", "subscriptions_read")
def read(id: int) -> Response:
    return envelope.json_response({"data": show(services.get(request_access(), id))})


@add("/subscriptions", "POST", "subscriptions_post")
def subscribe() -> Response:
    """Subscribes an address. The answer to `Prefer: return=representation` has the signing secret."""
    sent = read_sent()
    return answer_once(request_access(), sent, lambda keep: retry_once(lambda: make(sent, keep)))


def make(sent: RequestData, keep: Keep) -> Response:
    options = {"owner": request_access(), "settings": application.settings(), "host": request.host}
    form = checked(SubscriptionForm(sent, **options))
    begin_write(db.session)
    row = services.create(request_access(), request_key(), form.changes)
    answer = answer_to_write(row.id, lambda: envelope.json_response({"data": show(row)}), 201)
    answer.headers["Location"] = f"{urls.dashboard_site()}/api/subscriptions/{row.id}"
    keep(answer)
    db.session.commit()
    return answer


@add("/subscriptions/<row_id:id>", "DELETE", "subscriptions_delete")
def unsubscribe(id: int) -> Response:
    begin_write(db.session)
    services.delete(services.get(request_access(), id))
    db.session.commit()
    return Response(status=204)


@add("/subscriptions/samples", "GET", "subscriptions_samples")
def find_samples() -> Response:
    """Bodies as a target gets them for one type of event: of the last events, or a made-up one."""
    type_ = read_type()
    found = bodies(db.session, site_of(application.settings()), request_access().workspace_id, type_)
    return envelope.json_response({"data": found})


def read_type() -> str:
    """The parameter `event`. Raises Invalid."""
    reader = ParamReader(read_params())
    type_: str | None = reader.read("event", None, one_of(list(SUBSCRIBED)))
    reader.require_valid()
    if type_ is None:
        raise Invalid(FieldError(_l("This is required."), "required", "event"))
    return type_
