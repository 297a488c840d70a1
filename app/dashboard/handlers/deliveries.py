"""Delivery log of a handler, and its actions: test, turn on, renew the secret, confirm, send again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from flask import Response, current_app, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.accounts.access import get_owned
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid, NotFound, RateLimited
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.handlers.delivery_words import STATES, delivery_row, state_of
from app.dashboard.handlers.views import FAMILY, target_of, uses
from app.dashboard.links.rows import short_address
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access
from app.events.push import handlers as services
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import DEFAULT_SIZE, Page, find_page
from app.links.models import Link, link_notification_handler
from app.notifications import outbox, test_send
from app.notifications.log import attempts_of, log_of
from app.notifications.models import DELIVERED, Delivery, NotificationHandler
from app.notifications.transport import all_transports

NOTHING: Mapping[str, str] = MappingProxyType({})
LINKS = 10
STATUSES = [("", _l("All")), *((status, state.word) for status, state in STATES.items())]


# ------------------------------------------------------------------- the log


@blueprint.get("/handlers/<int:id>/deliveries", endpoint="handlers_deliveries")
def show(id: int) -> Response:
    """The log, newest first; or what is wrong with the parameters."""
    handler = get_owned(current_access(), NotificationHandler, id)
    parameters = list_params.of_request()
    try:
        page = find_page(log_of(handler), handler.workspace_id, {"order_type": "DESC", **parameters})
    except Invalid as invalid:
        nothing: Page[Delivery] = Page([], 1, DEFAULT_SIZE, 0)
        return make_response(log_page(handler, nothing, parameters, invalid.errors), 422)
    return make_response(log_page(handler, page, parameters, ()))


def log_page(
    handler: NotificationHandler,
    page: Page[Delivery],
    parameters: list_params.ListParams,
    wrong: Sequence[FieldError],
) -> str:
    address = partial(address_of, handler)
    tries = attempts_of([row.id for row in page.rows])
    transport = all_transports()[handler.type]
    return render_template(
        "dashboard/handlers/deliveries.html",
        here="handlers",
        family=FAMILY,
        handler=handler,
        state=state_of(handler),
        used=uses([handler.id]).get(handler.id, 0),
        links=links_of(handler),
        short_address=short_address,
        transport=transport,
        target=target_of(handler),
        lacks=transport.lacks(current_app.config["WAYPOST"]),
        page=page,
        delivery_rows=[delivery_row(row, tries.get(row.id, ())) for row in page.rows],
        wrong=wrong,
        statuses=[(word, status, address({"status": status} if status else {})) for status, word in STATUSES],
        chosen=parameters.get("status", ""),
        to_page=lambda number: address({**parameters, "page": str(number)}),
        zone=rendering.owner_zone(),
    )


def links_of(handler: NotificationHandler) -> Sequence[Link]:
    """The newest links that notify this handler."""
    column = link_notification_handler.c
    found = select(Link).join(link_notification_handler, column.link_id == Link.id)
    mine = found.where(column.notification_handler_id == handler.id).order_by(Link.id.desc())
    return db.session.scalars(mine.limit(LINKS)).all()


def address_of(handler: NotificationHandler, query: Mapping[str, str] = NOTHING) -> str:
    """Address of the handler's log with these parameters."""
    return url_for("dashboard.handlers_deliveries", id=handler.id, **cast("dict[str, Any]", dict(query)))


# ------------------------------------------------------------------ actions


@blueprint.post("/handlers/<int:id>/test", endpoint="handlers_test")
def test(id: int) -> ResponseReturnValue:
    """Send a test. A message tells the result within five seconds; the log has the details."""
    delivery, tried = test_send.test(current_access(), id)
    handler = get_owned(current_access(), NotificationHandler, id)
    if delivery.status == DELIVERED:
        return back(handler, _("The test has arrived at %(name)s.", name=handler.name))
    return back(
        handler,
        "",
        _("The test has not arrived at %(name)s: %(detail)s", name=handler.name, detail=tried.detail),
    )


@blueprint.post("/handlers/<int:id>/on", endpoint="handlers_turn_on")
def turn_on(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    handler = services.update(get_owned(current_access(), NotificationHandler, id), {"is_enabled": True})
    db.session.commit()
    return back(handler, _("%(name)s is on again.", name=handler.name))


@blueprint.post("/handlers/<int:id>/secret", endpoint="handlers_renew_secret")
def renew_secret(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    handler = services.renew(get_owned(current_access(), NotificationHandler, id))
    db.session.commit()
    message = _("There is a new signing secret. The old one is valid beside it for a day.")
    if rendering.is_fragment():  # the form once more, in the dialog that stays open
        form = FAMILY.form_page(FAMILY.read_form(None, handler))
        form.headers["HX-Trigger"] = json.dumps({"toast": message})
        return form
    return rendering.redirect_with(message, FAMILY.address("edit", handler.id))


@blueprint.post("/handlers/<int:id>/deliveries/<int:delivery_id>/again", endpoint="handlers_again")
def resend(id: int, delivery_id: int) -> ResponseReturnValue:
    """Start the attempts anew with the same id, so that a receiver recognizes a duplicate."""
    begin_write(db.session)
    handler = get_owned(current_access(), NotificationHandler, id)
    delivery = delivery_of(handler, delivery_id)
    if not handler.is_enabled:
        db.session.rollback()
        return back(handler, "", _("%(name)s is off. Turn it on first.", name=handler.name))
    test_send.count_send(handler)
    outbox.restart_attempts(delivery)
    db.session.commit()
    return back(handler, _("It is sent again in a moment."))


@blueprint.post("/handlers/<int:id>/confirmation", endpoint="handlers_ask_for_confirmation")
def ask_for_confirmation(id: int) -> ResponseReturnValue:
    handler = get_owned(current_access(), NotificationHandler, id)
    try:
        handler = test_send.ask_again(current_access(), id)
    except (Invalid, RateLimited) as refused:
        db.session.rollback()
        return back(handler, "", str(refused))
    if handler.is_confirmed:
        return back(handler, _("This address is confirmed."))
    return back(handler, _("Another mail with a link goes to %(address)s.", address=target_of(handler)))


def delivery_of(handler: NotificationHandler, id: int) -> Delivery:
    found = select(Delivery).where(Delivery.id == id, Delivery.handler_id == handler.id)
    delivery: Delivery | None = db.session.scalar(found.with_for_update())
    if delivery is None:
        raise NotFound("delivery")
    return delivery


def back(handler: NotificationHandler, message: str, warning: str | None = None) -> ResponseReturnValue:
    """Back to the page that sent the request: the list sends with htmx, the log with a plain form."""
    if rendering.is_fragment():
        part = FAMILY.row(handler)
        return rendering.swap_part(message, part, f"#row-{handler.id}", "outerHTML", warning)
    is_log = "log" in submitted_form()
    to = address_of(handler) if is_log else FAMILY.address()
    return rendering.redirect_with(message, to, warning)
