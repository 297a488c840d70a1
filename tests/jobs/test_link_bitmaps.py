"""The thread that makes bitmaps: all lists that need it, in short pieces, whatever goes wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, delete, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.jobs import link_bitmaps
from app.jobs.link_bitmaps import BitmapMaker, ClicksRounds
from app.links.bitmaps import upkeep
from app.links.bitmaps.tables import link_bitmap, stale_bitmap
from app.links.models import LimitCounter, Link
from tests.factories import Factory

pytestmark = pytest.mark.databases


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.jobs.link_bitmaps.CLICKS_SECONDS", 60)
    monkeypatch.setattr("app.jobs.link_bitmaps.WAIT_SECONDS", 0.0)


@pytest.fixture
def users(
    make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]
) -> tuple[User, User]:
    found = make_user("alice@example.com"), make_user("bob@example.com")
    for user in found:
        factory.link(user)
    session.commit()
    return found


@pytest.fixture
def maker(users: tuple[User, User]) -> BitmapMaker:
    engine = db.engine
    assert isinstance(engine, Engine)
    return BitmapMaker(engine)


def names(session: scoped_session[Session], user: User) -> set[str]:
    workspace_id = access_of(user).workspace_id
    found = set(session.scalars(select(link_bitmap.c.name).where(link_bitmap.c.workspace_id == workspace_id)))
    session.rollback()
    return found


# what is there before the first block is described: clicks are counted beside
FIRST = {"bounds of url", "bounds of datetime", "bounds of last_datetime", "clicks"}
OF_A_LINK = FIRST | {
    *("id", "signature", "state:active", "moments", "is_enabled:1", "project_id:0", "domain_id:0"),
    *("url", "datetime", "last_datetime", "last_datetime:none"),
    *("slices of url", "slices of datetime", "slices of last_datetime"),
}


def test_all_lists_get_theirs(
    users: tuple[User, User], maker: BitmapMaker, session: scoped_session[Session]
) -> None:
    maker.turn()
    assert [names(session, user) for user in users] == [OF_A_LINK, OF_A_LINK]
    assert session.scalars(select(stale_bitmap)).all() == []


def test_a_change_is_in_them_after_the_next_turn(
    users: tuple[User, User], maker: BitmapMaker, session: scoped_session[Session]
) -> None:
    maker.turn()
    session.execute(update(Link).values(cloaking_is_enabled=True))
    session.commit()
    maker.turn()
    assert "rule:cloaking" in names(session, users[0])


@pytest.mark.parametrize(("few", "is_made"), [(1, False), (0, True)], ids=["few blocks", "many blocks"])
def test_few_changed_blocks_wait_until_they_are_due(
    few: int,
    is_made: bool,
    users: tuple[User, User],
    maker: BitmapMaker,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_bitmaps, "WAIT_SECONDS", 1000.0)
    monkeypatch.setattr(link_bitmaps, "FEW_BLOCKS", few)
    maker.turn()
    session.execute(update(Link).values(cloaking_is_enabled=True))
    session.commit()
    maker.turn()
    assert ("rule:cloaking" in names(session, users[0])) is is_made
    maker.blocks_due.clear()  # as after that time
    maker.turn()
    assert "rule:cloaking" in names(session, users[0])


def test_an_error_of_one_list_is_not_that_of_others(
    users: tuple[User, User],
    maker: BitmapMaker,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, failing = upkeep.make_bitmaps, access_of(users[0]).workspace_id
    session.rollback()

    def fail_for_one(worker: Session, workspace_id: int, numbers: list[int]) -> bool:
        if workspace_id == failing:
            raise RuntimeError("broken")
        return make(worker, workspace_id, numbers)

    monkeypatch.setattr(upkeep, "make_bitmaps", fail_for_one)
    maker.turn()
    maker.turn()  # the first is backed off
    assert names(session, users[0]) == FIRST
    assert names(session, users[1]) == OF_A_LINK


def test_a_list_that_is_no_longer_long_is_forgotten(
    users: tuple[User, User], maker: BitmapMaker, session: scoped_session[Session]
) -> None:
    maker.turn()
    workspace_id = access_of(users[0]).workspace_id
    session.execute(delete(Link).where(Link.workspace_id == workspace_id))
    session.commit()
    maker.look_due = 0.0
    maker.turn()
    assert names(session, users[0]) == set()
    assert set(maker.workspaces) == set(maker.rounds) == {access_of(users[1]).workspace_id}


def test_what_another_machine_makes_is_looked_at_again(
    users: tuple[User, User],
    maker: BitmapMaker,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "make_bitmaps", lambda *_asked: False)
        maker.turn()
    session.execute(delete(stale_bitmap))  # by the other one, which then ends
    session.commit()
    maker.turn()
    assert names(session, users[0]) == OF_A_LINK


def test_it_ends_between_two_pieces(
    users: tuple[User, User], maker: BitmapMaker, session: scoped_session[Session]
) -> None:
    maker.ended.set()
    maker.turn()
    assert names(session, users[0]) == FIRST
    maker.ended.clear()
    maker.turn()
    assert names(session, users[0]) == OF_A_LINK


def test_what_tells_that_visits_were_counted(
    users: tuple[User, User], factory: Factory, session: scoped_session[Session]
) -> None:
    with Session(db.engine) as worker:
        before = link_bitmaps.counted_visits(worker)
        assert link_bitmaps.counted_visits(worker) == before
        session.add(LimitCounter(link_id=factory.link(users[0]).id, clicks=1))
        session.commit()
        assert link_bitmaps.counted_visits(worker) != before


def test_a_round_goes_on_where_it_stopped() -> None:
    steps: list[int] = []

    def begin() -> Iterator[None]:
        for number in range(3):
            steps.append(number)
            yield

    rounds = ClicksRounds(begin)
    for wanted in ([0], [0, 1], [0, 1, 2], [0, 1, 2]):
        rounds.go_on(lambda: "counted", 0.0)
        assert steps == wanted
    rounds.go_on(lambda: "more", 0.0)  # the next round is not due yet
    assert steps == [0, 1, 2]
    rounds.due = 0.0
    rounds.go_on(lambda: "counted", 0.0)  # nothing was counted since
    assert steps == [0, 1, 2]
    rounds.due = 0.0
    rounds.go_on(lambda: "more", 0.0)
    assert steps == [0, 1, 2, 0]


def test_a_round_that_fails_begins_anew() -> None:
    begun: list[None] = []

    def begin() -> Iterator[None]:
        begun.append(None)
        yield
        raise RuntimeError("broken")

    rounds = ClicksRounds(begin)
    rounds.go_on(lambda: "counted", 0.0)
    with pytest.raises(RuntimeError):
        rounds.go_on(lambda: "counted", 0.0)
    rounds.go_on(lambda: "counted", 0.0)
    assert len(begun) == 1  # it rests first
    rounds.due = 0.0
    rounds.go_on(lambda: "counted", 0.0)
    assert len(begun) == 2
