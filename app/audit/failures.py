"""Counts failed sign-ins, so that a flood of them fills neither the database nor its disk.

The first failure of an account, network and reason is written at once. Equal ones of the next ten minutes are
counted in memory and written as one entry when these are over, or when the process ends. A process follows at
most MAX_GROUPS of them at a time, and the table takes at most MAX_ENTRIES_A_DAY of one day: beyond either,
failures are counted without their network, and then without their account. Each failure has a log line.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
from multiprocessing.util import Finalize
from typing import NamedTuple

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from app.audit.models import AuditEntry
from app.audit.services import Account, log_entry
from app.core.clock import now
from app.core.database import impatient

WINDOW = dt.timedelta(minutes=10)
MAX_GROUPS = 50
MAX_ENTRIES_A_DAY = 2000
DAY = dt.timedelta(days=1)
RETRY = dt.timedelta(seconds=10)
WAIT_MILLISECONDS = 500
ACTIONS = ("sign_in.failed", "proof.failed", "api_key.refused")
MANY = "many"  # the reason in entries without network and account

log = logging.getLogger(__name__)


class SignInFailure(NamedTuple):
    """The key under which failures are counted. `account_id` None: unknown account, typed name not stored."""

    action: str
    account_id: int | None
    email: str
    network: str
    reason: str

    def without_network(self) -> SignInFailure:
        return self._replace(network="")

    def without_account(self) -> SignInFailure:
        return self._replace(network="", account_id=None, email="", reason=MANY)


class FailureLog:
    """Counts the failures of one process."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lock = threading.Lock()
        self.ends: dict[SignInFailure, dt.datetime] = {}  # end of each open window
        self.counts: dict[SignInFailure, int] = {}  # failures that are in no entry yet
        self.retry_time = now()
        self.timer: threading.Timer | None = None
        self._flush_at_exit = Finalize(self, flush_at_exit, args=(engine, self.counts), exitpriority=10)

    def close(self) -> None:
        """Write all counts, as at the end of the process, and forget all windows."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            self._flush_at_exit()
            self.counts.clear()
            self.ends.clear()

    def note(self, action: str, account: Account | None, network: str, reason: str) -> None:
        """Count one failure. Database errors do not raise: the sign-in is refused either way."""
        account_id, email = (account.id, account.email) if account else (None, "")
        failure = SignInFailure(action, account_id, email, network, reason)
        said = {"account_id": failure.account_id, "network": network, "changes": {"reason": reason}}
        log_entry({"action": action, **said})
        with self.lock:
            self.close_windows()
            group = self.group_of(failure)
            self.counts[group] = self.counts.get(group, 0) + 1
            if group in self.ends:
                self.set_timer()
                return
            self.ends[group] = now() + WINDOW
            self.write([group])

    def group_of(self, failure: SignInFailure) -> SignInFailure:
        """The key to count a failure under: itself while there is room, else without network or account."""
        known = self.ends.keys() | self.counts.keys()
        if failure in known or (len(known) < MAX_GROUPS and self.entries_of_a_day() < MAX_ENTRIES_A_DAY):
            return failure
        merged = failure.without_network()
        return merged if merged in known or len(known) < 2 * MAX_GROUPS else failure.without_account()

    def entries_of_a_day(self) -> int:
        recent = AuditEntry.action.in_(ACTIONS), AuditEntry.datetime > now() - DAY
        try:
            with self.engine.connect() as connection:
                return connection.scalar(select(func.count()).select_from(AuditEntry).where(*recent)) or 0
        except SQLAlchemyError:
            return 0  # then no entry can be written either

    def close_windows(self) -> None:
        """Write the counts of windows that are over, and those that could not be written before."""
        for group in [group for group, end in self.ends.items() if end <= now()]:
            del self.ends[group]
        self.write([group for group in self.counts if group not in self.ends])

    def write(self, groups: list[SignInFailure]) -> None:
        """Write entries. If the database fails, the counts are kept for a later try."""
        if not groups or now() < self.retry_time:
            return
        try:
            write_entries(self.engine, {group: self.counts[group] for group in groups})
        except SQLAlchemyError as error:
            self.retry_time = now() + RETRY
            log.warning("Failed sign-ins are not in the audit log yet: %s", str(error).partition("\n")[0])
            self.set_timer()
            return
        for group in groups:
            del self.counts[group]

    def set_timer(self) -> None:
        """Start a timer that closes windows even if no further failure comes."""
        if self.timer is None or not self.timer.is_alive():
            self.timer = threading.Timer(WINDOW.total_seconds(), self.flush_closed)
            self.timer.daemon = True
            self.timer.start()

    def flush_closed(self) -> None:
        with self.lock:
            self.close_windows()
            self.timer = None
            if self.counts:
                self.set_timer()


def flush_at_exit(engine: Engine, counts: dict[SignInFailure, int]) -> None:
    """Write the counts. Takes no lock: no other thread answers requests any more."""
    if counts:
        try:
            write_entries(engine, dict(counts))
        except SQLAlchemyError as error:
            log.warning("Failed sign-ins are not in the audit log: %s", str(error).partition("\n")[0])


def write_entries(engine: Engine, counts: dict[SignInFailure, int]) -> None:
    rows = [
        {
            "datetime": now(),
            "action": failure.action,
            "count": count,
            "account_id": failure.account_id,
            "account_email": failure.email,
            "actor_way": "dashboard" if failure.action != "api_key.refused" else "api",
            "network": failure.network,
            "changes": {"reason": failure.reason},
        }
        for failure, count in counts.items()
    ]
    with engine.connect() as connection, impatient(connection, WAIT_MILLISECONDS):
        connection.execute(insert(AuditEntry), rows)
        connection.commit()
