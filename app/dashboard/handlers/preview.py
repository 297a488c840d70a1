"""Preview of a handler while its form is being filled in: a sample, and how many clicks match.

The sample is of the workspace's own events, where there are any. Nothing is stored, and nothing is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import current_app, render_template

from app.accounts.ownership import get_owned
from app.analytics.clickhouse.client import StatisticsUnavailable
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.handlers.views import FAMILY
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, workspace_id
from app.events.push.links import count_matches, links_naming
from app.events.push.messages import PushedMessage
from app.events.push.samples import message_of_event, recent_events, sample_event
from app.events.push.summary import add_to, data_of
from app.events.types import CLICKED
from app.notifications.click_filter import ClickFilter
from app.notifications.composing import composer_of
from app.notifications.event_types import OF_FEED, TYPES, WORKSPACE
from app.notifications.events import REPORT
from app.notifications.feed_words import SUMMARY
from app.notifications.forms import HandlerForm
from app.notifications.message import Message
from app.notifications.models import NotificationHandler
from app.notifications.site import SiteUrls, site_of
from app.notifications.transport import DeliveryFailed, all_transports
from app.notifications.transports import webhook


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
