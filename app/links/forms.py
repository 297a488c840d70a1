"""Forms of links, and of visitors' passwords: they check each field, and whether the fields fit together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from app.core.extensions import db
from app.core.urls import Address
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import OwnIdField, ResourceForm
from app.input.parsers import Rejected
from app.links import targeting
from app.links.destination import OWN_ADDRESS, is_own_short_address, own_hosts
from app.links.fields import MASK, AliasField, DestinationField, LinkPasswordField, Named, PairsField
from app.links.models import Link, link_notification_handler, link_pixel
from app.links.relations import attached_ids
from app.links.schema import SETTINGS


class VisitorPasswordForm(ResourceForm):
    """A form whose field `password` protects from visitors. Its hash is among the changes, if it was sent."""

    password: LinkPasswordField
    password_hash: str | None = None

    def validate(self, extra_validators: Any = None) -> bool:
        """Hashes the password, too: what takes long is done here, before the write begins."""
        is_valid = super().validate(extra_validators)
        self.password_hash = self.password.hashed() if is_valid and self.password.sent else None
        return is_valid

    @property
    def changes(self) -> dict[str, Any]:
        found = super().changes
        if self.password.sent:
            del found["password"]
            found["password_hash"] = self.password_hash
        return found


PAIRS = tuple(f"targeting_{type_}" for type_ in targeting.TYPES)
DATES = ("schedule", "start_date", "end_date")
# fields that are no column by themselves; `changes` stores them in another form, or not at all
NOT_CHANGES = ("type", "is_bulk", *DATES, "targeting_type", *PAIRS)


class LinkForm(VisitorPasswordForm):
    """A link. With `is_bulk`, on create, many links that share all but destination and alias.

    Its fields are those of `links.schema`, and for the targeting pairs one of each type.
    """

    create_only = frozenset({"is_bulk", "location_urls"})
    together = (DATES, ("targeting_type", *PAIRS))

    def stored_values(self, stored: Link) -> dict[str, Any]:
        return super().stored_values(stored) | {
            "pixels_ids": attached_ids(stored, link_pixel, "pixel_id"),
            "email_reports": attached_ids(stored, link_notification_handler, "notification_handler_id"),
            "tags": [row.tag for row in stored.tag_rows],
            "password": MASK if stored.password_hash else None,
            f"targeting_{stored.targeting_type}": stored.targeting,
            **({} if stored is self.stored else {"url": None}),  # a short link is one link's alone
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
        """The targeting type that results; None also if what was sent is no type."""
        chosen: str | None = self.targeting_type.data
        return chosen if not self.targeting_type.process_errors else None

    def validate_domain_id(self, field: OwnIdField) -> None:
        domain = db.session.get(Domain, field.data) if field.data else None
        if (
            domain
            and domain.workspace_id == self.owner.workspace_id
            and not (domain.is_verified and domain.is_enabled)
        ):
            raise Rejected(_l("This domain is not verified, or is turned off."), "domain")

    def check(self) -> None:
        self.check_dates()
        self.check_circles()

    def check_dates(self) -> None:
        """Reject an end before the start. If the link has a schedule already, a date that was not sent is the
        stored one."""
        start, end = self.start_date, self.end_date
        goes_on = self.schedule.data and getattr(self.stored, "schedule", False)
        first, last = (field.data if field.sent or goes_on else None for field in (start, end))
        if first and last and self.is_good("start_date") and self.is_good("end_date") and last <= first:
            self.reject(
                "end_date" if end.sent else "start_date", _l("The end must be after the start."), "order"
            )

    def check_circles(self) -> None:
        found = list(self.addresses())
        own = self.own_hosts([one.address for _, one in found]) if found else ()
        for name, one in found:
            if is_own_short_address(one.address, own):
                self.reject(name, OWN_ADDRESS, "circle", one.field)

    def own_hosts(self, addresses: Sequence[Address]) -> Collection[str]:
        return own_hosts(addresses, self.settings, self.asked_host)

    def addresses(self) -> Iterator[tuple[str, Named]]:
        """Every destination that was sent, with the name of the field to report it at."""
        for field in self:
            if isinstance(field, DestinationField) and field.sent:
                yield from ((field.name, one) for one in field.found)

    @property
    def changes(self) -> dict[str, Any]:
        """The changes for `links.services`. `location_urls` is present if many links are to be created."""
        found = super().changes
        for name in NOT_CHANGES:
            found.pop(name, None)
        return found | self.dates() | self.targets()

    def dates(self) -> dict[str, dt.datetime | bool | None]:
        """The changes of the schedule. Dates are stored only with one; without it they are cleared."""
        if self.schedule.data:
            return {name: self[name].data for name in DATES if self[name].sent}
        return {"schedule": False, "start_date": None, "end_date": None} if self.schedule.sent else {}

    def targets(self) -> dict[str, Any]:
        """The changes of the targeting. Another type clears the pairs of the former type."""
        chosen = self.chosen_targeting
        pairs = self[f"targeting_{chosen}"] if chosen else None
        if pairs is not None and pairs.sent:
            return {"targeting_type": chosen, "targeting": pairs.data}
        is_other = chosen != getattr(self.stored, "targeting_type", None)
        return {"targeting_type": chosen, "targeting": []} if self.targeting_type.sent and is_other else {}


class RestoreForm(ResourceForm):
    """Alias and domain for a link that is restored from the trash, if it can't have its former ones."""

    url = AliasField(_l("Short link"))
    domain_id = OwnIdField(_l("Domain"), model=Domain)


for _name, _setting in SETTINGS.items():
    if _setting.field is not None:
        setattr(LinkForm, _name, _setting.field)
for _type in targeting.TYPES:
    setattr(LinkForm, f"targeting_{_type}", PairsField(_type))
