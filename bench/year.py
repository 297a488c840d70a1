"""A year of clicks on PostgreSQL and on ClickHouse's engine: `python -m bench.year --clicks 50000000`

One owner's clicks of 100,000 links, all of them kept as single clicks and rolled up. Measured is what a page
asks for a whole year: the overview of everything, and the same with a filter of each dimension. `--on` names
one engine. PostgreSQL and the engine of ClickHouse (chdb-core behind HTTP) are those of the tests.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from app import create_app
from app.analytics.dimensions import OVERVIEW
from app.analytics.statistics import StatisticsQuery, make_report
from app.core.config import Settings, load_settings
from app.core.extensions import db
from bench import stored_in_clickhouse, stored_in_postgres
from bench.statistics import ZONE, Figure, make_owner, report, took
from bench.stored import USER, roll_up
from tests import postgres
from tests.clickhouse_server import ClickHouseServer
from tests.migrations import environ, migrate

DAYS = 365
HOURS = 5  # of rolling up, at most
ALL_MS = 100
FILTER_MS = {"postgresql": 500, "clickhouse": 250}
# a value of each dimension that a page can filter by, as many clicks have it
FILTERS = {
    "continent_code": "continent_code 1",
    "country_code": "country_code 1",
    "city_name": "city_name 1",
    "referrer_host": "referrer_host 1",
    "referrer_path": "referrer_host 1/referrer_path 1",
    "browser_language": "language 1",
    "utm_source": "utm_source 1",
    "utm_medium": "utm_medium 1",
    "utm_campaign": "utm_campaign 1",
    "destination": "destination 1",
    "device_type": "desktop",
    "os_name": "Windows",
    "browser_name": "Chrome",
}


@contextmanager
def stored_on(engine: str, place: Path, clicks: int, links: int) -> Iterator[Settings]:
    """Settings of an instance that has the clicks on this engine."""
    kept = {"CLICK_RETENTION_DAYS": str(DAYS + 30)}
    now = dt.datetime.now(dt.UTC)
    if engine == "postgresql":
        with postgres.session(), postgres.started():
            stored_in_postgres.make_database("bench_year")
            address = postgres.address("bench_year")
            migrate(place, address)
            settings = load_settings(environ(place, address, **kept))
            make_owner(settings)
            stored_in_postgres.fill(settings, clicks, links, DAYS, now)
            yield settings
        return
    server = ClickHouseServer(place / "clickhouse").start()
    try:
        migrate(place)
        settings = load_settings(environ(place, CLICKS_URL=server.url, **kept))
        make_owner(settings)
        stored_in_clickhouse.fill(server, settings, clicks, links, DAYS, now)
        yield settings
    finally:
        server.stop()


def measure(engine: str, settings: Settings) -> list[Figure]:
    app = create_app(settings)
    with app.app_context():
        figures = [*asked(engine)]
        db.session.remove()
    app.extensions["redirects"].close()
    app.extensions["rate_limiter"].close()
    return figures


def asked(engine: str) -> Iterator[Figure]:
    end = dt.datetime.now(ZONE).date()
    year = StatisticsQuery(
        workspace_id=USER, start=end - dt.timedelta(DAYS - 1), end=end, zone=ZONE, type=OVERVIEW
    )

    def ask(query: StatisticsQuery) -> float:
        return took(partial(make_report, db.session, query))

    yield Figure("overview of everything", ask(year), ALL_MS)
    yield Figure("everything by country", ask(replace(year, type="country_code")))
    for name, value in FILTERS.items():
        filtered = replace(year, filters={name: value})
        if not make_report(db.session, filtered).pageviews:
            sys.exit(f"WRONG: no click has the {name} {value}")
        yield Figure(f"overview, one {name}", ask(filtered), FILTER_MS[engine])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clicks", type=int, default=5_000_000)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--on", choices=FILTER_MS, action="append", help="only this engine")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    held = True
    for engine in options.on or FILTER_MS:
        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            with stored_on(engine, Path(place), options.clicks, options.links) as settings:
                print(f"{engine}: stored in {time.perf_counter() - start:.0f} s", flush=True)
                roll_up(settings, dt.datetime.now(dt.UTC), HOURS * 3600)
                held &= report({options.clicks: measure(engine, settings)})
    if not held:
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
