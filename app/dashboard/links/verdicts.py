"""Words for the result of a simulated visit, without technical terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.i18n.messages import lazy_gettext as _l
from app.redirects.outcomes import Outcome


class Verdict(NamedTuple):
    """The result as a title and a sentence that explains it, with an icon and a tone of the style sheet."""

    title: str
    text: str
    icon: str
    tone: str
    counts: bool = False


VERDICTS: Mapping[str, Verdict] = {
    "redirect": Verdict(
        _l("Goes to the address below"), _l("At once, without a page in between."), "circle-check", "good"
    ),
    "cloak": Verdict(
        _l("Sees the address below in a frame"),
        _l("Your short address stays in the address bar."),
        "palette",
        "good",
    ),
    "app": Verdict(
        _l("Gets the app opened"), _l("Who does not have it goes to the address below."), "smartphone", "good"
    ),
    "pixels": Verdict(
        _l("Goes to the address below, past your pixels"),
        _l("They fire within a second, on a page of ours."),
        "radio",
        "good",
    ),
    "consent": Verdict(
        _l("Is asked about pixels first"),
        _l("Whatever the answer is, the way leads to the address below."),
        "radio",
        "info",
    ),
    "preview": Verdict(
        _l("Gets a preview"),
        _l("A bot sees the title and the picture, and not where the link leads."),
        "eye-off",
        "info",
    ),
    "password": Verdict(
        _l("Is asked for the password"), _l("Nothing shows of where the link leads."), "lock", "warn"
    ),
    "warning": Verdict(
        _l("Sees the warning page first"), _l("Nothing shows of where the link leads."), "eye-off", "warn"
    ),
    "confirmation": Verdict(
        _l("Is asked for a tap first"),
        _l("A page with one button, and nothing of where the link leads."),
        "mouse-pointer-click",
        "info",
    ),
    "not_found": Verdict(
        _l("Finds nothing here"), _l("A page says that there is no such address."), "ban", "bad"
    ),
    "not_yet": Verdict(
        _l("Is too early"),
        _l("A page says that the link is not active yet, and not when it will be."),
        "timer",
        "warn",
    ),
    "expired": Verdict(_l("Is too late"), _l("A page says that the link has ended."), "timer", "warn"),
    "limit": Verdict(_l("Is too late"), _l("A page says that the link was used up."), "timer", "warn"),
    "unavailable": Verdict(
        _l("Is told to come again"), _l("The link can't be answered for at the moment."), "timer", "bad"
    ),
}
ELSEWHERE = {
    "expired": Verdict(
        _l("Goes to the expiration URL"), _l("The link has ended."), "corner-down-right", "warn"
    ),
    "limit": Verdict(
        _l("Goes to the expiration URL"), _l("All clicks of the link are used."), "corner-down-right", "warn"
    ),
    "not_found": Verdict(
        _l("Goes to your domain's other address"),
        _l("There is nothing here, and the domain sends people on."),
        "corner-down-right",
        "warn",
    ),
}

# the question of each step, worded so that the answer is yes or no
QUESTIONS: Mapping[str, str] = {
    "link": _l("Is there no such link?"),
    "is_enabled": _l("Is the link off?"),
    "start_date": _l("Is it too early?"),
    "end_date": _l("Has it ended?"),
    "clicks_limit": _l("Are all clicks used?"),
    "password": _l("Does a password stand in the way?"),
    "sensitive_content": _l("Does a warning stand in the way?"),
    "preview": _l("Is a bot kept from a limited link?"),
    "targeting_type": _l("Does a line of “Who goes where” fit?"),
    "query": _l("Is the address changed by parameters?"),
    "confirmation": _l("Is a tap asked for?"),
    "delivery": _l("How does the visitor get there?"),
}


def verdict_on(outcome: Outcome, *, is_bot: bool) -> Verdict:
    table = ELSEWHERE if outcome.location and outcome.outcome in ELSEWHERE else VERDICTS
    return table[outcome.outcome]._replace(counts=outcome.counts and not is_bot)
