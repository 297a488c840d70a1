"""Converts what the controls of a page send into what the forms read.

The forms are the API's, which guesses nothing. Owners paste an address without its scheme, name a country in
their own words, write one tag a line, and tick "Remove it" beside a picture: here that becomes what the API
expects.

A browser sends every control of a form. A value that came back as it was shown is no change. So it is not
validated again, does not undo what another request changed meanwhile, and loses nothing that a control can't
show (which of the two hours at the end of summer time, or how lines are broken).
"""

# see docs/decisions/2026-11-20-dashboard-forms.md
from __future__ import annotations

import re
from collections.abc import Iterator

from app.input.data import RequestData, Upload, Value
from app.input.fields import DateTimeField, ListField, SentField, UploadField
from app.input.forms import IdsField, ResourceForm
from app.links.targeting import TYPES

# a host with a dot, in numbers, or `localhost`; perhaps a port; and the rest: `example.com/path`, but not
# `mailto:a@example.com`
HOST = r"[^\s/?#:@]+\.[^\s/?#:@.]{2,}\.?|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost"
BARE = re.compile(rf"({HOST})(:\d{{1,5}})?([/?#].*)?", re.DOTALL | re.IGNORECASE)
# each field of the forms that is a destination
ADDRESSES = {
    *("location_url", "expiration_url", "custom_index_url", "custom_not_found_url"),
    *(f"targeting_{type_}_value" for type_ in TYPES),
}
REMOVE = "remove_"
MANY = (ListField, IdsField, UploadField)
# a country or a language may be typed by its name: the API takes codes alone
KEYS = {f"targeting_{type_}_key": one for type_, one in TYPES.items()}


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
        if name in KEYS and isinstance(value, str):
            yield f"{name}[{index}]", KEYS[name].find(value) or value.strip()
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
    rest = text.removeprefix("//")
    return f"https://{rest}" if BARE.fullmatch(rest) else text


def removed(sent: RequestData) -> Iterator[tuple[str, Value]]:
    """A ticked "Remove it" is an empty text for the picture, unless a new one came."""
    for name in sent:
        target = name.removeprefix(REMOVE)
        if target != name and not (target in sent and isinstance(sent.last(target), Upload)):
            yield target, ""


def touched(fields: RequestData, shown: ResourceForm) -> RequestData:
    """`fields` without those that came back as the form `shown` had them."""
    same = {name for name in fields if name in shown and is_as_shown(fields, shown[name])}
    return RequestData(
        (f"{name}[{index}]", value) for name, index, value in fields.pairs() if name not in same
    )


def is_as_shown(fields: RequestData, field: SentField) -> bool:
    value, shown = fields.last(field.name), field.raw_text()
    if isinstance(field, MANY) or not isinstance(value, str):
        return False
    if isinstance(field, DateTimeField):  # a control has a T between, and leaves out seconds that are 0
        return value in {shown, (moment := shown.replace(" ", "T")), moment.removesuffix(":00")}
    return value.split("\r\n") == shown.split("\n")  # a control breaks lines by CR LF
