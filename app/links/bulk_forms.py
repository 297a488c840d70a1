"""The form of a bulk edit: what to change in each of many links, and how their targeting changes.

Targeting is set, cleared, or single pairs are added, replaced or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import FieldError, Invalid
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import (
    ChoiceField,
    DateTimeField,
    FlagField,
    IdsField,
    OwnIdField,
    ResourceForm,
    TextField,
)
from app.links.destination import MAX_URL_LENGTH, OWN_ADDRESS, DestinationRules
from app.links.fields import DestinationField, PairsField, TagsField
from app.links.forms import PAIRS
from app.links.models import Link
from app.links.replacement import PLACES, Replacement
from app.links.schema import SETTINGS
from app.links.targeting import MAX_PAIRS, TYPES, normalize
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

ACTIONS = {
    "set": _l("Set on all"),
    "put": _l("Add or replace lines"),
    "remove": _l("Remove lines"),
    "clear": _l("Clear"),
}
Pairs = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TargetingEdit:
    """What to do with the targeting of each link. `clear` needs no type and no pairs.

    To remove lines, one half of a pair is enough: "" is any.
    """

    action: str
    type_: str | None = None
    pairs: Pairs = ()

    def changes_of(self, link: Link) -> dict[str, Any]:
        """The changes for `services.update`. Raises Invalid where this link can't be changed so."""
        match self.action:
            case "set":
                return {"targeting_type": self.type_, "targeting": [list(pair) for pair in self.pairs]}
            case "put":
                return self.with_pairs(link)
            case "remove":
                return self.without_pairs(link)
        return {"targeting_type": None, "targeting": []}

    def with_pairs(self, link: Link) -> dict[str, Any]:
        if link.targeting_type not in (None, self.type_):
            label = TYPES[link.targeting_type].label if link.targeting_type in TYPES else link.targeting_type
            raise Invalid(
                FieldError(
                    _l("It has another targeting: %(type)s. “Set on all” would replace it.", type=label),
                    "targeting",
                    "targeting_type",
                )
            )
        found = [list(pair) for pair in link.targeting or () if link.targeting_type]
        for pair in self.pairs:
            at = next((i for i, other in enumerate(found) if self.is_same(pair, other)), len(found))
            found[at : at + 1] = [list(pair)]
        if len(found) > MAX_PAIRS:
            raise Invalid(
                FieldError(
                    _l(
                        "It would have %(number)s targeting lines; the limit is %(most)s.",
                        number=len(found),
                        most=MAX_PAIRS,
                    ),
                    "too_many",
                    "targeting",
                )
            )
        return {"targeting_type": self.type_, "targeting": found}

    def is_same(self, pair: Sequence[str], other: Sequence[str]) -> bool:
        """Whether one line takes the other's place: by its key, or where keys are weights its destination."""
        if TYPES[str(self.type_)].matcher is None:
            return pair[1] == other[1]
        return normalize(pair[0]) == normalize(other[0])

    def without_pairs(self, link: Link) -> dict[str, Any]:
        if link.targeting_type != self.type_:
            return {}
        left = [list(pair) for pair in link.targeting if not any(fits(pair, one) for one in self.pairs)]
        if len(left) == len(link.targeting):
            return {}
        return {"targeting_type": self.type_ if left else None, "targeting": left}


def fits(pair: Sequence[str], wanted: Sequence[str]) -> bool:
    key, to = wanted
    return (not key or normalize(key) == normalize(pair[0])) and (not to or to == pair[1])


MAX_TAGS = 20
# settings of one text each, with the setting's own field and another one that says what to do with it
VALUES = ("utm_source", "utm_medium", "utm_campaign", "expiration_url")
VALUE_ACTIONS = {"set": _l("Set on all"), "fill": _l("Set where there is none"), "clear": _l("Clear")}
ASKED_AS_THEY_ARE = ("is_enabled", "project_id", "schedule", "start_date", "end_date")
LISTS = ("tags", "pixels", "handlers")


class BulkPairsField(PairsField):
    """The pairs of one targeting type. To remove lines, one half of a pair is enough."""

    def read_half(self, field: str, index: int, value: Any, read: Any) -> str:
        removes = "targeting_action" in self.form_sent and self.form_sent.last("targeting_action") == "remove"
        return "" if removes and value == "" else super().read_half(field, index, value, read)


