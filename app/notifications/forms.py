"""The form of a notification handler. Each transport declares which settings it has."""

# see docs/decisions/2026-11-20-handlers.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.events.types import CLICKED
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.forms import ChoiceField, FlagField, ResourceForm, TextField
from app.notifications.event_fields import ClickFilterField, EventTypesField
from app.notifications.event_types import ATTACHED, DEFAULT, SCOPES, TYPES, told_types
from app.notifications.fields import KINDS
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports, chosen_transports

TRANSPORTS = all_transports()
CHOSEN = chosen_transports()
SETTINGS = {one.name: one for transport in CHOSEN.values() for one in transport.settings}
WORDS = {word: one.name for one in SETTINGS.values() for word in one.words}


class HandlerForm(ResourceForm):
    """A handler: a name, a type, and the settings of that type. Settings of other types are ignored."""

    update_only = frozenset({"is_enabled"})
    together = (("type", *SETTINGS),)

    type = ChoiceField(
        _l("Type"),
        required=True,
        choices={type_: transport.label for type_, transport in CHOSEN.items()},
        also={word: type_ for type_, transport in CHOSEN.items() for word in transport.words},
    )
    name = TextField(_l("Name"), required=True, most=128)
    is_enabled = FlagField(_l("Enabled"))
    events = EventTypesField(_l("Events"), choices=TYPES)
    scope = ChoiceField(_l("Of which links"), choices=SCOPES, clears_to=ATTACHED)
    click_filter = ClickFilterField(_l("Click filter"))

    def __init__(self, sent: RequestData | None, **options: Any) -> None:
        super().__init__(sent and sent.renamed(WORDS).grouped("click_filter"), **options)

    def stored_values(self, stored: NotificationHandler) -> dict[str, Any]:
        return super().stored_values(stored) | stored.settings | {"events": list(told_types(stored.events))}

    @property
    def chosen(self) -> str | None:
        """The type that the handler has after this request; None where it is invalid."""
        chosen: str | None = self.type.data if not self.type.process_errors else None
        return chosen

    @property
    def is_other_type(self) -> bool:
        return self.stored is not None and self.chosen != self.stored.type

    def settle(self) -> None:
        transport = TRANSPORTS.get(self.chosen or "")
        names = {one.name for one in transport.settings} if transport else set()
        for name in SETTINGS.keys() - names:
            self[name].ignore()

    def check(self) -> None:
        for name in SETTINGS if self.is_other_type else ():
            if self[name].required and not self[name].sent:
                self.reject(name, _l("This is required for the new type."), "required")
        if self.is_other_type and self.stored.type not in CHOSEN:
            self.reject("type", _l("A subscription can't become another handler."), "fixed")
        check_click_filter(self, self.events.data or DEFAULT)

    @property
    def changes(self) -> dict[str, Any]:
        """The changes, with the settings that were sent under `settings`, and the type they belong to."""
        found = super().changes
        if found.get("events") == list(DEFAULT):
            found["events"] = None
        # a page sends these whole, whether they were edited or not
        same = [name for name in ("events", "click_filter") if name in found and self.is_stored(name, found)]
        for name in same:
            del found[name]
        settings = {name: found.pop(name) for name in SETTINGS if name in found}
        return found | ({"type": self.chosen, "settings": settings} if settings else {})

    def is_stored(self, name: str, found: dict[str, Any]) -> bool:
        return self.stored is not None and getattr(self.stored, name) == found[name]


def check_click_filter(form: ResourceForm, events: Sequence[str]) -> None:
    """Reject a click filter where these events, if they are good, have no clicks."""
    is_sent = form["click_filter"].sent and form["click_filter"].data is not None
    if is_sent and form.is_good("click_filter") and form.is_good("events") and CLICKED not in events:
        text = _l("Only clicks are filtered: choose the event %(event)s, too.", event=CLICKED)
        form.reject("click_filter", text, "conflict")


for _setting in SETTINGS.values():
    setattr(HandlerForm, _setting.name, KINDS[_setting.kind](_setting))
