"""Form fields that know whether they were sent, and read their values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

from wtforms import Field
from wtforms.validators import StopValidation

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.data import JsonValue, RequestData, Upload, Value
from app.input.parsers import Rejected, parse_boolean, parse_datetime, parse_integer, plain_text, plain_whole


class SentField(Field):
    """A field that knows whether it was sent. Subclasses read one text in `parse`.

    `required`: must be sent on create and can't be emptied. `can_be_empty`: False means only the latter.
    `column`: the attribute it changes, where that has another name. `clears_to`: the value of a field sent
    empty. `checks`: rules over the value and the form, which raise Rejected.
    """

    #: whether `true` and `1.5` of a JSON body are read by their text
    takes_literals: ClassVar[bool] = False

    def __init__(
        self,
        label: str = "",
        *,
        required: bool = False,
        can_be_empty: bool = True,
        column: str | None = None,
        clears_to: Any = None,
        checks: Sequence[Callable[[Any, Any], None]] = (),
        **options: Any,
    ) -> None:
        super().__init__(label, **options)
        self.required, self.can_be_empty = required, can_be_empty and not required
        self.column, self.clears_to, self.checks = column, clears_to, checks
        self.sent = False

    def process_formdata(self, values: list[Value]) -> None:
        if values:
            self.sent = True
            self.data = self.read(values)

    def read(self, values: list[Value]) -> Any:  # noqa: ARG002  arrays read their members instead
        value = self.single()
        if not isinstance(value, str):
            raise Rejected(_l("This must be a single value."), "type")
        if is_literal(value) and not self.takes_literals:
            raise not_text()
        if value == "":
            return self.empty()
        return self.parse(value)

    def single(self) -> Value:
        """The last value that was sent. Raises Rejected where it is a JSON array."""
        value = self.form_sent.last(self.name)
        if isinstance(value, JsonValue) and value.is_member:
            raise Rejected(_l("This must be a single value."), "type")
        return value

    def empty(self) -> Any:
        """The value of this field when it is sent empty. Raises Rejected where it can't be empty."""
        if not self.can_be_empty:
            raise Rejected(_l("This can't be empty."), "required")
        return copy(self.clears_to)

    def parse(self, text: str) -> Any:
        return text

    @property
    def form_sent(self) -> RequestData:
        sent: RequestData = self.meta.sent
        return sent

    def ignore(self) -> None:
        """Treats the field as not sent, for one that does not apply to this request."""
        self.sent = self.required = False
        self.process_errors: list[Any] = []
        self.data = self.object_data

    def pre_validate(self, form: Any) -> None:
        if self.process_errors:
            raise StopValidation
        for check in self.checks if self.data != self.clears_to else ():
            check(form, self.data)

    def raw_text(self) -> str:
        """The text that an HTML control shows: what was typed, else what is stored."""
        if self.raw_data and isinstance(self.form_sent.last(self.name), str):
            return str(self.form_sent.last(self.name))
        return "" if self.data is None else self.format(self.data)

    def format(self, data: Any) -> str:
        return str(data)


def is_literal(value: Value) -> bool:
    return isinstance(value, JsonValue) and value.is_literal


def not_text() -> Rejected:
    return Rejected(_l("This must be a text."), "type")


class TextField(SentField):
    """Text of bounded length, in characters. One line unless `lines`."""

    def __init__(self, label: str = "", *, most: int, lines: bool = False, **options: Any) -> None:
        super().__init__(label, **options)
        self.most, self.lines = most, lines

    def parse(self, text: str) -> str:
        return plain_text(text, self.most, allowed="\t\r\n" if self.lines else "")


class PatternField(TextField):
    """Text that matches a pattern. `problem` says what another text must be."""

    def __init__(
        self, label: str = "", *, pattern: str, problem: str, most: int = 128, **options: Any
    ) -> None:
        super().__init__(label, most=most, **options)
        self.pattern, self.problem = re.compile(pattern, re.ASCII), problem

    def parse(self, text: str) -> str:
        text = super().parse(text)
        if not self.pattern.fullmatch(text):
            raise Rejected(self.problem, "format")
        return text


