"""Shortening and plain-text drawing of messages, shared by all transports."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.notifications.message import Message, Section

BARS = "▁▂▃▄▅▆▇█"
# controls, and marks that turn the direction of what follows them
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# the tone of each event type; a type that is not here is `info`
TONES = {
    "link.clicks_limit_reached": "warn",
    "link.destination_failing": "bad",
    "link.destination_recovered": "good",
    "handler.test": "good",
}

Part = TypeVar("Part")


def tone_of(message: Message) -> str:
    """`good`, `warn`, `bad` or `info`."""
    return TONES.get(message.type, "info")


def one_line(text: str) -> str:
    """`text` without line ends, other control characters, and marks that turn the direction of text."""
    return " ".join(HIDDEN.sub(" ", text).split())


def bars(numbers: Sequence[int]) -> str:
    """A bar chart in text, one character a number. Only a zero gets the lowest bar."""
    most, steps = max(numbers, default=0), len(BARS) - 1
    return "".join(BARS[-(-number * steps // most)] if most else BARS[0] for number in numbers)


def days_of(section: Section) -> str:
    return bars([visits for _, visits in section.days])


def units(text: str) -> int:
    """The length of a text in UTF-16 code units, as services written in JavaScript and Java count it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fitted(
    text: str, most: int, dress: Callable[[str], str] = str, size: Callable[[str], int] = units
) -> str:
    """`dress(text)` (escaped, for example), with `text` shortened so that the result is at most `most` long.

    Shortened before it is escaped: a cut escape sequence would be markup again.
    """
    if size(dress(text)) <= most:
        return dress(text)
    length = last_true(min(len(text), most), lambda length: size(dress(text[:length] + "…")) <= most)
    return dress(text[:length].rstrip() + "…")


def lines_fitted(lines: Sequence[str], most: int, dress: Callable[[str], str] = str) -> str:
    """As many whole lines as fit; where the first one is too long by itself, its beginning."""
    shown = as_many(lines, lambda some: units(dress("\n".join(some))) <= most)
    return dress("\n".join(shown)) if shown else fitted("".join(lines[:1]), most, dress)


def as_many(parts: Sequence[Part], fits: Callable[[Sequence[Part]], bool]) -> Sequence[Part]:
    """The longest beginning of `parts` that fits. Requires that fewer parts fit wherever more do."""
    return parts[: last_true(len(parts), lambda count: fits(parts[:count]))]


def last_true(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 0 to `most` for which `holds` is true, by bisection; 0 is never tested."""
    return bisect_left(range(1, most + 1), True, key=lambda number: not holds(number))


def left_out(count: int) -> str:
    """The line that stands for `count` links that had no room; "" for none."""
    return (
        ngettext("And one more link.", "And %(count)s more links.", count, count=digits(count))
        if count
        else ""
    )


def button_of(message: Message) -> str:
    """The label of the link to the message's page in the dashboard."""
    return message.button or _("See it in Waypost")


def in_plain_text(message: Message) -> str:
    """The whole message as lines of text."""
    lines = [one_line(message.title), "", message.text, ""]
    lines += [f"{one_line(label)}: {one_line(value)}" for label, value in message.facts]
    for section in message.sections:
        lines += ["", f"{one_line(section.title)}  {section.url}", *section_lines(section)]
    if message.url:
        lines += ["", f"{button_of(message)}: {message.url}"]
    return "\n".join(lines).strip() + "\n"


def text_within(message: Message, most: int, size: Callable[[str], int] = units) -> str:
    """The message without its title and its link as plain text of at most `most`, for short notifications.

    Cut between facts and between links. Where not all links fit, they show the tops of their tables, or none.
    """
    rest = size(left_out(len(message.sections))) + 8  # and two line ends, also escaped
    text = [fitted(message.text, most // 2, size=size)] if message.text else []
    facts = [fact_within(pair, most // 4, size) for pair in message.facts]
    text += as_many(facts, lambda some: size("\n".join([*text, *some])) <= most - rest)
    best: Sequence[list[str]] = ()
    for shorten in (with_whole_tables, with_top_rows, without_tables):
        parts = [section_within(shorten(one), most // 4, size) for one in message.sections]
        shown = as_many(parts, lambda some: size("\n".join([*text, *chain(*some)])) <= most - rest)
        best = shown if len(shown) > len(best) else best
        if len(best) == len(parts):
            break
    more = left_out(len(message.sections) - len(best))
    return "\n".join([*text, *chain(*best), *(["", more] if more else [])]).strip()


def with_whole_tables(section: Section) -> Section:
    return section


def with_top_rows(section: Section) -> Section:
    """The section with the first row of each table as a fact."""
    tops = [(table.title, *table.rows[0]) for table in section.tables if table.rows]
    facts = tuple((title, f"{name} ({digits(number)})") for title, name, number in tops)
    return replace(section, facts=(*section.facts, *facts), tables=())


def without_tables(section: Section) -> Section:
    return replace(section, tables=())


def fact_within(pair: tuple[str, str], most: int, size: Callable[[str], int]) -> str:
    return fitted(one_line(f"{pair[0]}: {pair[1]}"), most, size=size)


def section_within(section: Section, most: int, size: Callable[[str], int]) -> list[str]:
    lines = [one_line(section.title), *section_lines(section)]
    return ["", *(fitted(line, most, size=size) for line in lines)]


def size_in_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def section_lines(section: Section) -> list[str]:
    lines = [f"{one_line(label)}: {one_line(value)}" for label, value in section.facts]
    if section.days:
        first, last = section.days[0][0], section.days[-1][0]
        lines.append(f"{days_of(section)}  {_('%(first)s to %(last)s', first=first, last=last)}")
    for table in section.tables:
        lines += [
            "",
            f"{table.title}:",
            *(f"{digits(number):>9}  {one_line(name)}" for name, number in table.rows),
        ]
    return lines
