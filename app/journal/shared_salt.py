"""Daily salts that several machines share: in Redis, else in PostgreSQL, and on each machine in its file.

Visitors' requests read the file alone. The worker fetches today's and tomorrow's salt, so that it is there
when its day begins. A machine that could reach nothing by then makes a salt of its own, and takes the shared
one as soon as it can: a visitor of both counts twice that day.
"""

# see docs/decisions/2026-11-25-one-salt-for-all-machines.md
from __future__ import annotations

import datetime as dt
import logging
import secrets
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Date, Engine, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import now
from app.core.config import Settings
from app.core.durable_files import create_file, replace_file
from app.core.encryption import SealedJson, UnreadableSecret, decrypt_text, encrypt_text
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.core.poll_loop import PollLoop
from app.core.redis_client import connect, redis
from app.core.secret_keys.ring import current_keys, derive
from app.journal.daily_salt import GRACE, KEY_BYTES, directory_of, read

LOCK_MS = 1000
NAME = "waypost daily salt name v1"
DAY = dt.timedelta(days=1)

log = logging.getLogger(__name__)


class DailySalt(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """The salt of one UTC day, encrypted by the secret key: the first machine that needs it makes it.

    UNLOGGED on PostgreSQL, and in no backup. SQLite has the table, and does not use it.
    """

    day: Mapped[dt.date] = mapped_column(Date, primary_key=True)
    salt: Mapped[dict[str, Any]] = mapped_column(SealedJson)


class SaltStore(Protocol):
    """Where machines share salts."""

    def offer(self, day: dt.date, salt: bytes) -> bytes | None:
        """Stores the salt of a day that has none. Returns the day's salt; None where it can't be decrypted.

        Raises OSError or SQLAlchemyError where nothing answers.
        """

    def remove_before(self, day: dt.date) -> None:
        """Deletes the salts of earlier days, so that nothing of them is left in the store's files."""


def salt_store(settings: Settings, engine: Engine) -> SaltStore | None:
    """The store of this instance; None on SQLite, which has one machine."""
    if settings.is_sqlite:
        return None
    return RedisSalts(settings.redis_url) if settings.redis_url else PostgresSalts(engine)


def share_salts(data_dir: Path, store: SaltStore, now: dt.datetime) -> None:
    """Has this machine and all others use the same salts today and tomorrow. Deletes late ones."""
    today = now.astimezone(dt.UTC).date()
    for day in (today, today + DAY):
        path = directory_of(data_dir) / day.isoformat()
        own = own_salt(path)
        shared = store.offer(day, own or secrets.token_bytes(KEY_BYTES))
        if shared is None:
            log.warning("The daily salt of other machines can't be decrypted: see `./waypost doctor`")
        elif shared != own:
            adopt(path, shared)
    store.remove_before((now.astimezone(dt.UTC) - GRACE).date())


def own_salt(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return read(path)
    return None


def adopt(path: Path, salt: bytes) -> None:
    """Stores the shared salt in this machine's file, in place of one of its own."""
    create_file(path, salt)
    if read(path) != salt:
        log.warning(
            "This machine had made a daily salt of its own for %s, and takes the shared one now:"
            " some visitors of that day count twice.",
            path.name,
        )
        replace_file(path, salt)


class RedisSalts:
    """In Redis, under a name that only the secret key tells, encrypted, until an hour after the day."""

    def __init__(self, redis_url: str) -> None:
        self.client = connect(redis_url)

    def offer(self, day: dt.date, salt: bytes) -> bytes | None:
        key = current_keys().current()
        name = f"waypost:salt:{derive(key, NAME, 8).hex()}:{day.isoformat()}"
        end = dt.datetime.combine(day + DAY, dt.time(), dt.UTC) + GRACE
        try:
            self.client.set(name, encrypt_text(salt, key), nx=True, exat=end)
            found = self.client.get(name)
        except redis.RedisError as error:
            raise ConnectionError(f"Redis does not answer: {error}") from error
        if not isinstance(found, bytes):
            raise ConnectionError("Redis forgets what it is given: see its maxmemory-policy")
        return decrypt_text(found.decode("ascii", "replace"), current_keys().all())

    def remove_before(self, day: dt.date) -> None:
        """Nothing: Redis itself lets them expire."""


class PostgresSalts:
    """In an unlogged table of PostgreSQL, encrypted. A rotation of the secret key encrypts it anew."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def offer(self, day: dt.date, salt: bytes) -> bytes | None:
        made = postgresql.insert(DailySalt).values(day=day, salt={"salt": salt.hex()})
        with Session(self.engine) as session, session.begin():
            limit_waiting(session)
            session.execute(made.on_conflict_do_nothing())
            found = session.get_one(DailySalt, day).salt
        return None if isinstance(found, UnreadableSecret) else bytes.fromhex(found["salt"])

    def remove_before(self, day: dt.date) -> None:
        """Moves the others to a new file: a deleted row stays in the pages of the old one."""
        late = text("SELECT 1 FROM daily_salt WHERE day < :day LIMIT 1")
        with Session(self.engine) as session, session.begin():
            if session.scalar(late, {"day": day}) is None:
                return
            limit_waiting(session)
            session.execute(text("LOCK TABLE daily_salt IN ACCESS EXCLUSIVE MODE"))
            kept = session.execute(text("SELECT day, salt FROM daily_salt WHERE day >= :day"), {"day": day})
            rows = [{"day": row.day, "salt": row.salt} for row in kept]
            session.execute(text("TRUNCATE daily_salt"))
            if rows:
                session.execute(text("INSERT INTO daily_salt (day, salt) VALUES (:day, :salt)"), rows)


def limit_waiting(session: Session) -> None:
    session.execute(text(f"SET LOCAL lock_timeout = {LOCK_MS:d}"))


SALTS_POLL_SECONDS = 20.0


class SaltSharer(PollLoop):
    """Fetches today's and tomorrow's salt, and offers this machine's to others. Idle on SQLite.

    A thread of the worker, so that nobody waits for it.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__("daily salts", SALTS_POLL_SECONDS, ErrorBoundary("daily salts", max_outages=inf))
        self.data_dir = settings.data_dir
        self.store = salt_store(settings, engine)

    def start(self) -> None:
        if self.store is not None:
            super().start()

    def turn(self) -> bool:
        if self.store is not None:
            share_salts(self.data_dir, self.store, now())
        return False
