"""Checks what an instance uses beside its data: geolocation file, mail server, single sign-on, ClickHouse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from email.utils import parseaddr

from app.analytics.clickhouse.client import StatisticsUnavailable, clickhouse_of
from app.core import clock
from app.core.config import PREFIX, Settings
from app.core.smtp_url import read_server
from app.geo.lookup import Status, database_path
from app.geo.validate import looked_at
from app.net.dial import in_words
from app.net.http import NoAnswer
from app.net.session import OutboundSession
from app.notifications.smtp import greet, in_smtp_words, spoken_to
from app.notifications.transport import DeliveryFailed
from app.operations.checks.finding import Finding, ok, plural, problem, warning

OLD = dt.timedelta(days=60)
UPDATE = "./waypost geo update"


def places_check(settings: Settings) -> Iterator[Finding]:
    path = database_path(settings.geoip_db, settings.data_dir)
    status: Status = looked_at(path)
    age = status.age(clock.now())
    if status.state == "damaged":
        yield problem(f"{path} is damaged: the location of visitors is unknown.", UPDATE)
    elif status.state == "missing":
        if settings.geoip_db:
            yield problem(f"{PREFIX}GEOIP_DB names {path}, which does not exist.", UPDATE)
        elif settings.geo_country_header:
            yield ok(f"Countries come from the header {settings.geo_country_header}.")
        else:
            yield warning(
                "The location of visitors is unknown: there is no geolocation database.",
                f"{UPDATE} (or name a header of your proxy)",
            )
    elif age and age > OLD:
        yield warning(f"{path} was made {age.days} days ago.", UPDATE)
    else:
        yield ok(f"{path}: {status.kind}, {age.days if age else '?'} days old.")


def mail_check(settings: Settings) -> Iterator[Finding]:
    """Connects, greets and signs in; sends nothing."""
    if settings.smtp_url is None:
        yield warning("No mail server is set.", f"Set {PREFIX}SMTP_URL.")
        return
    server, outbound = read_server(settings.smtp_url), OutboundSession(settings)
    name = parseaddr(settings.mail_from or "")[1].rpartition("@")[2] or "localhost"
    try:
        with (
            in_words(outbound.deadline, (DeliveryFailed,)),
            in_smtp_words(),
            spoken_to(server, outbound, name) as client,
        ):
            greet(client, server)
            client.quit()
    except NoAnswer as error:
        yield problem(f"{server.host}:{server.port}: {error.reason}", f"Is {PREFIX}SMTP_URL right?")
    except DeliveryFailed as error:
        yield problem(f"{server.host}:{server.port}: {error}", f"Is {PREFIX}SMTP_URL right?")
    else:
        yield ok(f"{server.host}:{server.port} accepts mail{' and the login' if server.user else ''}.")


def servers_check(settings: Settings) -> Iterator[Finding]:
    if settings.oidc_issuer is not None:
        yield check_provider(settings)


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


CLICKHOUSE_SUMS = """
    SELECT version(), sumIf(pageviews, link = 0), sumIf(pageviews, link != 0) FROM quarter
"""


def clickhouse_check(settings: Settings) -> Iterator[Finding]:
    """Whether it answers, and its sums agree."""
    if settings.clickhouse_url is None:
        return
    try:
        [(version, of_owners, of_links)] = clickhouse_of(settings.clickhouse_url).query(CLICKHOUSE_SUMS)
    except StatisticsUnavailable as error:
        said = str(error.__cause__).partition("\n")[0][:300]
        yield problem(
            f"ClickHouse gives no answer, or has no tables: {said}",
            "Clicks wait in the journal, and none is lost. The worker makes the tables when it starts.",
        )
        return
    if of_owners == of_links:
        yield ok(f"ClickHouse {version} answers; it has {plural(int(of_links), 'click')}, including bots.")
    else:
        yield problem(
            f"Sums in ClickHouse differ: {of_links:,} by link, {of_owners:,} by owner.",
            "Say so to the makers, with this line.",
        )
