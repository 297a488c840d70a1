"""A document of the provider, kept for an hour and fetched again at a bounded rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from app.accounts.oidc.errors import ProviderDown

Document = TypeVar("Document")

FRESH_SECONDS = 3600.0
STALE_SECONDS = 24 * 3600.0  # used that long where the provider does not answer
RENEW_SECONDS = 30.0  # at most one fetch in this time, however many tokens name unknown keys
RETRY_SECONDS = 3.0  # after a failure: requests that come meanwhile get the same one, and wait for nothing


class CachedDocument(Generic[Document]):
    """One document for all threads of a process. One of them fetches it; the others wait for that fetch."""

    def __init__(self, fetch: Callable[[], Document]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._value: Document | None = None
        self._fetched = self._tried = float("-inf")
        self._failure: ProviderDown | None = None

    def get(self) -> Document:
        """The document. Raises ProviderDown where there is none that is younger than a day."""
        with self._lock:
            if self._value is not None and self._age() < FRESH_SECONDS:
                return self._value
            return self._fetch_now(RETRY_SECONDS)

    def peek(self) -> Document | None:
        """The document if it is there. Waits for nothing."""
        return self._value

    def renew(self) -> Document:
        """The document as it is now, or as it was at most RENEW_SECONDS ago. Raises ProviderDown."""
        with self._lock:
            return self._fetch_now(RENEW_SECONDS)

    def _age(self) -> float:
        return time.monotonic() - self._fetched

    def _fetch_now(self, pause: float) -> Document:
        if time.monotonic() - self._tried >= pause:
            self._tried = time.monotonic()
            try:
                self._value, self._failure = self._fetch(), None
                self._fetched = time.monotonic()
            except ProviderDown as failure:
                self._failure = failure
                self._tried = time.monotonic()
        if self._value is not None and self._age() < STALE_SECONDS:
            return self._value
        raise self._failure or ProviderDown("nothing was fetched yet")
