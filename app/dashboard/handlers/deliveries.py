"""What does an owner see of all that a handler was told, and what can he do about it?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from flask import Blueprint, Response, current_app, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app import trials
from app.dashboard import asked, pages
from app.dashboard.delivery_words import STATES, state_of, told
from app.dashboard.guard import sent, user
from app.dashboard.handlers import FAMILY, target_of, uses
from app.dashboard.link_rows import short_address
from app.database import begin_write
from app.errors import FieldError, Invalid, NotThere, TooMany
from app.extensions import db
from app.links.models import Link, link_notification_handler
from app.lists import DEFAULT_SIZE, Page, find_page
from app.notifications import outbox, services
from app.notifications.log import attempts_of, log_of
from app.notifications.models import DELIVERED, Delivery, NotificationHandler
from app.notifications.transport import all_transports
from app.ownership import get_owned

NOTHING: Mapping[str, str] = MappingProxyType({})
LINKS = 10
STATUSES = [("", "All"), *((status, state.word) for status, state in STATES.items())]


def register(blueprint: Blueprint) -> None:
    one = "/handlers/<int:id>"
    blueprint.add_url_rule(f"{one}/deliveries", "handlers_deliveries", show)
    for path, view in (
        ("test", test),
        ("on", turn_on),
        ("secret", renew_secret),
        ("confirmation", ask_for_confirmation),
        ("deliveries/<int:delivery_id>/again", again),
    ):
        blueprint.add_url_rule(f"{one}/{path}", f"handlers_{view.__name__}", view, methods=["POST"])


# ------------------------------------------------------------------- the log


def show(id: int) -> Response:
    """Newest first; or what can't be asked for."""
    handler = get_owned(user(), NotificationHandler, id)
    parameters = asked.of_request()
    try:
        page = find_page(log_of(handler), user().id, {"order_type": "DESC", **parameters})
    except Invalid as invalid:
        nothing: Page[Delivery] = Page([], 1, DEFAULT_SIZE, 0)
        return make_response(log_page(handler, nothing, parameters, invalid.errors), 422)
    return make_response(log_page(handler, page, parameters, ()))


def log_page(
    handler: NotificationHandler, page: Page[Delivery], parameters: asked.Asked, wrong: Sequence[FieldError]
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
        told=[told(row, tries.get(row.id, ())) for row in page.rows],
        wrong=wrong,
        statuses=[(word, status, address({"status": status} if status else {})) for status, word in STATUSES],
        chosen=parameters.get("status", ""),
        to_page=lambda number: address({**parameters, "page": str(number)}),
        zone=pages.zone(),
    )


def links_of(handler: NotificationHandler) -> Sequence[Link]:
    """The newest of the links that tell it something."""
    column = link_notification_handler.c
    found = select(Link).join(link_notification_handler, column.link_id == Link.id)
    mine = found.where(column.notification_handler_id == handler.id).order_by(Link.id.desc())
    return db.session.scalars(mine.limit(LINKS)).all()


def address_of(handler: NotificationHandler, query: Mapping[str, str] = NOTHING) -> str:
    """Of its log; what is not asked for by name there is left out."""
    return url_for("dashboard.handlers_deliveries", id=handler.id, **cast("dict[str, Any]", dict(query)))


# ------------------------------------------------------------- what is done


def test(id: int) -> ResponseReturnValue:
    """The answer is there within five seconds, as a message; the log has all of it."""
    delivery, tried = trials.test(user(), id)
    handler = get_owned(user(), NotificationHandler, id)
    if delivery.status == DELIVERED:
        return back(handler, f"The test has arrived at {handler.name}.")
    return back(handler, "", f"The test has not arrived at {handler.name}: {tried.detail}")


def turn_on(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    handler = services.update(get_owned(user(), NotificationHandler, id), {"is_enabled": True})
    db.session.commit()
    return back(handler, f"{handler.name} is on again.")


def renew_secret(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    handler = services.renew(get_owned(user(), NotificationHandler, id))
    db.session.commit()
    message = "There is a new signing secret. The old one is valid beside it for a day."
    if pages.is_fragment():  # the form once more, in the dialog that stays open
        form = FAMILY.ask_edit(handler.id)
        form.headers["HX-Trigger"] = json.dumps({"toast": message})
        return form
    return pages.sent_on(message, FAMILY.address("edit", handler.id))


def again(id: int, delivery_id: int) -> ResponseReturnValue:
    """Its tries begin anew, with the same id, so that a receiver that has it knows it."""
    begin_write(db.session)
    handler = get_owned(user(), NotificationHandler, id)
    delivery = delivery_of(handler, delivery_id)
    if not handler.is_enabled:
        db.session.rollback()
        return back(handler, "", f"{handler.name} is off. Turn it on first.")
    trials.count_send(handler)
    outbox.again(delivery)
    db.session.commit()
    return back(handler, "It is sent again in a moment.")


def ask_for_confirmation(id: int) -> ResponseReturnValue:
    handler = get_owned(user(), NotificationHandler, id)
    try:
        handler = trials.ask_again(user(), id)
    except (Invalid, TooMany) as refused:
        db.session.rollback()
        return back(handler, "", str(refused))
    if handler.is_confirmed:
        return back(handler, "This address is confirmed.")
    return back(handler, f"Another mail with a link goes to {target_of(handler)}.")


def delivery_of(handler: NotificationHandler, id: int) -> Delivery:
    found = select(Delivery).where(Delivery.id == id, Delivery.handler_id == handler.id)
    delivery: Delivery | None = db.session.scalar(found.with_for_update())
    if delivery is None:
        raise NotThere("delivery")
    return delivery


def back(handler: NotificationHandler, message: str, warning: str | None = None) -> ResponseReturnValue:
    """To the page from which it was asked for: htmx asks from the list, the log by itself."""
    if pages.is_fragment():
        part = FAMILY.row(handler)
        return pages.swapped(message, part, f"#row-{handler.id}", "outerHTML", warning)
    is_log = "log" in sent()
    to = address_of(handler) if is_log else FAMILY.address()
    return pages.sent_on(message, to, warning)
