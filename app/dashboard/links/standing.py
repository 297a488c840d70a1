"""Words for a link that visitors do not get at the moment: off, not active yet, over, or not served."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from app.dashboard.shared import rendering
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link
from app.redirects.compiled_link import CompiledLink
from app.redirects.outcomes import Outcome
from app.redirects.request_context import redirect_context
from app.redirects.simulation.explanation import explain, plan_of
from app.redirects.simulation.visitor import VisitorProfile

# outcomes before any page or destination of the link, and whether the link is to open later
CLOSED = {"not_found": True, "not_yet": True, "expired": False, "limit": False}


class Standing(NamedTuple):
    """What visitors get at the moment instead of the link. `location`: where they are sent, "" for a page.

    `comes`: whether it is only not active yet, so that a preview of what comes makes sense.
    """

    title: str
    text: str
    location: str
    comes: bool


TITLES: Mapping[str, str] = {
    "not_found": _l("This link is off."),
    "not_yet": _l("This link is not active yet."),
    "expired": _l("This link has ended."),
    "limit": _l("All clicks of this link are used."),
}
PAGES: Mapping[str, str] = {
    "not_found": _l("At the moment visitors get the “not found” page (404)."),
    "not_yet": _l("Until it starts, visitors get a page that says so (404)."),
    "expired": _l("At the moment visitors get the “expired” page (410)."),
    "limit": _l("At the moment visitors get the “expired” page (410)."),
}
ELSEWHERE: Mapping[str, str] = {
    "not_found": _l("At the moment visitors are sent to the domain's 404 redirect:"),
    "expired": _l("At the moment visitors are sent to the expiration URL:"),
    "limit": _l("At the moment visitors are sent to the expiration URL:"),
}
DOMAIN = _l("Its domain is not verified, or is turned off.")


def standing(outcome: Outcome, compiled_link: CompiledLink | None) -> Standing | None:
    """What is to be said of this outcome of a visit; None where visitors get the link.

    `compiled_link` is None where the link's domain serves nothing.
    """
    name = outcome.outcome
    if name not in CLOSED:
        return None
    location = outcome.location or ""
    title = TITLES[name] if compiled_link else DOMAIN
    text = str(ELSEWHERE[name] if location else PAGES[name])
    if name == "not_yet" and compiled_link and compiled_link.start_date:
        text = _(
            "Until %(start)s visitors get a page that says so (404).", start=when(compiled_link.start_date)
        )
    return Standing(str(title), text, location, CLOSED[name] and compiled_link is not None)


def when(moment: dt.datetime) -> str:
    return rendering.full_local_time(moment, rendering.owner_zone())


def standing_of(link: Link) -> Standing | None:
    """The same for a link as it is stored now."""
    context = redirect_context()
    return standing(explain(context, link, VisitorProfile()).outcome, plan_of(context, link))
