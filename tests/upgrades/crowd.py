"""Visitors behind a proxy that tries again while nobody listens."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.server import BROWSER, wait_for
from tests.test_kills import Crowd

MAX_VISITS = 60_000
PAUSE_SECONDS = (
    0.02  # between two visits on a connection: an upgrade takes long, and the load is to be bounded
)


class PatientCrowd(Crowd):
    """A visit whose connection is refused is tried again. `unsure`: what broke off may count or not."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.unsure: set[str] = set()
        self.ended = threading.Event()

    def visit(self, until: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while number := self.next_number(until):
            wait_for(lambda number=number: self.is_done(line, number), "an answer")
            self.ended.wait(PAUSE_SECONDS)
        line.close()

    def is_done(self, line: http.client.HTTPConnection, number: str) -> bool:
        try:
            line.request("GET", f"/{self.path}?utm_source={number}", headers={"User-Agent": BROWSER})
            answer = line.getresponse()
            answer.read()
        except ConnectionRefusedError:
            line.close()
            return False
        except (OSError, http.client.HTTPException):
            line.close()
            self.unsure.add(number)
            return True
        self.note(number, answer.status)
        return True

    def stop(self) -> None:
        super().stop()
        self.ended.set()

    def wait_for_more(self, visits: int) -> None:
        wanted = len(self.answered) + visits
        wait_for(lambda: len(self.answered) >= wanted, f"{visits} more visits")


@contextmanager
def visitors(port: int) -> Iterator[PatientCrowd]:
    """They come until the end of the block, one after the other on a few connections."""
    crowd = PatientCrowd(port)
    threads = crowd.come(until=MAX_VISITS)
    try:
        yield crowd
    finally:
        crowd.stop()
        for thread in threads:
            thread.join()
