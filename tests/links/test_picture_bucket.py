"""Pictures in a bucket that machines share: rows say what is there, and a bucket that is down holds up nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core import file_copies, stored_files
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import Busy
from app.core.extensions import db
from app.core.file_copies import COPIES, remove_old_copies
from app.core.stored_files import StoredContent, StoredFile
from app.links import services
from app.links.orphan_uploads import remove_strays
from app.links.picture_bucket import open_picture_bucket
from app.links.pictures import Picture
from app.net.s3 import Bucket
from tests.links.shared_pictures import check_every_machine
from tests.s3_server import FaultyLine, S3Server, faulty_line
from tests.server import wait_for

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
PICTURE = Picture(b"\x89PNG of a kind", "png")
TO = "https://example.com/"


@pytest.fixture
def line(s3_server: S3Server) -> Iterator[FaultyLine]:
    with faulty_line(s3_server) as found:
        yield found


@pytest.fixture
def address(s3_server: S3Server) -> str:
    return s3_server.new_bucket()


@pytest.fixture
def bucket_settings(settings: Settings, s3_server: S3Server, line: FaultyLine, address: str) -> Settings:
    account = s3_server.account()
    return replace(
        settings,
        media_url=address,
        s3_endpoint=line.url,
        s3_access_key_id=account.key_id,
        s3_secret_access_key=account.secret,
    )


@pytest.fixture
def bucket(app: Flask, bucket_settings: Settings, s3_server: S3Server, address: str) -> Iterator[Bucket]:
    """The application keeps pictures in a bucket; this is the line to it without faults."""
    store = open_picture_bucket(bucket_settings)
    app.config["WAYPOST"] = bucket_settings
    stored_files.use_store(store)
    yield Bucket(s3_server.account(), address)
    assert store is not None
    store.breaker.close()
    stored_files.use_store(None)


def make(user: User, alias: str, **changes: Any) -> Any:
    begin_write(db.session)
    link = services.create(access_of(user), {"url": alias, "location_url": TO, **changes})
    db.session.commit()
    return link


def names(bucket: Bucket) -> list[str]:
    return [each.name for each in bucket.objects()]


def contents() -> list[tuple[bytes | None, str | None]]:
    db.session.rollback()
    return [
        tuple(row) for row in db.session.execute(sa.select(StoredContent.content, StoredContent.object_name))
    ]


def make_old() -> None:
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
    for model in (StoredFile, StoredContent):
        db.session.execute(sa.update(model).values(datetime=old))
    db.session.commit()


def test_every_machine_serves_it_until_it_is_deleted(
    bucket: Bucket, client: FlaskClient, bucket_settings: Settings, alice: User, tmp_path: Path
) -> None:
    link = make(alice, "one", cloaking_favicon=PICTURE)
    assert contents() == [(None, names(bucket)[0])]
    check_every_machine(client, bucket_settings, link, PICTURE.content, tmp_path)


def test_the_same_content_is_one_object(bucket: Bucket, alice: User) -> None:
    for alias in ("one", "two"):
        make(alice, alias, cloaking_favicon=PICTURE, cloaking_opengraph=PICTURE)
    assert (len(names(bucket)), len(contents())) == (1, 1)


def test_what_is_rolled_back_goes_a_day_later(bucket: Bucket, session: Any, alice: User) -> None:
    begin_write(db.session)
    services.create(access_of(alice), {"url": "one", "location_url": TO, "cloaking_favicon": PICTURE})
    db.session.rollback()
    assert len(names(bucket)) == 1
    remove_strays(session)
    assert len(names(bucket)) == 1, "its row may be about to come"
    make_old()
    remove_strays(session)
    assert (names(bucket), contents()) == ([], [])


def test_what_no_file_has_goes_and_what_is_used_stays(bucket: Bucket, session: Any, alice: User) -> None:
    kept = make(alice, "one", cloaking_favicon=PICTURE)
    make(alice, "two", cloaking_favicon=Picture(b"another", "png"))
    session.execute(sa.delete(StoredFile).where(StoredFile.path != f"uploads/{kept.cloaking_favicon}"))
    session.commit()
    make_old()
    remove_strays(session)
    assert [bucket.get(name, 100) for name in names(bucket)] == [PICTURE.content]
    assert len(contents()) == 1


def test_a_removal_that_was_killed_is_done_again(
    bucket: Bucket, session: Any, alice: User, line: FaultyLine
) -> None:
    """The bucket is down when the row has lost its digest: the same content gets an object of its own meanwhile."""
    make(alice, "one", cloaking_favicon=PICTURE)
    session.execute(sa.delete(StoredFile))
    session.commit()
    make_old()
    line.fault = "busy"
    remove_strays(session)
    assert (len(names(bucket)), len(contents())) == (1, 1)
    line.fault = ""
    store = stored_files._store
    wait_for(lambda: store.breaker.admits(), "the bucket")  # type: ignore[union-attr]
    link = make(alice, "two", cloaking_favicon=PICTURE)
    assert len(names(bucket)) == 2
    remove_strays(session)
    assert len(names(bucket)) == 1
    assert stored_files.read(session, f"uploads/{link.cloaking_favicon}") == PICTURE.content


@pytest.mark.parametrize("fault", ["busy", "slow"])
def test_a_bucket_that_is_down_is_a_503_for_the_picture_alone(
    bucket: Bucket,
    client: FlaskClient,
    alice: User,
    line: FaultyLine,
    bucket_settings: Settings,
    fault: str,
    monkeypatch,
) -> None:
    monkeypatch.setattr("app.links.picture_bucket.SECONDS", 0.5)
    near = make(alice, "near", cloaking_favicon=PICTURE)
    far = make(
        alice,
        "far",
        cloaking_title="Far",
        cloaking_opengraph=Picture(b"far", "png"),
        cloaking_is_enabled=True,
    )
    client.get(f"/media/{near.cloaking_favicon}").close()
    line.fault = fault
    with client.get(f"/media/{far.cloaking_opengraph}") as answer:
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
    before = line.requests
    assert client.get(f"/media/{near.cloaking_favicon}").data == PICTURE.content, "a copy is on this disk"
    assert client.get("/near").status_code == 302
    assert client.get("/far").status_code == 200, "its page does not wait for the size of its picture"
    assert client.get(f"/media/{far.cloaking_opengraph}").status_code == 503
    assert line.requests - before <= 2, "the breaker alone asks meanwhile"
    with pytest.raises(Busy):
        make(alice, "new", cloaking_favicon=Picture(b"new", "png"))
    db.session.rollback()
    line.fault = ""
    wait_for(lambda: client.get(f"/media/{far.cloaking_opengraph}").status_code == 200, "the bucket")


def test_an_object_that_is_gone_is_a_404(bucket: Bucket, client: FlaskClient, alice: User) -> None:
    link = make(alice, "one", cloaking_favicon=PICTURE)
    bucket.remove(names(bucket)[0])
    assert client.get(f"/media/{link.cloaking_favicon}").status_code == 404


def test_copies_on_the_disk_are_bounded(
    bucket: Bucket, client: FlaskClient, alice: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [
        make(alice, alias, cloaking_favicon=Picture(alias.encode() * 100, "png")) for alias in ("a", "b")
    ]
    for link in pictures:
        client.get(f"/media/{link.cloaking_favicon}").close()
    monkeypatch.setattr(file_copies, "MAX_COPIES_BYTES", 150)
    remove_old_copies(settings.data_dir)
    left = [path.name for path in (settings.data_dir / COPIES).iterdir()]
    assert left == [f"uploads-{pictures[1].cloaking_favicon}"], "the oldest goes first"


def test_pictures_move_into_the_bucket_and_back(
    bucket: Bucket,
    app: Flask,
    client: FlaskClient,
    alice: User,
    settings: Settings,
    bucket_settings: Settings,
) -> None:
    stored_files.use_store(None)
    link = make(alice, "one", cloaking_favicon=PICTURE, cloaking_opengraph=Picture(b"other", "png"))
    runner = app.test_cli_runner()
    assert "Moved: 2 " in runner.invoke(args=["media", "copy"]).output
    assert "Moved: 0 " in runner.invoke(args=["media", "copy"]).output
    assert len(names(bucket)) == 2
    assert all(content is None for content, _ in contents())
    stored_files.use_store(open_picture_bucket(bucket_settings))
    assert client.get(f"/media/{link.cloaking_favicon}").data == PICTURE.content
    app.config["WAYPOST"] = replace(bucket_settings, media_url=None)
    assert "Moved: 2 " in runner.invoke(args=["media", "copy", "--from", bucket.address]).output
    assert names(bucket) == []
    assert {content for content, _ in contents()} == {PICTURE.content, b"other"}


def test_doctor_tries_the_bucket(bucket: Bucket, app: Flask, bucket_settings: Settings) -> None:
    assert "The bucket of pictures answers." in app.test_cli_runner().invoke(args=["doctor"]).output
    app.config["WAYPOST"] = replace(bucket_settings, s3_secret_access_key="another")
    assert "can't be used" in app.test_cli_runner().invoke(args=["doctor"]).output
