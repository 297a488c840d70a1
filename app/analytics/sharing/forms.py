"""The form of a share address."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from app.accounts.forms import MAX_DAYS
from app.accounts.passwords import MAX_LENGTH
from app.analytics.params import read_date
from app.analytics.sharing.models import StatisticsShare
from app.core import clock
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.fields import DateTimeField, ListField, SentField
from app.input.forms import ChoiceField, FlagField, OwnIdField, Rejected, TextField, WholeField
from app.links.fields import MASK, LinkPasswordField
from app.links.forms import VisitorPasswordForm
from app.links.models import Link
from app.projects.models import Project

# what a share address may show beside the totals; never destinations, nor the pages that visitors came from
PARTS: Mapping[str, str] = {
    "referrer_host": _l("Referrers"),
    "country_code": _l("Countries"),
    "city_name": _l("Cities"),
    "device_type": _l("Devices"),
    "browser_name": _l("Browsers"),
    "os_name": _l("Systems"),
    "browser_language": _l("Languages"),
    "utm_source": _l("UTM sources"),
    "utm_medium": _l("UTM media"),
    "utm_campaign": _l("UTM campaigns"),
}
CUSTOM = "custom"
PERIODS: Mapping[str, str] = {
    "7d": _l("Last 7 days"),
    "30d": _l("Last 30 days"),
    "91d": _l("Last 91 days"),
    "12mo": _l("Last 12 months"),
    "all": _l("All time"),
    CUSTOM: _l("Fixed days"),
}
DEFAULTS = {
    "parts": ["referrer_host", "country_code", "device_type"],
    "period": "30d",
    "least": 5,
    "expires": 90,
}
MAX_LEAST = 1000
MAX_HOSTS, MAX_HOST = 20, 253
# a host, perhaps all of its subdomains, perhaps with a port: it becomes a part of a security policy
HOST = re.compile(
    r"(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::[0-9]{1,5})?"
)
SCHEME = re.compile(r"https?://|/.*", re.DOTALL)


class PartsField(ListField):
    """Names of the dimensions that are shown."""

    def parse(self, text: str) -> str:
        if text not in PARTS:
            raise Rejected(_l("This must be one of: %(names)s.", names=", ".join(PARTS)), "choice")
        return text


class DayField(SentField):
    """A day, as 2026-01-31."""

    def parse(self, text: str) -> str:
        return str(read_date(text))


class HostsField(SentField):
    """Hosts in lines. A pasted address counts by its host."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, clears_to=[], **options)

    def parse(self, text: str) -> list[str]:
        found = list(dict.fromkeys(read_host(line) for line in text.split()))
        if len(found) > MAX_HOSTS:
            raise Rejected(_l("There may be at most %(most)s.", most=lazy_digits(MAX_HOSTS)), "too_many")
        return found

    def format(self, data: list[str]) -> str:
        return "\n".join(data)


def read_host(text: str) -> str:
    host = SCHEME.sub("", text.lower())
    if len(host) > MAX_HOST or not HOST.fullmatch(host):
        raise Rejected(
            _l("“%(text)s” is not a host. Enter one a line, like example.com.", text=text[:80]), "host"
        )
    return host


class ShareForm(VisitorPasswordForm):
    """A share address. A new one has `expires`, in days from now, a stored one `expires_datetime`."""

    create_only = frozenset({"link_id", "project_id", "expires"})
    update_only = frozenset({"expires_datetime"})
    together = (("period", "start_date", "end_date"), ("is_embeddable", "embed_hosts"))

    name = TextField(_l("Name"), most=128, required=True)
    link_id = OwnIdField(_l("Link"), model=Link)
    project_id = OwnIdField(_l("Project"), model=Project)
    parts = PartsField(_l("What it shows"), most_members=len(PARTS))
    period = ChoiceField(_l("Period"), choices=PERIODS, can_be_empty=False)
    start_date = DayField(_l("From"))
    end_date = DayField(_l("To"))
    least = WholeField(_l("Hide small counts"), least=1, most=MAX_LEAST, clears_to=1)
    expires = WholeField(_l("Expires after days"), least=1, most=MAX_DAYS)
    expires_datetime = DateTimeField(_l("Expires"))
    password = LinkPasswordField(_l("Password"), most=MAX_LENGTH)
    is_embeddable = FlagField(_l("Allow embedding"))
    embed_hosts = HostsField(_l("Sites that may embed it"))

    def stored_values(self, stored: StatisticsShare) -> dict[str, Any]:
        return super().stored_values(stored) | {"password": MASK if stored.password_hash else None}

    def check(self) -> None:
        if self.link_id.data and self.project_id.data:
            self.reject("project_id", _l("Choose a link or a project, not both."), "both")
        if self.period.data == CUSTOM:
            self.check_days()
        end = self.expires_datetime
        if end.sent and end.data and end.data <= clock.now():
            self.reject("expires_datetime", _l("This end is in the past."), "past")
        sent = self.password.form_sent
        if self.stored is None and "password" in sent and sent.last("password") == MASK:
            # it stands for a password that is there, and would protect nothing here
            text = _l("This password is one of the most common ones. Choose another one.")
            self.reject("password", text, "common")
        if self.is_embeddable.data and self.password.data:
            text = _l(
                "What has a password can't be embedded: a password must not be typed into another site."
            )
            self.reject("is_embeddable", text, "password")

    def check_days(self) -> None:
        for field in (self.start_date, self.end_date):
            if field.data is None and not field.errors:
                self.reject(field.name, _l("This is needed for fixed days."), "required")
        start, end = self.start_date.data, self.end_date.data
        if start and end and start > end:
            self.reject("end_date", _l("This must not be before the start."), "order")

    @property
    def changes(self) -> dict[str, Any]:
        """The changes as services take them: the expiry as a point in time."""
        found = {**super().changes}
        if days := found.pop("expires", None):
            found["expires_datetime"] = clock.now() + dt.timedelta(days=days)
        if self.period.data != CUSTOM:
            found |= {"start_date": None, "end_date": None}
        if not self.is_embeddable.data:
            found["embed_hosts"] = []
        return found
