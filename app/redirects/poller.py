"""Thread that polls for changes of links and domains, so that no redirect waits for that."""

# see docs/decisions/2026-11-25-wake-ups.md
from __future__ import annotations

import logging
import time
from math import inf

from app.core.error_boundary import ErrorBoundary
from app.core.errors import StoreDown
from app.core.poll_loop import quiet_database
from app.core.wakeups import LINK_CHANGES, WokenLoop
from app.redirects.cache import CompiledLinks

POLL_SECONDS = 0.2
# where wake-ups arrive; with the time of a poll it is less than a second, in which each change must be seen
IDLE_POLL_SECONDS = 0.7
QUIET_SECONDS = 2.0  # a poll at least so often, also where no file tells of a change

log = logging.getLogger(__name__)


class Poller(WokenLoop):
    """Polls for changes when others wake it, and now and then without that, so that no redirect waits.

    A wake-up can be lost, and only the table is the truth. Where none arrive it polls five times a second. On
    SQLite it looks at the database's file as often, and polls when anything was written.
    """

    topic = LINK_CHANGES

    def __init__(self, compiled_links: CompiledLinks) -> None:
        quiet = quiet_database(compiled_links.store.engine, QUIET_SECONDS)
        super().__init__(
            "link changes", POLL_SECONDS, ErrorBoundary("link changes", max_outages=inf), quiet=quiet
        )
        self.compiled_links = compiled_links
        self.is_down = False

    def rest(self, seconds: float) -> None:
        super().rest(IDLE_POLL_SECONDS if self.hears and not self.is_down else seconds)

    def is_quiet(self) -> bool:
        """Whether nothing was written since the last poll, which is then as good as one made now.

        Never in an outage: it ends with an answer, and no file tells of that.
        """
        asked = time.monotonic()
        is_quiet = not self.is_down and super().is_quiet()
        if is_quiet:
            self.compiled_links.polled = asked
        return is_quiet

    def turn(self) -> None:
        try:
            self.compiled_links.poll()
        except StoreDown as error:
            if not self.is_down:  # once, not five times a second
                log.error("redirects go on from memory, but changes are not seen: %s", error)  # noqa: TRY400
            self.is_down = True
        else:
            self.is_down = False
