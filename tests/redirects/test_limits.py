"""Click limits: exactly as many visitors get through as the limit says, and `clicks` agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.accounts.models import User
from app.analytics.ingest import Ingest
from app.core.config import Settings
from app.core.patience import LIMITED
from app.core.postgresql import limit_waiting
from app.journal.codec import Visit, decode
from app.links import services
from app.notifications.events import LIMIT_REACHED
from app.notifications.models import Event
from app.redirects import limits, pending_clicks
from app.redirects.context import RedirectContext
from app.redirects.limits import open_engine
from app.redirects.wsgi import Front
from tests.analytics.conftest import Tables, take_in
from tests.clients import Api
from tests.factories import Factory
from tests.redirects.conftest import Person

Visits = Callable[[], list[Visit]]
THERE, AFTER = "https://example.com/there", "https://after.example/"
PREVIEWS = [
    "facebookexternalhit/1.1", "Twitterbot/1.0", "LinkedInBot/1.0", "Slackbot-LinkExpanding 1.0", "TelegramBot",
    "WhatsApp/2.23.20.0", "Discordbot/2.0", "SkypeUriPreview", "Googlebot/2.1", "bingbot/2.0",
    "Pinterestbot/1.0", "redditbot/1.0", "Mastodon/4.3.1", "Bluesky Cardyb/1.1", "curl/8.5.0", "Wget/1.21", "python-requests/2.31",
    "Go-http-client/2.0", "okhttp/4.12", "",
]  # fmt: skip


@pytest.fixture
def ingest(settings: Settings) -> Iterator[Ingest]:
    made = Ingest(settings)
    yield made
    made.close()


@pytest.fixture
def clicks(api: Api) -> Callable[[Any], int]:
    return lambda link: api.get(f"/links/{link.id}").json["data"]["clicks"]


@pytest.fixture
def tables(settings: Settings) -> Iterator[Tables]:
    tables = Tables(settings)
    yield tables
    tables.engine.dispose()


def got_through(answers: Any) -> int:
    return sum(answer.headers.get("Location") == THERE for answer in answers)


@pytest.mark.databases
@pytest.mark.parametrize("limit", [1, 3])
def test_one_after_the_other(
    limit: int, person: Person, factory: Factory, owner: User, clicks: Any, visits: Visits
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=limit)
    for used in range(limit):
        assert clicks(link) == used
        assert person.open("/a").headers["Location"] == THERE
    for _ in range(3):
        answer = person.open("/a")
        assert (answer.status_code, "Location" in answer.headers) == (410, False)
        assert "example.com" not in answer.text
    assert clicks(link) == limit
    assert visits() == [], "the journal, which may lag behind, has no part in it"


@pytest.mark.databases
def test_many_threads_at_once(
    redirect_context: RedirectContext, person: Person, factory: Factory, owner: User, clicks: Any
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=10)
    other = factory.link(owner, "b", location_url=THERE, clicks_limit=10)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: person.open(f"/{'ab'[n % 2]}"), range(120)))
    assert got_through(answers) == 20
    assert (clicks(link), clicks(other)) == (10, 10)
    assert {answer.status_code for answer in answers} == {302, 410}


@pytest.mark.databases
def test_whoever_uses_the_last_click_has_the_owner_told_once(
    front: Front, person: Person, factory: Factory, owner: User
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=3)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: person.open("/a"), range(12)))
    assert told(factory) == [(link.id, {"clicks_limit": 3})]
    services.update(link, {"clicks_limit": 4})
    factory.session.commit()
    front.compiled_links.poll()
    assert [person.open("/a").status_code for _ in range(2)] == [302, 410]
    assert told(factory) == [(link.id, {"clicks_limit": limit}) for limit in (3, 4)]
    services.update(link, {"clicks_limit": 2})
    factory.session.commit()
    front.compiled_links.poll()
    person.open("/a")
    assert len(told(factory)) == 2, "an owner who lowers it below what was used knows that"


def told(factory: Factory) -> list[tuple[int, Any]]:
    factory.session.rollback()
    rows = factory.session.query(Event).order_by(Event.id)
    return [(row.link_id, row.data) for row in rows if row.type == LIMIT_REACHED]


@pytest.mark.databases
def test_bots_head_and_prefetch_use_nothing_up_and_learn_nothing(
    person: Person, factory: Factory, owner: User, clicks: Any, visits: Visits
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=1)
    answers = [person.open("/a", agent=agent) for agent in PREVIEWS]
    answers += [person.open("/a", method="HEAD") for _ in range(5)]
    assert {answer.status_code for answer in answers} == {200}
    answers += [person.open("/a", headers={"Sec-Purpose": "prefetch"}) for _ in range(5)]
    assert not [answer for answer in answers if "example.com" in f"{answer.headers}{answer.text}"]
    assert clicks(link) == 0
    assert person.open("/a").headers["Location"] == THERE
    assert person.open("/a").status_code == 410
    assert clicks(link) == 1
    assert [visit.is_bot for visit in visits()] == [1] * len(PREVIEWS)


@pytest.mark.databases
def test_the_clicks_that_there_were_count(
    person: Person, factory: Factory, owner: User, clicks: Any, ingest: Ingest, api: Api, front: Front
) -> None:
    """A limit is compared with all clicks, whether they are ingested yet or not."""
    link = factory.link(owner, "a", location_url=THERE)
    for _ in range(3):
        person.open("/a")
    take_in(ingest)
    for _ in range(2):
        person.open("/a")  # these wait in the journal
    person.open("/a", agent="curl/8.5.0")
    set_limit(api, front, link, 7)
    assert got_through(person.open("/a") for _ in range(5)) == 2
    take_in(ingest)
    assert clicks(link) == 7
    set_limit(api, front, link, 9)
    assert got_through(person.open("/a") for _ in range(5)) == 2, "raising it opens the link again"
    set_limit(api, front, link, 4)
    assert got_through(person.open("/a") for _ in range(5)) == 0
    set_limit(api, front, link, 0)
    assert got_through(person.open("/a") for _ in range(5)) == 5
    set_limit(api, front, link, 15)
    assert got_through(person.open("/a") for _ in range(5)) == 1, "9 with a limit, 5 without, 1 more"
    take_in(ingest)
    assert clicks(link) == 15


def set_limit(api: Api, front: Front, link: Any, limit: int) -> None:
    assert api.post(f"/links/{link.id}", {"clicks_limit": str(limit)}).status_code == 200
    front.compiled_links.poll()


@pytest.mark.databases
def test_once_nothing_can_come_any_more_the_journal_is_not_read_again(
    person: Person,
    factory: Factory,
    owner: User,
    api: Api,
    front: Front,
    ingest: Ingest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = factory.link(owner, "a", location_url=THERE)
    person.open("/a")
    set_limit(api, front, link, 4)
    monkeypatch.setattr(pending_clicks, "SETTLED_SECONDS", 0.0)
    monkeypatch.setattr(front.redirect_context.limits.journal, "keep_seconds", 600.0)
    assert person.open("/a").headers["Location"] == THERE
    monkeypatch.setattr(pending_clicks.Journaled, "counted_and_waiting", lambda *_: pytest.fail("read again"))
    take_in(ingest)
    assert got_through(person.open("/a") for _ in range(5)) == 2


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_visits_that_another_machine_ingests_late_use_up_the_limit(
    person: Person,
    factory: Factory,
    owner: User,
    api: Api,
    front: Front,
    settings: Settings,
    tmp_path: Path,
    clicks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They came before the link had a limit, and waited in that machine's journal while it was down."""
    link = factory.link(owner, "a", location_url=THERE)
    directory = tmp_path / "other"
    directory.mkdir()
    other = RedirectContext(replace(settings, data_dir=directory))
    assert got_through(Person(Front(front.behind, other)).open("/a") for _ in range(3)) == 3
    other.close()
    set_limit(api, front, link, 10)
    monkeypatch.setattr(pending_clicks, "SETTLED_SECONDS", 0.0)
    assert got_through(person.open("/a") for _ in range(2)) == 2
    ingest = Ingest(other.settings)
    take_in(ingest)
    ingest.close()
    monkeypatch.setattr(front.redirect_context.limits.journal, "keep_seconds", 0.0)
    assert clicks(link) == 5
    compiled_link = front.compiled_links.find("localhost", "/a")
    assert compiled_link
    compiled_link.journaled_until = 0.0  # as after RECOUNT_SECONDS
    assert got_through(person.open("/a") for _ in range(9)) == 5, "3 there, 2 before, and 5 to make ten"
    assert clicks(link) == 10


