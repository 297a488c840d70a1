"""1 VALIDATED: what may be said of a link, and do its parts go together?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from app.addresses import Address
from app.domains.models import Domain
from app.extensions import db
from app.fields import ChoiceField, DateTimeField, FlagField, ListField, TextField, WholeField
from app.forms import IdsField, OwnIdField, ResourceForm
from app.links import targeting
from app.links.attached import attached_ids
from app.links.destination import is_own_short_address, own_hosts
from app.links.fields import (
    MASK,
    AliasField,
    DestinationField,
    DestinationsField,
    Named,
    PairsField,
    PasswordField,
    PictureField,
)
from app.links.models import Link, link_notification_handler, link_pixel
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from app.reading import Rejected, plain

STATUS_CODES = {
    302: "302 Found",
    301: "301 Moved Permanently",
    307: "307 Temporary Redirect",
    308: "308 Permanent Redirect",
}
PAIRS = tuple(f"targeting_{type_}" for type_ in targeting.TYPES)
DATES = ("schedule", "start_date", "end_date")
# what is no change by itself
NOT_CHANGES = ("type", "is_bulk", "password", *DATES, "targeting_type", *PAIRS)


class LimitField(WholeField):
    """How many clicks; 0 is no limit."""

    def parse(self, text: str) -> Any:
        return super().parse(text) or None


MAX_TAG = 32  # characters


class TagsField(ListField):
    """Words of the owner's own, each one line."""

    def parse(self, text: str) -> str:
        return plain(text, MAX_TAG)


