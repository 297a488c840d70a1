"""Circuit breaker: keeps callers away from a service that does not answer, until it does again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

PROBE_SECONDS = 1.0

log = logging.getLogger(__name__)


class CircuitBreaker:
    """The state of one service, for all threads of this process.

    The first failure opens it. Then `admits` is false, so that no caller waits for the service, and a thread
    probes it every PROBE_SECONDS. The first probe that does not raise one of `failures` closes it again.
    `meanwhile` says in the log what happens until then; each outage is logged once.
    """

    def __init__(
        self,
        service: str,
        probe: Callable[[], object],
        failures: type[Exception] | tuple[type[Exception], ...],
        meanwhile: str,
    ) -> None:
        self.service, self.meanwhile = service, meanwhile
        self._probe, self._failures = probe, failures
        self._lock = threading.Lock()
        self._is_open = False
        self._prober: threading.Thread | None = None
        self._ended = threading.Event()

    def admits(self) -> bool:
        """Whether the service may be asked."""
        if self._is_open and not (self._prober and self._prober.is_alive()):
            self._start_probing()  # a forked child has no such thread, and a full machine may have refused it
        return not self._is_open

    def trip(self, error: Exception) -> None:
        """Opens it after a failure of the service. Of several at once, the first is logged."""
        with self._lock:
            if self._is_open:
                return
            self._is_open = True
        log.warning("%s does not answer as it should, %s: %s", self.service, self.meanwhile, error)
        self._start_probing()

    def close(self) -> None:
        """Ends the probes, when the process ends."""
        self._ended.set()

    def _start_probing(self) -> None:
        with self._lock:
            if self._ended.is_set() or (self._prober and self._prober.is_alive()):
                return
            self._prober = threading.Thread(target=self._probe_until_it_answers, daemon=True)
            with suppress(RuntimeError):  # no thread to be had now: the next caller tries again
                self._prober.start()

    def _probe_until_it_answers(self) -> None:
        while self._is_open and not self._ended.wait(PROBE_SECONDS):
            try:
                self._probe()
            except self._failures as error:
                log.debug("%s does not answer yet: %s", self.service, error)
            else:
                log.warning("%s answers again.", self.service)
                self._is_open = False
