"""How does a message get into a form with limits? What all transports need to cut it and to draw in text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.notifications.message import Message, Section
from app.notifications.speech import digits, said

BARS = "▁▂▃▄▅▆▇█"
# controls, and marks that turn the direction of what follows them
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# how good the news is; what is not here is neither
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
    """Without line ends, other controls, and marks that turn the direction of text."""
    return " ".join(HIDDEN.sub(" ", text).split())


def bars(numbers: Sequence[int]) -> str:
    """A small picture of numbers, a character each; a zero is the lowest, and only a zero is."""
    most, steps = max(numbers, default=0), len(BARS) - 1
    return "".join(BARS[-(-number * steps // most)] if most else BARS[0] for number in numbers)


def days_of(section: Section) -> str:
    return bars([visits for _, visits in section.days])


def units(text: str) -> int:
    """Its length as services written in JavaScript and Java count it: in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fitted(
    text: str, most: int, dress: Callable[[str], str] = str, size: Callable[[str], int] = units
) -> str:
    """`text` in its dress (escaped, say), shortened so that in it, it is no longer than `most`.

    Shortened before it is dressed: half an escape would be markup again.
    """
    if size(dress(text)) <= most:
        return dress(text)
    length = last_true(min(len(text), most), lambda length: size(dress(text[:length] + "…")) <= most)
    return dress(text[:length].rstrip() + "…")


def lines_fitted(lines: Sequence[str], most: int, dress: Callable[[str], str] = str) -> str:
    """Whole lines, as many as go in; of a first one that is too long itself, its beginning."""
    shown = as_many(lines, lambda some: units(dress("\n".join(some))) <= most)
    return dress("\n".join(shown)) if shown else fitted("".join(lines[:1]), most, dress)


def as_many(parts: Sequence[Part], fits: Callable[[Sequence[Part]], bool]) -> Sequence[Part]:
    """The first parts, as many as fit together (and if some fit, so do fewer)."""
    return parts[: last_true(len(parts), lambda count: fits(parts[:count]))]


def last_true(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 0 to `most` for which it holds; 0 is not asked for."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def left_out(count: int) -> str:
    """What stands in place of so many links that had no room."""
    if count > 1:
        return said("And {count} more links.", count=digits(count))
    return said("And one more link.") if count else ""


def in_plain_text(message: Message) -> str:
    """The whole of it as lines of text."""
    lines = [one_line(message.title), "", message.text, ""]
    lines += [f"{one_line(label)}: {one_line(value)}" for label, value in message.facts]
    for section in message.sections:
        lines += ["", f"{one_line(section.title)}  {section.url}", *section_lines(section)]
    if message.url:
        lines += ["", f"{said(message.button)}: {message.url}"]
    return "\n".join(lines).strip() + "\n"


def section_lines(section: Section) -> list[str]:
    lines = [f"{one_line(label)}: {one_line(value)}" for label, value in section.facts]
    if section.days:
        first, last = section.days[0][0], section.days[-1][0]
        lines.append(f"{days_of(section)}  {said('{first} to {last}', first=first, last=last)}")
    for table in section.tables:
        lines += [
            "",
            f"{table.title}:",
            *(f"{digits(number):>9}  {one_line(name)}" for name, number in table.rows),
        ]
    return lines
