"""The row cache and its warmer: rows are returned as they were stored, and never after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.accounts.deletion.leaving import leave
from app.accounts.models import User
from app.core.config import Settings
from app.core.errors import StoreDown
from app.links.models import PlanChange
from app.redirects import cache, row_cache
from app.redirects.cache import CompiledLinks, RowCacheWarmer
from app.redirects.queries import NAMES
from app.redirects.row_cache import RowCache
from tests.factories import Factory

THERE, OTHER = "https://example.com/there?a=1&b=%zz#c", "https://example.com/other"


def row(**columns: Any) -> dict[str, Any]:
    plain = {"domain_id": 0, "id": 7, "workspace_id": 3, "url": "abc", "location_url": THERE}
    return {**plain, "http_status_code": 302, "password_version": 0, **columns}


ROWS = {
    "plain": ("abc", row()),
    "typed in capitals": ("abc", row(url="ABC")),
    "another status": ("abc", row(http_status_code=308, password_version=4)),
    "another domain": ("abc", row(domain_id=12)),
    "beyond ASCII": ("grüsse", row(url="Grüße")),
    "emoji": ("👩‍🚀", row(url="👩‍🚀")),
    "without TLS": ("abc", row(location_url="http://example.com")),
    "numbers": ("1", row(url="1", id=2**40, workspace_id=2**33)),
}


@pytest.mark.parametrize(("alias", "kept"), ROWS.values(), ids=ROWS)
def test_it_comes_back_as_it_was(alias: str, kept: dict[str, Any]) -> None:
    made = RowCache()
    made.put(alias, kept)
    assert made.get(kept["domain_id"], alias) == kept
    assert set(kept) == set(NAMES)
    assert made.get(kept["domain_id"] + 1, alias) is None
    assert made.get(kept["domain_id"], alias + "x") is None


@pytest.mark.parametrize(
    "other",
    [
        row(utm_source=None),  # a row with all columns: an option is set
        row(location_url="https://bücher.example/"),
        row(location_url="https://EXAMPLE.com/"),
        row(location_url="javascript:alert(1)"),
        row(location_url="https://example.com/a\tb"),
        row(location_url="https://example.com/a\nb"),
    ],
)
def test_only_what_needs_no_thought_is_kept(other: dict[str, Any]) -> None:
    made = RowCache()
    made.put("abc", other)
    assert made.get(0, "abc") is None


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only two buckets for all links."""
    monkeypatch.setattr(row_cache, "SHELVES", 2)


@pytest.mark.usefixtures("narrow")
def test_neighbours_do_not_disturb_each_other() -> None:
    made = RowCache()
    for number in range(50):
        made.put(f"a{number}", row(id=number, domain_id=number % 3))
    for number in range(50):
        found = made.get(number % 3, f"a{number}")
        assert found and found["id"] == number
    made.put("a7", row(id=99, domain_id=1))
    made.remove(2, "a8")
    made.remove(2, "never there")
    assert [made.get(number % 3, f"a{number}") is None for number in range(50)].count(True) == 1
    assert (made.get(1, "a7") or {})["id"] == 99
    made.drop(1)
    assert made.get(1, "a7") is None
    assert made.get(0, "a9")
    assert made.size == sum(map(len, made.lines)) - 2
    made.drop(None)
    assert made.size == 0
    assert made.lines == [b"\n"] * 2


@pytest.mark.usefixtures("narrow")
def test_a_domains_number_is_no_part_of_anothers() -> None:
    made = RowCache()
    made.put("a", row(domain_id=1))
    made.put("a", row(domain_id=11))
    made.drop(1)
    assert made.get(1, "a") is None
    assert made.get(11, "a")


@pytest.mark.usefixtures("narrow")
def test_it_never_grows_beyond_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cache, "MAX_BYTES", 2000)
    made = RowCache()
    for number in range(500):
        made.put(f"a{number}", row(id=number))
        assert made.size == sum(map(len, made.lines)) - 2 < 2000 + 100
        assert made.get(0, f"a{number}")  # the newest row is there
    assert sum(made.get(0, f"a{number}") is not None for number in range(500)) > 5


@pytest.fixture
def plans(settings: Settings) -> Iterator[CompiledLinks]:
    made = CompiledLinks(settings)
    yield made
    made.close()


def destination(plans: CompiledLinks, path: str) -> str | None:
    plan = plans.find("localhost", path)
    return plan.location_url if plan else None


def warmed(plans: CompiledLinks) -> RowCacheWarmer:
    warmer = RowCacheWarmer(plans)
    while warmer.step():
        pass
    return warmer


@pytest.fixture
def without_database(plans: CompiledLinks, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, it makes every further look-up of a link fail."""

    def fail(*_: Any) -> None:
        raise StoreDown

    return lambda: monkeypatch.setattr(plans.store, "link", fail)


@pytest.mark.databases
def test_links_are_there_before_anybody_asks(
    plans: CompiledLinks, factory: Factory, owner: User, without_database: Callable[[], None]
) -> None:
    for number in range(5):
        factory.link(owner, f"A{number}", location_url=f"{OTHER}/{number}")
    factory.link(owner, "more", location_url=THERE, utm_source="mail")
    warmed(plans)
    without_database()
    for number in range(5):
        assert destination(plans, f"/a{number}") == f"{OTHER}/{number}"
    with pytest.raises(StoreDown):
        destination(plans, "/more")


@pytest.mark.databases
def test_links_of_who_was_deleted_are_not_there(plans: CompiledLinks, factory: Factory, owner: User) -> None:
    gone = factory.user()
    leave(gone)
    factory.session.commit()
    factory.link(gone, "gone")
    factory.link(owner, "here")
    warmed(plans)
    assert plans.row_cache.get(0, "here")
    assert plans.row_cache.get(0, "gone") is None
    assert plans.find("localhost", "/gone") is None


@pytest.mark.databases
def test_only_as_many_are_read_as_it_holds(
    plans: CompiledLinks, factory: Factory, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest ones, and those that are made later."""
    monkeypatch.setattr(cache, "MAX_LINKS", 2)
    for name in ("one", "two", "three"):
        factory.link(owner, name)
    warmer = warmed(plans)
    factory.link(owner, "four")
    assert warmer.step()
    kept = [name for name in ("one", "two", "three", "four") if plans.row_cache.get(0, name)]
    assert kept == ["two", "three", "four"]
    assert destination(plans, "/one")


@pytest.mark.usefixtures("narrow")
def test_new_links_are_seen_too_and_those_of_a_dropped_domain_again(
    plans: CompiledLinks, factory: Factory, owner: User
) -> None:
    factory.link(owner, "one")
    warmer = warmed(plans)
    factory.link(owner, "two")
    assert plans.row_cache.get(0, "two") is None
    assert warmer.step()
    assert plans.row_cache.get(0, "two")
    assert not warmer.step()
    factory.add(PlanChange(domain_id=0))
    plans.poll()
    assert plans.row_cache.get(0, "one") is None
    while warmer.step():
        pass
    assert plans.row_cache.get(0, "one")


@pytest.mark.databases
def test_a_change_is_seen_at_the_next_poll(
    plans: CompiledLinks, factory: Factory, owner: User, change: Callable[..., None]
) -> None:
    link = factory.link(owner, "a", location_url=THERE)
    warmed(plans)
    assert destination(plans, "/a") == THERE
    change(link, location_url=OTHER)
    plans.poll()
    assert destination(plans, "/a") == OTHER
    change(link, password_hash="x")
    plans.poll()
    found = plans.find("localhost", "/a")
    assert found and found.password_hash == "x"
    assert plans.row_cache.get(0, "a") is None
