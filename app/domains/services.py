"""Creation, changes, deletion, verification and lists of domains, and which user holds a host."""

# see docs/decisions/2026-11-21-domains.md
from __future__ import annotations

import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute

from app.accounts.access import Access
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import reread
from app.core.errors import FieldError, Invalid, ResourceInUse
from app.core.extensions import db
from app.domains.hosts import glance, name_of
from app.domains.models import Domain
from app.events.drafts import record_move
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import Listing, contains
from app.input.parsers import parse_boolean

LAPSED = dt.timedelta(days=14)  # without a proof


def create(access: Access, changes: dict[str, Any]) -> Domain:
    """Create a domain from `changes`, not verified yet. Raises Invalid when another user holds it."""
    domain = Domain(**access.row_columns, token=new_token(), **changes)
    refuse_anothers(domain)
    db.session.add(domain)
    db.session.flush()
    note(domain, "domain.created")
    return domain


def note(domain: Domain, action: str, **changes: Any) -> None:
    on = Object("domain", domain.id, domain.host)
    record(db.session, action, owner_id=domain.user_id, workspace_id=domain.workspace_id, on=on, **changes)


def update(domain: Domain, changes: dict[str, Any]) -> Domain:
    """Change what `changes` names; another host must be verified anew. Raises NotFound, Invalid."""
    reread(db.session, domain)
    if not changes:
        return domain  # nothing was edited, so the last edit was another one
    changed = {
        name: [old, value] for name, value in changes.items() if (old := getattr(domain, name)) != value
    }
    if changed:
        note(domain, "domain.updated", **changed)
    old_host = domain.host
    if changes.get("host", domain.host) != domain.host:
        domain.host, domain.is_verified, domain.token = changes["host"], False, new_token()
        domain.unproven_since = None
        refuse_anothers(domain)
    origin = origin_of(domain, old_host)
    for name, value in changes.items():
        setattr(domain, name, value)
    if origin != (after := origin_of(domain, domain.host)):
        record_move(db.session, domain.workspace_id, origin, after)
    domain.last_datetime = now()
    db.session.flush()
    return domain


def origin_of(domain: Domain, host: str) -> str:
    return f"{domain.scheme}{host}"


def delete(domain: Domain) -> None:
    """Delete it. Raises ResourceInUse while it has links, NotFound when it is gone already."""
    reread(db.session, domain)
    note(domain, "domain.deleted")
    db.session.delete(domain)
    try:
        db.session.flush()
    except IntegrityError:  # the links' foreign key, which also knows of links that were made just now
        db.session.rollback()
        text = _l("This domain still has links. Delete them, or move them to another domain, first.")
        raise ResourceInUse(FieldError(text, "in_use")) from None


def verify(domain: Domain, token: str) -> Domain:
    """Mark the domain as verified, after a proof with `token` was found.

    Raises NotFound, and Invalid where its host was changed meanwhile or another user holds it.
    """
    one_at_a_time(domain.host)
    reread(db.session, domain)
    if domain.token != token:
        raise Invalid(FieldError(_l("The host was changed meanwhile; verify it anew."), "changed", "host"))
    refuse_anothers(domain)
    let_go(domain)
    domain.is_verified, domain.checked_datetime, domain.unproven_since = True, now(), None
    note(domain, "domain.verified")
    db.session.flush()
    return domain


def one_at_a_time(host: str) -> None:
    """Lock the verification of this host, on any port, until this transaction ends.

    The unique index covers only a host together with its port. SQLite needs no lock: it has one writer.
    """
    if db.engine.dialect.name == "postgresql":
        number = int.from_bytes(blake2b(name_of(host).encode(), digest_size=8).digest(), signed=True)
        db.session.execute(select(func.pg_advisory_xact_lock(number)))


def let_go(domain: Domain) -> None:
    """Unverify the domains of other users with this host, whose proofs have lapsed."""
    others = Domain.workspace_id != domain.workspace_id, Domain.is_verified
    for other in db.session.scalars(select(Domain).where(of_name(domain.host), *others)):
        other.is_verified = False
        note(other, "domain.lost")
    db.session.flush()  # before the new one is verified: the index allows one verified domain a host


def new_token() -> str:
    return secrets.token_urlsafe(32)


def refuse_anothers(domain: Domain) -> None:
    with db.session.no_autoflush:
        if is_anothers(domain.host, domain.workspace_id):
            raise Invalid(FieldError(_l("This domain belongs to another user."), "taken", "host"))


def is_anothers(host: str, workspace_id: int) -> bool:
    """Whether another user has verified this host, on any port, and holds it: its ports belong together."""
    return has(of_name(host), Domain.is_verified, Domain.workspace_id != workspace_id, is_held())


def is_known(host: str, workspace_id: int) -> bool:
    return has(Domain.host == host, Domain.workspace_id == workspace_id)


def has(*conditions: ColumnElement[bool] | InstrumentedAttribute[bool]) -> bool:
    return bool(db.session.scalar(select(exists().where(*conditions))))


def of_name(host: str) -> ColumnElement[bool]:
    name = name_of(host)
    return or_(Domain.host == name, Domain.host.startswith(f"{name}:", autoescape=True))


def verified_names(names: Collection[str]) -> set[str]:
    """Which of these hosts, given without ports, are a verified domain of any user."""
    wanted = or_(*(of_name(name) for name in names))
    return {
        name_of(host) for host in db.session.scalars(select(Domain.host).where(wanted, Domain.is_verified))
    }


def seen_as_anothers(domains: Sequence[Domain]) -> set[int]:
    """The ids of those domains whose hosts look like a verified domain of another user."""
    owners = defaultdict[str, set[int]](set)
    query = select(Domain.host, Domain.workspace_id).where(Domain.is_verified)
    for host, owner in db.session.execute(query).all() if domains else ():
        owners[glance(host)].add(owner)
    return {one.id for one in domains if owners.get(glance(one.host), set()) - {one.workspace_id}}


LISTING = Listing(
    model=Domain,
    filters={
        "search": lambda text, params: contains(text, Domain.host),  # noqa: ARG005
        "is_enabled": lambda text, params: Domain.is_enabled.is_(parse_boolean(text)),  # noqa: ARG005
        "is_verified": lambda text, params: Domain.is_verified.is_(parse_boolean(text)),  # noqa: ARG005
    },
    orders={
        "domain_id": Domain.id,
        "datetime": Domain.datetime,
        "last_datetime": Domain.last_datetime,
        "host": Domain.host,
    },
)


def is_held() -> ColumnElement[bool]:
    """Whether a verified domain is held: no other user can verify its host."""
    return or_(Domain.unproven_since.is_(None), Domain.unproven_since > now() - LAPSED)
