"""Identities of accounts at the provider: found, allowed by an admin, linked, removed."""

# see docs/decisions/2026-11-25-single-sign-on.md
from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import delete, select

from app.accounts.models import User, UserSession
from app.accounts.oidc.errors import NoAccount, NotLinked, OtherIdentity
from app.accounts.oidc.models import OidcIdentity, OidcSession
from app.accounts.oidc.person import ProviderPerson
from app.accounts.oidc.roles import NO_CHANGES, RoleChanges, role_changes
from app.accounts.services import Profile, ShutOut, find_user, has_users, one_at_a_time, store_user
from app.audit.services import Object, record
from app.core.clock import now
from app.core.extensions import db
from app.core.oidc_settings import ANY_DOMAIN
from app.core.urls import wire_host

NO_PASSWORD = ""  # the hash of an account that has none: no password fits it
ALLOWED_FOR = dt.timedelta(days=7)  # an admin's permission to link


def find(person: ProviderPerson) -> OidcIdentity | None:
    """The identity with this issuer and subject."""
    mine = OidcIdentity.issuer == person.issuer, OidcIdentity.subject == person.subject
    return db.session.scalar(select(OidcIdentity).where(*mine))


def is_tied(user: User, person: ProviderPerson) -> bool:
    """Whether this user's account is tied to this person."""
    identity = find(person)
    return identity is not None and identity.user_id == user.id


def of_user(user: User, issuer: str) -> OidcIdentity | None:
    """The user's identity at this provider: linked, or allowed and waiting."""
    mine = OidcIdentity.user_id == user.id, OidcIdentity.issuer == issuer
    return db.session.scalar(select(OidcIdentity).where(*mine))


def is_waiting(identity: OidcIdentity | None) -> bool:
    """Whether an admin has allowed the link within the last days, and it was not made yet."""
    return identity is not None and identity.subject is None and identity.datetime > now() - ALLOWED_FOR


def account_of(person: ProviderPerson) -> User | None:
    """The account of this person, or that with their e-mail address where an admin has allowed to link it.

    None: nobody has this address here. Raises NotLinked, OtherIdentity, and ShutOut for an account that may
    not be used. The caller has begun the write.
    """
    identity = find(person)
    user = identity.user if identity else find_user(person.email)
    if user is None:
        return None
    if not user.is_active:
        raise ShutOut(user)
    if identity is None:
        waiting = of_user(user, person.issuer)
        if waiting is not None and waiting.subject is not None:
            raise OtherIdentity
        # without a password nothing else proves that this address is the account's
        if not is_waiting(waiting) or not user.is_own_address(person.email):
            raise NotLinked(person.email)
        link(user, person)
    return user


def link(user: User, person: ProviderPerson) -> OidcIdentity:
    """Ties the account to this identity, for good. Raises OtherIdentity where it has another one."""
    one_at_a_time()
    row = of_user(user, person.issuer)
    if find(person) is not None or (row is not None and row.subject is not None):
        raise OtherIdentity
    if row is None:
        row = OidcIdentity(user_id=user.id, issuer=person.issuer)
        db.session.add(row)
    row.subject, row.datetime = person.subject, now()
    db.session.flush()
    record(db.session, "identity.linked", account=user, on=object_of(row))
    return row


def allow(user: User, issuer: str) -> None:
    """Lets the next sign-in with the account's verified address link it. For admins and the operator."""
    row = of_user(user, issuer)
    if row is not None and row.subject is not None:
        return
    if row is None:
        row = OidcIdentity(user_id=user.id, issuer=issuer)
        db.session.add(row)
    row.datetime = now()
    db.session.flush()
    record(db.session, "identity.allowed", account=user, on=object_of(row))


def unlink(user: User, issuer: str) -> None:
    """Removes the user's identity, and ends the sessions that it began."""
    row = of_user(user, issuer)
    if row is None:
        return
    end_sessions(row)
    record(db.session, "identity.unlinked", account=user, on=object_of(row))
    db.session.execute(delete(OidcIdentity).where(OidcIdentity.id == row.id))


def end_sessions(identity: OidcIdentity, sid: str = "") -> int:
    """Ends the sessions that this identity began, or those of one session of the provider."""
    begun = select(OidcSession.session_id).where(OidcSession.identity_id == identity.id)
    if sid:
        begun = begun.where(OidcSession.sid == sid)
    ended = delete(UserSession).where(UserSession.id.in_(begun)).returning(UserSession.id)
    options = {"synchronize_session": False}
    return len(db.session.scalars(ended, execution_options=options).all())


def create_account(person: ProviderPerson, language: str, domains: tuple[str, ...]) -> User:
    """A new account without a password, if the domain of its address may sign up. Raises NoAccount.

    Never the first account: that takes the set-up address. The caller has begun the write.
    """
    one_at_a_time()
    if not has_users() or not may_sign_up(person.email, domains):
        raise NoAccount(person.email)
    user = store_user(person.email, NO_PASSWORD, profile_of(person, language))
    link(user, person)
    return user


def profile_of(person: ProviderPerson, language: str) -> Profile:
    return Profile(person.name, person.timezone, language)


def may_sign_up(email: str, domains: tuple[str, ...]) -> bool:
    """Whether whoever has this verified address may make an account without an invitation."""
    if ANY_DOMAIN in domains:
        return True
    try:
        return wire_host(email.rpartition("@")[2]) in domains
    except ValueError:
        return False


def note_sign_in(user: User, person: ProviderPerson) -> RoleChanges:
    """Stores what the provider said at this sign-in. Returns what is to change in workspaces."""
    row = of_user(user, person.issuer)
    if row is None:
        raise NotLinked(person.email)
    row.email, row.last_datetime = person.email, now()
    if person.roles is None:
        return NO_CHANGES
    before = {int(workspace): role for workspace, role in row.roles.items()}
    row.roles = dict(person.roles)
    db.session.flush()
    return role_changes(before, {int(workspace): role for workspace, role in person.roles.items()})


def note_session(session_id: int, user: User, issuer: str, sid: str) -> None:
    """Marks a session as begun by the provider, so that its logout ends it. Does not commit."""
    row = of_user(user, issuer)
    if row is not None:
        db.session.add(OidcSession(session_id=session_id, identity_id=row.id, sid=sid))
        db.session.flush()


def linked_among(ids: Sequence[int], issuer: str) -> set[int]:
    """Those of these users who are linked to this provider."""
    linked = OidcIdentity.user_id.in_(ids), OidcIdentity.issuer == issuer, OidcIdentity.subject.is_not(None)
    return set(db.session.scalars(select(OidcIdentity.user_id).where(*linked)))


def sessions_of(user: User) -> set[int]:
    """Ids of the user's sessions that a provider's sign-in began."""
    begun = select(OidcSession.session_id).join(OidcIdentity, OidcIdentity.id == OidcSession.identity_id)
    return set(db.session.scalars(begun.where(OidcIdentity.user_id == user.id)))


def object_of(row: OidcIdentity) -> Object:
    return Object("oidc_identity", row.id, row.issuer)
