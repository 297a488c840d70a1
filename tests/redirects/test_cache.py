"""The cache of compiled links: it never keeps a stale one, whatever happens between two lines."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.errors import StoreDown
from app.links.models import PlanChange
from app.redirects import cache, changes
from app.redirects import cache as polling
from app.redirects.cache import CompiledLinks, Poller
from app.redirects.context import RedirectContext
from tests.factories import Factory
from tests.server import wait_for

HOST = "localhost"


@pytest.fixture
def plans(redirect_context: RedirectContext) -> CompiledLinks:
    return redirect_context.compiled_links


def destination(plans: CompiledLinks, path: str = "/a") -> str | None:
    plan = plans.find(HOST, path)
    return plan.location_url if plan else None


@pytest.mark.databases
def test_a_change_drops_what_it_names_and_no_more(
    plans: CompiledLinks, factory: Factory, owner: User, change: Callable[..., None]
) -> None:
    changed, other = factory.link(owner, "a"), factory.link(owner, "b")
    first, second = plans.find(HOST, "/a"), plans.find(HOST, "/b")
    assert first and second
    change(changed, location_url="https://example.com/2")
    plans.poll()
    assert destination(plans) == "https://example.com/2"
    assert plans.find(HOST, "/b") is second
    assert first.is_gone and not second.is_gone
    assert other.id == second.id


@pytest.mark.databases
@pytest.mark.parametrize("row", [{"domain_id": 0}, {}], ids=["whole domain", "everything"])
def test_rows_that_name_many(
    row: dict[str, int], plans: CompiledLinks, factory: Factory, owner: User
) -> None:
    factory.link(owner, "a")
    plan = plans.find(HOST, "/a")
    factory.add(PlanChange(**row))
    plans.poll()
    assert plan and plan.is_gone
    assert plans.find(HOST, "/a") is not plan


def test_every_spelling_of_a_changed_link_is_dropped(
    plans: CompiledLinks, factory: Factory, owner: User, change: Callable[..., None]
) -> None:
    link = factory.link(owner, "Abc")
    spellings = ["/Abc", "/ABC", "/abc/"]
    assert {destination(plans, path) for path in spellings} == {link.location_url}
    change(link, location_url="https://example.com/2")
    plans.poll()
    assert {destination(plans, path) for path in spellings} == {"https://example.com/2"}


def test_a_miss_is_not_kept(plans: CompiledLinks, factory: Factory, owner: User) -> None:
    assert plans.find(HOST, "/a") is None
    factory.link(owner, "a")
    assert plans.find(HOST, "/a")


def test_a_load_that_a_change_overtook_is_not_kept(
    plans: CompiledLinks,
    factory: Factory,
    owner: User,
    change: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The change commits, and is polled, after the row was read and before its compiled link was kept."""
    link = factory.link(owner, "a")
    read = plans.store.link

    def overtaken(domain_id: int, alias: str) -> Any:
        row = read(domain_id, alias)
        change(link, location_url="https://example.com/2")
        plans.poll()
        return row

    monkeypatch.setattr(plans.store, "link", overtaken)
    assert destination(plans) == "https://example.com/somewhere"  # it began before the change
    monkeypatch.undo()
    assert destination(plans) == "https://example.com/2"


