"""Hears wake-ups in a thread, and knows whether they arrive at all."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from math import inf

from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop
from app.core.wakeups.bell import Bell, CurrentBell
from app.core.wakeups.carriers import CarrierDown, Subscription

PROBE_SECONDS = 30.0
PROBE_ANSWER_SECONDS = 5.0
WAIT_SECONDS = 1.0
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0

log = logging.getLogger(__name__)


class Listener(PollLoop):
    """Calls a function for each topic that is heard. `is_live`: wake-ups are known to arrive.

    It sends itself a wake-up now and then, over another connection: behind PgBouncer in transaction mode a
    LISTEN succeeds and nothing is ever heard. Callers poll more often while it is not live.
    """

    def __init__(self, bell: Bell, callbacks: Mapping[str, Callable[[], object]]) -> None:
        super().__init__("wake-ups", RETRY_SECONDS, ErrorBoundary("wake-ups", max_outages=inf))
        self.bell, self.callbacks = bell, callbacks
        self.subscription: Subscription | None = None
        self.probe = f"probe {secrets.token_hex(8)}"
        self.probed = 0.0
        self.is_live = self.is_probing = self.is_complaining = False
        self.pause = RETRY_SECONDS

    def turn(self) -> bool:
        """Hear for a while. False where that can't be done now; it is tried again after a rest."""
        try:
            if self.subscription is None:
                self.subscription = self.bell.carrier.subscribe()
                self.is_probing, self.probed = False, 0.0
            self.hear(self.subscription)
        except CarrierDown as error:
            self.give_up(error)
            return False
        return True

    def rest(self, _seconds: float) -> None:
        self.ended.wait(self.pause)
        self.pause = min(2 * self.pause, LONGEST_RETRY)

    def run(self) -> None:
        super().run()
        self.is_live = False
        self.unsubscribe()

    def hear(self, subscription: Subscription) -> None:
        """Wait for the next wake-ups. Raises CarrierDown, also where a probe has not come back."""
        self.send_probe(time.monotonic())
        for topic in subscription.wait(WAIT_SECONDS):
            if topic == self.probe:
                self.confirm()
            elif topic in self.callbacks:
                self.callbacks[topic]()

    def send_probe(self, now: float) -> None:
        if self.is_probing and now > self.probed + PROBE_ANSWER_SECONDS:
            raise CarrierDown("what this process sent did not come back")
        if not self.is_probing and now >= self.probed + (PROBE_SECONDS if self.is_live else 0.0):
            self.is_probing, self.probed = True, now
            self.bell.ring(self.probe)

    def confirm(self) -> None:
        self.is_probing = False
        if self.is_live:
            return
        self.is_live, self.pause = True, RETRY_SECONDS
        if self.is_complaining:
            self.is_complaining = False
            log.info("wake-ups are heard again")
        for callback in self.callbacks.values():  # some may have been missed until now
            callback()

    def give_up(self, error: CarrierDown) -> None:
        self.is_live = False
        self.unsubscribe()
        if not self.is_complaining:  # once, not with each try
            self.is_complaining = True
            log.warning("wake-ups are not heard; this process polls more often instead: %s", error)

    def unsubscribe(self) -> None:
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None


def start_listener(callbacks: Mapping[str, Callable[[], object]]) -> Listener | None:
    """A running listener; None where this process has no carrier (`use_wakeups`)."""
    if CurrentBell.bell is None:
        return None
    listener = Listener(CurrentBell.bell, callbacks)
    listener.start()
    return listener
