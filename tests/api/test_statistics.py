"""API of statistics: reports as JSON and CSV, single clicks, and refused queries."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics import single_clicks
from app.analytics.ingest import Ingest
from app.analytics.statistics import TYPES, StatisticsQuery, query_statistics
from app.core.config import Settings
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import Link
from tests.analytics.conftest import take_in
from tests.api.shape import always, fields, problem
from tests.clients import Api

NOON = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)
DAY = "start_date=2026-10-05&end_date=2026-10-05"
Visits = Callable[..., None]


@pytest.fixture
def link(alice: User, make_link: Callable[..., Link]) -> Link:
    return make_link(alice, "shop")


@pytest.fixture
def visits(settings: Settings, link: Link) -> Iterator[Visits]:
    """`visits({"country_code": "DE"}, {})`: one click for each, a minute apart, each by another visitor."""
    journal, ingest = Journal(directory_of(settings.data_dir)), Ingest(settings)
    known = {"link_id": link.id, "workspace_id": link.workspace_id, "is_bot": 0}
    count = 0

    def write(*each: dict[str, Any]) -> None:
        nonlocal count
        for some in each:
            count += 1
            time_ms = int(NOON.timestamp() + 60 * count) * 1000
            visit = Visit(**{"time_ms": time_ms, "visitor": f"v{count}", **known, **some})
            assert journal.append(encode(visit))
        take_in(ingest)

    yield write
    journal.close()
    ingest.close()


def test_each_type_in_its_shape(api: Api, link: Link, visits: Visits) -> None:
    visits({"country_code": "DE"}, {"country_code": "DE", "visitor": "v1"}, {"country_code": "US"}, {})
    for path in ("/statistics", f"/statistics/{link.id}", f"/statistics/{link.id}/"):
        got = api.get(f"{path}?{DAY}")
        assert got.json == {"data": [{"formatted_date": "2026-10-05", "pageviews": 4, "visitors": 3}]}
        always(got)
        hours = api.get(f"{path}?{DAY}&type=hour").json["data"]
        assert [list(row) for row in hours] == [["hour", "pageviews", "visitors"]] * 24
        assert hours[12] == {"hour": 12, "pageviews": 4, "visitors": 3}
        assert api.get(f"{path}?{DAY}&type=country_code").json == {
            "data": [
                {"country_code": "DE", "pageviews": 2, "visitors": 1},
                {"country_code": "US", "pageviews": 1, "visitors": 1},
                {"country_code": None, "pageviews": 1, "visitors": 1},
            ]
        }
        for name in set(TYPES) - {"overview", "hour", "country_code"}:
            assert api.get(f"{path}?{DAY}&type={name}").json["data"] == [
                {name: None, "pageviews": 4, "visitors": 4 - 1}
            ]


def test_without_days_the_last_thirty(api: Api, link: Link) -> None:
    rows = api.get(f"/statistics/{link.id}").json["data"]
    today = dt.datetime.now(dt.UTC).date()
    assert [row["formatted_date"] for row in rows] == [
        str(today - dt.timedelta(n)) for n in range(29, -1, -1)
    ]
    assert {(row["pageviews"], row["visitors"]) for row in rows} == {(0, 0)}
    assert len(api.get("/statistics?end_date=2026-03-31").json["data"]) == 30
    assert api.get(f"/statistics?start_date={today}").json["data"] == rows[-1:]
    assert api.get("/statistics?start_date=&type=&bots=&timezone=").json == {"data": rows}


def test_time_zones_bots_and_filters(api: Api, visits: Visits) -> None:
    visits(
        {"country_code": "DE"}, {"country_code": "DE", "city_name": "Köln"}, {"is_bot": 1, "bot_name": "curl"}
    )
    apia = f"/statistics?{DAY.replace('05', '06')}&timezone=Pacific/Apia&type=hour"
    assert api.get(apia).json["data"][1] == {"hour": 1, "pageviews": 2, "visitors": 2}
    assert api.get(f"/statistics?{DAY}&bots=1").json["data"][0]["pageviews"] == 1
    days = {"start_date": "2026-10-05", "end_date": "2026-10-05"}
    for asked, pageviews in [
        ("country_code=DE", 2),
        ("country_code=DE&city_name=K%C3%B6ln", 1),
        ("country_code=DE&city_name=", 1),
        ("country_code=de", 0),
        ("country_code=DE&unknown=1", 2),
    ]:
        found = api.get(f"/statistics?{DAY}&{asked}").json
        assert found["data"][0]["pageviews"] == pageviews, asked
        assert found["meta"] == {"covers": days}


BAD = [
    ("start_date=2026-10-06&end_date=2026-10-05", {"end_date"}),
    ("start_date=0001-01-01", {"start_date"}),
    ("start_date=2026-02-30", {"start_date"}),
    ("start_date=%D9%A2%D9%A0%D9%A2%D9%A6-01-01", {"start_date"}),
    ("start_date=2026-01-01T00:00", {"start_date"}),
    ("type=clicks", {"type"}),
    ("timezone=Mars/Olympus", {"timezone"}),
    ("timezone=../../etc/passwd", {"timezone"}),
    ("bots=perhaps", {"bots"}),
    ("format=xlsx", {"format"}),
    (
        "start_date=x&end_date=9999-01-01&type=x&timezone=x&bots=x&format=x",
        {"start_date", "end_date", "type", "timezone", "bots", "format"},
    ),
]


def test_what_makes_no_sense_is_said(api: Api, link: Link) -> None:
    for query, bad in BAD:
        for path in ("/statistics", f"/statistics/{link.id}"):
            assert fields(problem(api.get(f"{path}?{query}"), 422)) == bad, query
            if of_clicks := bad - {"format"}:  # single clicks have only one format
                assert fields(problem(api.get(f"{path}/clicks?{query}"), 422)) == of_clicks, query


def table(text: str) -> list[list[str]]:
    return [*csv.reader(io.StringIO(text, newline=""))]


def test_any_report_as_csv(api: Api, link: Link, visits: Visits, session: scoped_session[Session]) -> None:
    visits(*({"city_name": f"City {n}"} for n in range(150)), {"city_name": 'a "b", c'})
    for name in TYPES:
        got = api.get(f"/statistics/{link.id}?{DAY}&type={name}&format=csv")
        assert got.content_type == "text/csv; charset=utf-8"
        assert f"waypost-{name}-2026-10-05" in got.headers["Content-Disposition"]
        always(got)
        asked = StatisticsQuery(
            workspace_id=link.workspace_id,
            type=name,
            start=NOON.date(),
            end=NOON.date(),
            zone=ZoneInfo("UTC"),
            limit=999,
        )
        rows = query_statistics(session, asked).rows
        head, *body = table(got.text)
        assert head == [*rows[0]]
        assert body == [["" if value is None else str(value) for value in row.values()] for row in rows]


def test_single_visits_as_csv(api: Api, link: Link, visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_clicks, "BATCH_SIZE", 3)
    visits(*({"city_name": f"City {n}", "time_ms": int(NOON.timestamp() + n // 4) * 1000} for n in range(10)))
    visits({"is_bot": 1}, {"time_ms": int(NOON.timestamp() - 86400) * 1000})
    for path in ("/statistics/clicks", f"/statistics/{link.id}/clicks"):
        head, *rows = table(api.get(f"{path}?{DAY}").text)
        assert head[:3] == ["datetime", "link_id", "is_bot"]
        assert [(row[0], row[head.index("city_name")]) for row in rows] == [
            (f"2026-10-05 12:00:0{n // 4}", f"City {n}") for n in range(10)
        ]
        assert len(table(api.get(f"{path}?{DAY}&city_name=City+4").text)) == 2
        assert len(table(api.get(f"{path}?{DAY}&bots=1").text)) == 2


def test_no_cell_is_a_formula(api: Api, visits: Visits) -> None:
    visits({"utm_source": "=1+1", "city_name": "1+1=2"})
    [head, row] = table(api.get(f"/statistics/clicks?{DAY}").text)
    assert (row[head.index("utm_source")], row[head.index("city_name")]) == ("'=1+1", "1+1=2")
    [_, row] = table(api.get(f"/statistics?{DAY}&type=utm_source&format=csv").text)
    assert row[0] == "'=1+1"