@pytest.mark.databases
def test_a_segment_that_goes_meanwhile_is_counted_once(
    redirect_context: RedirectContext,
    person: Person,
    factory: Factory,
    owner: User,
    ingest: Ingest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = factory.link(owner, "a", location_url=THERE)
    for _ in range(3):
        person.open("/a")
    redirect_context.journal.close()
    counting = redirect_context.limits.journal
    waiting, tries = counting.waiting, []

    def overtaken(*arguments: Any) -> int | None:
        tries.append(1)
        if len(tries) == 1:
            take_in(ingest)
        return waiting(*arguments)

    monkeypatch.setattr(counting, "waiting", overtaken)
    assert counting.counted_and_waiting(link.id) == 3
    assert len(tries) == 2


def test_the_limit_that_counts_is_the_stored_one(
    redirect_context: RedirectContext, person: Person, factory: Factory, owner: User, change: Any
) -> None:
    """A process may not know the change yet: even then no visitor too many gets through."""
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=5)
    person.open("/a")
    change(link, clicks_limit=2)
    assert got_through(person.open("/a") for _ in range(5)) == 1


@pytest.mark.databases
def test_the_visit_reaches_the_clicks_with_all_that_is_known(
    person: Person, factory: Factory, owner: User, ingest: Ingest, tables: Tables, settings: Settings
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=2)
    person.open("/a?utm_source=mail", headers={"Referer": "https://news.example/x"})
    take_in(ingest)
    assert [link_id for _, link_id in tables.rows()] == [link.id]
    assert {"mail", "news.example", "/x", THERE} <= set(tables.terms().values())


