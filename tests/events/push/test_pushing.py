"""What handlers are told of the feed: which events, in which messages, and each exactly once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.leases import precise_now
from app.events.push import handlers, steps
from app.events.push.pusher import BATCH_SIZE, WORKSPACE_PLACES, PlaceState, choose_places
from app.links import services
from app.links.models import link_notification_handler
from app.notifications.models import ClickNumber, Delivery, EventCursor, NotificationHandler
from app.notifications.site import site_of
from app.notifications.waiting import message_of
from tests.events.conftest import Feed
from tests.events.push.conftest import CHAT, Push

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")
Make = Callable[..., Any]


def attach(session: scoped_session[Session], link: Any, handler: NotificationHandler) -> None:
    row = {"link_id": link.id, "notification_handler_id": handler.id}
    session.execute(link_notification_handler.insert(), [row])
    session.commit()


@pytest.mark.databases
def test_clicks_come_in_batches_each_once(feed: Feed, make: Make, push: Push, follower: Make) -> None:
    link = make("spring")
    feed.visit(link.id, 3)  # before there was the handler
    handler = follower()
    feed.visit(link.id, 250, country_code="DE", destination="https://example.com/")
    push()
    told = push.told(handler)
    assert [(type_, list(data), len(data["clicks"])) for type_, data in told] == [
        ("link.clicked", ["clicks"], 100),
        ("link.clicked", ["clicks"], 100),
        ("link.clicked", ["clicks"], 50),
    ]
    every = [event for event in feed.all() if event["type"] == "link.clicked"]
    assert [click for _, data in told for click in data["clicks"]] == [event["data"] for event in every[3:]]
    push()
    feed.visit(link.id)
    push()
    push()
    assert len(push.clicks()) == len(set(push.clicks())) == 251


@pytest.mark.databases
def test_changes_come_one_by_one(feed: Feed, make: Make, push: Push, follower: Make) -> None:
    handler = follower(events=["link.created", "link.updated", "link.deleted"])
    link = make("spring")
    services.update(link, {"title": "Spring"})
    services.delete(link)
    feed.sequence()
    push()
    told = push.told(handler)
    assert [type_ for type_, _ in told] == ["link.created", "link.updated", "link.deleted"]
    assert [data for _, data in told] == [
        {"event_id": event["id"], **event["data"]} for event in feed.all() if event["type"] != "link.clicked"
    ]


SCOPES = {
    "workspace": ({"scope": "workspace"}, {"named", "other", "third"}),
    "attached": ({"scope": "attached"}, {"named"}),
    "one link": ({"scope": "attached", "link_id": 3}, {"third"}),
}


@pytest.mark.databases
@pytest.mark.parametrize("name", SCOPES)
def test_of_which_links(
    name: str, feed: Feed, make: Make, push: Push, follower: Make, session: scoped_session[Session]
) -> None:
    changes, expected = SCOPES[name]
    links = [make(url) for url in ("named", "other", "third")]
    if "link_id" in changes:
        changes = {**changes, "link_id": links[2].id}
    handler = follower(events=["link.clicked", "link.deleted"], **changes)
    attach(session, links[0], handler)
    ids = [link.id for link in links]
    for id_ in ids:
        feed.visit(id_)
    push()
    told = [data["clicks"] for _, data in push.told(handler)]
    assert {click["link"]["url"] for clicks in told for click in clicks} == expected
    session.execute(delete(Delivery))
    for link in links:
        services.delete(link)
    feed.sequence()
    push()  # those that are gone are known by the trash
    assert {data["link"]["url"] for type_, data in push.told(handler)} == expected


@pytest.mark.databases
def test_the_first_click_from_a_country_is_told_once(
    feed: Feed, make: Make, push: Push, follower: Make, session: scoped_session[Session]
) -> None:
    click_filter = {"countries": ["DE"], "is_bot": False, "every": 1, "first": True}
    handler, links = follower(click_filter=click_filter), [make(), make()]
    for link in links:
        feed.visit(link.id, 5, country_code="US")
        feed.visit(link.id, 5, country_code="DE", is_bot=1)
        feed.visit(link.id, 30, country_code="DE")
        push()
        feed.visit(link.id, 30, country_code="DE")
        push()
    told = [click for _, data in push.told(handler) for click in data["clicks"]]
    assert [(click["link"]["id"], click["country_code"]) for click in told] == [
        (link.id, "DE") for link in links
    ]
    assert session.scalar(select(func.count()).select_from(ClickNumber)) == 2
    handlers.update(handler, {"name": "other"})
    feed.visit(links[0].id, 2, country_code="DE")
    push()
    assert len(push.clicks()) == 2
    handlers.update(handler, {"click_filter": {**click_filter, "countries": ["DE", "FR"]}})
    feed.visit(links[0].id, 2, country_code="DE")
    push()
    assert len(push.clicks()) == 3  # another filter counts anew


def test_people_get_one_summary(feed: Feed, make: Make, push: Push, follower: Make, settings: Any) -> None:
    handler = follower(**CHAT, events=["link.clicked", "link.created"])
    first, second = make("first"), make("second")
    feed.sequence()
    feed.visit(first.id, 3)
    feed.visit(second.id, 9)
    push()
    [(type_, data)] = push.told(handler)
    assert type_ == "events.summary"
    assert (data["clicks"], data["links_count"], data["changes"]) == (12, 2, {"link.created": 2})
    assert [(one["link"]["url"], one["clicks"]) for one in data["links"]] == [("second", 9), ("first", 3)]
    row = push.session.scalars(select(Delivery)).one()
    message = message_of(row, site_of(settings))
    assert (message.title, message.text) == ("12 clicks on 2 links", "2 links were created.")
    assert message.facts == (("go.example/second", "9"), ("go.example/first", "3"))


@pytest.mark.databases
def test_the_feed_is_the_queue(
    feed: Feed,
    make: Make,
    push: Push,
    follower: Make,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With many deliveries that wait, nothing more is written; the rest follows when they are gone."""
    monkeypatch.setattr(steps, "MAX_WAITING", 10)
    handler = follower(events=["link.created"])
    for _ in range(13):
        make()
    feed.sequence()
    push()
    assert len(push.told()) == 10
    push()
    assert len(push.told()) == 10
    session.execute(update(Delivery).values(due=None, status="delivered"))
    push()
    assert len(push.told(handler)) == 13


