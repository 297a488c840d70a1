"""How does what the controls of a page send become what the forms read?

The forms are the API's, where nothing is guessed. A person pastes an address without its scheme, writes
tags one a line, and ticks "Remove it" beside a picture: here that is put into the API's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.dashboard.wordings import LANGUAGES
from app.places import COUNTRIES
from app.sent import Sent, Upload, Value

# a host with a dot, perhaps a port, and then the rest: `example.com/path`, but not `mailto:a@example.com`
BARE = re.compile(r"[^\s/?#:@]+\.[^\s/?#:@.]{2,}\.?(:\d{1,5})?([/?#].*)?", re.DOTALL)
ADDRESSES = {"location_url", "expiration_url"}
REMOVE = "remove_"
# who chose a country or a language by its name sent that
NAMED = {
    f"targeting_{type_}_key": {word.casefold(): key for key, word in words.items()}
    for type_, words in (("country_code", COUNTRIES), ("browser_language", LANGUAGES))
}


def link_fields(sent: Sent) -> Sent:
    """The fields of a link as the form reads them."""
    return Sent([*fields(sent), *removed(sent)])


def with_bulk(sent: Sent, *, is_bulk: bool) -> Sent:
    """The same for one link or for many: which, the page says, whatever was sent."""
    kept = ((f"{name}[{index}]", value) for name, index, value in sent.pairs() if name != "is_bulk")
    return Sent([*kept, ("is_bulk", str(int(is_bulk)))])


def fields(sent: Sent) -> Iterator[tuple[str, Value]]:
    for name, index, value in sent.pairs():
        if name.startswith(REMOVE):
            continue
        if name in NAMED and isinstance(value, str):
            yield f"{name}[{index}]", NAMED[name].get(value.strip().casefold(), value.strip())
        elif name == "tags" and isinstance(value, str):
            yield from (("tags", line) for line in value.splitlines() or [""])
        else:
            yield f"{name}[{index}]", completed(name, value) if isinstance(value, str) else value


def completed(name: str, text: str) -> str:
    if name in ADDRESSES:
        return complete(text)
    if name == "location_urls":  # empty lines stay, so that the numbers in errors are those that one sees
        return "\n".join(complete(line) for line in text.splitlines())
    return text


def complete(text: str) -> str:
    """An address as a person pastes it: without the spaces around, and with its `https://`."""
    text = text.strip()
    return f"https://{text}" if BARE.fullmatch(text) else text


def removed(sent: Sent) -> Iterator[tuple[str, Value]]:
    """A ticked "Remove it" is an empty text for the picture, unless a new one came."""
    for name in sent:
        target = name.removeprefix(REMOVE)
        if target != name and not (target in sent and isinstance(sent.last(target), Upload)):
            yield target, ""