def test_two_generations_hold_a_bounded_number(
    plans: CompiledLinks, factory: Factory, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "GENERATION", 3)
    monkeypatch.setattr(cache, "SPELLINGS", 6)
    for number in range(12):
        factory.link(owner, f"a{number}")
    for _ in range(2):
        for number in range(12):
            assert destination(plans, f"/a{number}")
            assert destination(plans, f"/A{number}")
            assert len(plans.young) <= 3
            assert len(plans.old) <= 3
            assert len(plans.spellings) <= 6
    at_hand = {id(plan) for plan in (*plans.young.values(), *plans.old.values())}
    assert all(id(plan) in at_hand for plan in plans.spellings.values())


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_number_that_appears_late_is_not_passed_over(
    plans: CompiledLinks, factory: Factory, owner: User, session: scoped_session[Session], app: Flask
) -> None:
    """On PostgreSQL the transaction with the higher id may commit first."""
    factory.link(owner, "a")
    factory.add(PlanChange(domain_id=0, alias="earlier"))
    plan, engine = plans.find(HOST, "/a"), sa.create_engine(app.config["WAYPOST"].database_url)
    assert plan
    with engine.connect() as slow:
        slow.execute(sa.insert(PlanChange).values(domain_id=0, alias="a"))
        factory.add(PlanChange(domain_id=0, alias="b"))
        plans.poll()
        assert not plan.is_gone
        slow.commit()
    plans.poll()
    assert plan.is_gone
    engine.dispose()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_number_that_never_appears_is_given_up_after_a_while(
    plans: CompiledLinks,
    factory: Factory,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans.poll()
    factory.add(PlanChange(domain_id=0, alias="a"))
    plans.poll()
    assert plans.changes.gaps == []
    session.execute(sa.insert(PlanChange).values(domain_id=0, alias="rolled back"))
    session.rollback()
    factory.add(PlanChange(domain_id=0, alias="b"))
    assert [change.alias for change in plans.changes.news()] == ["b"]
    assert len(plans.changes.gaps) == 1
    monkeypatch.setattr(changes, "LATE_SECONDS", -1)
    plans.poll()
    assert plans.changes.gaps == []
    factory.add(PlanChange(domain_id=0, alias="c"))
    assert [change.alias for change in plans.changes.news()] == ["c"]


GAPS = {
    # the ids that are seen one poll after the other, and the gaps that are left
    "in order": ([[1, 2], [3]], []),
    "one is late": ([[1, 4]], [(2, 3)]),
    "and comes": ([[1, 4], [2]], [(3, 3)]),
    "from the middle": ([[1, 9], [4, 5]], [(2, 3), (6, 8)]),
    "both ends": ([[1, 9], [2, 8]], [(3, 7)]),
    "all come": ([[1, 4], [2, 3], [5]], []),
    "together with new ones": ([[1, 4], [3, 7]], [(2, 2), (5, 6)]),
}


@pytest.mark.parametrize("case", GAPS)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_gaps(case: str, plans: CompiledLinks) -> None:
    polls, expected = GAPS[case]
    for ids in polls:
        plans.changes.note(ids, 1.0)
    assert [gap[:2] for gap in plans.changes.gaps] == expected
    assert plans.changes.highest == max(number for ids in polls for number in ids)


def test_a_database_that_is_down_says_so_and_comes_back(
    plans: CompiledLinks, factory: Factory, owner: User
) -> None:
    factory.link(owner, "a")
    assert destination(plans)
    store, text = plans.store, plans.store.link_statement.text
    store.link_statement.text = "SELECT nothing FROM nowhere WHERE 1 = ? AND 2 = ?"
    assert destination(plans)  # from memory
    with pytest.raises(StoreDown):
        plans.find(HOST, "/b")
    store.link_statement.text = text
    factory.link(owner, "b")
    assert destination(plans, "/b")


def test_many_threads_share_four_connections(plans: CompiledLinks, factory: Factory, owner: User) -> None:
    for number in range(40):
        factory.link(owner, f"a{number}")
    found: list[str | None] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(destination(plans, f"/a{n}"))) for n in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count("https://example.com/somewhere") == 40
    assert plans.store.free.qsize() == 4


ROUNDS = 60
# changes a link as its service does, and is killed at once after the commit
WRITE_AND_DIE = """
import os, sqlite3, sys
path, link_id, number = sys.argv[1:]
connection = sqlite3.connect(path, isolation_level=None, timeout=10)
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE link SET location_url = ? WHERE id = ?", [f"https://e.com/{number}", link_id])
change = "INSERT INTO plan_change (domain_id, alias, datetime) VALUES (0, 'a', '2027-01-01 00:00:00')"
connection.execute(change)
connection.execute("COMMIT")
os.kill(os.getpid(), 9)
"""


@pytest.mark.full
def test_no_stale_plan_stays_while_writers_are_killed_and_readers_never_rest(
    plans: CompiledLinks, factory: Factory, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "POLL_SECONDS", 0.005)
    link_id = str(factory.link(owner, "a").id)
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        WRITE_AND_DIE,
        str(plans.settings.data_dir / "main.db"),
        link_id,
    ]
    poller, ended = Poller(plans), threading.Event()

    def read() -> None:
        while not ended.is_set():
            plans.find(HOST, "/a")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (poller, *readers):
        thread.start()
    try:
        for number in range(ROUNDS):
            assert subprocess.run([*command, str(number)], check=False).returncode == -signal.SIGKILL
            expected = f"https://e.com/{number}"
            wait_for(lambda expected=expected: destination(plans) == expected, "the change", 5)  # type: ignore[misc]
    finally:
        ended.set()
        for thread in readers:
            thread.join()
        poller.stop()