@pytest.mark.databases
def test_what_is_too_old_is_left_out_and_said(feed: Feed, make: Make, push: Push, follower: Make) -> None:
    click_filter = {"countries": ["DE"], "is_bot": False, "every": 1, "first": False}
    handler, link = follower(click_filter=click_filter), make()
    old = int((precise_now() - dt.timedelta(days=6)).timestamp() * 1000)
    feed.visit(link.id, 7, time_ms=old, country_code="DE")
    feed.visit(link.id, 2, time_ms=old, country_code="US")
    feed.visit(link.id, 3, country_code="DE")
    push()
    (skipped, data), (clicked, clicks) = push.told(handler)
    assert (skipped, data["skipped"], data["clicks"]) == ("events.skipped", 7, 7)
    assert (clicked, len(clicks["clicks"])) == ("link.clicked", 3)
    assert feed.all(data["after"]) == []


def test_whose_handlers_are_told(
    feed: Feed, make: Make, push: Push, follower: Make, bob: User, session: scoped_session[Session]
) -> None:
    off, deaf, late = follower(), follower(), follower()
    others = follower(access=access_of(bob))
    handlers.update(off, {"is_enabled": False})
    handlers.update(deaf, {"events": None})
    session.execute(delete(EventCursor).where(EventCursor.id == late.id))  # as after a restore
    session.commit()
    push()
    assert set(session.scalars(select(EventCursor.id))) == {late.id, others.id}
    session.rollback()
    feed.visit(make().id)
    push()
    assert len(push.clicks(late)) == 1 and len(push.clicks()) == 1


def test_an_unconfirmed_address_waits(
    feed: Feed, make: Make, push: Push, follower: Make, session: scoped_session[Session]
) -> None:
    handler = follower(type="email", settings={"email": "stranger@elsewhere.example"})
    link = make()
    feed.visit(link.id, 2)
    push()
    assert push.told() == []
    session.execute(update(NotificationHandler).values(is_confirmed=True))
    push()
    assert [data["clicks"] for _, data in push.told(handler)] == [2]


@pytest.mark.databases
def test_a_step_that_is_overtaken_stores_nothing(
    feed: Feed, make: Make, push: Push, follower: Make, session: scoped_session[Session]
) -> None:
    """Another worker has taken the place over meanwhile, as after a lease."""
    handler, link = follower(), make()
    feed.visit(link.id, 3)
    id_, site = handler.id, push.pusher.site
    session.execute(update(EventCursor).values(who="other", lease=precise_now()))
    session.commit()
    with Session(push.engine) as own:
        assert steps.step(own, id_, "me", site) is steps.StepEnd.LATER
    assert push.told() == []
    push()
    assert len(push.clicks()) == 3


def test_a_workspace_with_many_handlers_leaves_room_for_others_in_a_turn() -> None:
    of_one = [PlaceState(id_, 1, is_ready=True) for id_ in range(BATCH_SIZE)]
    assert choose_places([*of_one, PlaceState(900, 2, is_ready=True)]) == [*range(WORKSPACE_PLACES), 900]
