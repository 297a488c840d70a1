"""Form fields that only links have: alias, destinations, targeting pairs, password, picture."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from app.accounts.passwords import hash_password
from app.core.urls import Address
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.data import Upload, Value
from app.input.fields import (
    ListField,
    SentField,
    TextField,
    UploadField,
    WholeField,
    is_literal,
    not_text,
)
from app.input.parsers import Problem, Rejected, plain_text
from app.links.aliases import read_alias
from app.links.destination import read_destination
from app.links.pictures import Picture, read_picture
from app.links.targeting import MAX_INDEX, MAX_PAIRS, TYPES

MASK = "********"
MAX_LINES = 1000
MAX_TAG = 32  # characters


STATUS_CODES = {
    302: "302 Found",
    301: "301 Moved Permanently",
    307: "307 Temporary Redirect",
    308: "308 Permanent Redirect",
}


class Named(NamedTuple):
    """A parsed address, and the name of the input that held it."""

    field: str
    address: Address


class AliasField(SentField):
    """An alias; empty asks for a random one."""

    def parse(self, text: str) -> str:
        """The stored alias is not checked again: it may be from a time with other rules."""
        return text if text == self.object_data else read_alias(text)


class DestinationField(SentField):
    """One destination. `found` holds the parsed address, for rules that need more than the text."""

    def process(self, *arguments: Any, **options: Any) -> None:
        self.found: list[Named] = []
        super().process(*arguments, **options)

    def parse(self, text: str) -> str:
        self.found.append(Named(self.name, read_destination(text, self.meta.settings)))
        return text

    def ignore(self) -> None:
        super().ignore()
        self.found = []


class DestinationsField(DestinationField):
    """Many destinations, one a line. Each bad line is an error of its own, numbered as sent, from 1."""

    def read(self, values: list[Value]) -> list[str]:
        if not all(isinstance(value, str) for value in values):
            raise Rejected(_l("This must be a list of addresses, or one address a line."), "type")
        lines = [line for value in values for line in re.split(r"\r\n|\r|\n", str(value))]
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        if not numbered:
            raise Rejected(_l("This can't be empty."), "required")
        if len(numbered) > MAX_LINES:
            raise Rejected(_l("There may be at most %(most)s.", most=lazy_digits(MAX_LINES)), "too_many")
        return [self.line(number, line) for number, line in numbered]

    def line(self, number: int, text: str) -> str:
        field = f"{self.name}[{number}]"
        try:
            self.found.append(Named(field, read_destination(text, self.meta.settings)))
        except Rejected as rejected:
            self.process_errors.append(renamed(rejected, field))
        return text


def renamed(rejected: Rejected, field: str) -> Problem:
    """The same problem, reported at another field."""
    problem: Problem = rejected.args[0]
    return Problem(problem.title, problem.code, field)


class PairsField(DestinationField):
    """The pairs of one targeting type, from `targeting_<T>_key[i]` and `targeting_<T>_value[i]`.

    Its own name is `targeting_<T>`. An index pairs a key with its value; a pair with neither is dropped.
    """

    def __init__(self, type_: str, **options: Any) -> None:
        super().__init__(TYPES[type_].label, clears_to=[], **options)
        self.type_ = type_

    def process_formdata(self, values: list[Value]) -> None:  # noqa: ARG002  they stand under two other names
        names = (f"{self.name}_key", f"{self.name}_value")
        self.sent = any(name in self.form_sent for name in names)
        if not self.sent:
            return
        self.data = []
        rows = self.rows()
        if len(rows) > MAX_PAIRS:
            raise Rejected(_l("There may be at most %(most)s.", most=MAX_PAIRS), "too_many", names[0])
        for index, key, value in rows:
            self.data.append([self.key(index, key), self.value(index, value)])

    def rows(self) -> list[tuple[int, Value, Value]]:
        """Index, key and value for the form's controls: as typed if sent, else as stored."""
        if not self.sent:
            return [(index, key, value) for index, (key, value) in enumerate(self.data or ())]
        keys = dict(self.form_sent.members(f"{self.name}_key"))
        values = dict(self.form_sent.members(f"{self.name}_value"))
        return [(index, keys.get(index, ""), values.get(index, "")) for index in sorted(keys | values)]

    def key(self, index: int, value: Value) -> str:
        return self.read_half(f"{self.name}_key[{index}]", index, value, TYPES[self.type_].read)

    def value(self, index: int, value: Value) -> str:
        field = f"{self.name}_value[{index}]"

        def read(text: str) -> str:
            self.found.append(Named(field, read_destination(text, self.meta.settings)))
            return text

        return self.read_half(field, index, value, read)

    def read_half(self, field: str, index: int, value: Value, read: Any) -> str:
        """Read one half of a pair; its error is reported under its own name."""
        try:
            return str(read(whole_half(index, value)))
        except Rejected as rejected:
            self.process_errors.append(renamed(rejected, field))
            return ""


def whole_half(index: int, value: Value) -> str:
    if index > MAX_INDEX:
        raise Rejected(_l("An index may be at most %(most)s.", most=MAX_INDEX), "range")
    if not isinstance(value, str):
        raise Rejected(_l("This must be a single value."), "type")
    if is_literal(value):
        raise not_text()
    if not value:
        raise Rejected(_l("A pair needs both a key and a value."), "required")
    return value


class LinkPasswordField(TextField):
    """A password for visitors. It is never shown again: a mask stands for it, and sending the mask changes
    nothing."""

    def read(self, values: list[Value]) -> Any:
        if self.single() == MASK:
            self.sent = False
            return self.object_data
        return super().read(values)

    def hashed(self) -> str | None:
        """The hash to store. It takes some 30 ms: call this before the write begins."""
        return hash_password(self.data) if self.data else None

    def raw_text(self) -> str:
        return str(self.object_data or "")


class LimitField(WholeField):
    """A number of clicks; 0 is no limit."""

    def parse(self, text: str) -> Any:
        return super().parse(text) or None


class TagsField(ListField):
    """Tags: the owner's own words, each of one line."""

    def parse(self, text: str) -> str:
        return plain_text(text, MAX_TAG)


class PictureField(UploadField):
    """A picture, recognised by its content and re-encoded, at most `max_width` pixels wide and high."""

    def __init__(
        self, label: str = "", *, may_be_icon: bool = False, max_width: int | None = None, **options: Any
    ) -> None:
        super().__init__(label, **options)
        self.may_be_icon, self.max_width = may_be_icon, max_width

    def open(self, upload: Upload) -> Picture:
        """The picture re-encoded, no larger than its upload may be: an import takes what an export has."""
        return read_picture(
            upload.content,
            may_be_icon=self.may_be_icon,
            max_width=self.max_width,
            most_bytes=self.most_bytes,
        )
