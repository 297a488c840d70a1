"""Migrations: one line of revisions that ends at the models, and keeps the data of earlier versions."""

from __future__ import annotations

import datetime as dt
import hashlib
import sqlite3
import unicodedata
from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.accounts import second_factor
from app.accounts.models import RecoveryCode, User, Workspace
from app.accounts.workspaces import access_of
from app.core.database import begin_write
from app.core.extensions import db
from app.links.models import Link, SavedView
from app.notifications.outbox import deliver
from tests.accounts.codes import switch_on
from tests.migrations import alembic_config, migrate


@pytest.mark.databases
def test_migrations_lead_to_the_models(session) -> None:
    command.check(alembic_config())


def test_there_is_one_newest_revision(session) -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


def test_no_other_process_writes_between_the_look_at_the_revision_and_the_first_change(tmp_path) -> None:
    """SQLite would refuse the change then: the running version may write when the next one migrates."""
    tried = []

    def write_beside(_connection, _cursor, statement, *_more) -> None:
        if not tried and statement.lstrip().startswith("CREATE TABLE"):
            with closing(sqlite3.connect(tmp_path / "main.db", timeout=0)) as other:
                try:
                    other.execute("CREATE TABLE beside (id INTEGER)")
                    tried.append("written")
                except sqlite3.OperationalError as error:
                    tried.append(str(error))

    sa.event.listen(sa.Engine, "before_cursor_execute", write_beside)
    try:
        migrate(tmp_path)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", write_beside)
    assert tried == ["database is locked"]


def test_ids_are_never_given_again(session) -> None:
    """A migration that rebuilds a table on SQLite loses AUTOINCREMENT unless it repeats it."""
    tables = db.metadatas[None].tables.values()
    wanted = {table.name for table in tables if table.dialect_options["sqlite"]["autoincrement"]}
    found = session.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")).all()
    assert "notification_handler" in wanted
    assert wanted <= {name for name, sql in found if "AUTOINCREMENT" in sql}


def test_handlers_get_no_id_of_a_deleted_one(api, alice, make_handler, session) -> None:
    first = make_handler(alice).id
    assert api.delete(f"/notification-handlers/{first}").status_code == 204
    second = make_handler(alice).id
    assert second != first
    assert api.delete(f"/notification-handlers/{second}").status_code == 204


@pytest.mark.databases
def test_decomposed_texts_of_before_are_found_composed(session, alice, make_link) -> None:
    link = make_link(alice, "a", title=unicodedata.normalize("NFD", "Über"))
    plain = make_link(alice, "b", title="plain")
    wanted, other = link.search_text, plain.search_text
    old = unicodedata.normalize("NFD", wanted)
    assert old != wanted
    session.execute(sa.update(Link).where(Link.id == link.id).values(search_text=old))
    session.commit()
    session.close()
    command.downgrade(alembic_config(), "d81f4c62b07e-1")
    command.upgrade(alembic_config(), "head")
    assert session.scalars(sa.select(Link.search_text).order_by(Link.id)).all() == [wanted, other]


@pytest.mark.databases
def test_notes_and_tags_of_before_are_found(session, alice, make_link) -> None:
    for url, tags, notes in (("a", ("Müller", "x"), None), ("b", (), "GRÜSSE\nan alle"), ("c", (), None)):
        make_link(alice, url, tags=tags, notes=notes)
    found = sa.select(Link.search_notes).order_by(Link.id)
    wanted = session.scalars(found).all()
    session.close()
    command.downgrade(alembic_config(), "3b9f60d8e2a1-1")
    command.upgrade(alembic_config(), "head")
    assert session.scalars(found).all() == wanted == ["müller\nx", "grüsse an alle", None]


@pytest.mark.databases
def test_links_of_before_are_found(session, alice, make_link) -> None:
    """Older links get the text that the search reads."""
    link = make_link(alice, "Straße", title="Two\nLINES")
    wanted, destination = link.search_text, link.location_url
    session.close()  # else its read would keep PostgreSQL from changing the table
    command.downgrade(alembic_config(), "e1a4c7093b5d-1")
    command.upgrade(alembic_config(), "head")
    assert session.scalar(sa.select(Link.search_text)) == wanted == f"strasse\n{destination}\ntwo lines"


