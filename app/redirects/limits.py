"""How do exactly as many visitors get through as a link's limit says, however many come at once?

By one transaction for each visit: it raises the link's count if that is below the limit, and writes the visit
down. Of one process, all visits that wait at the same moment share one commit. Tickets of pages that come
between the count and the destination are redeemed in the same way.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, bindparam, create_engine, event, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.clock import now
from app.config import Settings
from app.database import UtcDateTime, prepare_engine
from app.journal.record import NEWEST
from app.journal.segments import directory_of
from app.links.clicks import LIMIT_COUNTER
from app.notifications.events import LIMIT_REACHED, raise_event
from app.visits import tickets
from app.visits.journaled import Journaled
from app.visits.plan import Plan
from app.visits.store import Statement, Store, StoreDown
from app.visits.tickets import Passage

BUSY_MS = 2000  # a visitor is told to come again rather than kept waiting
CONNECT_SECONDS = 5
NO_LIMIT = 2**62

USED = select(LIMIT_COUNTER.c.clicks).where(LIMIT_COUNTER.c.link_id == bindparam("link_id"))
# the limit is the stored one: a plan may be a moment old. Without one (it was taken off just now) all pass
TAKE = text("""
    INSERT INTO limit_counter (link_id, clicks)
    SELECT id, 1 FROM link WHERE id = :link_id AND :journaled < coalesce(clicks_limit, :no_limit)
    ON CONFLICT (link_id) DO UPDATE SET clicks = limit_counter.clicks + 1
    WHERE limit_counter.clicks + :journaled < coalesce(
        (SELECT clicks_limit FROM link WHERE link.id = excluded.link_id), :no_limit)
    RETURNING clicks, (SELECT clicks_limit FROM link WHERE link.id = link_id) AS clicks_limit
""")
WRITE = text("INSERT INTO limited_visit (version, line) VALUES (:version, :line)")
REDEEM = text("""
    INSERT INTO redeemed_ticket (id, expires_datetime) VALUES (:id, :expires)
    ON CONFLICT DO NOTHING RETURNING id
""").bindparams(bindparam("expires", type_=UtcDateTime))

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Ticket:
    """One visit that asks to get through. `passed` is None until that is known, for good."""

    link_id: int
    journaled: int
    line: bytes
    passed: bool | None = None

    @property
    def lock_order(self) -> tuple[int, int, str]:
        return (0, self.link_id, "")

    def decide(self, connection: Connection) -> bool:
        return passes(connection, self)


@dataclass(eq=False, slots=True)
class Redemption:
    """One signed ticket that asks to be used up. `passed` is None until that is known, for good.

    docs/decisions/2026-11-22-tickets-of-limited-links.md says why a ticket alone is not enough.
    """

    id: str
    expires: dt.datetime
    passed: bool | None = None

    @property
    def lock_order(self) -> tuple[int, int, str]:
        return (1, 0, self.id)

    def decide(self, connection: Connection) -> bool:
        """Whether it was unused; on PostgreSQL this waits for others who try it at this moment."""
        return connection.execute(REDEEM, {"id": self.id, "expires": self.expires}).first() is not None


class Limits:
    """The limits of all links, as one process sees and uses them up."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.store = store
        self.journal = Journaled(store, directory_of(settings.data_dir))
        self.used_statement = Statement(USED, store.engine)
        self.engine = open_engine(settings)
        self.waiting: deque[Ticket | Redemption] = deque()
        self.turn = threading.Lock()

    def clicks(self, plan: Plan) -> int:
        """How often a limited link was opened, as of now. Raises StoreDown."""
        rows = self.store.read(self.used_statement, link_id=plan.id)
        return self.journal.visits(plan) + int(rows[0]["clicks"] if rows else 0)

    def take(self, plan: Plan, line: bytes) -> bool:
        """Use up one click and keep the visit's line; False if there is none left. Raises StoreDown, and
        then nobody has got through."""
        return self.decide(Ticket(plan.id, self.journal.visits(plan), line))

    def redeem(self, passage: Passage) -> bool:
        """Use a passage up; False if that was done before. Raises StoreDown, and then it was not."""
        return self.decide(Redemption(passage.id, now() + dt.timedelta(seconds=tickets.SECONDS)))

    def decide(self, item: Ticket | Redemption) -> bool:
        self.waiting.append(item)
        with self.turn:  # whoever is first writes for all that wait by then
            if item.passed is None:
                self.write(self.all_waiting())
        if item.passed is None:
            raise StoreDown("the visit of a limited link can't be written")
        return item.passed

    def all_waiting(self) -> list[Ticket | Redemption]:
        return [self.waiting.popleft() for _ in range(len(self.waiting))]

    def write(self, items: list[Ticket | Redemption]) -> None:
        """One transaction for all of these. Where it fails, none of them passes."""
        # in order, or two processes could wait for each other's rows on PostgreSQL
        items.sort(key=lambda item: item.lock_order)
        try:
            engine = self.engine.execution_options(sqlite_begin="IMMEDIATE")
            with engine.begin() as connection:
                answers = [item.decide(connection) for item in items]
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            log.error("visits of limited links can't be written: %s", str(error).partition("\n")[0])  # noqa: TRY400
            self.all_waiting()  # those who came meanwhile shall not wait as long again
            return
        for item, answer in zip(items, answers, strict=True):
            item.passed = answer

    def close(self) -> None:
        self.engine.dispose()


def passes(connection: Connection, ticket: Ticket) -> bool:
    """Raise the count if the limit allows it, and write the visit down with it; with the last one also
    what the owner is to be told."""
    asked = {"link_id": ticket.link_id, "journaled": ticket.journaled, "no_limit": NO_LIMIT}
    taken = connection.execute(TAKE, asked).first()
    if taken is None:
        return False
    connection.execute(WRITE, {"version": NEWEST, "line": ticket.line})
    if taken.clicks_limit is not None and taken.clicks + ticket.journaled >= taken.clicks_limit:
        raise_event(connection, LIMIT_REACHED, ticket.link_id, clicks_limit=taken.clicks_limit)
    return True


def open_engine(settings: Settings) -> Engine:
    """One connection, apart from those of pages: it waits for nobody but other writers, and not for long."""
    engine = create_engine(settings.database_url, pool_size=1, max_overflow=0, **options(settings))
    prepare_engine(engine, settings)
    if settings.is_sqlite:
        event.listen(engine, "connect", wait_briefly)
    return engine


def options(settings: Settings) -> dict[str, Any]:
    if settings.is_sqlite:
        return {"connect_args": {"uri": True, "check_same_thread": False}}
    waits = f"-c lock_timeout={BUSY_MS} -c statement_timeout={BUSY_MS}"
    arguments = {"connect_timeout": CONNECT_SECONDS, "options": waits}
    return {"pool_pre_ping": True, "hide_parameters": True, "connect_args": arguments}


def wait_briefly(connection: Any, _entry: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