class ColorField(PatternField):
    """A colour as `#rrggbb`, kept in lower case."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(
            label, pattern="#[0-9A-Fa-f]{6}", problem=_l("This must be a colour like #4263eb."), **options
        )

    def parse(self, text: str) -> str:
        return super().parse(text).lower()


class FlagField(SentField):
    """True or false in the words that `parsers.parse_boolean` reads. The empty string is false."""

    takes_literals = True

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, clears_to=False, **options)

    def parse(self, text: str) -> bool:
        return parse_boolean(text)


class WholeField(SentField):
    """A whole number in a range, both ends included."""

    takes_literals = True  # so that the error of 1.5 is that it is no whole number

    def __init__(self, label: str = "", *, least: int, most: int, **options: Any) -> None:
        super().__init__(label, **options)
        self.least, self.most = least, most

    def parse(self, text: str) -> int:
        return parse_integer(text, self.least, self.most)


class ChoiceField(SentField):
    """One of a closed set. `choices` maps stored values to labels, `also` other words to stored values."""

    def __init__(
        self,
        label: str = "",
        *,
        choices: Mapping[Any, str],
        also: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(label, **options)
        self.choices = choices
        self.words = {str(value): value for value in choices} | dict(also or {})
        self.is_whole = all(isinstance(value, int) for value in choices)

    def parse(self, text: str) -> Any:
        text = plain_whole(text) if self.is_whole else text
        if text not in self.words:
            raise Rejected(
                _l("This must be one of: %(names)s.", names=", ".join(map(str, self.choices))), "choice"
            )
        return self.words[text]


class DateTimeField(SentField):
    """A date and time. Without an offset it is in UTC, or in the form's `zone` where a person typed it."""

    def parse(self, text: str) -> dt.datetime:
        return parse_datetime(text, getattr(self.meta, "zone", dt.UTC))

    def format(self, data: dt.datetime) -> str:
        local = data.astimezone(getattr(self.meta, "zone", dt.UTC)).replace(tzinfo=None)
        return local.isoformat(" ", "seconds")


class ListField(SentField):
    """An array of short texts without repeats. `parse` reads each member."""

    def __init__(self, label: str = "", *, most_members: int, **options: Any) -> None:
        super().__init__(label, clears_to=[], **options)
        self.most_members = most_members

    def read(self, values: list[Value]) -> list[Any]:  # noqa: ARG002
        members = [value for _, value in self.form_sent.members(self.name)]
        if not all(isinstance(value, str) and not is_literal(value) for value in members):
            raise Rejected(_l("This must be a list of texts."), "type")
        found = list(dict.fromkeys(self.parse(str(value)) for value in members))
        if len(found) > self.most_members:
            raise Rejected(
                _l("There may be at most %(most)s.", most=lazy_digits(self.most_members)),
                "too_many",
            )
        return found


class UploadField(SentField):
    """A file. An empty text removes it. Its own address, sent back as text, changes nothing."""

    def __init__(self, label: str = "", *, most_bytes: int, **options: Any) -> None:
        super().__init__(label, **options)
        self.most_bytes = most_bytes

    def read(self, values: list[Value]) -> Any:  # noqa: ARG002
        value = self.single()
        if value == "":
            return self.empty()
        if isinstance(value, Upload):
            if self.is_too_large(value):
                raise Rejected(self.too_large(), "too_large")
            return self.open(value)
        if isinstance(value, str) and self.meta.is_own_address(self.name, value):
            self.sent = False
            return self.object_data
        raise Rejected(_l("This must be a file."), "type")

    def is_too_large(self, upload: Upload) -> bool:
        return len(upload.content) > self.most_bytes

    def too_large(self) -> str:
        most = self.most_bytes >> 10
        if most < 1024:
            return _l("This file may have at most %(most)s KiB.", most=most)
        return _l("This file may have at most %(most)s MiB.", most=most >> 10)

    def open(self, upload: Upload) -> Any:
        """The value of the uploaded bytes. Raises Rejected where they can't be used."""
        return upload

    def raw_text(self) -> str:
        return ""
