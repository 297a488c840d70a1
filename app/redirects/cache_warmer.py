"""Cache warmer: reads links into the row cache before they are visited."""

from __future__ import annotations

from math import inf

from app.core.error_boundary import ErrorBoundary
from app.core.errors import StoreDown
from app.core.poll_loop import PollLoop
from app.redirects.cache import CompiledLinks

PAUSE_SECONDS = 0.003  # between a few hundred links, so that visitors hardly notice: 40,000 links a second
REST_SECONDS = 1.0  # until it looks for new links


class Stocker(PollLoop):
    """Thread that reads all links in the order of their ids, and then each new one."""

    def __init__(self, compiled_links: CompiledLinks) -> None:
        super().__init__("stocker", REST_SECONDS, ErrorBoundary("stocker", max_outages=inf))
        self.compiled_links = compiled_links
        self.last = 0  # the highest id that was seen
        self.drops = 0

    def turn(self) -> bool:
        try:
            has_moved = self.step()
        except StoreDown:  # the poller logs it; visitors of cached links notice nothing
            return False
        if has_moved:
            self.ended.wait(PAUSE_SECONDS)
        return has_moved

    def step(self) -> bool:
        """Put the next links into the row cache. Returns whether there were any."""
        drops = self.compiled_links.row_cache.drops
        if drops != self.drops:
            self.last, self.drops = 0, drops
        epoch = self.compiled_links.begin()
        rows = self.compiled_links.store.links(self.last)
        if rows and self.compiled_links.shelve(rows, epoch):
            self.last = rows[-1][1]["id"]
        return bool(rows)
