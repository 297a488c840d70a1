"""What a bookmarklet or a phone's share sheet hands over: the addresses in it, and a title.

Android's share sheet has no field for addresses: apps put theirs into the text, among words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.dashboard.shared.form_input import complete

ADDRESS = re.compile(r"https?://[^\s<>\"«»“”„]+", re.IGNORECASE)
# what ends the sentence around an address, and not the address
ENDS = ".,;:!?…'’*_、。，；：！？」』】）"
AROUND = ' :-–—|,;([{"“”„«»「」'
PAIRS = {")": "(", "]": "[", "}": "{"}
MAX_OTHERS = 8
MAX_TITLE = 160  # of a link


class SharedText(NamedTuple):
    """`address`: the one to shorten, "" without any. `others`: what else could have been meant."""

    address: str
    title: str
    others: tuple[str, ...] = ()


def read_shared(url: str = "", text: str = "", title: str = "") -> SharedText:
    """The addresses in the fields, in this order. Without any, what is in the field for one, as it came."""
    url = url.strip()
    exact = [url] if ADDRESS.fullmatch(url) else []
    inside = (
        address
        for field in (url, text, title)
        if not exact or field != url
        for address in addresses_in(field)
    )
    found = list(dict.fromkeys([*exact, *inside])) or [*bare(url), *bare(text), url]
    return SharedText(
        found[0], title_of(title) or title_of(text), tuple(filter(None, found[1 : MAX_OTHERS + 1]))
    )


def addresses_in(text: str) -> Iterator[str]:
    for match in ADDRESS.finditer(text):
        address = without_ends(match[0])
        if len(address) > len("https://"):
            yield address


def bare(text: str) -> Iterator[str]:
    """The text as an address, if it is nothing but one without its scheme."""
    text = text.strip()
    if not re.search(r"\s", text) and complete(text) != text:
        yield complete(text)


def without_ends(address: str) -> str:
    """The address without the marks after it; a closing bracket belongs to it if its opening one does."""
    while address:
        last = address[-1]
        is_bracket = last in PAIRS and address.count(last) > address.count(PAIRS[last])
        if not is_bracket and last not in ENDS:
            break
        address = address[:-1]
    return address


def title_of(text: str) -> str:
    """The words before an address, or else those after it, on one line, as long as a title may be."""
    lines = map(one_line, ADDRESS.split(text))
    line = next(filter(None, lines), "")
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1].rstrip()}…"


def one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split()).strip(AROUND)
