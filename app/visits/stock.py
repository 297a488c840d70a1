"""How do links come onto the shelf before anybody asks for them?"""

from __future__ import annotations

import threading

from app.visits.cache import Plans
from app.visits.store import StoreDown

PAUSE_SECONDS = 0.003  # between a few hundred links, so that visitors hardly notice: 40,000 links a second
REST_SECONDS = 1.0  # until it looks for new ones


class Stocker(threading.Thread):
    """Goes through all links by their ids, and on to each new one."""

    def __init__(self, plans: Plans) -> None:
        super().__init__(name="stocker", daemon=True)
        self.plans = plans
        self.ended = threading.Event()
        self.last = 0  # the highest id that was seen
        self.drops = 0

    def run(self) -> None:
        pause = PAUSE_SECONDS
        while not self.ended.wait(pause):
            try:
                pause = PAUSE_SECONDS if self.step() else REST_SECONDS
            except StoreDown:  # the poller says so; visitors of what is on the shelf notice nothing
                pause = REST_SECONDS

    def step(self) -> bool:
        """Put the next links onto the shelf; whether there were any."""
        drops = self.plans.shelf.drops
        if drops != self.drops:
            self.last, self.drops = 0, drops
        epoch = self.plans.begin()
        rows = self.plans.store.links(self.last)
        if rows and self.plans.shelve(rows, epoch):
            self.last = rows[-1][1]["id"]
        return bool(rows)

    def stop(self) -> None:
        self.ended.set()
        if self.is_alive():
            self.join()