@pytest.mark.databases
@pytest.mark.real_hashing
def test_recovery_codes_of_before_stay_good(session, alice) -> None:
    """Recovery codes were stored as SHA-256; printed ones must still work after the upgrade."""
    codes, user_id = switch_on(alice), alice.id
    session.close()
    command.downgrade(alembic_config(), "7c3d9e15a4b8-1")
    insert = sa.text(
        "INSERT INTO recovery_code (user_id, digest, used_datetime) VALUES (:user_id, :digest, :used)"
    )
    for number, code in enumerate(codes):
        plain = f"{user_id}:{code.replace('-', '')}"
        used = dt.datetime(2026, 1, 1) if number == 0 else None
        row = {"user_id": user_id, "digest": hashlib.sha256(plain.encode()).hexdigest(), "used": used}
        session.execute(insert, row)
    session.commit()
    session.close()
    command.upgrade(alembic_config(), "head")
    alice = session.get_one(User, user_id)
    assert second_factor.codes_left(alice) == 9
    assert all(one.startswith("$argon2id$") for one in session.scalars(sa.select(RecoveryCode.digest)))
    for code, opened in ((codes[0], None), (codes[1], "recovery"), (codes[1], None)):
        read = second_factor.read_typed(alice, code)
        begin_write(session)
        assert second_factor.accept_code(alice, read) == opened
        session.commit()


@pytest.mark.databases
def test_mails_of_before_join_the_outbox(session, alice, make_handler) -> None:
    """None is lost or sent twice in an upgrade: those that wait go on with their lease and their tries."""
    handler = make_handler(alice).id
    begin_write(session)
    deliver(session, handler, "handler.test", {})
    session.commit()
    user_id, moments = alice.id, [dt.datetime(2026, 1, day) for day in range(1, 6)]
    session.close()
    command.downgrade(alembic_config(), "8e1d5a72c4f6-1")
    base = {"user_id": user_id, "about": "test", "email": "a@example.com", "datetime": moments[0], "planned": moments[1],
            "until": moments[4], "content": None, "due": None, "sent_datetime": None, "lease": None, "who": None}  # fmt: skip
    rows = (
        {"tries": 0, "detail": "", "content": "sealed", "due": moments[2], "lease": moments[3], "who": "w"},
        {"tries": 2, "detail": "no answer", "content": "sealed", "due": moments[2]},
        {"tries": 1, "detail": "Delivered.", "sent_datetime": moments[2]},
        {"tries": 8, "detail": "refused"},
    )
    names = sorted(base | rows[0])
    for number, row in enumerate(rows, 1):
        marks = ", ".join(f":{name}" for name in ("id", *names))
        insert = f"INSERT INTO letter (id, {', '.join(names)}) VALUES ({marks})"
        session.execute(sa.text(insert), {**base, **row, "id": number})
    session.commit()
    session.close()
    for _ in range(2):  # there, back, and there again
        command.upgrade(alembic_config(), "8e1d5a72c4f6")
        found = session.execute(sa.text(MAILS)).all()
        assert [row[:4] for row in found] == [
            (1, "pending", 0, None),
            (2, "pending", 2, "no answer"),
            (3, "delivered", 1, "Delivered."),
            (4, "failed", 8, "refused"),
        ]
        assert [row[4] is not None for row in found] == [True, True, False, False]
        assert [(row[5], row[6], row[7]) for row in found] == [
            ("w", "sealed", "letter_1"),
            (None, "sealed", "letter_2"),
            (None, None, "letter_3"),
            (None, None, "letter_4"),
        ]
        others = sa.text("SELECT count(*) FROM delivery WHERE letter_id IS NULL AND handler_id IS NOT NULL")
        assert session.scalar(others) == 1
        session.close()
        command.downgrade(alembic_config(), "8e1d5a72c4f6-1")
        assert session.scalar(sa.text("SELECT count(*) FROM letter WHERE due IS NOT NULL")) == 2
        session.close()
    command.upgrade(alembic_config(), "head")


