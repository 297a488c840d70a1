"""How is any input read? Fields that know whether they were sent, and forms that know what changes.

The API and the dashboard use the same forms. A field that was not sent is neither checked nor part of
`changes`; one that was sent empty is cleared. All that is wrong is collected, never just the first.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from sqlalchemy import select
from wtforms import Field, Form
from wtforms.validators import StopValidation, ValidationError

from app.errors import FieldError, Invalid
from app.extensions import db
from app.sent import Sent, Upload, Value

WHOLE = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
FLAGS = {"1": True, "true": True, "on": True, "yes": True} | dict.fromkeys(["0", "false", "off", "no", ""], False)


class Problem(str):
    """A sentence for people that carries a code for programs, and a field where it is not its own."""

    __slots__ = ("code", "field")
    code: str
    field: str | None

    def __new__(cls, text: str, code: str, field: str | None = None) -> Problem:
        self = super().__new__(cls, text)
        self.code, self.field = code, field
        return self


class Rejected(ValidationError, ValueError):  # type: ignore[misc]  # one of WTForms' and one of ours, for both its phases
    """A value that a field does not take."""

    def __init__(self, text: str, code: str = "invalid", field: str | None = None) -> None:
        super().__init__(Problem(text, code, field))


class SentField(Field):  # type: ignore[misc]
    """A field that knows whether it was sent. Subclasses say in `parse` what one text means.

    `required`: must come on create and can't be emptied. `column`: the attribute it changes, where that
    has another name. `clears_to`: what a field sent empty becomes.
    """

    def __init__(
        self,
        label: str = "",
        *,
        required: bool = False,
        column: str | None = None,
        clears_to: Any = None,
        checks: Sequence[Callable[[ResourceForm, Any], None]] = (),
        **options: Any,
    ) -> None:
        super().__init__(label, **options)
        self.required, self.column, self.clears_to, self.checks = required, column, clears_to, checks
        self.sent = False

    def process_formdata(self, values: list[Value]) -> None:
        if not values:
            return
        self.sent = True
        self.data = self.read(values)

    def read(self, values: list[Value]) -> Any:  # noqa: ARG002  arrays read their members instead
        value = self.form_sent.last(self.name)
        if not isinstance(value, str):
            raise Rejected("This must be a single value.", "type")
        if value == "":
            if self.required:
                raise Rejected("This can't be empty.", "required")
            return self.clears_to
        return self.parse(value)

    def parse(self, text: str) -> Any:
        return text

    @property
    def form_sent(self) -> Sent:
        sent: Sent = self.meta.sent
        return sent

    def pre_validate(self, form: ResourceForm) -> None:
        if self.process_errors:
            raise StopValidation
        for check in self.checks if self.data != self.clears_to else ():
            check(form, self.data)

    def written(self) -> str:
        """What an HTML control shows: what was typed, else what is stored."""
        if self.raw_data and isinstance(self.form_sent.last(self.name), str):
            return str(self.form_sent.last(self.name))
        return "" if self.data is None else self.format(self.data)

    def format(self, data: Any) -> str:
        return str(data)


class TextField(SentField):
    """Text of bounded length, in characters. One line unless `lines`."""

    def __init__(self, label: str = "", *, most: int, lines: bool = False, **options: Any) -> None:
        super().__init__(label, **options)
        self.most, self.lines = most, lines

    def parse(self, text: str) -> str:
        if len(text) > self.most:
            raise Rejected(f"This may have at most {self.most:,} characters; it has {len(text):,}.", "too_long")
        if has_control(text, allowed="\t\r\n" if self.lines else ""):
            raise Rejected("This contains control characters.", "control_characters")
        return text


def has_control(text: str, allowed: str = "") -> bool:
    return any(unicodedata.category(c) == "Cc" and c not in allowed for c in text)


class PatternField(TextField):
    """Text of a given form; `hint` finishes the sentence "This must be …"."""

    def __init__(self, label: str = "", *, pattern: str, hint: str, most: int = 128, **options: Any) -> None:
        super().__init__(label, most=most, **options)
        self.pattern, self.hint = re.compile(pattern, re.ASCII), hint

    def parse(self, text: str) -> str:
        text = super().parse(text)
        if not self.pattern.fullmatch(text):
            raise Rejected(f"This must be {self.hint}.", "format")
        return text


class FlagField(SentField):
    """True or false in the contract's words; the empty string is false."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, clears_to=False, **options)

    def parse(self, text: str) -> bool:
        if text.lower() not in FLAGS:
            raise Rejected("This must be true or false.", "boolean")
        return FLAGS[text.lower()]


