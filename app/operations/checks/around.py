"""Is what stands around an instance as it should be: the file of places, the mail server?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from email.utils import parseaddr

from app import clock
from app.cli.checks.finding import Finding, ok, problem, warning
from app.config import PREFIX, Settings
from app.mail_servers import read_server
from app.notifications.dial import in_words
from app.notifications.door import Door
from app.notifications.outbound import NoAnswer
from app.notifications.smtp import greet, in_smtp_words, spoken_to
from app.notifications.transport import Refused
from app.visits.place import Status, database_path
from app.visits.place_check import looked_at

OLD = dt.timedelta(days=60)
UPDATE = "flask --app wsgi geo update"


def places_check(settings: Settings) -> Iterator[Finding]:
    path = database_path(settings.geoip_db, settings.data_dir)
    status: Status = looked_at(path)
    age = status.age(clock.now())
    if status.state == "damaged":
        yield problem(f"{path} is damaged: places are unknown.", UPDATE)
    elif status.state == "missing":
        if settings.geoip_db:
            yield problem(f"{PREFIX}GEOIP_DB names {path}, which is not there.", UPDATE)
        elif settings.geo_country_header:
            yield ok(f"Places come from the header {settings.geo_country_header}.")
        else:
            yield warning("Nobody says where visitors are.", f"{UPDATE} (or name a header of your proxy)")
    elif age and age > OLD:
        yield warning(f"{path} was made {age.days} days ago.", UPDATE)
    else:
        yield ok(f"{path}: {status.kind}, {age.days if age else '?'} days old.")


def mail_check(settings: Settings) -> Iterator[Finding]:
    """Connects, greets and signs in; sends nothing."""
    if settings.smtp_url is None:
        yield warning("No mail server is named.", f"Set {PREFIX}SMTP_URL.")
        return
    server, door = read_server(settings.smtp_url), Door(settings)
    name = parseaddr(settings.mail_from or "")[1].rpartition("@")[2] or "localhost"
    try:
        with in_words(door.deadline, (Refused,)), in_smtp_words(), spoken_to(server, door, name) as client:
            greet(client, server)
            client.quit()
    except NoAnswer as error:
        yield problem(f"{server.host}:{server.port}: {error.reason}", f"Is {PREFIX}SMTP_URL right?")
    except Refused as error:
        yield problem(f"{server.host}:{server.port}: {error}", f"Is {PREFIX}SMTP_URL right?")
    else:
        yield ok(f"{server.host}:{server.port} takes our mail{' and our login' if server.user else ''}.")
