"""Pictures in the database: every machine serves them, and they come and go with their transaction."""

from __future__ import annotations

import datetime as dt
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core import stored_files
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.core.file_copies import COPIES, COPY_SECONDS, remove_old_copies
from app.core.stored_files import StoredContent, StoredFile
from app.links import services
from app.links.orphan_uploads import remove_strays
from app.links.pictures import Picture
from tests import pictures
from tests.applications import application

PICTURE = Picture(b"\x89PNG of a kind", "png")
TO = "https://example.com/"


def make(user: User, alias: str, **changes: Any) -> Any:
    begin_write(db.session)
    link = services.create(access_of(user), {"url": alias, "location_url": TO, **changes})
    db.session.commit()
    return link


def contents() -> int:
    return db.session.scalar(sa.select(sa.func.count()).select_from(StoredContent)) or 0


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
class TestOnPostgres:
    def test_every_machine_serves_it_until_it_is_deleted(
        self, client: FlaskClient, settings: Settings, alice: User, tmp_path: Path
    ) -> None:
        link = make(alice, "one", cloaking_favicon=PICTURE)
        path = f"/media/{link.cloaking_favicon}"
        (tmp_path / "other").mkdir()
        with application(replace(settings, data_dir=tmp_path / "other")) as other:
            machines = (client, other.test_client())
            for each in machines:
                with each.get(path) as answer:
                    assert (answer.status_code, answer.data) == (200, PICTURE.content)
                    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
                    assert answer.headers["Content-Type"] == "image/png"
            begin_write(db.session)
            services.delete(link)
            db.session.commit()
            assert [each.get(path).status_code for each in machines] == [404, 404]

    def test_a_rollback_leaves_nothing(self, alice: User) -> None:
        begin_write(db.session)
        services.create(access_of(alice), {"url": "one", "location_url": TO, "cloaking_favicon": PICTURE})
        db.session.rollback()
        assert (pictures.served(), contents()) == ([], 0)

    def test_the_same_content_is_stored_once(self, alice: User) -> None:
        for alias in ("one", "two"):
            make(alice, alias, cloaking_favicon=PICTURE, cloaking_opengraph=PICTURE)
        assert (len(pictures.served()), contents()) == (4, 1)

    def test_strays_go_after_a_day_and_what_is_named_stays(self, session: Any, alice: User) -> None:
        link = make(alice, "one", cloaking_favicon=PICTURE, cloaking_opengraph=Picture(b"before", "jpg"))
        begin_write(session)
        services.update(link, {"cloaking_opengraph": Picture(b"now", "jpg")})
        stored_files.add(session, f"uploads/{'a' * 32}.png", b"a stray")
        stored_files.add(session, f"replaced/{link.id}-{'b' * 32}.png", b"another one", link.id)
        session.commit()
        assert remove_strays(session) == 0, "their rows may be about to come"
        old = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
        for model in (StoredFile, StoredContent):
            session.execute(sa.update(model).values(datetime=old))
        session.commit()
        assert remove_strays(session) == 4, "two files, and the content of both"
        assert pictures.served() == sorted([link.cloaking_favicon, link.cloaking_opengraph])
        assert len(pictures.previous()) == 1
        assert contents() == 3

    def test_copies_go_after_a_day(self, client: FlaskClient, alice: User, settings: Settings) -> None:
        names = [make(alice, alias, cloaking_favicon=PICTURE).cloaking_favicon for alias in ("one", "two")]
        for name in names:
            client.get(f"/media/{name}").close()
        copies = settings.data_dir / COPIES
        late = time.time() - COPY_SECONDS - 1
        os.utime(copies / f"uploads-{names[0]}", (late, late))
        remove_old_copies(settings.data_dir)
        assert [path.name for path in copies.iterdir()] == [f"uploads-{names[1]}"]
        assert client.get(f"/media/{names[0]}").data == PICTURE.content