class ManyForm(ResourceForm):
    """What to change in each of many links. As in every form, only what was sent changes."""

    is_enabled = FlagField(_l("State"))
    project_id = OwnIdField(_l("Project"), model=Project)
    add_tags = TagsField(_l("Add tags"), most_members=MAX_TAGS)
    remove_tags = TagsField(_l("Remove tags"), most_members=1000)
    add_pixels = IdsField(_l("Add pixels"), model=Pixel)
    remove_pixels = IdsField(_l("Remove pixels"), model=Pixel)
    add_handlers = IdsField(_l("Also notify"), model=NotificationHandler)
    remove_handlers = IdsField(_l("Stop notifications"), model=NotificationHandler)
    schedule = FlagField(_l("Schedule"))
    start_date = DateTimeField(_l("Start"))
    end_date = DateTimeField(_l("End"))

    targeting_action = ChoiceField(_l("Targeting"), choices=ACTIONS)
    find = TextField(_l("Find"), most=MAX_URL_LENGTH)
    replace = TextField(_l("Replace with"), most=MAX_URL_LENGTH)
    ignore_case = FlagField(_l("Ignore case"))
    host_only = FlagField(_l("Only in the host"))
    in_location_url = FlagField(_l("Destination"))
    in_targeting = FlagField(_l("Targeting destinations"))
    in_expiration_url = FlagField(_l("Expiration URL"))

    def settle(self) -> None:
        for name in PAIRS:
            if not self.targeting_data or name != f"targeting_{self.targeting_type.data}":
                self[name].ignore()
        for name in VALUES:
            if self[f"{name}_action"].data not in {"set", "fill"}:
                self[name].ignore()

    @property
    def targeting_data(self) -> str | None:
        """What to do with lines of targeting; None where no lines are needed."""
        action: str | None = self.targeting_action.data
        return action if action in {"set", "put", "remove"} else None

    @property
    def targeting_is_wrong(self) -> bool:
        return any(self[name].errors for name in PAIRS)

    @property
    def rules(self) -> DestinationRules:
        return DestinationRules(self.settings, self.asked_host)

    def check(self) -> None:
        self.check_dates()
        self.check_values()
        self.check_targeting()
        self.check_replacement()
        if not self.asks_something and not self.problems:
            self.reject("is_enabled", _l("Choose something to change."), "required")

    def check_dates(self) -> None:
        first, last = self.start_date.data, self.end_date.data
        if self.schedule.data and first and last and last <= first:
            self.reject("end_date", _l("The end must be after the start."), "order")
        if self.schedule.data and self.is_good("start_date") and not (first or last):
            self.reject("start_date", _l("Set a start, an end, or both."), "required")

    def check_values(self) -> None:
        for name in VALUES:
            is_needed = self[f"{name}_action"].data in {"set", "fill"}
            if is_needed and not self[name].data and self.is_good(name):
                self.reject(name, _l("This can't be empty."), "required")
        self.check_own_addresses()

    def check_own_addresses(self) -> None:
        rules = self.rules
        for field in self:
            for one in field.found if isinstance(field, DestinationField) and field.sent else ():
                if rules.is_own(one.address):
                    self.reject(field.name, OWN_ADDRESS, "circle", one.field)

    def check_targeting(self) -> None:
        if not self.targeting_data or not self.is_good("targeting_type"):
            return
        type_ = self.targeting_type.data
        if not type_:
            self.reject("targeting_type", _l("Choose what to target by."), "required")
        elif not self[f"targeting_{type_}"].data and self.is_good(f"targeting_{type_}"):
            self.reject(f"targeting_{type_}", _l("Give at least one line."), "required")

    def check_replacement(self) -> None:
        if self.find.sent and not self.find.data and self.is_good("find"):
            self.reject("find", _l("Type what to find."), "required")
        if self.find.sent and not self.places:
            self.reject("in_location_url", _l("Choose where to look."), "required")

    @property
    def places(self) -> list[str]:
        """The settings in which to find and replace."""
        return [name for name in PLACES if self[f"in_{name}"].data]

    @property
    def asks_something(self) -> bool:
        return bool(set(self.changes) - {"start_date", "end_date"})

    @property
    def must_be_previewed(self) -> bool:
        """Whether the changes are shown first: those of destinations and of targeting."""
        return bool(self.find.data or self.targeting_action.data)

    @property
    def changes(self) -> dict[str, Any]:
        """What was asked: fields as they are, lists with something in them, and the three kinds of edits."""
        sent = super().changes
        lists = [f"{verb}_{name}" for name in LISTS for verb in ("add", "remove")]
        found = {name: sent[name] for name in ASKED_AS_THEY_ARE if name in sent}
        found |= {name: sent[name] for name in lists if sent.get(name)}
        actions = {name: self[f"{name}_action"].data for name in VALUES}
        if values := {name: (action, self[name].data) for name, action in actions.items() if action}:
            found["values"] = values
        if self.targeting_action.data:
            found["targeting"] = self.targeting_edit()
        if self.find.data:
            found["replacement"] = self.replacement()
        return found

    def targeting_edit(self) -> TargetingEdit:
        type_ = self.targeting_type.data if self.targeting_data else None
        return TargetingEdit(
            self.targeting_action.data, type_, self[f"targeting_{type_}"].data if type_ else ()
        )

    def replacement(self) -> Replacement:
        return Replacement(
            self.find.data,
            self.replace.data or "",
            self.rules,
            self.places,
            is_case_ignored=bool(self.ignore_case.data),
            is_host_only=bool(self.host_only.data),
        )


ManyForm.targeting_type = SETTINGS["targeting_type"].field
for _name in VALUES:
    setattr(ManyForm, _name, SETTINGS[_name].field)
    setattr(ManyForm, f"{_name}_action", ChoiceField(_l("What to do"), choices=VALUE_ACTIONS))
for _type in TYPES:
    setattr(ManyForm, f"targeting_{_type}", BulkPairsField(_type))
