"""Files of pictures: they come and go with their links, a failed request leaves none, and orphans are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import select

from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.links import previous_uploads, services, uploads
from app.links.models import Link, LinkChange
from app.links.orphan_uploads import remove_strays
from app.links.pictures import Picture
from app.links.removal import delete, empty_trash, erase, restore, restore_many
from app.trash.models import Trashed
from tests.writes import write


@pytest.fixture
def files(session):
    def names():
        found = uploads.directory().iterdir() if uploads.directory().exists() else ()
        return sorted(path.name for path in found)

    return names


PICTURE = Picture(b"\x89PNG of a kind", "png")
OTHER = Picture(b"another one", "jpg")


def make(user, **changes):
    return write(services.create, access_of(user), {"location_url": "https://example.com/", **changes})


def test_a_file_comes_and_goes_with_its_link(alice, files):
    link = make(alice, cloaking_favicon=PICTURE, cloaking_opengraph=OTHER)
    assert files() == sorted([link.cloaking_favicon, link.cloaking_opengraph])
    assert (uploads.directory() / link.cloaking_favicon).read_bytes() == PICTURE.content
    begin_write(db.session)
    services.delete(link)
    assert len(files()) == 2
    db.session.commit()
    assert files() == []  # nothing of it is served
    kept = previous_uploads.directory()
    assert len(list(kept.iterdir())) == 2  # the link can be restored
    begin_write(db.session)
    empty_trash(access_of(alice).workspace_id)
    assert len(list(kept.iterdir())) == 2
    db.session.commit()
    assert not list(kept.iterdir())


@pytest.mark.parametrize("restore", [restore, lambda trashed: restore_many([trashed])[0][0]])
def test_a_picture_is_served_again_when_its_link_is_put_back(alice, client, files, restore):
    link = make(alice, cloaking_favicon=PICTURE, cloaking_opengraph=OTHER)
    names, link_id = sorted([link.cloaking_favicon, link.cloaking_opengraph]), link.id
    for _ in range(2):
        assert [client.get(f"/media/{name}").status_code for name in names] == [200, 200]
        write(services.delete, db.session.get_one(Link, link_id))
        assert [client.get(f"/media/{name}").status_code for name in names] == [404, 404]
        trashed = db.session.scalars(select(Trashed)).one()
        begin_write(db.session)
        restore(trashed)
        assert files() == names
        db.session.rollback()
        assert files() == []
        trashed = db.session.scalars(select(Trashed)).one()
        write(restore, trashed)
        assert files() == names


def test_a_new_picture_replaces_the_file(alice, files):
    link = make(alice, cloaking_favicon=PICTURE)
    old = link.cloaking_favicon
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": OTHER})
    assert old in files()
    db.session.commit()
    assert files() == [link.cloaking_favicon] != [old]


@pytest.mark.parametrize(
    "changes", [{"title": "x"}, {"cloaking_favicon": None}], ids=["another field", "taken away"]
)
def test_what_a_change_leaves_of_the_file(alice, files, changes):
    link = make(alice, cloaking_favicon=PICTURE)
    write(services.update, link, changes)
    assert files() == ([link.cloaking_favicon] if "title" in changes else [])


def roll_back():
    db.session.rollback()


def walk_away():
    db.session.remove()


@pytest.mark.parametrize("give_up", [roll_back, walk_away])
def test_a_request_that_fails_leaves_the_files_as_they_were(alice, files, give_up):
    link = make(alice, cloaking_favicon=PICTURE)
    link_id, old, before = link.id, link.cloaking_favicon, files()
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": OTHER, "cloaking_opengraph": OTHER})
    services.create(access_of(alice), {"location_url": "https://example.com/", "cloaking_favicon": PICTURE})
    assert len(files()) == 4
    give_up()
    assert files() == before
    assert db.session.get(Link, link_id).cloaking_favicon == old


def test_a_savepoint_does_not_end_the_write(alice, files):
    begin_write(db.session)
    link = services.create(
        access_of(alice), {"location_url": "https://example.com/", "cloaking_favicon": PICTURE}
    )
    with db.session.begin_nested():
        pass
    assert files() == [link.cloaking_favicon]
    db.session.commit()
    assert files() == [link.cloaking_favicon]


def test_of_many_links_each_has_a_file_of_its_own(alice, files):
    begin_write(db.session)
    changes = {"location_urls": ["https://example.com/"] * 3, "cloaking_opengraph": PICTURE}
    links = services.create_bulk(access_of(alice), changes)
    db.session.commit()
    assert files() == sorted(link.cloaking_opengraph for link in links)
    assert len(set(files())) == 3
    write(erase, access_of(alice).workspace_id, [links[0].id])
    assert len(files()) == 2
    assert all(
        (uploads.directory() / link.cloaking_opengraph).read_bytes() == PICTURE.content for link in links[1:]
    )


OLD = time.time() - 2 * 24 * 60 * 60


def made(directory: Path, name: str, *, is_old: bool = True) -> str:
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(b"x")
    if is_old:
        os.utime(directory / name, (OLD, OLD))
    return name


def test_only_what_nobody_names(session, settings: Settings, alice, make_link) -> None:
    directory = settings.data_dir / "uploads"
    used, shown, trashed = (made(directory, f"{letter * 32}.png") for letter in "abc")
    made(directory, f"{'d' * 32}.png", is_old=False)
    made(directory, "somebody-elses.txt")
    made(directory, f"{'e' * 32}.webp")
    made(directory, f".{'f' * 32}.png")
    make_link(alice, cloaking_favicon=used, cloaking_opengraph=shown)
    gone = make_link(alice, cloaking_favicon=trashed)
    session.commit()
    gone_id = gone.id
    delete(gone)
    session.commit()
    assert remove_strays(session()) == 2
    left = {path.name for path in directory.iterdir()}
    assert left == {used, shown, f"{'d' * 32}.png", "somebody-elses.txt"}
    assert previous_uploads.find(gone_id, trashed)
    assert remove_strays(session()) == 0


def test_those_of_links_in_the_trash_stay_and_are_not_served(
    session, settings: Settings, alice, make_link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an earlier version left them among the served ones, and if no history names them."""
    directory = settings.data_dir / "uploads"
    name = made(directory, f"{'a' * 32}.png")
    link = make_link(alice, cloaking_favicon=name)
    link_id = link.id
    session.commit()
    delete(link)
    session.commit()
    made(directory, name)
    previous_uploads.place_of(link_id, name).unlink()
    session.execute(sa.delete(LinkChange))
    session.commit()
    for _ in range(2):
        assert remove_strays(session()) == 0
        monkeypatch.setattr(previous_uploads, "YOUNGEST_SECONDS", -60)
        assert not list(directory.iterdir())
        assert previous_uploads.place_of(link_id, name).is_file()


def test_of_replaced_ones_those_that_no_history_names(
    session, settings: Settings, alice, make_link, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads, shown, old = settings.data_dir / "uploads", f"{'a' * 32}.png", f"{'b' * 32}.png"
    link = make_link(alice, cloaking_favicon=made(uploads, shown), cloaking_opengraph=made(uploads, old))
    session.commit()
    write(services.update, link, {"cloaking_opengraph": None})
    kept, others = previous_uploads.place_of(link.id, old), previous_uploads.directory()
    for stray in (f"{link.id}-{shown}", f"{link.id + 1}-{old}"):
        made(others, stray)
    made(others, "somebody-elses.txt")
    assert remove_strays(session()) == 0  # they are young
    monkeypatch.setattr(previous_uploads, "YOUNGEST_SECONDS", -60)
    assert remove_strays(session()) == 2
    assert {path.name for path in others.iterdir()} == {kept.name, "somebody-elses.txt"}
    assert [path.name for path in uploads.iterdir()] == [shown]


def test_no_pictures_at_all(session, settings: Settings) -> None:
    assert remove_strays(session()) == 0
