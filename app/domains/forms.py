"""The form of a domain."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.urls import WEB, Address, BadAddress, read_address, split_address
from app.domains.hosts import is_like, name_of, read_host
from app.domains.services import is_anothers, is_known, verified_names
from app.i18n.messages import lazy_gettext as _l
from app.input.fields import ChoiceField, FlagField, SentField
from app.input.forms import ResourceForm
from app.input.parsers import Rejected

MAX_URL_LENGTH = 8192
SCHEMES = {"https://": "https://", "http://": "http://"}


class HostField(SentField):
    def parse(self, text: str) -> str:
        return read_host(text)


class RedirectUrlField(SentField):
    """A URL that visitors are redirected to. `found` is its parsed form."""

    found: Address | None = None

    def parse(self, text: str) -> str:
        settings = self.meta.settings
        try:
            self.found = read_address(text, MAX_URL_LENGTH, settings.destination_schemes if settings else WEB)
        except BadAddress as bad:
            raise Rejected(str(bad), bad.code) from None
        return text


class DomainForm(ResourceForm):
    """A domain: its host, and what that shows beside links. No form can set whether it is verified."""

    host = HostField(_l("Host"), required=True)
    scheme = ChoiceField(
        _l("Scheme"), choices=SCHEMES, also={"https": "https://", "http": "http://"}, clears_to="https://"
    )
    custom_index_url = RedirectUrlField(_l("Root redirect"))
    custom_not_found_url = RedirectUrlField(_l("404 redirect"))
    is_enabled = FlagField(_l("On"))

    def validate_host(self, field: HostField) -> None:
        host: str = field.data
        if self.stored is not None and host == self.stored.host:
            return
        if name_of(host) in self.own_names():
            raise Rejected(_l("This is an address of Waypost itself."), "own")
        if is_like(name_of(host), self.own_names()):
            raise Rejected(_l("This looks like an address of Waypost itself."), "look_alike")
        if is_anothers(host, self.owner.workspace_id):
            raise Rejected(_l("This domain belongs to another user."), "taken")
        if is_known(host, self.owner.workspace_id):
            raise Rejected(_l("You have this domain already."), "exists")

    def own_names(self) -> set[str]:
        """The hosts of this instance, without ports."""
        settings = self.settings
        own = [settings.base_url, settings.dashboard_url] if settings else []
        named = [*filter(None, own), f"//{self.asked_host or ''}"]
        return {(split_address(text).hostname or "").removesuffix(".") for text in named}

    def check(self) -> None:
        """Refuse redirects to any verified domain: it may redirect unknown paths itself, which could loop."""
        found = list(self.addresses())
        names = verified_names({address.host for _, address in found}) if found else set()
        if own := self.host_that_results:
            names.add(name_of(own))
        for name, address in found:
            if address.host in names:
                self.reject(name, _l("This redirects to a domain of Waypost's own again."), "circle")

    @property
    def host_that_results(self) -> str | None:
        found: str | None = self.host.data if not self.host.process_errors else None
        return found

    def addresses(self) -> Iterator[tuple[str, Address]]:
        for field in self:
            if isinstance(field, RedirectUrlField) and field.sent and field.found and not field.errors:
                yield field.name, field.found
