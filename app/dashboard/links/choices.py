"""Choices of the link form, with notes on those that can't work here, and of the filters of the link list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from flask import request
from sqlalchemy import ColumnElement, ScalarSelect, exists, select

from app.accounts.access import get_owned
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.handlers.delivery_words import switched_off
from app.dashboard.links.filters import RULES
from app.dashboard.links.preview import NOT_SENT
from app.dashboard.links.rows import own_host
from app.dashboard.links.states import STATES
from app.dashboard.shared import rendering
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.workspace import current_access, workspace_id
from app.domains.models import Domain
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.links import targeting
from app.links.destination_checks import failing
from app.links.fields import STATUS_CODES
from app.links.forms import LinkForm
from app.links.models import Link, LinkTag
from app.links.schema import SETTINGS, VALUE
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports
from app.pixels.models import Pixel
from app.pixels.provider import Provider, all_providers
from app.projects.models import Project
from app.redirects.page_scripts import boxed_types
from app.redirects.request_context import redirect_context
from app.web import application, urls
from app.web.body import read_query

CURE = _l(
    "Cookies work on a domain of your own, or once the dashboard has its own address (WAYPOST_DASHBOARD_URL)."
)
CONTAINER_CURE = _l("On a domain of your own it runs in the page itself.")
PICTURE = _l("If its script is blocked, an image counts the click.")
NO_PICTURE = _l("If its script is blocked, or JavaScript is off, the click is not counted.")


def boxed() -> frozenset[str]:
    """The types of pixels that are sandboxed on links without a domain of the owner's own."""
    settings = application.settings()
    host = urlsplit(settings.base_url).netloc if settings.base_url else None
    return boxed_types(host, settings)


def pixel_notes() -> dict[str, str]:
    """How a pixel of each type runs on links without an own domain, and what that means."""
    return {type_: describe_provider(type_, provider) for type_, provider in all_providers().items()}


def describe_provider(type_: str, provider: Provider) -> str:
    if provider.is_owners_script:
        return describe_container()
    blocked = PICTURE if provider.picture else NO_PICTURE
    if type_ in boxed():
        return f"{describe_boxed(provider.label)} {blocked}"
    return f"{describe_open(provider.label)} {blocked}"


def describe_container() -> str:
    runs = _(
        "On %(host)s, a container runs in a sandboxed frame: its tags see no cookies and no page.",
        host=own_host(),
    )
    return f"{runs} {CONTAINER_CURE}"


def describe_boxed(label: str) -> str:
    runs = _(
        "On %(host)s, %(label)s runs in a sandboxed frame: clicks are counted, but without "
        "cookies, so returning visitors are not recognised.",
        host=own_host(),
        label=label,
    )
    return f"{runs} {CURE}"


def describe_open(label: str) -> str:
    return _(
        "On %(host)s, %(label)s runs with its cookies, because the dashboard has its own address.",
        host=own_host(),
        label=label,
    )


def link_note(types: Iterable[str]) -> str | None:
    """The note for a link without a domain, whose owner has pixels of these types."""
    lost = boxed() & set(types)
    if not lost:
        return None
    if all(all_providers()[type_].is_owners_script for type_ in lost):
        return describe_container()
    runs = _(
        "On %(host)s, each pixel runs in a sandboxed frame: clicks are counted, but without cookies, so "
        "returning visitors are not recognised.",
        host=own_host(),
    )
    return f"{runs} {CURE}"


Context = dict[str, Any]

BY_PLACE = tuple(name for name, one in targeting.TYPES.items() if one.is_by_place)
UNKNOWN = _l(
    "This instance does not know where visitors are, so these lines never match, and all "
    "visitors go to the destination."
)
DAMAGED = _l(
    "This instance's geolocation database is damaged, so these lines never match, and all "
    "visitors go to the destination."
)
NO_CITIES = _l(
    "This instance knows visitors' countries, but not their cities, so these lines never match, "
    "and all visitors go to the destination."
)
WHAT_TO_DO = _l("The operator can download a free geolocation database with “flask geo update”.")


