"""How are the values read that only links have?"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from app.accounts.passwords import hash_password
from app.addresses import Address
from app.fields import SentField, TextField, UploadField, is_literal, not_text
from app.links.aliases import read_alias
from app.links.destination import read_destination
from app.links.pictures import Picture, read_picture
from app.links.targeting import MOST_INDEX, MOST_PAIRS, TYPES
from app.reading import Problem, Rejected
from app.sent import Upload, Value

MASK = "********"
MOST_LINES = 1000


class Named(NamedTuple):
    """An address that was read, and the input that it stood in."""

    field: str
    address: Address


class AliasField(SentField):
    """A short address; empty asks for a random one."""

    def parse(self, text: str) -> str:
        return read_alias(text)


class DestinationField(SentField):
    """One address to go to. `found` is what was read, for rules that need more than the text."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, **options)
        self.found: list[Named] = []

    def parse(self, text: str) -> str:
        self.found.append(Named(self.name, read_destination(text, self.meta.settings)))
        return text

    def ignore(self) -> None:
        super().ignore()
        self.found = []


class DestinationsField(DestinationField):
    """Many addresses, one a line. Each bad line is an error of its own, counted as sent, from 1."""

    def read(self, values: list[Value]) -> list[str]:
        if not all(isinstance(value, str) for value in values):
            raise Rejected("This must be a list of addresses, or one address a line.", "type")
        lines = [line for value in values for line in re.split(r"\r\n|\r|\n", str(value))]
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        if not numbered:
            raise Rejected("This can't be empty.", "required")
        if len(numbered) > MOST_LINES:
            raise Rejected(f"There may be at most {MOST_LINES:,}.", "too_many")
        return [self.line(number, line) for number, line in numbered]

    def line(self, number: int, text: str) -> str:
        field = f"{self.name}[{number}]"
        try:
            self.found.append(Named(field, read_destination(text, self.meta.settings)))
        except Rejected as rejected:
            self.process_errors.append(renamed(rejected, field))
        return text


def renamed(rejected: Rejected, field: str) -> Problem:
    """The same problem, of another field."""
    problem: Problem = rejected.args[0]
    return Problem(str(problem), problem.code, field)


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
        if len(rows) > MOST_PAIRS:
            raise Rejected(f"There may be at most {MOST_PAIRS}.", "too_many", names[0])
        for index, key, value in rows:
            self.data.append([self.key(index, key), self.value(index, value)])

    def rows(self) -> list[tuple[int, Value, Value]]:
        """Index, key and value as typed, else as stored: what controls show."""
        if not self.sent:
            return [(index, key, value) for index, (key, value) in enumerate(self.data or ())]
        keys = dict(self.form_sent.members(f"{self.name}_key"))
        values = dict(self.form_sent.members(f"{self.name}_value"))
        return [(index, keys.get(index, ""), values.get(index, "")) for index in sorted(keys | values)]

    def key(self, index: int, value: Value) -> str:
        return self.part(f"{self.name}_key[{index}]", index, value, TYPES[self.type_].read)

    def value(self, index: int, value: Value) -> str:
        field = f"{self.name}_value[{index}]"

        def read(text: str) -> str:
            self.found.append(Named(field, read_destination(text, self.meta.settings)))
            return text

        return self.part(field, index, value, read)

    def part(self, field: str, index: int, value: Value, read: Any) -> str:
        """One half of a pair; what is wrong with it is noted under its own name."""
        try:
            return str(read(whole_half(index, value)))
        except Rejected as rejected:
            self.process_errors.append(renamed(rejected, field))
            return ""


def whole_half(index: int, value: Value) -> str:
    if index > MOST_INDEX:
        raise Rejected(f"An index may be at most {MOST_INDEX}.", "range")
    if not isinstance(value, str):
        raise Rejected("This must be a single value.", "type")
    if is_literal(value):
        raise not_text()
    if not value:
        raise Rejected("A pair needs both a key and a value.", "required")
    return value


class PasswordField(TextField):
    """A password for visitors. It is never shown again: a mask stands for it, which changes nothing."""

    def read(self, values: list[Value]) -> Any:
        if self.single() == MASK:
            self.sent = False
            return self.object_data
        return super().read(values)

    def hashed(self) -> str | None:
        """What is stored. Takes some 30 ms: do it before the write begins."""
        return hash_password(self.data) if self.data else None

    def written(self) -> str:
        return str(self.object_data or "")


class PictureField(UploadField):
    """A picture, told by its content and written anew, at most `max_width` pixels wide and high."""

    def __init__(
        self, label: str = "", *, may_be_icon: bool = False, max_width: int | None = None, **options: Any
    ) -> None:
        super().__init__(label, **options)
        self.may_be_icon, self.max_width = may_be_icon, max_width

    def open(self, upload: Upload) -> Picture:
        return read_picture(upload.content, may_be_icon=self.may_be_icon, max_width=self.max_width)
