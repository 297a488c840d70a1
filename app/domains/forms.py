"""1 VALIDATED: what may be said of a domain?"""

from __future__ import annotations

from collections.abc import Iterator

from app.addresses import WEB, Address, BadAddress, read_address, split_address
from app.domains.hosts import is_like, name_of, read_host
from app.domains.services import is_anothers, is_known, verified_names
from app.fields import ChoiceField, FlagField, SentField
from app.forms import ResourceForm
from app.reading import Rejected

MOST = 8192
SCHEMES = {"https://": "https://", "http://": "http://"}


class HostField(SentField):
    def parse(self, text: str) -> str:
        return read_host(text)


class AddressField(SentField):
    """Where visitors are sent. `found` is what was read of it."""

    found: Address | None = None

    def parse(self, text: str) -> str:
        settings = self.meta.settings
        try:
            self.found = read_address(text, MOST, settings.destination_schemes if settings else WEB)
        except BadAddress as bad:
            raise Rejected(str(bad), bad.code) from None
        return text


class DomainForm(ResourceForm):
    """A domain: its host, and what that shows beside links. Whether it is verified, no form can say."""

    host = HostField("Host", required=True)
    scheme = ChoiceField(
        "Scheme", choices=SCHEMES, also={"https": "https://", "http": "http://"}, clears_to="https://"
    )
    custom_index_url = AddressField("Where its front page leads")
    custom_not_found_url = AddressField("Where unknown addresses lead")
    is_enabled = FlagField("On")

    def validate_host(self, field: HostField) -> None:
        host: str = field.data
        if self.stored is not None and host == self.stored.host:
            return
        if name_of(host) in self.own_names():
            raise Rejected("This is an address of Waypost itself.", "own")
        if is_like(name_of(host), self.own_names()):
            raise Rejected("This looks like an address of Waypost itself.", "look_alike")
        if is_anothers(host, self.owner.id):
            raise Rejected("This domain is somebody else's here.", "taken")
        if is_known(host, self.owner.id):
            raise Rejected("You have this domain already.", "exists")

    def own_names(self) -> set[str]:
        """Hosts that this instance is reached at, on whatever port."""
        settings = self.settings
        own = [settings.base_url, settings.dashboard_url] if settings else []
        named = [*filter(None, own), f"//{self.asked_host or ''}"]
        return {(split_address(text).hostname or "").removesuffix(".") for text in named}

    def check(self) -> None:
        """Whoever is sent to a host that sends on what it does not know could turn in a circle."""
        found = list(self.addresses())
        names = verified_names({address.host for _, address in found}) if found else set()
        if own := self.host_that_results:
            names.add(name_of(own))
        for name, address in found:
            if address.host in names:
                self.reject(name, "This leads to a domain of Waypost's own again.", "circle")

    @property
    def host_that_results(self) -> str | None:
        found: str | None = self.host.data if not self.host.process_errors else None
        return found

    def addresses(self) -> Iterator[tuple[str, Address]]:
        for field in self:
            if isinstance(field, AddressField) and field.sent and field.found and not field.errors:
                yield field.name, field.found
