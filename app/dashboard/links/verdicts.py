"""Words for the result of a visit, without technical terms, and for a link that visitors do not get."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from app.dashboard.shared import rendering
from app.dashboard.shared.words import words_for
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link
from app.redirects.compiled_link import CompiledLink
from app.redirects.outcomes import Outcome
from app.redirects.request_context import redirect_context
from app.redirects.simulation.explanation import explain, plan_of
from app.redirects.simulation.visitor import VisitorProfile


class Verdict(NamedTuple):
    """The result as a title and a sentence that explains it, with an icon and a tone of the style sheet."""

    title: str
    text: str
    icon: str
    tone: str
    counts: bool = False


VERDICTS = {name: Verdict(**words) for name, words in words_for("verdicts").items()}
ELSEWHERE = {name: Verdict(**words) for name, words in words_for("verdicts_elsewhere").items()}

# the question of each step, worded so that the answer is yes or no
QUESTIONS: Mapping[str, str] = words_for("questions")


def verdict_on(outcome: Outcome, *, is_bot: bool) -> Verdict:
    table = ELSEWHERE if outcome.location and outcome.outcome in ELSEWHERE else VERDICTS
    return table[outcome.outcome]._replace(counts=outcome.counts and not is_bot)


# --- a link that visitors do not get at the moment: off, not active yet, over, or not served


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


# of each outcome the title, and what visitors get: a page, or where they are sent `elsewhere`
STANDINGS: Mapping[str, Mapping[str, str]] = words_for("standings")
DOMAIN = _l("Its domain is not verified, or is turned off.")


def standing(outcome: Outcome, compiled_link: CompiledLink | None) -> Standing | None:
    """What is to be said of this outcome of a visit; None where visitors get the link.

    `compiled_link` is None where the link's domain serves nothing.
    """
    name = outcome.outcome
    if name not in CLOSED:
        return None
    location = outcome.location or ""
    title = STANDINGS[name]["title"] if compiled_link else DOMAIN
    text = str(STANDINGS[name]["elsewhere" if location else "page"])
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
