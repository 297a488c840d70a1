"""Words for the result of a simulated visit, without technical terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
        "Goes to the address below", "At once, without a page in between.", "circle-check", "good"
    ),
    "cloak": Verdict(
        "Sees the address below in a frame", "Your short address stays in the address bar.", "palette", "good"
    ),
    "app": Verdict(
        "Gets the app opened", "Who does not have it goes to the address below.", "smartphone", "good"
    ),
    "pixels": Verdict(
        "Goes to the address below, past your pixels",
        "They fire within a second, on a page of ours.",
        "radio",
        "good",
    ),
    "consent": Verdict(
        "Is asked about pixels first",
        "Whatever the answer is, the way leads to the address below.",
        "radio",
        "info",
    ),
    "preview": Verdict(
        "Gets a preview",
        "A bot sees the title and the picture, and not where the link leads.",
        "eye-off",
        "info",
    ),
    "password": Verdict(
        "Is asked for the password", "Nothing shows of where the link leads.", "lock", "warn"
    ),
    "warning": Verdict(
        "Sees the warning page first", "Nothing shows of where the link leads.", "eye-off", "warn"
    ),
    "confirmation": Verdict(
        "Is asked for a tap first",
        "A page with one button, and nothing of where the link leads.",
        "mouse-pointer-click",
        "info",
    ),
    "not_found": Verdict("Finds nothing here", "A page says that there is no such address.", "ban", "bad"),
    "not_yet": Verdict(
        "Is too early",
        "A page says that the link is not active yet, and not when it will be.",
        "timer",
        "warn",
    ),
    "expired": Verdict("Is too late", "A page says that the link has ended.", "timer", "warn"),
    "limit": Verdict("Is too late", "A page says that the link was used up.", "timer", "warn"),
    "unavailable": Verdict(
        "Is told to come again", "The link can't be answered for at the moment.", "timer", "bad"
    ),
}
ELSEWHERE = {
    "expired": Verdict("Goes to the next address", "The link has ended.", "corner-down-right", "warn"),
    "limit": Verdict(
        "Goes to the next address", "All clicks of the link are used.", "corner-down-right", "warn"
    ),
    "not_found": Verdict(
        "Goes to your domain's other address",
        "There is nothing here, and the domain sends people on.",
        "corner-down-right",
        "warn",
    ),
}

# the question of each step, worded so that the answer is yes or no
QUESTIONS: Mapping[str, str] = {
    "link": "Is there no such link?",
    "is_enabled": "Is the link off?",
    "start_date": "Is it too early?",
    "end_date": "Has it ended?",
    "clicks_limit": "Are all clicks used?",
    "password": "Does a password stand in the way?",
    "sensitive_content": "Does a warning stand in the way?",
    "preview": "Is a bot kept from a limited link?",
    "targeting_type": "Does a line of “Who goes where” fit?",
    "query": "Is the address changed by parameters?",
    "confirmation": "Is a tap asked for?",
    "delivery": "How does the visitor get there?",
}


def verdict_on(outcome: Outcome, *, is_bot: bool) -> Verdict:
    table = ELSEWHERE if outcome.location and outcome.outcome in ELSEWHERE else VERDICTS
    return table[outcome.outcome]._replace(counts=outcome.counts and not is_bot)
