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
        _l("Check the address for typing errors, or ask whoever sent it."),
        "search",
    ),
    "not_yet": PageText(
        _l("This link is not active yet"), _l("Come back later, or ask whoever sent it."), "clock"
    ),
    "expired": PageText(
        _l("This link has expired"), _l("It led somewhere once, but its time is over."), "timer"
    ),
    "limit": PageText(_l("This link has been used up"), _l("It could be opened only so many times."), "ban"),
    "password": PageText(
        _l("A password is needed"), _l("This link opens only for those who know its password."), "lock"
    ),
    "warning": PageText(
        _l("Sensitive content"), _l("What this link leads to may not be suitable for everyone."), "eye-off"
    ),
    "consent": PageText(
        _l("Before you go on"),
        _l(
            "Whoever made this link would like to let %(providers)s know that you opened it. "
            "Either way you get where it leads."
        ),
        "shield",
    ),
    "confirmation": PageText(
        _l("Open this link now?"),
        _l("It can be opened only so many times, and each time counts."),
        "mouse-pointer-click",
    ),
    "pixels": PageText(_l("You are on your way"), _l("This takes only a moment."), "route"),
    "app": PageText(
        _l("Open in %(app)s"), _l("If you do not have the app, go on in the browser."), "smartphone"
    ),
    "app_by_tap": PageText(
        _l("Open in %(app)s"),
        _l("Tap the button for the app. Otherwise you go on in the browser in a moment."),
        "smartphone",
    ),
    "leads": PageText(
        _l("Where this link leads"), _l("You have not opened it yet, and nothing was counted."), "signpost"
    ),
    "preview": PageText(_l("A link"), _l("Open it in a browser to go where it leads."), "link"),
    "unreadable": PageText(_l("This can’t be read"), _l("Open the address in a browser.")),
    "unavailable": PageText(
        _l("This link can’t be opened yet"), _l("Try again later, or ask whoever sent it.")
    ),
    "down": PageText(
        _l("Something is not working"),
        _l("This is not your fault. Please try again in a moment."),
        "triangle-alert",
    ),
    "busy": PageText(_l("Too many requests at once"), _l("Please try again in a moment."), "timer"),
    "slow": PageText(_l("This took too long to arrive"), _l("Please send it once more."), "timer"),
    "no_host": PageText(_l("This can’t be opened"), _l("The address of this site is not valid."), "search"),
    "prefetch": PageText(_l("Not ahead of the visit"), _l("Open the link to go there.")),
    "method": PageText(_l("This can’t be done here"), _l("Open the address in a browser.")),
}

# why a gate refuses a form
REFUSALS: Mapping[str, str] = {
    "missing": _l("Please enter the password."),
    "wrong": _l("This password is not right."),
    "too_many": _l("There were too many tries. Please wait a while, then try again."),
    "busy": _l("Many people are opening this at once. Please try again in a moment."),
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