@pytest.fixture
def main(settings: Settings) -> Iterator[Engine]:
    engine = open_engine(settings)
    yield engine
    engine.dispose()


@pytest.mark.full
@pytest.mark.databases
def test_while_nothing_can_be_written_nobody_gets_through(
    redirect_context: RedirectContext,
    person: Person,
    factory: Factory,
    owner: User,
    main: Engine,
    clicks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """503 with Retry-After, and no redirect; afterwards all works again, and no click was used up."""
    monkeypatch.setattr(limits, "BUSY_MS", 20)
    monkeypatch.setattr(limits, "LIMITED", replace(LIMITED, lock=0.02))
    if main.dialect.name == "postgresql":
        limit_waiting(main, replace(LIMITED, idle=None))  # it holds the lock for as long as the test takes
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=2)
    with main.execution_options(sqlite_begin="IMMEDIATE").begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE limit_counter IN SHARE MODE"))
        for _ in range(3):
            answer = person.open("/a")
            assert (answer.status_code, "Location" in answer.headers) == (503, False)
            assert int(answer.headers["Retry-After"]) > 0
    assert clicks(link) == 0
    assert got_through(person.open("/a") for _ in range(4)) == 2


@pytest.mark.databases
def test_the_line_that_is_kept_is_the_journals(
    redirect_context: RedirectContext, person: Person, factory: Factory, owner: User, main: Engine
) -> None:
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=2)
    person.open("/a", environ_base={"REMOTE_ADDR": "203.0.113.77"})
    with main.connect() as connection:
        [(version, line)] = connection.execute(text("SELECT version, line FROM limited_visit"))
    visit = decode(bytes(line).strip(b"\n"))
    assert version == ".v1"
    assert visit is not None
    assert (visit.link_id, visit.is_bot, visit.destination) == (link.id, 0, THERE)
    assert b"203.0.113" not in bytes(line)


def test_the_last_click_is_used_when_the_destination_is_reached_and_not_before(
    person: Person, factory: Factory, owner: User, clicks: Any
) -> None:
    """A gate uses up no click; but an exhausted limit answers before any gate."""
    link = factory.link(owner, "a", location_url=THERE, clicks_limit=1, sensitive_content=True)
    for _ in range(3):
        assert person.open("/a").status_code == 200
        answer = person.open("/a", method="POST")
        assert answer.status_code == 303
    assert clicks(link) == 0
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert person.open("/a", headers={"Cookie": cookie}).headers["Location"] == THERE
    assert clicks(link) == 1
    for method in ("GET", "HEAD", "POST"):
        assert person.open("/a", method=method).status_code == 410
    assert person.open("/a", headers={"Cookie": cookie}).status_code == 410