def controls() -> list[Control]:
    """Filters of the list. One without options is left out, as that of projects where there are none."""
    rows: list[tuple[str, str, Mapping[Any, str], Mapping[Any, str]]] = [
        ("state", _("State"), {name: state.word for name, state in STATES.items()}, {}),
        ("rule", _("Rule"), {name: rule.word for name, rule in RULES.items()}, {}),
        ("project_id", _("Project"), named(Project, Project.name), {0: _("No project")}),
        ("domain_id", _("Domain"), named(Domain, Domain.host), {0: own_host()}),
        ("tag", _("Tag"), {tag: tag for tag in own_tags()}, {}),
        ("pixel_id", _("Pixel"), named(Pixel, Pixel.name), {}),
        ("handler_id", _("Handler"), named(NotificationHandler, NotificationHandler.name), {}),
    ]
    return [
        *(
            Control(name, label, [(str(value), word) for value, word in {**options, **none}.items()], True)
            for name, label, options, none in rows
            if options
        ),
        Control("datetime_start", _("Created from")),
        Control("datetime_end", _("Created until")),
    ]


def beside_form(form: Any) -> Context:
    """Context of the link form: choices, the summary of each section, and the types of targeting."""
    pixels = rows_of(Pixel, {type_: one.label for type_, one in all_providers().items()})
    handlers = with_state(
        rows_of(NotificationHandler, {type_: one.label for type_, one in all_transports().items()})
    )
    projects = named(Project, Project.name)
    copied = copied_link() if form.stored is None else None
    names: Mapping[str, Mapping[Any, str]] = {
        "pixels_ids": {row["id"]: row["name"] for row in pixels},
        "email_reports": {row["id"]: row["name"] for row in handlers},
        "project_id": projects,
        "http_status_code": STATUS_CODES,
        "targeting_type": targeting.LABELS,
    }
    return {
        "pixels": pixels,
        "handlers": handlers,
        "projects": projects,
        "domains": usable_domains(form.domain_id.data),
        "own_host": own_host(),
        "own_tags": own_tags(),
        "typed_password": typed_password(form),
        "not_sent": NOT_SENT,
        "types": targeting.TYPES,
        "says": WORDS,
        "folds": FOLDS,
        "on": {name: words_on(form, name, names) for name in FOLDS},
        "wrong_in": {name: is_wrong(form, name) for name in FOLDS},
        "zone_name": signed_in_user().timezone.replace("_", " "),
        "media_url": urls.media_url,
        "pixels_note": link_note(row["type"] for row in pixels),
        "copied": copied,
        "pictured": form.stored or copied,
        "fault": failing(db.session, [form.stored.id]).get(form.stored.id) if form.stored else None,
        "zone": rendering.owner_zone(),
        **place_notes(),
    }


def beside_many() -> Context:
    """Choices of the form that changes many links at once."""
    return {
        "pixels": rows_of(Pixel, {type_: one.label for type_, one in all_providers().items()}),
        "handlers": rows_of(
            NotificationHandler, {type_: one.label for type_, one in all_transports().items()}
        ),
        "projects": named(Project, Project.name),
        "own_tags": own_tags(),
        "zone_name": signed_in_user().timezone.replace("_", " "),
        "types": targeting.TYPES,
        **place_notes(),
    }


def copied_link() -> Link | None:
    """The link that this request copies, if any."""
    fields = submitted_form() if request.method == "POST" else RequestData(read_query())
    text = fields.text("copy")
    return (
        get_owned(current_access(), Link, int(text)) if re.fullmatch("[0-9]{1,18}", text, re.ASCII) else None
    )


