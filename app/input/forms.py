"""Forms that read the input of one resource: what was sent, what is wrong, and what changes.

The API and the dashboard use the same forms. A field that was not sent is neither checked nor part of
`changes`; one that was sent empty is cleared. All errors are collected, never just the first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from sqlalchemy import select
from wtforms import Field, Form
from wtforms.fields.core import UnboundField
from wtforms.meta import DefaultMeta

from app.core.config import Settings
from app.core.database import PersonalRow
from app.core.errors import FieldError, Invalid, TooLarge
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData, Upload, Value
from app.input.fields import (
    ChoiceField,
    DateTimeField,
    FlagField,
    ListField,
    PatternField,
    SentField,
    TextField,
    UploadField,
    WholeField,
)
from app.input.parsers import Problem, Rejected, parse_integer

# modules of forms import every kind of field from here, whichever module defines it
__all__ = [
    "ChoiceField",
    "DateTimeField",
    "FlagField",
    "IdsField",
    "ListField",
    "OwnIdField",
    "PatternField",
    "Rejected",
    "ResourceForm",
    "SentField",
    "TextField",
    "UploadField",
    "WholeField",
]

MAX_IDS = 1000
MAX_ID = 2**63 - 1


class IdsField(SentField):
    """Ids of rows of `model`, which must belong to the owner. Sorted, without repeats."""

    def __init__(self, label: str = "", *, model: type[Any], **options: Any) -> None:
        super().__init__(label, clears_to=[], **options)
        self.model = model

    def read(self, values: list[Value]) -> list[int]:  # noqa: ARG002
        members = [value for _, value in self.form_sent.members(self.name)]
        if not all(isinstance(value, str) for value in members):
            raise Rejected(_l("This must be a list of ids."), "type")
        found = sorted({parse_integer(str(value), 1, MAX_ID) for value in members})
        if len(found) > MAX_IDS:
            raise Rejected(_l("There may be at most %(most)s.", most=lazy_digits(MAX_IDS)), "too_many")
        return found

    def pre_validate(self, form: ResourceForm) -> None:
        super().pre_validate(form)
        if missing := set(self.data or ()) - owned_ids(form.owner, self.model, self.data or ()):
            named = ", ".join(map(str, sorted(missing)))
            raise Rejected(_l("You have none with the id %(named)s.", named=named), "not_found")


class OwnIdField(WholeField):
    """The id of one row of `model`, which must belong to the owner. Empty or 0 is none."""

    def __init__(self, label: str = "", *, model: type[Any], **options: Any) -> None:
        super().__init__(label, least=0, most=MAX_ID, **options)
        self.model = model

    def read(self, values: list[Value]) -> int | None:
        return super().read(values) or None

    def pre_validate(self, form: ResourceForm) -> None:
        super().pre_validate(form)
        if self.data is not None and not owned_ids(form.owner, self.model, [self.data]):
            raise Rejected(_l("You have none with the id %(data)s.", data=self.data), "not_found")


def owned_ids(owner: Any, model: Any, ids: Collection[int]) -> set[int]:
    """Which of `ids` (at most some thousands) are rows of `model` that `owner` may name."""
    if not ids:
        return set()
    mine = [model.workspace_id == owner.workspace_id]
    mine += [model.user_id == owner.user.id] if issubclass(model, PersonalRow) else []
    return set(db.session.scalars(select(model.id).where(*mine, model.id.in_(ids))))


class CopiedFields(DefaultMeta):
    """Has each form copy its fields from those that were made first: to make one takes several times as long.

    So `__init__` of a field sees no form, and what it makes is shared by all copies. What these change in
    place is made in `process`.
    """

    def bind_field(self, form: Any, unbound_field: UnboundField, options: dict[str, Any]) -> Field:
        made, name = _made.setdefault(unbound_field, {}), options["name"]
        if name not in made:
            made[name] = unbound_field.bind(None, **options, _meta=DefaultMeta())
        field: Field = object.__new__(type(made[name]))  # `Field.__new__` would make an unbound one
        field.__dict__.update(made[name].__dict__, meta=self, _form=form)
        return field


# fields of no form, by their declaration in a class and their name
_made: WeakKeyDictionary[UnboundField, dict[str, Field]] = WeakKeyDictionary()


class ResourceForm(Form):
    """The input of one resource, on create (`stored` is None) and on update.

    `owner`: the access whose workspace's rows ids may name; the user or the workspace, where the form is of
    one itself.
    `like`: a row whose values a new one starts with. `zone`: the time zone of times typed by a person.
    `settings` and `host` (of the request, such as `go.example:8000`): which addresses are allowed, and which
    ones are this instance's.
    """

    Meta = CopiedFields

    #: fields that are ignored on update, and those that are ignored on create
    create_only: ClassVar[frozenset[str]] = frozenset()
    update_only: ClassVar[frozenset[str]] = frozenset()
    #: groups of fields that make up one value: of two edits at once one has all of a group
    together: ClassVar[tuple[tuple[str, ...], ...]] = ()
    #: what the dashboard knows of the stored row while its form is open (`dashboard.shared.concurrent_edits`)
    edit: Any = None
    #: whether the dashboard asks about something before it saves (`dashboard.shared.form_views`)
    is_asked: bool = False

    def __init__(
        self,
        sent: RequestData | None,
        *,
        owner: Any,
        stored: Any = None,
        like: Any = None,
        zone: dt.tzinfo = dt.UTC,
        settings: Settings | None = None,
        host: str | None = None,
        data: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> None:
        self.owner, self.stored, self.settings, self.asked_host = owner, stored, settings, host
        meta = {"sent": sent or RequestData(), "zone": zone, "settings": settings, **meta}
        meta["is_own_address"] = self.is_own_address
        model = like if stored is None else stored
        shown = {} if model is None else self.stored_values(model)
        super().__init__(sent, data={**shown, **(data or {})}, meta=meta)
        for name in self.update_only if stored is None else self.create_only:
            self[name].ignore()
        self.settle()

    def stored_values(self, stored: Any) -> dict[str, Any]:
        """The stored values by field name, for controls to show and for rules over several fields."""
        names = [name for name, _ in type(self)._unbound_fields]  # noqa: SLF001  WTForms has no other list
        return {name: getattr(stored, name) for name in names if hasattr(stored, name)}

    def is_own_address(self, name: str, text: str) -> bool:  # noqa: ARG002  forms with files know
        """Whether `text` is the public address of the file that is stored for the field `name`."""
        return False

    def settle(self) -> None:
        """Hook: calls `ignore()` on fields that do not apply to this request. Runs once, before checks."""

    @classmethod
    def refuse_large_files(cls, sent: RequestData) -> None:
        """Raises TooLarge where a file is larger than its field allows: the API reports this first."""
        found = []
        for field in cls(None, owner=None):
            value = sent.last(field.name) if field.name in sent else None
            if isinstance(field, UploadField) and isinstance(value, Upload) and field.is_too_large(value):
                found.append(FieldError(field.too_large(), "too_large", field.name))
        if found:
            raise TooLarge(*found)

    def validate(self, extra_validators: Any = None) -> bool:  # noqa: ARG002  WTForms' signature
        for name, field in self._fields.items():
            if field.sent or field.process_errors:
                inline = getattr(type(self), f"validate_{name}", None)
                field.validate(self, [inline] if inline and not field.process_errors else [])
            elif field.required and self.stored is None:
                field.errors = [Problem(_l("This is required."), "required")]
        self.check()
        return not self.problems

    def check(self) -> None:
        """Hook for rules over several fields: calls `reject` for each broken one."""

    def reject(self, name: str, text: str, code: str = "invalid", field: str | None = None) -> None:
        self[name].errors = [*self[name].errors, Problem(text, code, field)]

    def is_good(self, name: str) -> bool:
        return not self[name].errors

    @property
    def problems(self) -> list[FieldError]:
        """All errors, one entry each, in the order of the fields."""
        return [
            FieldError(problem.title, problem.code, problem.field or name)
            if isinstance(problem, Problem)
            else FieldError(str(problem), "invalid", name)
            for name, field in self._fields.items()
            for problem in field.errors
        ]

    def require_valid(self) -> None:
        """Raises Invalid with all errors; only TooLarge where a file is too large."""
        if self.validate():
            return
        too_large = [problem for problem in self.problems if problem.code == "too_large"]
        if too_large:
            raise TooLarge(*too_large)
        raise Invalid(*self.problems)

    @property
    def changes(self) -> dict[str, Any]:
        """The values of the fields that were sent, by attribute. A service gets and changes only these."""
        return {field.column or name: field.data for name, field in self._fields.items() if field.sent}
