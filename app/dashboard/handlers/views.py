"""Pages of notification handlers: list and forms, with a preview.

The preview's sample is of the workspace's own events, where there are any, and it says how many clicks match.
Nothing is stored, and nothing is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flask import current_app, render_template
from sqlalchemy import func, select

from app.accounts.access import get_owned
from app.analytics.clickhouse.client import StatisticsUnavailable
from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.auth.access import submitted_form
from app.dashboard.handlers.delivery_words import latest_deliveries, state_of
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import current_access, may, workspace_id
from app.events.push import handlers as services
from app.events.push.links import count_matches, links_naming
from app.events.push.messages import PushedMessage
from app.events.push.samples import message_of_event, recent_events, sample_event
from app.events.push.summary import add_to, data_of
from app.events.types import CLICKED
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData, Value
from app.links.models import link_notification_handler
from app.notifications.click_filter import ClickFilter
from app.notifications.composing import composer_of
from app.notifications.event_types import ATTACHED, DEFAULT, OF_FEED, TYPES, WORKSPACE
from app.notifications.events import REPORT
from app.notifications.feed_words import SUMMARY
from app.notifications.forms import HandlerForm
from app.notifications.lists import LISTING
from app.notifications.message import Message
from app.notifications.models import NotificationHandler
from app.notifications.site import SiteUrls, site_of
from app.notifications.transport import DeliveryFailed, all_transports, chosen_transports
from app.notifications.transports import webhook

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
    words = FamilyWords(**words_for("families")[name])
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


# --- preview of a handler while its form is being filled in


@dataclass(frozen=True)
class HandlerPreview:
    """What is shown. `matches`: None where clicks are not told, or can't be counted now."""

    body: str = ""  # what a program gets
    message: Message | None = None  # what people get
    matches: int | None = None
    links: int | None = None  # how many links name the handler; None where all count
    problem: str = ""


@blueprint.post("/handlers/preview", endpoint="handlers_preview")
@blueprint.post("/handlers/<int:id>/preview", endpoint="handlers_preview_of")
def preview(id: int | None = None) -> str:
    """The preview of the handler that is being edited."""
    stored = get_owned(current_access(), NotificationHandler, id) if id is not None else None
    form = FAMILY.read_form(submitted_form(), stored)
    assert isinstance(form, HandlerForm)  # noqa: S101  for the type checker
    form.validate()
    return render_template("dashboard/handlers/_preview.html", preview=preview_of(form))


def preview_of(form: HandlerForm) -> HandlerPreview:
    """The preview of a form that was validated. A field with an error counts as it is stored."""
    if not form.is_good("events") or not form.is_good("click_filter"):
        return HandlerPreview()
    events = form.events.data or ()
    links = links_of(form)
    matches = matching(form, links) if CLICKED in events else None
    types = [type_ for type_ in TYPES if type_ in events and type_ != REPORT]
    found = HandlerPreview(matches=matches, links=None if links is None else len(links))
    if not types or form.chosen not in all_transports():
        return found
    site = site_of(current_app.config["WAYPOST"])
    event = next(iter(recent_events(db.session, site, workspace_id(), types[0])), None)
    return with_sample(found, form, event or sample_event(types[0], site), site)


def with_sample(
    found: HandlerPreview, form: HandlerForm, event: Mapping[str, Any], site: SiteUrls
) -> HandlerPreview:
    is_program = all_transports()[form.chosen or ""].takes_batches
    pushed = message_of_event(event)
    if not is_program and event["type"] in OF_FEED:
        pushed = PushedMessage(SUMMARY, data_of(add_to(None, [event]) or {}), pushed.datetime)
    message = composer_of(pushed.type)("msg_sample", pushed.type, pushed.datetime, pushed.data, site)
    if not is_program:
        return replace(found, message=message)
    template = form["webhook_template"].data if form.is_good("webhook_template") else ""
    try:
        body, _ = webhook.body_of({"webhook_template": template or ""}, message)
    except DeliveryFailed as failed:
        return replace(found, problem=failed.reason)
    return replace(found, body=indented(body))


def indented(body: str) -> str:
    """JSON with a line for each value; any other text as it is."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body


def links_of(form: HandlerForm) -> Sequence[int] | None:
    """The links of which the handler is told; None for all of the workspace."""
    stored = form.stored
    if stored is not None and stored.link_id is not None:
        return [stored.link_id]
    if form.scope.data == WORKSPACE:
        return None
    return links_naming(db.session, stored.id) if stored is not None else []


def matching(form: HandlerForm, links: Sequence[int] | None) -> int | None:
    try:
        return count_matches(db.session, workspace_id(), links, ClickFilter.of(form.click_filter.data))
    except StatisticsUnavailable:
        return None
