"""How does a domain change, and whose may it be?"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute

from app.accounts.models import User
from app.audit.services import Object, record
from app.clock import now
from app.database import reread
from app.domains.hosts import glance, name_of
from app.domains.lapses import is_held
from app.domains.models import Domain
from app.errors import FieldError, InUse, Invalid
from app.extensions import db


def create(user: User, changes: dict[str, Any]) -> Domain:
    """A new domain of `changes`, still to be verified. Raises Invalid when it is somebody else's."""
    domain = Domain(user_id=user.id, token=new_token(), **changes)
    refuse_anothers(domain)
    db.session.add(domain)
    db.session.flush()
    note(domain, "domain.created")
    return domain


def note(domain: Domain, action: str, **changes: Any) -> None:
    record(
        db.session, action, owner_id=domain.user_id, on=Object("domain", domain.id, domain.host), **changes
    )


def update(domain: Domain, changes: dict[str, Any]) -> Domain:
    """Change what `changes` names; another host must be verified anew. Raises NotThere, Invalid."""
    reread(db.session, domain)
    if not changes:
        return domain  # nothing was edited, so the last edit was another one
    changed = {
        name: [old, value] for name, value in changes.items() if (old := getattr(domain, name)) != value
    }
    if changed:
        note(domain, "domain.updated", **changed)
    if changes.get("host", domain.host) != domain.host:
        domain.host, domain.is_verified, domain.token = changes["host"], False, new_token()
        domain.unproven_since = None
        refuse_anothers(domain)
    for name, value in changes.items():
        setattr(domain, name, value)
    domain.last_datetime = now()
    db.session.flush()
    return domain


def delete(domain: Domain) -> None:
    """Delete it. Raises InUse while it has links, NotThere when it is gone already."""
    reread(db.session, domain)
    note(domain, "domain.deleted")
    db.session.delete(domain)
    try:
        db.session.flush()
    except IntegrityError:  # the links' own reference: the database alone knows also of those made just now
        db.session.rollback()
        text = "This domain still has links. Delete them, or move them to another domain, first."
        raise InUse(FieldError(text, "in_use")) from None


def verify(domain: Domain, token: str) -> Domain:
    """Its owner has shown `token`: the host is his. Raises NotThere, and Invalid where that has changed."""
    one_at_a_time(domain.host)
    reread(db.session, domain)
    if domain.token != token:
        raise Invalid(FieldError("The host was changed meanwhile; verify it anew.", "changed", "host"))
    refuse_anothers(domain)
    let_go(domain)
    domain.is_verified, domain.checked_datetime, domain.unproven_since = True, now(), None
    note(domain, "domain.verified")
    db.session.flush()
    return domain


def one_at_a_time(host: str) -> None:
    """Nobody else verifies this host, on whatever port, until this transaction ends. (The unique index knows
    a host with its port only; SQLite has one writer anyway.)"""
    if db.engine.dialect.name == "postgresql":
        number = int.from_bytes(blake2b(name_of(host).encode(), digest_size=8).digest(), signed=True)
        db.session.execute(select(func.pg_advisory_xact_lock(number)))


def let_go(domain: Domain) -> None:
    """Whoever had the host, and has shown no proof of it for long, has it no more."""
    others = Domain.user_id != domain.user_id, Domain.is_verified
    for other in db.session.scalars(select(Domain).where(of_name(domain.host), *others)):
        other.is_verified = False
        note(other, "domain.lost")
    db.session.flush()  # before the other: there is one verified owner of a host


def new_token() -> str:
    return secrets.token_urlsafe(32)


def refuse_anothers(domain: Domain) -> None:
    with db.session.no_autoflush:
        if is_anothers(domain.host, domain.user_id):
            raise Invalid(FieldError("This domain is somebody else's here.", "taken", "host"))


def is_anothers(host: str, user_id: int) -> bool:
    """Has somebody else verified this host, on whatever port, and holds it? The ports of a host are one's."""
    return has(of_name(host), Domain.is_verified, Domain.user_id != user_id, is_held())


def is_known(host: str, user_id: int) -> bool:
    return has(Domain.host == host, Domain.user_id == user_id)


def has(*conditions: ColumnElement[bool] | InstrumentedAttribute[bool]) -> bool:
    return bool(db.session.scalar(select(exists().where(*conditions))))


def of_name(host: str) -> ColumnElement[bool]:
    name = name_of(host)
    return or_(Domain.host == name, Domain.host.startswith(f"{name}:", autoescape=True))


def verified_names(names: Collection[str]) -> set[str]:
    """Which of these hosts, without ports, are somebody's verified domain."""
    wanted = or_(*(of_name(name) for name in names))
    return {
        name_of(host) for host in db.session.scalars(select(Domain.host).where(wanted, Domain.is_verified))
    }


def seen_as_anothers(domains: Sequence[Domain]) -> set[int]:
    """The ids of those whose hosts a quick eye would take for a verified domain of somebody else here."""
    owners = defaultdict[str, set[int]](set)
    query = select(Domain.host, Domain.user_id).where(Domain.is_verified)
    for host, owner in db.session.execute(query).all() if domains else ():
        owners[glance(host)].add(owner)
    return {one.id for one in domains if owners.get(glance(one.host), set()) - {one.user_id}}
