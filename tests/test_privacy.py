"""Privacy of visitors: no address is stored, and yesterday's visitor can't be recognised."""

from __future__ import annotations

import datetime as dt
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import time_machine

from app.analytics.ingest import Ingest
from app.analytics.models import Click
from app.core.config import Settings
from app.journal.codec import decode
from app.journal.daily_salt import day_key, sweep_keys, visitor_hash
from app.redirects.context import RedirectContext
from tests.analytics.conftest import Tables, take_in
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for

ADDRESSES = ("203.0.113.77", "2001:db8:7c1a::9e77")
SECRET = "a-word-of-a-query"
YESTERDAY = dt.datetime(2026, 10, 5, 21, tzinfo=dt.UTC)
TODAY = dt.datetime(2026, 10, 6, 1, 30, tzinfo=dt.UTC)


def holding(directory: Path, secret: bytes) -> list[str]:
    """The files that contain `secret` anywhere, also in free pages of databases and in their logs."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert len(files) > 3
    return [path.name for path in files if secret in path.read_bytes()]


def visit(redirect_context: RedirectContext) -> str:
    """The visitor hash of one address and browser at this moment."""
    environ = {"REMOTE_ADDR": ADDRESSES[0], "HTTP_USER_AGENT": BROWSER, "QUERY_STRING": ""}
    line = redirect_context.line(
        SimpleNamespace(id=7, workspace_id=1), redirect_context.visitor(environ), "https://a.example/"
    )
    assert redirect_context.journal.append(line)
    found = decode(line.strip(b"\n"))
    assert found
    return found.visitor


def test_yesterdays_visitor_cant_be_recognised(settings: Settings) -> None:
    redirect_context, ingest, tables = RedirectContext(settings), Ingest(settings), Tables(settings)
    with time_machine.travel(YESTERDAY, tick=False):
        key = day_key(settings.data_dir, YESTERDAY.date())
        hashes = {visit(redirect_context), visit(redirect_context)}
        assert hashes == {visitor_hash(key, ADDRESSES[0], BROWSER.encode(), 1)}
        take_in(ingest)
    assert holding(settings.data_dir, key) == [str(YESTERDAY.date())]
    with time_machine.travel(TODAY, tick=False):
        assert sweep_keys(settings.data_dir, TODAY) == [YESTERDAY.date()]
        hashes.add(visit(redirect_context))
        take_in(ingest)
    assert {visitor for (visitor,) in tables.all(Click, "visitor")} == hashes
    assert len(hashes) == 2
    assert holding(settings.data_dir, key) == []
    # the key of that day, asked for now, is another one
    assert (
        visitor_hash(day_key(settings.data_dir, YESTERDAY.date()), ADDRESSES[0], BROWSER.encode(), 1)
        not in hashes
    )
    for each in (redirect_context, ingest):
        each.close()
    tables.engine.dispose()


def test_no_address_is_in_any_table_log_or_file(make_server: Callable[..., Server]) -> None:
    server = make_server(TRUSTED_PROXIES="1")
    owner = Owner(server)
    links = [
        owner.make_link(url="plain", location_url="https://a.example/"),
        owner.make_link(url="few", location_url="https://a.example/", clicks_limit=50),
        owner.make_link(url="secret", location_url="https://a.example/", password="correct horse"),
        owner.make_link(url="framed", location_url="https://a.example/", cloaking_is_enabled=True),
        owner.make_link(url="warned", location_url="https://a.example/", sensitive_content=True),
        owner.make_link(
            url="drawn",
            location_url="https://a.example/",
            targeting_type="rotation",
            targeting_rotation=[{"key": "50", "value": "https://b.example/"}],
        ),
    ]
    paths = ["/plain", "/few", "/secret", "/framed", "/warned", "/drawn", "/plain+", "/nothing", "/login"]
    paths += ["/api/user", "/readyz"]
    for address in ADDRESSES:
        headers = {
            "User-Agent": BROWSER,
            "X-Forwarded-For": address,
            "Referer": f"https://news.example/story?q={SECRET}",
            "Authorization": "Bearer wrong",
        }
        for path in paths:
            owner.session.get(
                f"{server.url}{path}?q={SECRET}", headers=headers, allow_redirects=False, timeout=60
            )
        owner.session.post(f"{server.url}/secret", {"password": "wrong"}, headers=headers, timeout=60)
        owner.session.post(f"{server.url}/warned", {}, headers=headers, timeout=60, allow_redirects=False)
        owner.session.cookies.clear()  # the next visitor is a new one
    wait_for(lambda: rows_of(server) == 4 * len(ADDRESSES), "the rows")
    assert owner.clicks(links[1]) == len(ADDRESSES)
    server.stop()
    for address in ADDRESSES:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        assert holding(server.data_dir, address.encode()) == []
        assert address not in server.written()
        if family == socket.AF_INET6:  # four bytes may be there by chance
            assert holding(server.data_dir, socket.inet_pton(family, address)) == []
    # nor the content of a query, of the visit or of its referrer
    assert holding(server.data_dir, SECRET.encode()) == []
    assert SECRET not in server.written()


def rows_of(server: Server) -> int:
    with sqlite3.connect(f"file:{server.data_dir / 'clicks.db'}?mode=ro", uri=True) as connection:
        found = connection.execute("SELECT count(*) FROM click").fetchone()[0]
    connection.close()
    return int(found)
