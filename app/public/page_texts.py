"""Texts of visitors' pages, the icons above them, and the choice of the visitor's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from babel.lists import format_list
from flask_babel import force_locale

from app.i18n import language
from app.i18n.languages import every_language, first_of, locale_of
from app.i18n.messages import lazy_gettext as _l
from app.redirects.request_context import visitor

BRITISH = {"en": "en_GB"}  # without a comma before the last name of a list, as in all English texts here


class PageText(NamedTuple):
    """A title, and a sentence for visitors who do not know Waypost. `sign`: the icon above them."""

    title: str
    text: str
    sign: str = "info"


PAGES: Mapping[str, PageText] = {
    "not_found": PageText(
        _l("This link does not exist"),
        _l("Check the address for typing errors, or ask the person who sent it."),
        "search",
    ),
    "not_yet": PageText(
        _l("This link is not active yet"), _l("Come back later, or ask the person who sent it."), "clock"
    ),
    "expired": PageText(_l("This link has expired"), _l("It worked once, but it has expired."), "timer"),
    "limit": PageText(_l("This link has been used up"), _l("The number of clicks was limited."), "ban"),
    "password": PageText(
        _l("A password is needed"), _l("This link is only for visitors who know its password."), "lock"
    ),
    "warning": PageText(
        _l("Sensitive content"),
        _l("The destination of this link may not be suitable for everyone."),
        "eye-off",
    ),
    "consent": PageText(
        _l("Before you continue"),
        _l(
            "The owner of this link would like to let %(providers)s know that you opened it. Either way "
            "you reach the destination."
        ),
        "shield",
    ),
    "confirmation": PageText(
        _l("Open this link now?"),
        _l("The number of clicks is limited, and each click counts."),
        "mouse-pointer-click",
    ),
    "pixels": PageText(_l("You are being redirected"), _l("This takes only a moment."), "route"),
    "app": PageText(
        _l("Open in %(app)s"), _l("If you do not have the app, continue in the browser."), "smartphone"
    ),
    "app_by_tap": PageText(
        _l("Open in %(app)s"),
        _l("Tap the button for the app. Otherwise you continue in the browser in a moment."),
        "smartphone",
    ),
    "leads": PageText(
        _l("Destination of this link"), _l("You have not opened it yet, and nothing was counted."), "signpost"
    ),
    "preview": PageText(_l("A link"), _l("Open it in a browser to reach the destination."), "link"),
    "unreadable": PageText(_l("This can’t be read"), _l("Open the address in a browser.")),
    "unavailable": PageText(
        _l("This link can’t be opened yet"), _l("Try again later, or ask the person who sent it.")
    ),
    "down": PageText(
        _l("Something is not working"),
        _l("This is not your fault. Please try again in a moment."),
        "triangle-alert",
    ),
    "busy": PageText(_l("Too many requests at once"), _l("Please try again in a moment."), "timer"),
    "slow": PageText(_l("This took too long to arrive"), _l("Please send it once more."), "timer"),
    "no_host": PageText(_l("This can’t be opened"), _l("The address of this site is not valid."), "search"),
    "prefetch": PageText(_l("Not before the visit"), _l("Open the link to go there.")),
    "method": PageText(_l("This can’t be done here"), _l("Open the address in a browser.")),
}

# why a gate refuses a form
REFUSALS: Mapping[str, str] = {
    "missing": _l("Please enter the password."),
    "wrong": _l("This password is not right."),
    "too_many": _l("Too many attempts. Please wait a while, then try again."),
    "busy": _l("Many visitors are opening this link at the same moment. Please try again in a moment."),
}


@contextmanager
def in_visitors_language() -> Iterator[None]:
    """Words what is rendered in the visitor's language, without a look at who is signed in.

    The page may be about a database that does not answer.
    """
    with force_locale(locale_of(visitors_language())):
        yield


def visitors_language() -> str:
    """The tag of the first of the visitor's languages that has a catalogue."""
    return first_of(every_language(), visitor().languages)


def join_names(names: Sequence[str]) -> str:
    """Names as a list within a sentence: `A, B and C`."""
    return format_list(names, locale=BRITISH.get(language(), language()))