class WholeField(SentField):
    """A whole number in a range, both ends included."""

    def __init__(self, label: str = "", *, least: int, most: int, **options: Any) -> None:
        super().__init__(label, **options)
        self.least, self.most = least, most

    def parse(self, text: str) -> int:
        return whole(text, self.least, self.most)


def whole(text: str, least: int, most: int) -> int:
    """ASCII digits with an optional sign, within range; else Rejected."""
    if not WHOLE.fullmatch(text):
        raise Rejected("This must be a whole number.", "integer")
    if not least <= int(text) <= most:
        raise Rejected(f"This must be a whole number from {least:,} to {most:,}.", "range")
    return int(text)


class ChoiceField(SentField):
    """One of a closed set. `choices` maps what is stored to its label; `also` other words for the same."""

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

    def parse(self, text: str) -> Any:
        if text not in self.words:
            raise Rejected(f"This must be one of: {', '.join(map(str, self.choices))}.", "choice")
        return self.words[text]


class DateTimeField(SentField):
    """A moment; without an offset it is UTC, or the form's `zone` where a person typed it."""

    def parse(self, text: str) -> dt.datetime:
        return moment(text, getattr(self.meta, "zone", dt.UTC))

    def format(self, data: dt.datetime) -> str:
        local = data.astimezone(getattr(self.meta, "zone", dt.UTC)).replace(tzinfo=None)
        return local.isoformat(" ", "seconds")


