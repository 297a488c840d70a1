"""Pages of an owner's domains, and their verification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from flask import Response
from flask.typing import ResponseReturnValue

from app.dashboard.links.rows import LinkTotals, own_host, totals_by
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.form_input import ADDRESSES, complete
from app.dashboard.shared.form_views import Caution
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import current_access
from app.domains import services, verification
from app.domains.forms import DomainForm
from app.domains.hosts import name_of, readable
from app.domains.models import Domain
from app.domains.services import LISTING
from app.domains.verification import ProofResult, is_warned, proofs
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.data import RequestData, Value
from app.links.models import Link

WAYS = {"txt": _l("TXT record"), "file": _l("File")}


@crud_route("/domains/", "list")
@crud_route("/domains/new", "new")
@crud_route("/domains/<int:id>", "edit")
@crud_route("/domains/<int:id>/delete", "delete")
class DomainViews(CrudViews):
    """The pages of domains, and one that explains the verification."""

    name = "domains"
    title = _l("Domains")
    intro = _l("Hosts of your own for your short links.")
    search_hint = _l("Search by host")
    words = FamilyWords(**words_for("families")[name])
    loss = _l("It stops working, and any user may verify it again.")
    model, form, services, listing = Domain, DomainForm, services, LISTING
    new: ClassVar = {"is_enabled": True, "scheme": "https://"}

    def title_of(self, row: Domain) -> str:
        return readable(row.host)

    def controls(self) -> list[Control]:
        states = [("", _("Any")), ("1", _("Verified")), ("0", _("Not verified"))]
        switches = [("", _("On or off")), ("1", _("On")), ("0", _("Off"))]
        return [
            Control("is_verified", _("Verification"), states),
            Control("is_enabled", _("State"), switches),
        ]

    def typed(self, fields: RequestData) -> RequestData:
        """What owners paste: `https://go.example/` as a host, and addresses without a scheme."""
        return RequestData(list(normalize_fields(fields)))

    def rows_context(self, rows: Sequence[Domain]) -> Context:
        return {
            "totals": totals_by(Link.domain_id, [row.id for row in rows]),
            "readable": readable,
            "is_warned": is_warned,
            "doubtful": services.seen_as_anothers(rows),
        }

    def cautions(self, form: DomainForm) -> list[Caution]:
        """That another host breaks the addresses of the links on it."""
        domain: Domain | None = form.stored
        if domain is None or not form.host.sent or form.host.errors or form.host.data == domain.host:
            return []
        if not (links := total_of(domain).links):
            return []
        host = readable(domain.host)
        lines = (
            ngettext(
                "Its short link stops working on %(host)s.",
                "All %(number)s short links on %(host)s stop working.",
                links,
                number=digits(links),
                host=host,
            ),
            _("Printed QR codes, bookmarks and posts with them stop working."),
        )
        return [Caution(f"host:{domain.host}", "host", lines, _("Change the host all the same"))]

    def verify_page(self, domain: Domain, found: Sequence[ProofResult] = (), status: int = 200) -> Response:
        heading = _("Verify %(host)s", host=readable(domain.host))
        beside = {"row": domain, "heading": heading, "found": found, "ways": WAYS, "readable": readable}
        beside["is_doubtful"] = bool(services.seen_as_anothers([domain]))
        return self.render_page("verify", status, **beside, **pointing(domain))

    def created(self, row: Domain) -> ResponseReturnValue:
        """Show how to verify the new domain. The list behind the dialog reloads itself."""
        if not rendering.is_fragment():
            return rendering.redirect_with(
                _("%(name)s is created.", name=self.title_of(row)), self.address("verify", row.id)
            )
        answer = self.verify_page(row)
        answer.headers["HX-Trigger"] = "domains-changed"
        return answer

    def ask_delete(self, id: int) -> Response:
        """For a domain with links: what to do with them first."""
        domain = self.get_row(id)
        if not (total := total_of(domain)).links:
            return super().ask_delete(id)
        heading = _("This domain still has links")
        return self.render_page("in_use", row=domain, total=total, heading=heading)


def total_of(domain: Domain) -> LinkTotals:
    return totals_by(Link.domain_id, [domain.id])[domain.id]


def pointing(domain: Domain) -> Context:
    """The DNS target that brings visitors here (None if this host has no name), and the ownership proofs."""
    here = name_of(own_host())
    is_name = bool(re.search("[a-z]", here)) and "." in here
    return {"proofs": proofs(domain), "host_name": name_of(domain.host), "target": here if is_name else None}


def normalize_fields(sent: RequestData) -> Iterator[tuple[str, Value]]:
    for name, index, value in sent.pairs():
        if name == "host" and isinstance(value, str):
            value = re.sub(r"^https?://|/$", "", value.strip(), flags=re.IGNORECASE)
        elif name in ADDRESSES and isinstance(value, str):
            value = complete(value)
        yield f"{name}[{index}]", value


FAMILY = DomainViews.register()


@blueprint.get("/domains/<int:id>/verify", endpoint="domains_verify")
def ask_verify(id: int) -> Response:
    return FAMILY.verify_page(FAMILY.get_row(id))


@blueprint.post("/domains/<int:id>/verify", endpoint="domains_verify_write")
def verify(id: int) -> ResponseReturnValue:
    domain, found = verification.verify(current_access(), id)
    if not domain.is_verified:
        return FAMILY.verify_page(domain, found, 422)
    message = _("%(host)s is verified.", host=readable(domain.host))
    return FAMILY.done(message, lambda: FAMILY.row(domain), f"#row-{domain.id}", "outerHTML")