MAILS = """
    SELECT letter.id, delivery.status, delivery.tries, delivery_attempt.detail, delivery.due, delivery.who,
        letter.content, delivery.webhook_id
    FROM letter JOIN delivery ON delivery.letter_id = letter.id
    LEFT JOIN delivery_attempt ON delivery_attempt.delivery_id = delivery.id ORDER BY letter.id
"""


@pytest.mark.databases
def test_rows_of_before_go_to_their_users_workspace(session, alice, bob, factory, settings) -> None:
    """Each user gets a workspace with the same id, so that clicks stay where they are; later ones get others."""
    link, project = factory.link(alice, "a", tags=("t",)), factory.project(alice)
    factory.link(bob, "b")
    pixel, handler = factory.pixel(alice), factory.handler(alice)
    factory.domain(alice, "go.example")
    factory.key(alice)
    factory.share(alice)
    bob.deleted_datetime = gone = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    ids, users = (link.id, project.id, pixel.id, handler.id), [alice.id, bob.id]
    factory.add(SavedView(**access_of(alice).row_columns, name="v", key="v", query="tag=t"))
    session.commit()
    session.close()
    command.downgrade(alembic_config(), "3f8a6d20c4e9-1")
    before = {
        table: session.execute(sa.text(f"SELECT id, user_id FROM {table} ORDER BY id")).all()
        for table in OWNED
    }
    blocks = session.execute(sa.text("SELECT user_id, block, size FROM link_block ORDER BY 1, 2")).all()
    # one more account that had a higher id once
    last = max(users) + 40
    columns = ", ".join(name for name in COPIED)
    session.execute(
        sa.text(
            f"""INSERT INTO "user" (id, email, {columns}) SELECT :id, 'last@example.com', {columns} FROM "user" WHERE id = :old"""
        ),
        {"id": last, "old": users[0]},
    )
    if not settings.is_sqlite:
        session.execute(sa.text("SELECT setval('user_id_seq', :id)"), {"id": last})
    session.commit()
    session.execute(sa.text('DELETE FROM "user" WHERE id = :id'), {"id": last})
    session.commit()
    session.close()
    command.upgrade(alembic_config(), "head")
    for table in OWNED:
        found = session.execute(sa.text(f"SELECT id, workspace_id, user_id FROM {table} ORDER BY id")).all()
        assert [(id_, owner, owner) for id_, owner in before[table]] == found
        assert found
    assert (
        session.execute(sa.text("SELECT workspace_id, block, size FROM link_block ORDER BY 1, 2")).all()
        == blocks
    )
    kept = session.execute(sa.select(Workspace.id, Workspace.deleted_datetime).order_by(Workspace.id)).all()
    assert kept == [(users[0], None), (users[1], gone)]
    assert session.execute(sa.text("SELECT workspace_id FROM alias ORDER BY key")).scalars().all() == users
    alice = session.get_one(User, users[0])
    assert access_of(alice).row_columns == {"workspace_id": users[0], "user_id": users[0]}
    # the counts go on, and nobody else gets the id of an account
    assert factory.link(alice, "c").id > ids[0]
    size = sa.text("SELECT sum(size) FROM link_block WHERE workspace_id = :id")
    assert session.scalar(size, {"id": users[0]}) == 2
    carol = factory.user("carol@example.com")
    assert access_of(carol).workspace_id > last


OWNED = (
    "link",
    "project",
    "pixel",
    "notification_handler",
    "domain",
    "api_key",
    "statistics_share",
    "saved_view",
)
COPIED = [column.name for column in User.__table__.c if column.name not in {"id", "email"}]


def test_partial_indexes_stay_partial(session) -> None:
    """As below, of the tables that workspaces have made anew."""
    found = session.execute(
        sa.text("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%INDEX%WHERE%'")
    ).all()
    names = {"ix_link_start_due", "ix_link_end_due", "ix_link_change_batch", "ix_favicon_due"}
    assert {*names, "uq_domain_verified_host"} <= {name for name, _ in found}


def test_waiting_deliveries_keep_their_index(session) -> None:
    """Where a table is made anew on SQLite, a partial index would become one of all rows."""
    found = session.scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'ix_delivery_waiting'"))
    assert "WHERE due IS NOT NULL" in found
