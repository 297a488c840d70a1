"""How does an owner bring a host of his own?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app import domain_check
from app.accounts.models import User
from app.dashboard import pages
from app.dashboard.asked import Control
from app.dashboard.family import Context, Family
from app.dashboard.guard import user
from app.dashboard.link_rows import own_host
from app.dashboard.typed import complete
from app.domain_check import Finding
from app.domains import services
from app.domains.forms import DomainForm
from app.domains.hosts import name_of, readable
from app.domains.lapses import is_warned
from app.domains.lists import LISTING
from app.domains.models import Domain
from app.domains.proofs import proofs
from app.links.models import Link
from app.links.totals import Total, totals_by
from app.ownership import get_owned
from app.sent import Sent, Value

WAYS = {"txt": "TXT record", "file": "File"}


@dataclass(frozen=True, kw_only=True)
class DomainFamily(Family):
    """The pages of domains: like any other's, and one that says how to verify, and does."""

    def register(self, blueprint: Blueprint) -> None:
        super().register(blueprint)
        self.add(blueprint, "verify", "/<int:id>/verify", self.ask_verify, self.verify)

    def ask_verify(self, id: int) -> Response:
        return self.verify_page(get_owned(user(), Domain, id))

    def verify(self, id: int) -> ResponseReturnValue:
        domain, found = domain_check.verify(user(), id)
        if not domain.is_verified:
            return self.verify_page(domain, found, 422)
        message = f"{readable(domain.host)} is verified."
        return self.done(message, lambda: self.row(domain), f"#row-{domain.id}", "outerHTML")

    def verify_page(self, domain: Domain, found: Sequence[Finding] = (), status: int = 200) -> Response:
        heading = f"Verify {readable(domain.host)}"
        beside = {"row": domain, "heading": heading, "found": found, "ways": WAYS, "readable": readable}
        beside["is_doubtful"] = bool(services.seen_as_anothers([domain]))
        return self.page("verify", status, **beside, **pointing(domain))

    def created(self, row: Domain) -> ResponseReturnValue:
        """On to what has to be done next; the list behind the dialog asks for itself anew."""
        if not pages.is_fragment():
            return pages.sent_on(f"{self.title_of(row)} is created.", self.address("verify", row.id))
        answer = self.verify_page(row)
        answer.headers["HX-Trigger"] = "domains-changed"
        return answer

    def ask_delete(self, id: int) -> Response:
        """With links on it, what to do with them first."""
        domain = get_owned(user(), Domain, id)
        if not (total := total_of(domain)).links:
            return super().ask_delete(id)
        heading = "This domain still has links"
        return self.page("in_use", row=domain, total=total, heading=heading)


def register(blueprint: Blueprint) -> None:
    FAMILY.register(blueprint)


def total_of(domain: Domain) -> Total:
    return totals_by(Link.domain_id, [domain.id])[domain.id]


def pointing(domain: Domain) -> Context:
    """What to put into the DNS so that visitors come here, and what proves the host."""
    here = name_of(own_host())
    is_name = bool(re.search("[a-z]", here)) and "." in here
    return {"proofs": proofs(domain), "host_name": name_of(domain.host), "target": here if is_name else None}


def controls(owner: User) -> list[Control]:  # noqa: ARG001
    states = [("", "Any"), ("1", "Verified"), ("0", "Not verified")]
    switches = [("", "On or off"), ("1", "On"), ("0", "Off")]
    return [Control("is_verified", "Verification", states), Control("is_enabled", "State", switches)]


def beside_rows(rows: Sequence[Domain]) -> Context:
    return {
        "totals": totals_by(Link.domain_id, [row.id for row in rows]),
        "readable": readable,
        "is_warned": is_warned,
        "doubtful": services.seen_as_anothers(rows),
    }


def typed(sent: Sent) -> Sent:
    """A person pastes `https://go.example/` where a host is asked for, and addresses without a scheme."""
    return Sent(list(typed_fields(sent)))


def typed_fields(sent: Sent) -> Iterator[tuple[str, Value]]:
    for name, index, value in sent.pairs():
        if name == "host" and isinstance(value, str):
            value = re.sub(r"^https?://|/$", "", value.strip(), flags=re.IGNORECASE)
        elif name.startswith("custom_") and isinstance(value, str):
            value = complete(value)
        yield f"{name}[{index}]", value


FAMILY = DomainFamily(
    name="domains",
    one="domain",
    many="domains",
    title="Domains",
    intro="Hosts of your own for your short links.",
    search_hint="Search by host",
    loss="Nothing is answered on it any more, and anybody may verify it anew.",
    model=Domain,
    form=DomainForm,
    services=services,
    listing=LISTING,
    title_of=lambda domain: readable(domain.host),
    controls=controls,
    beside_rows=beside_rows,
    typed=typed,
    new={"is_enabled": True, "scheme": "https://"},
)
