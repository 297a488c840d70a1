"""Click limits: exactly as many visitors get through as a link's limit says, however many come at once.

One transaction for each visit raises the link's count if that is below the limit, and records the visit. All
visits that wait in one process at the same moment share one commit. Tickets of interstitials, which come
between the count and the destination, are redeemed in the same way.
"""

# see docs/decisions/2026-11-21-limits-and-gates.md
from __future__ import annotations

import datetime as dt
import logging
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Engine, bindparam, create_engine, event, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.core.clock import now
from app.core.config import Settings
from app.core.database import UtcDateTime, prepare_engine
from app.core.errors import StoreDown
from app.core.patience import LIMITED
from app.journal.codec import NEWEST
from app.journal.segments import directory_of
from app.links.clicks import LIMIT_COUNTER
from app.notifications.events import raise_limit_reached
from app.redirects import signed_tokens
from app.redirects.compiled_link import CompiledLink
from app.redirects.pending_clicks import Journaled
from app.redirects.reader import Statement, Store
from app.redirects.signed_tokens import Confirmation, Passage

BUSY_MS = 2000  # rather than wait longer, a visitor is asked to try again
NO_LIMIT = 2**62

USED = select(LIMIT_COUNTER.c.clicks).where(LIMIT_COUNTER.c.link_id == bindparam("link_id"))
# the limit is the stored one: a compiled link may be a moment old. If the limit was just removed, all pass
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
class Redemption:
    """A signed ticket to be redeemed. `passed` is None until that is decided, finally.

    docs/decisions/2026-11-22-tickets-of-limited-links.md says why a ticket alone is not enough.
    """

    id: str
    expires: dt.datetime
    passed: bool | None = None

    @property
    def lock_order(self) -> tuple[int, int, str]:
        return (0, 0, self.id)

    def decide(self, connection: Connection, _answers: Answers) -> bool:
        """Whether it was unused. On PostgreSQL this waits for concurrent redemptions of the same ticket."""
        return connection.execute(REDEEM, {"id": self.id, "expires": self.expires}).first() is not None


@dataclass(eq=False, slots=True)
class Ticket:
    """A visit that asks to get through. `passed` is None until that is decided, finally.

    `redemption`: of a signed ticket that must be unused. It is decided before, in the same transaction.
    """

    link_id: int
    journaled: int
    line: bytes
    redemption: Redemption | None = None
    passed: bool | None = None

    @property
    def lock_order(self) -> tuple[int, int, str]:
        return (1, self.link_id, "")

    def decide(self, connection: Connection, answers: Answers) -> bool:
        if self.redemption is not None and not answers[self.redemption]:
            return False
        return passes(connection, self)


Item = Redemption | Ticket
# the decisions so far in one transaction; they are valid once it is committed
Answers = Mapping[Item, bool]


class Confirmed(Enum):
    """The result of a confirmed visit."""

    PASSED = "the click is used up, and the ticket with it"
    REDEEMED_BEFORE = "the ticket was used before"
    USED_UP = "no click was left"


class Limits:
    """The click limits of all links, for one process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.store = store
        self.journal = Journaled(store, directory_of(settings.data_dir))
        self.used_statement = Statement(USED, store.engine.dialect)
        self.engine = open_engine(settings)
        self.waiting: deque[tuple[Item, ...]] = deque()  # each tuple is decided in one transaction
        self.turn = threading.Lock()

    def clicks(self, compiled_link: CompiledLink) -> int:
        """The clicks of a limited link as of now. Raises StoreDown."""
        rows = self.store.read(self.used_statement, link_id=compiled_link.id)
        return self.journal.visits(compiled_link) + int(rows[0]["clicks"] if rows else 0)

    def take(self, compiled_link: CompiledLink, line: bytes) -> bool:
        """Use up one click and store the visit's line; False if no click is left. Raises StoreDown; then no
        click was used."""
        return self.decide(Ticket(compiled_link.id, self.journal.visits(compiled_link), line))

    def redeem(self, passage: Passage) -> bool:
        """Redeem a passage; False if it was redeemed before. Raises StoreDown; then it was not redeemed."""
        return self.decide(redemption_of(passage))

    def confirm(self, compiled_link: CompiledLink, line: bytes, confirmation: Confirmation) -> Confirmed:
        """Use up one click and the confirmation together. Raises StoreDown; then neither was used up."""
        redemption = redemption_of(confirmation)
        if self.decide(
            redemption, Ticket(compiled_link.id, self.journal.visits(compiled_link), line, redemption)
        ):
            return Confirmed.PASSED
        return Confirmed.USED_UP if redemption.passed else Confirmed.REDEEMED_BEFORE

    def decide(self, *items: Item) -> bool:
        """Decide the items in one transaction. Returns the decision on the last. Raises StoreDown."""
        self.waiting.append(items)
        last = items[-1]
        with self.turn:  # the first thread writes for all that wait by then
            if last.passed is None:
                self.write(self.all_waiting())
        if last.passed is None:
            raise StoreDown("the visit of a limited link can't be written")
        return last.passed

    def all_waiting(self) -> list[Item]:
        return [item for _ in range(len(self.waiting)) for item in self.waiting.popleft()]

    def write(self, items: list[Item]) -> None:
        """Decide all of these in one transaction. If it fails, none of them passes."""
        # in order, or two processes could wait for each other's rows on PostgreSQL
        items.sort(key=lambda item: item.lock_order)
        try:
            engine = self.engine.execution_options(sqlite_begin="IMMEDIATE")
            answers: dict[Item, bool] = {}
            with engine.begin() as connection:
                for item in items:
                    answers[item] = item.decide(connection, answers)
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            log.error("clicks of limited links can't be written: %s", str(error).partition("\n")[0])  # noqa: TRY400
            self.all_waiting()  # visits that came meanwhile fail, too, instead of waiting as long again
            return
        for item, answer in answers.items():
            item.passed = answer

    def close(self) -> None:
        self.engine.dispose()


def redemption_of(ticket: Passage | Confirmation) -> Redemption:
    return Redemption(ticket.id, now() + dt.timedelta(seconds=signed_tokens.seconds_of(type(ticket))))


def passes(connection: Connection, ticket: Ticket) -> bool:
    """Raise the count if the limit allows it, and store the visit. The last click also raises an event for
    the owner."""
    asked = {"link_id": ticket.link_id, "journaled": ticket.journaled, "no_limit": NO_LIMIT}
    taken = connection.execute(TAKE, asked).first()
    if taken is None:
        return False
    connection.execute(WRITE, {"version": NEWEST, "line": ticket.line})
    if taken.clicks_limit is not None and taken.clicks + ticket.journaled >= taken.clicks_limit:
        raise_limit_reached(connection, ticket.link_id, clicks_limit=taken.clicks_limit)
    return True


def open_engine(settings: Settings) -> Engine:
    """An engine with one connection of its own. It waits only for other writers, and not for long."""
    engine = create_engine(settings.database_url, pool_size=1, max_overflow=0, **options(settings))
    prepare_engine(engine, settings, patience=LIMITED)
    if settings.is_sqlite:
        event.listen(engine, "connect", wait_briefly)
    return engine


def options(settings: Settings) -> dict[str, Any]:
    if settings.is_sqlite:
        return {"connect_args": {"uri": True, "check_same_thread": False}}
    return {"pool_pre_ping": True, "hide_parameters": True}


def wait_briefly(connection: Any, _entry: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