class LinkForm(ResourceForm):
    """A link. With `is_bulk`, on create, many links that share all but destination and alias."""

    create_only = frozenset({"is_bulk", "location_urls"})

    type = ChoiceField("Type", choices={"link": "Link"}, can_be_empty=False)
    is_bulk = FlagField("Many at once")
    location_url = DestinationField("Destination", required=True)
    location_urls = DestinationsField("Destinations", required=True)
    url = AliasField("Short address")
    domain_id = OwnIdField("Domain", model=Domain)
    project_id = OwnIdField("Project", model=Project)
    is_enabled = FlagField("Enabled")
    title = TextField("Title", most=160)
    notes = TextField("Notes", most=2000, lines=True)
    tags = TagsField("Tags", most_members=20)
    pixels_ids = IdsField("Pixels", model=Pixel)
    email_reports = IdsField("Tell", model=NotificationHandler)
    schedule = FlagField("Schedule")
    start_date = DateTimeField("Start")
    end_date = DateTimeField("End")
    clicks_limit = LimitField("Click limit", least=0, most=2**31 - 1)
    expiration_url = DestinationField("Destination afterwards")
    sensitive_content = FlagField("Warn before sensitive content")
    http_status_code = ChoiceField("Kind of redirect", choices=STATUS_CODES, clears_to=302)
    app_linking_is_enabled = FlagField("Open in apps")
    cloaking_is_enabled = FlagField("Cloaking")
    cloaking_title = TextField("Card title", most=160)
    cloaking_meta_description = TextField("Card description", most=320, lines=True)
    cloaking_custom_js = TextField("Script", most=20_000, lines=True)
    cloaking_favicon = PictureField("Icon", most_bytes=512 * 1024, may_be_icon=True)
    cloaking_opengraph = PictureField("Card picture", most_bytes=5 * 1024 * 1024)
    password = PasswordField("Password", most=128)
    forward_query_parameters_is_enabled = FlagField("Forward the visitor's query")
    utm_source = TextField("UTM source", most=256)
    utm_medium = TextField("UTM medium", most=256)
    utm_campaign = TextField("UTM campaign", most=256)
    targeting_type = ChoiceField("Send visitors by", choices=targeting.LABELS)

    def shown(self, stored: Link) -> dict[str, Any]:
        return super().shown(stored) | {
            "pixels_ids": attached_ids(stored, link_pixel, "pixel_id"),
            "email_reports": attached_ids(stored, link_notification_handler, "notification_handler_id"),
            "tags": [row.tag for row in stored.tag_rows],
            "password": MASK if stored.password_hash else None,
            f"targeting_{stored.targeting_type}": stored.targeting,
            **({} if stored is self.stored else {"url": None}),  # a short address is one link's alone
        }

    def is_own_address(self, name: str, text: str) -> bool:
        file = getattr(self.stored, name, None)
        return bool(file) and text.endswith(f"/media/{file}")

    def settle(self) -> None:
        is_many = self.stored is None and bool(self.is_bulk.data) and not self.is_bulk.process_errors
        for name in ("url", "location_url") if is_many else ("location_urls",):
            self[name].ignore()
        for name in PAIRS:
            if name != f"targeting_{self.chosen_targeting}":
                self[name].ignore()

    @property
    def chosen_targeting(self) -> str | None:
        """The targeting type that results; None too while what was sent is no type."""
        chosen: str | None = self.targeting_type.data
        return chosen if not self.targeting_type.process_errors else None

    def validate_domain_id(self, field: OwnIdField) -> None:
        domain = db.session.get(Domain, field.data) if field.data else None
        if domain and domain.user_id == self.owner.id and not (domain.is_verified and domain.is_enabled):
            raise Rejected("This domain is not verified, or is switched off.", "domain")

    def check(self) -> None:
        self.check_dates()
        self.check_circles()

    def check_dates(self) -> None:
        """What was sent is compared with what is stored, where the schedule goes on."""
        start, end = self.start_date, self.end_date
        goes_on = self.schedule.data and getattr(self.stored, "schedule", False)
        first, last = (field.data if field.sent or goes_on else None for field in (start, end))
        if first and last and self.is_good("start_date") and self.is_good("end_date") and last <= first:
            self.reject("end_date" if end.sent else "start_date", "The end must be after the start.", "order")

    def check_circles(self) -> None:
        found = list(self.addresses())
        own = self.own_hosts([one.address for _, one in found]) if found else ()
        for name, one in found:
            if is_own_short_address(one.address, own):
                self.reject(name, "This is a short address of this instance.", "circle", one.field)

    def own_hosts(self, addresses: Sequence[Address]) -> Collection[str]:
        return own_hosts(addresses, self.settings, self.asked_host)

    def addresses(self) -> Iterator[tuple[str, Named]]:
        """Every address that was sent, with the field to report it at."""
        for field in self:
            if isinstance(field, DestinationField) and field.sent:
                yield from ((field.name, one) for one in field.found)

    def validate(self, extra_validators: Any = None) -> bool:
        """Everything that takes long is done here: nothing of it is left for the write."""
        is_valid = super().validate(extra_validators)
        self.password_hash = self.password.hashed() if is_valid and self.password.sent else None
        return is_valid

    @property
    def changes(self) -> dict[str, Any]:
        """As `links.services` takes them. `location_urls` is there when many are to be made."""
        found = super().changes
        for name in NOT_CHANGES:
            found.pop(name, None)
        if self.password.sent:
            found["password_hash"] = self.password_hash
        return found | self.dates() | self.targets()

    def dates(self) -> dict[str, dt.datetime | bool | None]:
        """Dates are stored only with a schedule; without one both are forgotten."""
        if self.schedule.data:
            return {name: self[name].data for name in DATES if self[name].sent}
        return {"schedule": False, "start_date": None, "end_date": None} if self.schedule.sent else {}

    def targets(self) -> dict[str, Any]:
        """Type and pairs go together: another type forgets the pairs of the one so far."""
        chosen = self.chosen_targeting
        pairs = self[f"targeting_{chosen}"] if chosen else None
        if pairs is not None and pairs.sent:
            return {"targeting_type": chosen, "targeting": pairs.data}
        is_other = chosen != getattr(self.stored, "targeting_type", None)
        return {"targeting_type": chosen, "targeting": []} if self.targeting_type.sent and is_other else {}


class RestoreForm(ResourceForm):
    """Where a link out of the trash shall be, when it can't be where it was."""

    url = AliasField("Short address")
    domain_id = OwnIdField("Domain", model=Domain)


for _type in targeting.TYPES:
    setattr(LinkForm, f"targeting_{_type}", PairsField(_type))
