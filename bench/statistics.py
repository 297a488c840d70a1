"""Speed and size of statistics with up to ten million clicks: `python -m bench.statistics`

100,000, 1,000,000 and 10,000,000 clicks of 100,000 links of one owner; each figure stands beside its target.
Pages are requested as by a browser, from the application itself without a network. `--keep` keeps what was
made, so that it can be measured again. SQLite, one reader.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.analytics.statistics import StatisticsQuery, query_statistics
from app.core.config import Settings, load_settings
from app.core.database import clicks_path
from app.core.extensions import db
from app.dashboard.statistics.views import OF_MANY, OF_ONE
from bench.stored import USER, fill, roll_up
from tests.migrations import environ, migrate
from tests.users import create_user

ONE_LINK_MS, ALL_LINKS_MS, LINKS_MS, BYTES = 50, 500, 200, 500
TIMES = 7
EMAIL, PASSWORD = "owner@example.com", "correct horse battery staple"
ZONE = ZoneInfo("Europe/Berlin")
SIZES = [100_000, 1_000_000, 10_000_000]


class Figure(NamedTuple):
    """A line of the table: milliseconds (or bytes) at one size, and the target."""

    what: str
    value: float
    most: int | None = None


def took(call: Callable[[], object]) -> float:
    """Milliseconds: the median of a few calls, after one that is not measured."""
    call()
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def reports(links: int, now: dt.datetime) -> Iterator[Figure]:
    """The API's queries: 30 days, in a time zone whose days are not those of the stored sums."""
    month = StatisticsQuery(
        workspace_id=USER, start=(now - dt.timedelta(29)).date(), end=now.date(), zone=ZONE
    )
    most, few = replace(month, link_ids=(1,)), replace(month, link_ids=(links // 2,))

    def ask(query: StatisticsQuery) -> float:
        return took(partial(query_statistics, db.session, query))

    yield Figure("30 days of the link with most", ask(most), ONE_LINK_MS)
    yield Figure("30 days of a link with few", ask(few), ONE_LINK_MS)
    yield Figure("30 days of all links", ask(month), ALL_LINKS_MS)
    one = {"country_code": "country_code 1"}
    yield Figure("one filter, the link with most", ask(replace(most, filters=one)))
    yield Figure("one filter, all links", ask(replace(month, filters=one)))


def page_parts(client: FlaskClient) -> Iterator[Figure]:
    """Every part of the pages of all links, and of the link with most clicks."""

    def get(path: str) -> float:
        return took(lambda: shown(client.get(f"/dashboard{path}", headers={"HX-Request": "true"})))

    for part in ("", *OF_MANY):
        yield Figure(f"all links: {part or 'the page itself'}", get(f"/statistics/{part}"), ALL_LINKS_MS)
    yield Figure("all links: today's links", get("/statistics/links?period=day"), ALL_LINKS_MS)
    yield Figure("all links: a hundred links", get("/statistics/list/links"), ALL_LINKS_MS)
    yield Figure("all links: 60 days' links", get("/statistics/links?period=91d"), ALL_LINKS_MS)
    for part in OF_ONE:
        yield Figure(f"link with most: {part}", get(f"/links/1/statistics/{part}"))


def links_page(client: FlaskClient) -> Iterator[Figure]:
    def get(path: str) -> float:
        return took(lambda: shown(client.get(f"/dashboard{path}")))

    yield Figure("the page of links, with small lines", get("/links/"), LINKS_MS)
    yield Figure("the page of the links with most", get("/links/?order_by=clicks&order_type=DESC"))
    yield Figure("100 links on a page", get("/links/?results_per_page=100"), LINKS_MS)


def shown(response: TestResponse) -> None:
    if response.status_code != 200:
        sys.exit(f"WRONG: {response.request.path} answered {response.status}")


def measure(settings: Settings, clicks: int, links: int, now: dt.datetime) -> list[Figure]:
    app = create_app(settings)
    with app.app_context():
        figures = [*reports(links, now)]
    with signed_in(app) as client:
        figures += [*links_page(client), *page_parts(client)]
    app.extensions["redirects"].close()
    app.extensions["rate_limiter"].close()
    size = clicks_path(settings).stat().st_size / clicks
    return [*figures, Figure("bytes a click, rows, indexes and roll-ups", size, BYTES)]


@contextmanager
def signed_in(app: Flask) -> Iterator[FlaskClient]:
    with app.test_client() as client:
        token = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/login").text)
        data = {"csrf_token": token[1] if token else "", "email": EMAIL, "password": PASSWORD}
        if client.post("/login", data=data).status_code != 303:
            sys.exit("WRONG: the owner can't sign in")
        yield client


def make_owner(settings: Settings) -> None:
    app = create_app(settings)
    with app.app_context():
        owner = create_user(EMAIL, PASSWORD)
        owner.timezone = ZONE.key
        db.session.commit()
        if owner.id != USER:
            sys.exit("WRONG: somebody was there before the owner")
        db.session.remove()
        db.engine.dispose()


def run(place: Path, clicks: int, links: int, days: int, seconds: float) -> list[Figure]:
    """Measure one size. Data kept from before is migrated and rolled up further."""
    is_made = (place / "made").exists()
    place.mkdir(exist_ok=True)
    migrate(place)
    settings = load_settings(environ(place))
    if not is_made:
        start = time.perf_counter()
        make_owner(settings)
        fill(settings, clicks, links, days, dt.datetime.now(dt.UTC))
        (place / "made").write_text(dt.datetime.now(dt.UTC).isoformat())
        print(f"{clicks:,} clicks made in {time.perf_counter() - start:.0f} s", end=", ", flush=True)
    made = dt.datetime.fromisoformat((place / "made").read_text())
    if not roll_up(settings, made, seconds):
        print("Not all days are rolled up: what follows is slower than it will be.")
    return measure(settings, clicks, links, made)


def report(found: dict[int, list[Figure]]) -> bool:
    """Print the table. Returns whether every target is met at every size."""
    line = "{:<46}" + "{:>14}" * len(found) + "{:>10}"
    print(line.format("ms", *(f"{clicks:,}" for clicks in found), "at most"))
    held = True
    for figures in zip(*found.values(), strict=True):
        most = figures[0].most
        values = (f"{one.value:,.1f}{'!' if most and one.value > most else ''}" for one in figures)
        print(line.format(figures[0].what, *values, most or ""))
        held = held and not any(most and one.value > most for one in figures)
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clicks", type=int, nargs="+", default=SIZES)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=60, help="that the clicks are of")
    parser.add_argument("--seconds", type=float, default=3600, help="of rolling up, at most")
    parser.add_argument("--keep", type=Path, help="a directory in which what is made stays")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(exist_ok=True)
        found = {
            clicks: run(place / str(clicks), clicks, options.links, options.days, options.seconds)
            for clicks in options.clicks
        }
    if not report(found):
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
