"""The trash: deleted things can be restored completely, once, by their owner, for thirty days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import select

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.errors import AliasTaken, Invalid, NotFound
from app.core.extensions import db
from app.domains.models import Domain
from app.links import services as links
from app.links.models import Alias, LimitCounter, Link, LinkChange, PlanChange
from app.links.removal import purge
from app.links.uploads import Picture
from app.notifications import services as handlers
from app.pixels import services as pixels
from app.projects.models import Project
from app.trash import services as trash
from app.trash.models import RETENTION, Trashed
from app.trash.services import keys_to, parts_of
from tests import pictures
from tests.writes import write

TO = "https://example.com/"


def make(user: Any, **changes: Any) -> Link:
    return write(links.create, access_of(user), {"location_url": TO, **changes})


def trashed(user: Any) -> list[Trashed]:
    return list(
        db.session.scalars(
            select(Trashed).where(Trashed.workspace_id == access_of(user).workspace_id).order_by(Trashed.id)
        )
    )


def back(user: Any, service: Callable[..., Any] = links.restore, *more: Any) -> Any:
    return write(lambda: service(trash.find(access_of(user).workspace_id, trashed(user)[-1].id), *more))


def whole(link: Link) -> dict[str, Any]:
    """Everything that the tables contain about a link."""
    columns = {column.key: getattr(link, column.key) for column in Link.__table__.columns}
    counts = db.session.scalars(select(LimitCounter.clicks).where(LimitCounter.link_id == link.id)).all()
    alias = db.session.scalars(select(Alias.key).where(Alias.link_id == link.id)).all()
    others = [[row.id for row in link.pixels], [row.id for row in link.handlers]]
    return columns | {"more": [*others, [row.tag for row in link.tag_rows], counts, alias]}


@pytest.mark.databases
def test_a_link_comes_back_whole(alice: Any, make_pixel: Any, make_handler: Any, make_project: Any) -> None:
    project = make_project(alice)
    link = make(
        alice, url="Münze", project_id=project.id, tags=["b", "a"], clicks_limit=9, password_hash="x",
        schedule=True, start_date=now(), end_date=now() + dt.timedelta(days=3), targeting_type="rotation",
        targeting=[["50", TO]], pixels_ids=[make_pixel(alice).id], email_reports=[make_handler(alice).id],
    )  # fmt: skip
    db.session.add(LimitCounter(link_id=link.id, clicks=4))
    db.session.commit()
    before, id_ = whole(link), link.id
    write(links.delete, link)
    assert db.session.get(Link, id_) is None
    assert [(one.kind, one.row_id, one.name, one.detail) for one in trashed(alice)] == [
        ("link", id_, "Münze", TO)
    ]
    assert whole(back(alice)) == before
    assert trashed(alice) == []


def test_what_the_trash_holds_is_sealed(alice: Any, make_handler: Any) -> None:
    write(handlers.delete, make_handler(alice, type="webhook", settings={"webhook": TO, "secret": "whsec_1"}))
    stored = db.session.execute(sa.text("SELECT rows FROM trashed")).scalar_one()
    assert "whsec_1" not in stored
    assert TO not in stored
    assert back(alice, handlers.restore).settings["secret"] == "whsec_1"


def test_an_alias_that_its_owner_used_again(alice: Any) -> None:
    write(links.delete, make(alice, url="one"))
    make(alice, url="ONE")
    with pytest.raises(AliasTaken):
        back(alice)
    db.session.rollback()
    assert len(trashed(alice)) == 1
    assert back(alice, links.restore, {"url": "two"}).url == "two"


def test_an_alias_at_random(alice: Any) -> None:
    write(links.delete, make(alice, url="one"))
    make(alice, url="one")
    assert len(back(alice, links.restore, {"url": ""}).url) == 7


def test_a_domain_that_is_gone_needs_another_place(alice: Any, make_domain: Any) -> None:
    domain = make_domain(alice, "a.example")
    write(links.delete, make(alice, url="one", domain_id=domain.id))
    db.session.execute(sa.delete(Domain))
    db.session.commit()
    with pytest.raises(Invalid) as caught:
        back(alice)
    assert [error.field for error in caught.value.errors] == ["domain_id"]
    db.session.rollback()
    assert back(alice, links.restore, {"domain_id": None}).domain_id is None


@pytest.mark.parametrize("is_own", [True, False])
def test_nobody_finds_what_is_old_or_anothers(alice: Any, bob: Any, is_own: bool) -> None:
    write(links.delete, make(alice))
    one = trashed(alice)[0]
    if is_own:
        db.session.execute(sa.update(Trashed).values(deleted_datetime=now() - RETENTION))
        db.session.commit()
    user_id = (alice if is_own else bob).id
    with pytest.raises(NotFound):
        trash.find(user_id, one.id)
    with pytest.raises(NotFound):
        trash.find_batch(user_id, one.batch)


# --- what hangs together


@pytest.mark.databases
def test_a_pixel_comes_back_to_its_links(alice: Any, make_pixel: Any) -> None:
    pixel = make_pixel(alice)
    one, other = make(alice, url="one", pixels_ids=[pixel.id]), make(alice, pixels_ids=[pixel.id])
    one_id, pixel_id = one.id, pixel.id
    write(pixels.delete, pixel)
    write(links.delete, other)
    db.session.execute(sa.delete(PlanChange))
    db.session.commit()
    back_again = write(
        lambda: pixels.restore(trash.find(access_of(alice).workspace_id, trashed(alice)[0].id))
    )
    assert back_again.id == pixel_id
    assert [row.id for row in db.session.get_one(Link, one_id).pixels] == [pixel_id]
    assert db.session.scalars(select(PlanChange.alias)).all() == ["one"]
    assert [row.id for row in back(alice).pixels] == [pixel_id]  # the other, out of the trash after it


def test_a_link_comes_back_before_its_pixel(alice: Any, make_pixel: Any, make_handler: Any) -> None:
    pixel, handler = make_pixel(alice), make_handler(alice)
    link = make(alice, pixels_ids=[pixel.id], email_reports=[handler.id])
    link_id, pixel_id, handler_id = link.id, pixel.id, handler.id
    write(links.delete, link)
    write(pixels.delete, pixel)
    write(handlers.delete, handler)
    of_link, of_pixel, of_handler = [one.id for one in trashed(alice)]
    write(lambda: links.restore(trash.find(access_of(alice).workspace_id, of_link)))
    assert db.session.get_one(Link, link_id).pixels == []
    write(lambda: pixels.restore(trash.find(access_of(alice).workspace_id, of_pixel)))
    write(lambda: handlers.restore(trash.find(access_of(alice).workspace_id, of_handler)))
    link = db.session.get_one(Link, link_id)
    assert [row.id for row in link.pixels] == [pixel_id]
    assert [row.id for row in link.handlers] == [handler_id]


def test_a_project_that_is_gone_is_left_out(alice: Any, make_project: Any) -> None:
    project = make_project(alice)
    write(links.delete, make(alice, project_id=project.id))
    db.session.execute(sa.delete(Project))
    db.session.commit()
    assert back(alice).project_id is None


def test_all_that_falls_with_a_row_is_known() -> None:
    """Rows that depend on a dependent row would be lost. There are none, except logs marked as such."""
    for model in (Link, pixels.Pixel, handlers.NotificationHandler):
        for part in parts_of(model.__table__)[1:]:
            assert [
                other for other in part.table.metadata.sorted_tables if list(keys_to(other, part.table))
            ] == []


# --- many


def test_a_thousand_go_and_come_in_one_batch(alice: Any, bob: Any) -> None:
    made = write(links.create_bulk, access_of(alice), {"location_urls": [TO] * 1000, "tags": ["t"]})
    ids = [link.id for link in made]
    foreign = make(bob).id
    batch, missing = write(links.delete_many, access_of(alice).workspace_id, [*ids, foreign])
    assert missing == {foreign}
    assert db.session.scalars(select(Link.id)).all() == [foreign]
    taken = db.session.get_one(Trashed, trashed(alice)[3].id).name
    make(alice, url=taken)
    restored, stuck = write(
        lambda: links.restore_many(trash.find_batch(access_of(alice).workspace_id, batch))
    )
    assert len(restored) == 999
    assert [one.row_id for one in stuck] == [ids[3]]
    assert [one.row_id for one in trashed(alice)] == [ids[3]]


# --- the end


@pytest.mark.databases
def test_after_thirty_days_it_is_gone_with_files_and_history(app: Flask, alice: Any) -> None:
    old = make(alice, cloaking_favicon=Picture(b"before", "png"))
    write(links.update, old, {"cloaking_favicon": Picture(b"x", "png")})
    assert len(pictures.previous()) == 1
    new = make(alice, cloaking_favicon=Picture(b"y", "png"))
    kept = new.cloaking_favicon
    write(links.delete, old)
    db.session.execute(sa.update(Trashed).values(deleted_datetime=now() - RETENTION))
    db.session.commit()
    write(links.delete, new)
    new_id = trashed(alice)[1].row_id
    db.session.rollback()
    assert purge(db.engine) == 1
    assert purge(db.engine) == 0
    assert [one.row_id for one in trashed(alice)] == [new_id]
    assert set(db.session.scalars(select(LinkChange.link_id))) == {new_id}
    assert not pictures.served()
    assert pictures.previous() == [f"{new_id}-{kept}"]
