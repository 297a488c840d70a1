"""A bounded load on several machines, which notes the answer to each visit."""

from __future__ import annotations

import http.client
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tests.server import BROWSER, Server

PACE_SECONDS = 0.04  # between two visits of one visitor: 25 a second
PATIENCE_SECONDS = 20.0
HOST = "go.example"


class Visit(NamedTuple):
    """A visit by its number. `status` is 0 where no answer came: it may count or not."""

    number: str
    alias: str
    machine: int
    status: int
    location: str
    moment: float


class Load:
    """Visitors at each machine, who open the aliases in turn until `stop`."""

    def __init__(self, machines: Sequence[Server], aliases: Sequence[str], visitors: int = 2) -> None:
        self.machines, self.aliases = machines, aliases
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.visits: list[Visit] = []
        self.is_over = threading.Event()
        self.threads = [
            threading.Thread(target=self.come, args=(machine, visitor), daemon=True)
            for machine in range(len(machines))
            for visitor in range(visitors)
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join(2 * PATIENCE_SECONDS)

    def come(self, machine: int, visitor: int) -> None:
        line: http.client.HTTPConnection | None = None
        for alias in itertools.islice(itertools.cycle(self.aliases), visitor, None):
            if self.is_over.wait(PACE_SECONDS):
                break
            line = line or http.client.HTTPConnection(
                "127.0.0.1", self.machines[machine].port, timeout=PATIENCE_SECONDS
            )
            if not self.visit(line, machine, alias):
                line.close()
                line = None
        if line is not None:
            line.close()

    def visit(self, line: http.client.HTTPConnection, machine: int, alias: str) -> bool:
        """One visit. False where it has no answer."""
        with self.lock:
            number = str(next(self.numbers))
        headers = {"User-Agent": BROWSER, "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": HOST}
        status, location = 0, ""
        try:
            line.request("GET", f"/{alias}?utm_source={number}", headers=headers)
            answer = line.getresponse()
            answer.read()
            status, location = answer.status, answer.getheader("Location", "")
        except (OSError, http.client.HTTPException):
            status = 0
        with self.lock:
            self.visits.append(Visit(number, alias, machine, status, location, time.monotonic()))
        return status != 0

    def so_far(self) -> list[Visit]:
        with self.lock:
            return list(self.visits)

    def answered(self, machine: int) -> int:
        """How many redirects this machine has answered so far."""
        return sum(visit.machine == machine and visit.status == 302 for visit in self.so_far())

    def by_status(self) -> dict[str, dict[int, set[str]]]:
        """The numbers of the visits by alias and status."""
        found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for visit in self.so_far():
            found[visit.alias][visit.status].add(visit.number)
        return found
