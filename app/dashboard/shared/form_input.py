"""Converts what the controls of a page send into what the forms read.

The forms are the API's, which guesses nothing. Owners paste an address without its scheme, write one tag
a line, and tick "Remove it" beside a picture: here that becomes what the API expects.
"""

# see docs/decisions/2026-11-20-dashboard-forms.md
from __future__ import annotations

import re
from collections.abc import Iterator

from app.input.data import RequestData, Upload, Value
from app.links.targeting import TYPES

# a host with a dot, perhaps a port, and then the rest: `example.com/path`, but not `mailto:a@example.com`
BARE = re.compile(r"[^\s/?#:@]+\.[^\s/?#:@.]{2,}\.?(:\d{1,5})?([/?#].*)?", re.DOTALL)
ADDRESSES = {"location_url", "expiration_url"}
REMOVE = "remove_"
# a country or a language may be sent by its name: here are the codes
NAMED = {
    f"targeting_{type_}_key": {word.casefold(): key for key, word in one.names.items()}
    for type_, one in TYPES.items()
    if one.names
}


def link_fields(sent: RequestData) -> RequestData:
    """The fields of a link as the form reads them."""
    return RequestData([*fields(sent), *removed(sent)])


def with_bulk(sent: RequestData, *, is_bulk: bool) -> RequestData:
    """Set `is_bulk` to what the page is for, whatever was sent."""
    kept = ((f"{name}[{index}]", value) for name, index, value in sent.pairs() if name != "is_bulk")
    return RequestData([*kept, ("is_bulk", str(int(is_bulk)))])


def fields(sent: RequestData) -> Iterator[tuple[str, Value]]:
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
    if name == "location_urls":  # empty lines stay, so that the line numbers in errors are right
        return "\n".join(complete(line) for line in text.splitlines())
    return text


def complete(text: str) -> str:
    """Strip a pasted address, and add `https://` where it has no scheme."""
    text = text.strip()
    return f"https://{text}" if BARE.fullmatch(text) else text


def removed(sent: RequestData) -> Iterator[tuple[str, Value]]:
    """A ticked "Remove it" is an empty text for the picture, unless a new one came."""
    for name in sent:
        target = name.removeprefix(REMOVE)
        if target != name and not (target in sent and isinstance(sent.last(target), Upload)):
            yield target, ""
