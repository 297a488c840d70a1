"""The instance page: health, amounts and settings for admins, without secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.config import TABLE
from app.core.config_sources import MASK, masked
from app.core.file_locks import lock_file
from app.core.leases import precise_now
from app.core.version import VERSION
from app.jobs import maintenance
from app.jobs.backups import BACKUP, note_failure, note_success
from app.notifications.delivery import AttemptResult
from app.notifications.models import SystemEmail
from app.notifications.outbox import settle
from tests.dashboard.conftest import HTMX, Desk

ADDRESSES = {
    "postgresql://waypost:secret@db.example/waypost": f"postgresql://waypost:{MASK}@db.example/waypost",
    "redis://:secret@cache.example:6379/0": f"redis://:{MASK}@cache.example:6379/0",
    "https://geo.example/file?license_key=secret": f"https://geo.example/file?{MASK}",
    "sqlite:////data/main.db": "sqlite:////data/main.db",
    "smtp://mail.example": "smtp://mail.example",
}


def test_the_page(desk: Desk, factory: Any, alice: User, settings: Any) -> None:
    factory.link(alice)
    page = desk.get("/instance/").text
    assert "Not ready" in page  # there is no worker
    assert "Without it no clicks are counted and nothing is sent." in page
    assert "./waypost geo update" in page
    assert all(f"WAYPOST_{name}" in page for name in TABLE)
    assert settings.secret_key not in page
    assert f"<code>{VERSION}</code>" in page
    with lock_file(settings.data_dir / maintenance.WORKER_LOCK):
        maintenance.beat(settings.data_dir)
        live = desk.get("/instance/", headers=HTMX).text
    assert "Not ready" not in live
    assert "<html" not in live
    assert not any(tag in live for tag in ("<a ", "<button", "<input"))  # it would lose the focus


def test_amounts(desk: Desk, factory: Any, alice: User, bob: User) -> None:
    for _ in range(3):
        factory.link(bob)
    live = desk.get("/instance/", headers=HTMX).text
    assert "<dt>Links</dt><dd>3</dd>" in live
    assert "<dt>Users</dt><dd>2</dd>" in live


@pytest.mark.settings(BACKUP_TO="/var/backups/waypost", BACKUP_PASSPHRASE="four slow trains")
def test_backups(desk: Desk, session: Session, settings: Any) -> None:
    page = desk.get("/instance/").text
    assert "There is none yet." in page
    assert "four slow trains" not in page
    note_success(session, BACKUP, name="x", size=1, seconds=1)
    assert "The last one was made at" in desk.get("/instance/").text
    note_failure(session, settings, BACKUP, "<b>No space left</b>")
    live = desk.get("/instance/", headers=HTMX).text
    assert "&lt;b&gt;No space left&lt;/b&gt;" in live


def test_what_is_secret_in_an_address() -> None:
    for address, shown in ADDRESSES.items():
        assert masked(address) == shown, address


@pytest.mark.settings(SMTP_URL="smtp://me:hush-hush@mail.example:587")
def test_a_test_mail(desk: Desk, session: Session, alice: User) -> None:
    page = desk.get("/instance/").text
    assert f"smtp://me:{MASK}@mail.example:587" in page
    assert "hush-hush" not in page
    assert "Addresses in mails begin with <code>http://127.0.0.1:8000</code>" in page
    assert "on its way" in desk.post("/instance/mail", {}, headers=HTMX).text
    assert desk.post("/instance/mail", {}).status_code == 303  # twice: one mail
    letter = session.scalars(select(SystemEmail)).one()
    assert letter.email == alice.email
    result = AttemptResult(
        is_delivered=False,
        is_permanent=True,
        detail="The mail server refuses.",
        datetime=precise_now(),
        duration_ms=1,
    )
    settle(session, letter.delivery, result)
    session.commit()
    assert "could not be sent" in desk.get("/instance/mail").text
    settle(session, letter.delivery, replace(result, is_delivered=True))
    session.commit()
    assert "took the test mail" in desk.get("/instance/mail", headers=HTMX).text
