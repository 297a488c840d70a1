"""Fetches the icons of sites that links lead to: in threads, few of each owner, one at a time of each server.

A site that hangs holds one thread until its deadline, and neither the others nor the answer to whoever made
the link. What a killed worker was fetching is fetched again once its lease is over.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable
from math import inf

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop, quiet_database
from app.jobs.fair_pool import FairPool
from app.links import favicons
from app.links.favicons import FetchedIcon, PendingIcon

THREADS = 6
POLL_SECONDS = 1.0
RETRY_SECONDS = 10.0
LOOK_AHEAD = 500  # waiting icons that are looked through for some that may begin now


class FaviconFetcher(PollLoop):
    """Starts a thread for each icon that is due."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.errors = ErrorBoundary("favicons", max_outages=inf)
        loop, quiet = ErrorBoundary("favicon loop", max_outages=inf), quiet_database(engine, RETRY_SECONDS)
        super().__init__("favicons", POLL_SECONDS, loop, RETRY_SECONDS, quiet=quiet)
        self.engine, self.allowed = engine, settings.allow_private_networks
        self.who = secrets.token_hex(8)
        self.fair = FairPool()
        self.running: dict[int, tuple[PendingIcon, threading.Thread]] = {}

    def is_quiet(self) -> bool:
        """No turn is left out while a thread runs: its end makes room for the next."""
        return not self.running and super().is_quiet()

    def turn(self) -> None:
        """Collects threads that have ended, and starts as many as there is room for."""
        self.reap()
        if len(self.running) >= THREADS:
            return
        with Session(self.engine) as session:
            wanted = self.choose(favicons.due(session, LOOK_AHEAD, without=list(self.running)))
            taken = favicons.take(session, [one.id for one in wanted], self.who) if wanted else set()
        for one in wanted:
            if one.id in taken:
                thread = threading.Thread(target=self.work, args=(one,), name=f"icon {one.id}", daemon=True)
                self.running[one.id] = one, thread
                thread.start()
            else:
                self.fair.end(one)

    def choose(self, waiting: Iterable[PendingIcon]) -> list[PendingIcon]:
        found: list[PendingIcon] = []
        for one in waiting:
            if len(self.running) + len(found) < THREADS and self.fair.is_free(one):
                self.fair.begin(one)
                found.append(one)
        return found

    def reap(self) -> None:
        for id_, (one, thread) in list(self.running.items()):
            if not thread.is_alive():
                del self.running[id_]
                self.fair.end(one)
        self.fair.forget_rested()

    def work(self, one: PendingIcon) -> None:
        """Fetches one icon and stores it. An error of ours counts as a failed try."""
        with self.errors.attempt(one.id) as made:
            result = favicons.ask(one.site, self.allowed)
            self.store(one, result)
        if made.error is not None:
            with self.turn_errors.attempt():
                self.store(one, FetchedIcon(None, is_final=False))

    def store(self, one: PendingIcon, result: FetchedIcon) -> None:
        with Session(self.engine) as session:
            favicons.store(session, one.id, self.who, result)

    def stop(self, seconds: float | None = 0.0) -> None:
        """Starts no more, and waits for running ones. The next worker repeats those that take longer."""
        until = time.monotonic() + (seconds or 0.0)
        super().stop(seconds)
        for _, thread in self.running.values():
            thread.join(max(0.0, until - time.monotonic()))