def moment(text: str, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    """`YYYY-MM-DD[ T]HH:MM[:SS][offset]`, or a day alone, as an aware moment in UTC; else Rejected."""
    match = MOMENT.fullmatch(text)
    try:
        if not match:
            raise ValueError
        offset = (match["zone"] or "").replace("Z", "+00:00")
        found = dt.datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{offset}")
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise Rejected("This must be a time like 2026-01-31 18:30:00.", "datetime") from None


class IdsField(SentField):
    """Ids of rows that must be the owner's own; `model` says of what. Read as a sorted list without repeats."""

    def __init__(self, label: str = "", *, model: type[Any], **options: Any) -> None:
        super().__init__(label, clears_to=[], **options)
        self.model = model

    def read(self, values: list[Value]) -> list[int]:  # noqa: ARG002
        members = [value for _, value in self.form_sent.members(self.name)]
        if not all(isinstance(value, str) for value in members):
            raise Rejected("This must be a list of ids.", "type")
        return sorted({whole(str(value), 1, 2**63 - 1) for value in members})

    def pre_validate(self, form: ResourceForm) -> None:
        super().pre_validate(form)
        if missing := set(self.data or ()) - owned_ids(form.owner.id, self.model, self.data or ()):
            named = ", ".join(map(str, sorted(missing)))
            raise Rejected(f"You have none with the id {named}.", "not_found")


class OwnIdField(WholeField):
    """The id of one row of the owner's own; empty or 0 is none."""

    def __init__(self, label: str = "", *, model: type[Any], **options: Any) -> None:
        super().__init__(label, least=0, most=2**63 - 1, **options)
        self.model = model

    def parse(self, text: str) -> int | None:
        return super().parse(text) or None

    def pre_validate(self, form: ResourceForm) -> None:
        super().pre_validate(form)
        if self.data is not None and not owned_ids(form.owner.id, self.model, [self.data]):
            raise Rejected(f"You have none with the id {self.data}.", "not_found")


def owned_ids(user_id: int, model: type[Any], ids: Collection[int]) -> set[int]:
    """Which of `ids` are this user's rows of `model`."""
    if not ids:
        return set()
    return set(db.session.scalars(select(model.id).where(model.user_id == user_id, model.id.in_(ids))))


class ListField(SentField):
    """An array of short texts; `parse` reads each member."""

    def __init__(self, label: str = "", *, most_members: int, **options: Any) -> None:
        super().__init__(label, clears_to=[], **options)
        self.most_members = most_members

    def read(self, values: list[Value]) -> list[Any]:  # noqa: ARG002
        members = [value for _, value in self.form_sent.members(self.name)]
        if not all(isinstance(value, str) for value in members):
            raise Rejected("This must be a list of texts.", "type")
        found = list(dict.fromkeys(self.parse(str(value)) for value in members))
        if len(found) > self.most_members:
            raise Rejected(f"There may be at most {self.most_members}.", "too_many")
        return found


class UploadField(SentField):
    """A file. An empty text removes it; its own address sent back as text changes nothing."""

    def __init__(self, label: str = "", *, most_bytes: int, **options: Any) -> None:
        super().__init__(label, **options)
        self.most_bytes = most_bytes

    def read(self, values: list[Value]) -> Upload | None:  # noqa: ARG002
        value = self.form_sent.last(self.name)
        if value == "":
            return None
        if isinstance(value, Upload):
            return value
        if isinstance(value, str) and value == self.meta.address_of(self.name):
            self.sent = False
            stored: Upload | None = self.object_data
            return stored
        raise Rejected("This must be a file.", "type")


class ResourceForm(Form):  # type: ignore[misc]
    """The input of one resource, on create (`stored` is None) and on update.

    `owner` is whose rows ids may name. `zone` is the time zone of times typed by a person.
    """

    #: fields whose update is not possible, and so not looked at
    create_only: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        sent: Sent | None,
        *,
        owner: Any,
        stored: Any = None,
        zone: dt.tzinfo = dt.UTC,
        data: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> None:
        self.owner, self.stored = owner, stored
        shown = dict(data or {}) if stored is None else {**self.shown(stored), **(data or {})}
        super().__init__(
            sent, data=shown, meta={"sent": sent or Sent(), "zone": zone, "address_of": self.address_of, **meta}
        )
        for name in self.create_only if stored is not None else ():
            del self[name]

    def shown(self, stored: Any) -> dict[str, Any]:
        """The stored values by field name, for a control to show and for rules over several fields."""
        names = [name for name, _ in self._unbound()]
        return {name: getattr(stored, name) for name in names if hasattr(stored, name)}

    @classmethod
    def _unbound(cls) -> list[tuple[str, Any]]:
        return [(name, field) for name in dir(cls) if hasattr(field := getattr(cls, name), "field_class")]

    def address_of(self, name: str) -> str | None:  # noqa: ARG002  forms with files know
        """The public address of a stored file, to know it again when it is sent back as text."""
        return None

    def validate(self, extra_validators: Any = None) -> bool:  # noqa: ARG002  WTForms' signature
        for name, field in self._fields.items():
            if field.sent or field.process_errors:
                inline = getattr(self, f"validate_{name}", None)
                field.validate(self, [inline] if inline and not field.process_errors else [])
            elif field.required and self.stored is None:
                field.errors = [Problem("This is required.", "required")]
        self.check()
        return not self.problems

    def check(self) -> None:
        """Rules over several fields; call `reject` for each that is broken."""

    def reject(self, name: str, text: str, code: str = "invalid", field: str | None = None) -> None:
        self[name].errors = [*self[name].errors, Problem(text, code, field)]

    def is_good(self, name: str) -> bool:
        return not self[name].errors

    @property
    def problems(self) -> list[FieldError]:
        """Everything wrong, one entry each, in the order of the fields."""
        return [
            FieldError(str(text), getattr(text, "code", "invalid"), getattr(text, "field", None) or name)
            for name, field in self._fields.items()
            for text in field.errors
        ]

    def require_valid(self) -> None:
        """Raise Invalid with all that is wrong."""
        if not self.validate():
            raise Invalid(*self.problems)

    @property
    def changes(self) -> dict[str, Any]:
        """What was sent, by attribute: all that a service gets. On update nothing else changes."""
        return {field.column or name: field.data for name, field in self._fields.items() if field.sent}


