"""Pages of notification handlers: list and forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from flask import current_app
from sqlalchemy import func, select

from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.handlers.delivery_words import latest_deliveries, state_of
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.workspace import may
from app.events.push import handlers as services
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData, Value
from app.links.models import link_notification_handler
from app.notifications.event_types import ATTACHED, DEFAULT, TYPES
from app.notifications.forms import HandlerForm
from app.notifications.lists import LISTING
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports, chosen_transports

COUNTRIES = "click_filter.countries"


@crud_route("/handlers/", "list")
@crud_route("/handlers/new", "new")
@crud_route("/handlers/<int:id>", "edit")
@crud_route("/handlers/<int:id>/delete", "delete")
class HandlerViews(CrudViews):
    """The pages of notification handlers."""

    name = "handlers"
    title = _l("Notification handlers")
    intro = _l("Where notifications about your links are sent.")
    search_hint = _l("Search by name")
    words = FamilyWords(
        create=_l("Create handler"),
        edit=_l("Edit handler"),
        delete=_l("Delete handler"),
        ask_delete=_l("Delete this handler?"),
        none_found=_l("No handlers match"),
        show_all=_l("Show all handlers"),
    )
    is_kept = True
    loss = _l("It is removed from every link that uses it, and no more notifications are sent to it.")
    model, form, services, listing = NotificationHandler, HandlerForm, services, LISTING
    new: ClassVar = {"events": list(DEFAULT), "scope": ATTACHED}

    def controls(self) -> list[Control]:
        labels = [(type_, transport.label) for type_, transport in all_transports().items()]
        states = [("", _("On or off")), ("1", _("On")), ("0", _("Off"))]
        return [
            Control("type", _("Type"), [("", _("Any type")), *labels]),
            Control("is_enabled", _("State"), states),
        ]

    def typed(self, fields: RequestData) -> RequestData:
        """Countries are typed into one control, with commas or spaces between them."""
        pairs: list[tuple[str, Value]] = []
        for name, index, value in fields.pairs():
            if name == COUNTRIES and isinstance(value, str):
                pairs += [(f"{COUNTRIES}[]", word) for word in re.split(r"[\s,;]+", value.strip())]
            else:
                pairs.append((f"{name}[{index}]", value))
        return RequestData(pairs)

    def form_context(self, form: Any) -> Context:
        told = form.events.data or []
        return {
            "transports": chosen_transports(),
            "all_transports": all_transports(),
            "lacks": lacks(),
            "event_options": [{"id": type_, "name": label, "kind": ""} for type_, label in TYPES.items()],
            "said_events": [label for type_, label in TYPES.items() if type_ in told],
        }

    def rows_context(self, rows: Sequence[NotificationHandler]) -> Context:
        ids = [row.id for row in rows]
        return {
            "transports": all_transports(),
            "uses": uses(ids),
            "latest_deliveries": latest_deliveries(ids),
            "target_of": target_of,
            "state_of": state_of,
            "lacks": lacks(),
        }


def lacks() -> dict[str, str]:
    """What the operator has not set up for each type, in words."""
    settings = current_app.config["WAYPOST"]
    return {type_: one.lacks(settings) for type_, one in all_transports().items()}


def uses(ids: Sequence[int]) -> dict[int, int]:
    """Number of links that use each handler."""
    column = link_notification_handler.c.notification_handler_id
    counted = select(column, func.count()).where(column.in_(ids)).group_by(column)
    return dict(db.session.execute(counted).all())


def target_of(handler: NotificationHandler) -> str:
    """Where the handler delivers to, without secrets: of an address that is secret, only the host.

    To viewers more is secret, as to keys that only read.
    """
    transport = all_transports()[handler.type]
    settings = [one for one in transport.settings if handler.settings.get(one.name)]
    hidden = frozenset() if may("read_secrets") else transport.secrets
    shown = [handler.settings[one.name] for one in settings if not one.is_secret and one.name not in hidden]
    hosts = [split_address(handler.settings[one.name]).hostname for one in settings if one.kind == "address"]
    return shorten(next(filter(None, [*shown, *hosts]), ""))


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:42]}…"


FAMILY = HandlerViews.register()
