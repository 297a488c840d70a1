"""Checks other servers: PostgreSQL past a pooler, its replica, single sign-on."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from app.analytics.freshness import first_click_after, newest_id
from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.core.patience import DIAGNOSIS
from app.core.postgresql import watch_waiting
from app.core.replica import Replica
from app.operations.checks.finding import Finding, ok, problem, warning

LATE_SECONDS = 60
# the same for all addresses of one database, and for no other
IDENTITY = text("SELECT oid, pg_postmaster_start_time() FROM pg_database WHERE datname = current_database()")


def servers_check(settings: Settings) -> Iterator[Finding]:
    if settings.database_direct_url is not None:
        yield check_direct(settings.database_direct_url)
    if settings.clicks_read_url is not None:
        yield check_replica(settings)
    if settings.oidc_issuer is not None:
        yield check_provider(settings)


def check_direct(url: str) -> Finding:
    name = f"{PREFIX}DATABASE_DIRECT_URL"
    engine = create_engine(url, poolclass=NullPool)
    watch_waiting(engine, DIAGNOSIS)
    try:
        with engine.connect() as connection:
            found = connection.execute(IDENTITY).one()
    except SQLAlchemyError as error:
        return problem(f"{name} gives no answer: {reason_of(error)}", "Migrations and backups need it.")
    if found != db.session.execute(IDENTITY).one():
        return problem(
            f"{name} leads to another database than {PREFIX}DATABASE_URL.",
            "Both must lead to the same one: this past the pooler, the other through it.",
        )
    return ok(f"{name} leads to the same database as {PREFIX}DATABASE_URL.")


def check_provider(settings: Settings) -> Finding:
    """Whether the provider of single sign-on answers, as the issuer that is set, and publishes keys."""
    from app.accounts.oidc.errors import OidcError
    from app.accounts.oidc.provider import OidcProvider

    name = f"{PREFIX}OIDC_ISSUER"
    try:
        OidcProvider(settings).check()
    except OidcError as error:
        return problem(f"{name}: {error.detail}.", f"Is {name} as the provider writes its issuer?")
    return ok(f"The provider of single sign-on answers as {settings.oidc_issuer}.")


def check_replica(settings: Settings) -> Finding:
    replica = Replica(settings)
    try:
        with replica.engine.connect() as connection:
            newest = newest_id(connection)
    except SQLAlchemyError as error:
        return warning(
            f"The replica gives no answer: {reason_of(error)}",
            "Statistics come from the database itself meanwhile.",
        )
    finally:
        replica.engine.dispose()
    since = first_click_after(db.session, newest)
    seconds = time.time() - since.timestamp() if since else 0.0
    if seconds > LATE_SECONDS:
        return warning(
            f"The replica lacks clicks of the last {seconds:,.0f} s.", "See what holds up its replication."
        )
    return ok("The replica answers and is up to date.")


def reason_of(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
