"""Does its owner hold this host? Asked of the DNS and of the host itself, through the one door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from flask import current_app

from app import own_addresses
from app.accounts.models import User
from app.database import begin_write
from app.domains import services
from app.domains.models import Domain
from app.domains.proofs import Proofs, is_file, is_in_records, proofs
from app.errors import FieldError, TooMany
from app.extensions import db
from app.notifications import outbound
from app.notifications.networks import Network
from app.ownership import get_owned
from app.throttles import Throttles, at_most

SECONDS = 5.0  # for each of the two; somebody waits
LIMIT = 1024
OFTEN = at_most(20, minutes=10, name="domain-checks")


class Finding(NamedTuple):
    """What one way of proving has shown."""

    method: str
    is_found: bool
    detail: str


def verify(user: User, id: int) -> tuple[Domain, list[Finding]]:
    """The domain, verified where a proof was found, and what was found. Commits. Raises NotThere, TooMany,
    and Invalid when it became somebody else's meanwhile. No transaction is open while others are asked."""
    domain = get_owned(user, Domain, id)
    if domain.is_verified:
        return domain, []
    require_room(user)
    wanted = proofs(domain)
    db.session.rollback()
    found = look(wanted)
    if any(one.is_found for one in found):
        begin_write(db.session)
        services.verify(get_owned(user, Domain, id), wanted.file_content)
        db.session.commit()
    return get_owned(user, Domain, id), found


def require_room(user: User) -> None:
    throttles: Throttles = current_app.extensions["throttles"]
    if seconds := throttles.take(OFTEN, str(user.id)):
        text = f"These were many tries. Wait {ceil(seconds / 60)} min, then try again."
        raise TooMany(seconds, FieldError(text, "too_many_tries"))


def look(wanted: Proofs) -> list[Finding]:
    """By the DNS, and where that does not tell, by the file."""
    found: list[Finding] = []
    for method, ask in (("txt", in_dns), ("file", at_path)):
        found.append(Finding(method, *told(ask, wanted)))
        if found[-1].is_found:
            break
    return found


def told(ask: Callable[[Proofs], tuple[bool, str]], wanted: Proofs) -> tuple[bool, str]:
    try:
        return ask(wanted)
    except outbound.NoAnswer as error:
        return False, error.reason


def in_dns(wanted: Proofs) -> tuple[bool, str]:
    records = outbound.text_records(wanted.txt_name, seconds=SECONDS)
    if is_in_records(wanted, records):
        return True, "The TXT record is there."
    some = f"are {len(records)} other TXT records" if len(records) > 1 else "is another TXT record"
    return False, f"There {some} at this name." if records else "There is no TXT record at this name yet."


def at_path(wanted: Proofs) -> tuple[bool, str]:
    return in_file(wanted, own_addresses.settings().allow_private_networks)


def is_shown(wanted: Proofs, allowed: Sequence[Network]) -> bool | None:
    """Whether a proof is still there; None where the DNS can't be asked and there is no file."""
    can_tell = True
    try:
        if in_dns(wanted)[0]:
            return True
    except outbound.NoAnswer:
        can_tell = False
    try:
        if in_file(wanted, allowed)[0]:
            return True
    except outbound.NoAnswer:
        pass  # a host of links alone has no web server but this Waypost
    return False if can_tell else None


def in_file(wanted: Proofs, allowed: Sequence[Network]) -> tuple[bool, str]:
    answer = outbound.request("GET", wanted.file_url, allowed=allowed, seconds=SECONDS, limit=LIMIT)
    if is_file(wanted, answer.status, answer.body):
        return True, "The file is there."
    if answer.status == 200:
        return False, "There is a page at this address, but it is not the token alone."
    return False, f"The host answers this address with {answer.status}."
