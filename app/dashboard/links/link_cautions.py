"""What the form of a link says before it saves: that a rename breaks addresses, or that it ends at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from babel.dates import format_timedelta

from app.analytics.clickhouse.client import StatisticsUnavailable
from app.analytics.readers import reader_of
from app.core.clock import now
from app.core.extensions import db
from app.dashboard.links.rows import short_address
from app.dashboard.shared.form_views import Caution
from app.i18n import digits, language
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.links.aliases import key_of
from app.links.bulk_forms import ManyForm
from app.links.clicks import clicks_of
from app.links.forms import LinkForm
from app.links.models import Link

# a link as young as this and without clicks is hardly anywhere yet
NEW = dt.timedelta(days=1)


def link_cautions(form: LinkForm) -> list[Caution]:
    """The cautions of what the form would save. A field with an error says so itself."""
    return [*rename_caution(form), *schedule_cautions(form)]


# ------------------------------------------------------------------- rename


def rename_caution(form: LinkForm) -> Iterator[Caution]:
    link: Link | None = form.stored
    if link is None or form.url.errors or form.domain_id.errors:
        return
    alias = (form.url.data or "") if form.url.sent else link.url
    domain_id = form.domain_id.data if form.domain_id.sent else link.domain_id
    yield from breaks(link, alias, domain_id)


def back_cautions(link: Link, changes: Mapping[str, Any]) -> list[Caution]:
    """The cautions of a return to an earlier state of the link."""
    return list(breaks(link, changes.get("url", link.url), changes.get("domain_id", link.domain_id)))


def breaks(link: Link, alias: str, domain_id: int | None) -> Iterator[Caution]:
    """The caution of another alias or domain, where the link is out there already.

    Another spelling of the same alias breaks nothing: visitors may write it either way.
    """
    if (domain_id or 0, key_of(alias)) == (link.domain_id or 0, key_of(link.url)):
        return
    clicks = clicks_of([link.id])[link.id]
    if not clicks and now() - link.datetime < NEW:
        return
    address = short_address(link)
    yield Caution(
        token=f"rename:{link.domain_id or 0}/{link.url}",
        field="url",
        lines=(
            _("Printed QR codes, bookmarks and posts with %(address)s stop working.", address=address),
            clicks_line(link, clicks),
            _("Other users can't take the old alias for 30 days, so you can go back to it."),
        ),
        agree=_("Change it all the same"),
    )


def clicks_line(link: Link, clicks: int) -> str:
    if not clicks:
        return _("It has no clicks yet.")
    try:
        last = reader_of(db.session).latest_click(link.id)
    except StatisticsUnavailable:
        last = None
    if last is None:  # single clicks are not kept as long as their number
        return ngettext(
            "It had %(number)s click.", "It had %(number)s clicks.", clicks, number=digits(clicks)
        )
    return ngettext(
        "It had %(number)s click, %(ago)s.",
        "It had %(number)s clicks; the last one %(ago)s.",
        clicks,
        number=digits(clicks),
        ago=format_timedelta(last - now(), add_direction=True, locale=language()),
    )


# ----------------------------------------------------------------- schedule


def schedule_cautions(form: LinkForm) -> Iterator[Caution]:
    """That the link is over as soon as it is saved, where it was not before."""
    goes_on = bool(form.expiration_url.data) and not form.expiration_url.errors
    if ends_at_once(form):
        yield end_caution(form.end_date.data, goes_on=goes_on)
    if (used := used_up_at_once(form)) is not None:
        yield Caution(
            token=f"limit:{form.clicks_limit.data}",
            field="clicks_limit",
            lines=(
                ngettext(
                    "%(number)s click is counted already, so the limit is reached.",
                    "%(number)s clicks are counted already, so the limit is reached.",
                    used,
                    number=digits(used),
                ),
                what_follows(goes_on=goes_on),
            ),
        )


def bulk_cautions(form: ManyForm) -> list[Caution]:
    """That many links end as soon as the change is made."""
    end = form.end_date.data
    if form.end_date.errors or not form.schedule.data or end is None or end > now():
        return []
    line = _("Visitors will get the “expired” page or be sent to the expiration URL of each link at once.")
    return [Caution(f"end:{end.isoformat()}", "end_date", (_("This end is in the past."), line))]


def end_caution(end: dt.datetime, *, goes_on: bool) -> Caution:
    return Caution(
        token=f"end:{end.isoformat()}",
        field="end_date",
        lines=(_("This end is in the past."), what_follows(goes_on=goes_on)),
    )


def what_follows(*, goes_on: bool) -> str:
    if goes_on:
        return _("Visitors will be sent to the expiration URL at once.")
    return _("Visitors will get the “expired” page at once.")


def ends_at_once(form: LinkForm) -> bool:
    end = form.end_date.data
    if form.end_date.errors or not form.schedule.data or end is None or end > now():
        return False
    return (True, end) != as_stored(form, "schedule", "end_date")


def used_up_at_once(form: LinkForm) -> int | None:
    """The clicks that are counted already, if they are as many as the new limit allows."""
    limit, link = form.clicks_limit.data, form.stored
    if form.clicks_limit.errors or not limit or link is None or limit == link.clicks_limit:
        return None
    clicks = clicks_of([link.id])[link.id]
    return clicks if clicks >= limit else None


def as_stored(form: LinkForm, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(form.stored, name, None) for name in names)
