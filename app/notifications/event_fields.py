"""Form fields for which events a handler gets: their types, and a filter of clicks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.geo.names import COUNTRIES
from app.i18n.messages import lazy_gettext as _l
from app.input.data import Nested, RequestData, Value
from app.input.fields import FlagField, ListField, SentField, WholeField
from app.input.forms import ResourceForm
from app.input.parsers import Problem, Rejected
from app.notifications.click_filter import EVERY_CLICK, MAX_EVERY, ClickFilter

MAX_NAMED = 5  # of what is unknown


def unknown_of(found: Collection[str], known: Collection[str]) -> str:
    """What of `found` is not known, as an error names it; "" where all is."""
    unknown = [text for text in found if text not in known]
    return ", ".join(f"“{text[:64]}”" for text in unknown[:MAX_NAMED])


class EventTypesField(ListField):
    """Types of events, at least one, in the order of `choices`."""

    def __init__(self, label: str = "", *, choices: Mapping[str, str], **options: Any) -> None:
        super().__init__(label, most_members=100, **options)
        self.choices = choices

    def read(self, values: list[Value]) -> list[str]:
        found = super().read(values)
        if not found:
            raise Rejected(_l("Choose at least one event."), "required")
        if unknown := unknown_of(found, self.choices):
            known = ", ".join(self.choices)
            raise Rejected(
                _l("There is no event %(unknown)s. There are: %(known)s.", unknown=unknown, known=known),
                "choice",
            )
        return [type_ for type_ in self.choices if type_ in found]


class CountriesField(ListField):
    """Codes of countries, in any case. Sent empty means any country, an empty list is a mistake."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, most_members=len(COUNTRIES), **options)

    def read(self, values: list[Value]) -> list[str]:
        if values == [""] and getattr(values[0], "is_member", False):
            raise Rejected(_l("Name at least one country, or leave this out."), "required")
        found = super().read(values)
        if unknown := unknown_of(found, COUNTRIES):
            raise Rejected(
                _l("There is no country %(unknown)s. Use codes such as DE or US.", unknown=unknown), "choice"
            )
        return sorted(found)

    def parse(self, text: str) -> str:
        return text.upper()


class ClickFilterForm(ResourceForm):
    """The parts of a click filter. One that is not sent has its default."""

    countries = CountriesField(_l("Countries"))
    is_bot = FlagField(_l("Bots instead of people"))
    every = WholeField(_l("Each nth click of a link"), least=1, most=MAX_EVERY)
    first = FlagField(_l("Only the first click of a link"))

    def check(self) -> None:
        if self.is_good("every") and self.first.data and (self.every.data or 1) > 1:
            self.reject(
                "every",
                _l("This can't be combined with the first click only: leave one of them out."),
                "conflict",
            )


class ClickFilterField(SentField):
    """A click filter: an object, or its parts as `click_filter.countries` and so on.

    It is one value: a part that is not sent with the others has its default. Without any filter it is None.
    """

    def read(self, values: list[Value]) -> dict[str, Any] | None:  # noqa: ARG002
        value = self.single()
        if value == "":
            return None
        if not isinstance(value, Nested) or value.fields is None:
            raise Rejected(_l("This must be an object."), "type")
        form = ClickFilterForm(value.fields, owner=None)
        if not form.validate():
            problems = [
                Problem(problem.title, problem.code, f"{self.name}.{problem.field}")
                for problem in form.problems
            ]
            self.process_errors += problems[:-1]
            raise Rejected(problems[-1].title, problems[-1].code, problems[-1].field)
        found = ClickFilter(
            countries=tuple(form.countries.data or ()),
            is_bot=bool(form.is_bot.data),
            every=form.every.data or 1,
            first=bool(form.first.data),
        )
        return None if found == EVERY_CLICK else found.as_object()

    @property
    def controls(self) -> Mapping[str, FilterControl]:
        """The controls of the parts: as typed if sent, else as stored."""
        sent = self.form_sent.last(self.name) if self.name in self.form_sent else None
        fields = sent.fields if isinstance(sent, Nested) else None
        form = ClickFilterForm(fields, owner=None, data=ClickFilter.of(self.object_data).as_object())
        if fields is not None:
            form.validate()
        return {field.name: self.control_of(field, fields) for field in form}

    def control_of(self, field: SentField, fields: RequestData | None) -> FilterControl:
        text = field.raw_text()
        if isinstance(field, ListField):
            typed = fields.members(field.name) if fields is not None and field.name in fields else ()
            text = ", ".join(str(value) for _, value in typed) or ", ".join(field.data or ())
        id_, name = f"{self.id}-{field.name}", f"{self.name}.{field.name}"
        return FilterControl(id_, name, field.data, text, field.errors)


@dataclass(frozen=True)
class FilterControl:
    """A part of a click filter as the macros of forms show a field."""

    id: str
    name: str
    data: Any
    text: str
    errors: Sequence[object]
    required: bool = False

    def raw_text(self) -> str:
        return self.text