def rows_of(model: type[Any], kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows to tick: id, name, type and its label."""
    found = (
        select(model.id, model.name, model.type)
        .where(model.workspace_id == workspace_id())
        .order_by(model.name)
    )
    rows = db.session.execute(found)
    return [{"id": id_, "name": name, "type": type_, "kind": kinds[type_]} for id_, name, type_ in rows]


def with_state(handlers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the handlers that Waypost has switched off, so that the link form shows it."""
    ended = {row.id for row in switched_off(workspace_id())}
    return [
        row | {"kind": _("%(kind)s: turned off", kind=row["kind"])} if row["id"] in ended else row
        for row in handlers
    ]


def typed_password(form: LinkForm) -> str:
    """The password that was sent, to show the form again; else the mask for the stored one."""
    is_sent = request.method == "POST" and "password" in submitted_form()
    return submitted_form().text("password") if is_sent else str(form.password.raw_text())


def named(model: type[Any], column: Any) -> dict[int, str]:
    """The owner's rows of `model` by id, with their names."""
    found = select(model.id, column).where(model.workspace_id == workspace_id()).order_by(column)
    return dict(db.session.execute(found).all())


def own_tags() -> Sequence[str]:
    """The owner's tags, the first 500 of them.

    Goes from one tag to the next along the index: with 100,000 links, `DISTINCT` would read all their tags.
    """
    tags = select(next_tag().label("tag")).cte("tags", recursive=True)
    tags = tags.union_all(select(next_tag(LinkTag.tag > tags.c.tag)).where(tags.c.tag.is_not(None)))
    return db.session.scalars(select(tags.c.tag).where(tags.c.tag.is_not(None)).limit(500)).all()


def next_tag(*conditions: ColumnElement[bool]) -> ScalarSelect[str]:
    """The owner's first tag of those that fulfil the conditions."""
    is_own = exists().where(Link.id == LinkTag.link_id, Link.workspace_id == workspace_id())
    found = select(LinkTag.tag).where(is_own, *conditions).order_by(LinkTag.tag).limit(1)
    return found.correlate_except(LinkTag).scalar_subquery()


def usable_domains(chosen: int | None) -> dict[int, str]:
    """Domains that are verified and on, and the one that is chosen already."""
    found = select(Domain.id, Domain.host).where(
        Domain.workspace_id == workspace_id(),
        (Domain.is_verified & Domain.is_enabled) | (Domain.id == chosen),
    )
    return dict(db.session.execute(found.order_by(Domain.host)).all())


def place_notes() -> dict[str, Any]:
    """A note for each type of targeting that can't work here, and the attribution of the database."""
    status = redirect_context().geolocation.status
    return {
        "place_notes": {} if status.state == "ok" else notes_by_type(is_damaged=status.state == "damaged"),
        "attribution": status.attribution if status.state == "ok" else None,
    }


def notes_by_type(*, is_damaged: bool) -> Mapping[str, str]:
    if application.settings().geo_country_header:
        return {"city_name": f"{NO_CITIES} {WHAT_TO_DO}"}
    return dict.fromkeys(BY_PLACE, f"{DAMAGED if is_damaged else UNKNOWN} {WHAT_TO_DO}")


# --- sections of the form, and the summary that each shows while it is closed


class Fold(NamedTuple):
    """One section. `fields`: its fields, each with its word in the summary."""

    title: str
    icon: str
    fields: Mapping[str, str]


def section(name: str, title: str, icon: str, *first: str) -> Fold:
    """The section with the settings of that name in `links.schema`. `first`: those before all others."""
    mine = {field: one.summary for field, one in SETTINGS.items() if one.section == name}
    return Fold(title, icon, {field: mine[field] for field in dict.fromkeys((*first, *mine))})


FOLDS = {
    "labels": section("labels", _l("Organize"), "tag", "title", "tags"),
    "address": section("address", _l("Address"), "route"),
    "when": section("when", _l("Schedule & limits"), "calendar-clock"),
    "where": section("where", _l("Targeting"), "split"),
    "protection": section("protection", _l("Protection"), "shield", "password"),
    "appearance": section(
        "appearance",
        _l("Appearance"),
        "palette",
        *("cloaking_title", "cloaking_meta_description", "cloaking_opengraph"),
    ),
    "tracking": section(
        "tracking",
        _l("Tracking"),
        "chart-no-axes-column",
        "pixels_ids",
        "utm_source",
        "utm_medium",
        "utm_campaign",
    ),
    "tell": section("tell", _l("Notifications"), "bell"),
}
WORDS = {name: word for fold in FOLDS.values() for name, word in fold.fields.items()}
# defaults: a field that has its default is not in the summary
USUAL = {"http_status_code": 302}


def words_on(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """The summary of a section. `names` gives words for values by field: for ids the names of their rows."""
    return list(dict.fromkeys(section_summary(form, fold, names)))


def section_summary(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> Iterator[str]:
    for name, word in FOLDS[fold].fields.items():
        data = form[name].data if name in form else None
        if not data or data == USUAL.get(name) or not word:
            continue
        if word != VALUE:
            yield word
        else:
            values = data if isinstance(data, list) else [data]
            yield from (str(names.get(name, {}).get(value, value)) for value in values)


def is_wrong(form: ResourceForm, fold: str) -> bool:
    """Whether a field of the section has an error. (Fields named `targeting_…` belong to `where`.)"""
    names = FOLDS[fold].fields
    prefix = "targeting_" if fold == "where" else "\0"
    return any(field.errors and (field.name in names or field.name.startswith(prefix)) for field in form)
