"""Verification of domains: looks for a proof in the DNS and on the host itself, by outbound requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from app.accounts.access import Access, get_owned
from app.core.database import begin_write
from app.core.errors import FieldError, RateLimited
from app.core.extensions import db
from app.domains import services
from app.domains.models import Domain
from app.domains.proofs import Proofs, is_file, is_in_records, proofs
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import lazy_ngettext
from app.net import http as net_http
from app.net.networks import Network
from app.rate_limit.limiter import at_most
from app.web import application
from app.web.rate_limits import rate_limiter

SECONDS = 5.0  # for each of the two methods: a request is waiting
LIMIT = 1024
OFTEN = at_most(20, minutes=10, name="domain-checks")


class ProofResult(NamedTuple):
    """The result of looking for one kind of proof."""

    method: str
    is_found: bool
    detail: str


def verify(access: Access, id: int) -> tuple[Domain, list[ProofResult]]:
    """Look for a proof; returns the domain, verified where one was found, and the results. Commits.

    Raises NotFound, RateLimited, and Invalid when another user got the host meanwhile. No transaction is open
    during the outbound requests.
    """
    domain = get_owned(access, Domain, id)
    if domain.is_verified:
        return domain, []
    require_room(access)
    wanted = proofs(domain)
    db.session.rollback()
    found = look(wanted)
    if any(one.is_found for one in found):
        begin_write(db.session)
        services.verify(get_owned(access, Domain, id), wanted.file_content)
        db.session.commit()
    return get_owned(access, Domain, id), found


def require_room(access: Access) -> None:
    if seconds := rate_limiter().take(OFTEN, str(access.workspace_id)):
        text = _l("Too many attempts. Wait %(minutes)s min, then try again.", minutes=ceil(seconds / 60))
        raise RateLimited(seconds, FieldError(text, "too_many_tries"))


def look(wanted: Proofs) -> list[ProofResult]:
    """Look for a proof in the DNS, and where none is there, for the file."""
    found: list[ProofResult] = []
    for method, ask in (("txt", in_dns), ("file", at_path)):
        found.append(ProofResult(method, *ask_proof(ask, wanted)))
        if found[-1].is_found:
            break
    return found


def ask_proof(ask: Callable[[Proofs], tuple[bool, str]], wanted: Proofs) -> tuple[bool, str]:
    try:
        return ask(wanted)
    except net_http.NoAnswer as error:
        return False, error.reason


def in_dns(wanted: Proofs) -> tuple[bool, str]:
    records = net_http.text_records(wanted.txt_name, seconds=SECONDS)
    if is_in_records(wanted, records):
        return True, _l("The TXT record is there.")
    if not records:
        return False, _l("There is no TXT record at this name yet.")
    return False, lazy_ngettext(
        "There is another TXT record at this name.",
        "There are %(num)s other TXT records at this name.",
        len(records),
    )


def at_path(wanted: Proofs) -> tuple[bool, str]:
    return in_file(wanted, application.settings().allow_private_networks)


def is_shown(wanted: Proofs, allowed: Sequence[Network]) -> bool | None:
    """Whether a proof is still there; None where the DNS gives no answer and there is no file."""
    can_tell = True
    try:
        if in_dns(wanted)[0]:
            return True
    except net_http.NoAnswer:
        can_tell = False
    try:
        if in_file(wanted, allowed)[0]:
            return True
    except net_http.NoAnswer:
        pass  # a host that serves only links has no web server but this instance
    return False if can_tell else None


def in_file(wanted: Proofs, allowed: Sequence[Network]) -> tuple[bool, str]:
    answer = net_http.request("GET", wanted.file_url, allowed=allowed, seconds=SECONDS, limit=LIMIT)
    if is_file(wanted, answer.status, answer.body):
        return True, _l("The file is there.")
    if answer.status == 200:
        return False, _l("There is a page at this address, but it is not the token alone.")
    return False, _l("The host answers this address with %(status)s.", status=answer.status)
