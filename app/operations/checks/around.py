"""Checks what an instance uses beside its data: the geolocation file and the mail server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from email.utils import parseaddr

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
from app.operations.checks.finding import Finding, ok, problem, warning

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
