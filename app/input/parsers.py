"""Strict parsers of single texts. Nothing is trimmed or guessed.

They raise `Rejected`, which says why for people and for programs.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass

from wtforms.validators import ValidationError

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l

WHOLE = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})\.\d+)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
FLAGS = dict.fromkeys(["1", "true", "on", "yes"], True) | dict.fromkeys(
    ["0", "false", "off", "no", ""], False
)


@dataclass(frozen=True)
class Problem:
    """A message for people with a code for programs, and a field where it is another one."""

    title: str
    code: str
    field: str | None = None

    def __str__(self) -> str:
        return str(self.title)


class Rejected(ValidationError, ValueError):  # WTForms catches the first on validation, the second on parsing
    """A value that a field does not take."""

    def __init__(self, text: str, code: str = "invalid", field: str | None = None) -> None:
        super().__init__(Problem(text, code, field))


def plain_text(text: str, most: int, allowed: str = "") -> str:
    """The text. Raises Rejected where it is too long or has control characters other than `allowed`."""
    if len(text) > most:
        raise too_long(text, most)
    if has_control(text, allowed):
        raise Rejected(_l("This contains control characters."), "control_characters")
    return text


def too_long(text: str, most: int) -> Rejected:
    return Rejected(
        _l(
            "This may have at most %(most)s characters; it has %(number)s.",
            most=lazy_digits(most),
            number=lazy_digits(len(text)),
        ),
        "too_long",
    )


def has_control(text: str, allowed: str = "") -> bool:
    """Whether a text has control characters or lone surrogates. No database and no response can hold the
    latter."""
    return any(unicodedata.category(c) in {"Cc", "Cs"} and c not in allowed for c in text)


def parse_boolean(text: str) -> bool:
    """Reads `1 0 true false on off yes no` in any case. Raises Rejected."""
    if not text.isascii() or text.lower() not in FLAGS:
        raise Rejected(_l("This must be true or false."), "boolean")
    return FLAGS[text.lower()]


def parse_integer(text: str, least: int, most: int) -> int:
    """Reads ASCII digits with an optional sign, within a range. Raises Rejected."""
    if not WHOLE.fullmatch(text):
        raise Rejected(_l("This must be a whole number."), "integer")
    if not least <= int(text) <= most:
        raise Rejected(
            _l(
                "This must be a whole number from %(least)s to %(most)s.",
                least=lazy_digits(least),
                most=lazy_digits(most),
            ),
            "range",
        )
    return int(text)


def plain_whole(text: str) -> str:
    """Removes the plus sign of a whole number: `+307` → `307`. Any other text stays as it is."""
    return text.removeprefix("+") if WHOLE.fullmatch(text) else text


def parse_datetime(text: str, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    """Reads `YYYY-MM-DD[ T]HH:MM[:SS[.f]][offset]`, or a day, as an aware time in UTC. Raises Rejected."""
    match = MOMENT.fullmatch(text)
    if match is None:
        raise no_moment()
    try:
        offset = (match["zone"] or "").replace("Z", "+00:00")
        found = dt.datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{offset}")
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise no_moment() from None


def no_moment() -> Rejected:
    return Rejected(_l("This must be a time like 2026-01-31 18:30:00."), "datetime")
