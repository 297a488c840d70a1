"""The loop that fetches icons: none delays the others, each is stored once, and none is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.jobs import fair_pool
from app.jobs.favicons import FaviconFetcher
from app.links import favicons, services
from app.links.favicons import FetchedIcon
from app.links.models import Favicon
from tests.links.sites import ICON, answer, serve
from tests.notifications.peers import Peers
from tests.server import wait_for

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    yield engine
    engine.dispose()


@pytest.fixture
def fetcher(engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> FaviconFetcher:
    monkeypatch.setattr(fair_pool, "SERVER_PAUSE", 0.0)
    return FaviconFetcher(engine, settings)


def stored(session: Session) -> dict[str, bool]:
    """Each site, and whether its icon is there; only of those that are over."""
    session.rollback()
    rows = session.execute(select(Favicon.site, Favicon.digest).where(Favicon.due.is_(None)))
    return {site: digest is not None for site, digest in rows}


def until(fetcher: FaviconFetcher, is_so: Callable[[], bool]) -> None:
    def turned() -> bool:
        fetcher.turn()
        return is_so()

    wait_for(turned, "the icons")


@pytest.mark.databases
def test_icons_come(session: Any, alice: User, peers: Peers, fetcher: FaviconFetcher) -> None:
    good, bad = serve(peers, {"/favicon.ico": answer(ICON, "image/png")}), serve(peers, {})
    services.create_bulk(access_of(alice), {"location_urls": [f"{good.url}a", f"{bad.url}b", f"{good.url}c"]})
    session.commit()
    until(fetcher, lambda: len(stored(session)) == 2)
    assert stored(session) == {good.url[:-1]: True, bad.url[:-1]: False}
    assert sum(b"/favicon.ico" in heard for heard in peers.heard) == 2


def test_who_hangs_delays_nobody(
    session: Any,
    alice: User,
    bob: User,
    peers: Peers,
    fetcher: FaviconFetcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also not a site of the same owner: it has more threads than one."""
    monkeypatch.setattr(favicons, "SECONDS", 30.0)
    hanging = peers.serve(peers.hangs)
    services.create(access_of(alice), {"location_url": hanging.url})
    session.commit()
    fetcher.turn()
    assert len(fetcher.running) == 1
    icon = {"/favicon.ico": answer(ICON, "image/png")}
    sites = [serve(peers, icon, host=f"127.0.0.{number}") for number in (2, 3)]
    for user, site in zip((alice, bob), sites, strict=True):
        services.create(access_of(user), {"location_url": site.url})
    session.commit()
    # a thread ends after what it found is stored
    until(fetcher, lambda: len(stored(session)) == 2 and len(fetcher.running) == 1)
    peers.over.set()


def test_threads_are_shared_fairly(
    session: Any, alice: User, bob: User, fetcher: FaviconFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = threading.Event(), list[str]()

    def ask(site: str, _allowed: object) -> FetchedIcon:
        begun.append(site)
        gate.wait(60)
        return FetchedIcon(None)

    monkeypatch.setattr(favicons, "ask", ask)
    services.create_bulk(access_of(alice), {"location_urls": [f"https://a{n}.example/" for n in range(9)]})
    services.create_bulk(access_of(bob), {"location_urls": ["https://b.example/", "https://a0.example/"]})
    session.commit()
    fetcher.turn()
    fetcher.turn()
    wait_for(lambda: len(begun) == 3, "the threads")
    assert sum(site.startswith("https://a") for site in begun) == fair_pool.OWNER_THREADS
    assert "https://b.example" in begun
    gate.set()
    until(fetcher, lambda: len(stored(session)) == 10)
    assert len(begun) == 11


def test_two_workers_fetch_each_icon_once(
    session: Any, alice: User, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[str]()
    monkeypatch.setattr(favicons, "ask", lambda site, _allowed: begun.append(site) or FetchedIcon(b"icon"))
    services.create_bulk(access_of(alice), {"location_urls": [f"https://a{n}.example/" for n in range(20)]})
    session.commit()
    fetchers = [FaviconFetcher(engine, settings) for _ in range(2)]
    for one in fetchers:
        one.poll_seconds = 0.01
        one.start()
    wait_for(lambda: len(stored(session)) == 20, "the icons")
    for one in fetchers:
        one.stop(60)
    assert len(begun) == len(set(begun)) == 20
