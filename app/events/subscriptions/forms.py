"""The form of a subscription: an address, events, and of which links."""

from __future__ import annotations

from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.forms import ChoiceField, OwnIdField, ResourceForm, TextField
from app.links.models import Link
from app.notifications.event_fields import ClickFilterField, EventTypesField
from app.notifications.event_types import SCOPES, TYPES, WORKSPACE
from app.notifications.events import REPORT
from app.notifications.fields import UrlField
from app.notifications.forms import check_click_filter
from app.notifications.transport import all_transports

# reports are for people
SUBSCRIBED = {type_: label for type_, label in TYPES.items() if type_ != REPORT}
TARGET = all_transports()["subscription"].settings[0]


class SubscriptionForm(ResourceForm):
    """A subscription. `event` is another word for `events`, as programs send it that subscribe to one."""

    target_url = UrlField(TARGET)
    events = EventTypesField(_l("Events"), choices=SUBSCRIBED, required=True)
    name = TextField(_l("Name"), most=128)
    link_id = OwnIdField(_l("Link"), model=Link)
    scope = ChoiceField(_l("Of which links"), choices=SCOPES, clears_to=WORKSPACE)
    click_filter = ClickFilterField(_l("Click filter"))

    def __init__(self, sent: RequestData | None, **options: Any) -> None:
        fields = sent and sent.renamed({"event": "events"}).grouped("click_filter")
        super().__init__(fields, **options)

    def check(self) -> None:
        check_click_filter(self, self.events.data or ())
        if self.link_id.data is not None and self.scope.sent and self.scope.data == WORKSPACE:
            text = _l("This can't be combined with one link: leave one of them out.")
            self.reject("scope", text, "conflict")
