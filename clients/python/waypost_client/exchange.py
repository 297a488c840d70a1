"""One call from its request to its result, with retries: a generator that neither sends nor sleeps itself.

It yields a `Request` to send, or a `Pause` to wait, and gets the `Answer` or the failure back. So the rules
stand here once, and the drivers for threads and for asyncio are a loop each.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from waypost_client.calls import Answer, Call, Endpoint, Request, build_request
from waypost_client.errors import ApiError, ConnectionFailed, UnreadableAnswer, read_problem
from waypost_client.version import VERSION

T = TypeVar("T")
AGENT = f"waypost-client/{VERSION}"
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.5, 8.0
RESEND_STATUSES = frozenset({502, 503, 504})


@dataclass(frozen=True)
class Retries:
    """How often a call is tried, and the longest wait. A server that asks for longer is not waited for."""

    attempts: int = 4
    max_wait_seconds: float = 60.0


@dataclass(frozen=True)
class Pause:
    """Wait before going on."""

    seconds: float


@dataclass(frozen=True)
class Failure:
    """What came instead of an answer. `was_sent`: whether the server may have got the request."""

    reason: str
    was_sent: bool


Got = Answer | Failure | None
Steps = Generator[Request | Pause, Got, T]


@dataclass(frozen=True)
class Instance:
    """The instance that is called, with the key, and how retries go."""

    base: str
    key: str = field(repr=False)
    retries: Retries = field(default_factory=Retries)
    jitter: Callable[[], float] = random.random

    def exchange(self, endpoint: Endpoint, call: Call[T]) -> Steps[T]:
        """The steps of one call. Returns what it reads, or raises a WaypostError."""
        if endpoint.is_create and call.idempotency_key is None:
            call = replace(call, idempotency_key=str(uuid.uuid4()))
        request = build_request(self.base, self.key, endpoint, call, AGENT)
        for attempt in range(1, self.retries.attempts + 1):
            got = yield request
            seconds = self.wait_before_next(endpoint, got, attempt)
            if seconds is None:
                return finish(endpoint, call, got, is_repeat=attempt > 1)
            yield Pause(seconds)
        raise AssertionError  # the last attempt never waits

    def wait_before_next(self, endpoint: Endpoint, got: Got, attempt: int) -> float | None:
        """Seconds until the next try; None where this one was the last."""
        if attempt == self.retries.attempts or not may_resend(endpoint, got):
            return None
        asked = retry_after(got) if isinstance(got, Answer) else None
        if asked is None:
            backoff = min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** (attempt - 1))
            return backoff * (0.5 + self.jitter() / 2)
        if asked > self.retries.max_wait_seconds:
            return None
        return asked + self.jitter() * min(1.0, 0.1 + asked / 10)  # never too early, and not all at once


def may_resend(endpoint: Endpoint, got: Got) -> bool:
    """Whether the same request may be sent again without doing something twice.

    Reads and deletions may always; a create has its idempotency key. A change is sent again only where it
    certainly did not happen: nothing was sent, or a rate limit refused it.
    """
    is_repeatable = endpoint.method in {"GET", "DELETE"} or endpoint.is_create
    if isinstance(got, Failure):
        return is_repeatable or not got.was_sent
    if not isinstance(got, Answer):
        return False
    if got.status == 429:
        return True
    still_runs = endpoint.is_create and got.status == 409 and retry_after(got) is not None
    return still_runs or (is_repeatable and got.status in RESEND_STATUSES)


def retry_after(answer: Answer) -> float | None:
    """The seconds that `Retry-After` asks for: a number, or a date."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return max(0.0, (moment - dt.datetime.now(dt.UTC)).total_seconds())


def finish(endpoint: Endpoint, call: Call[T], got: Got, *, is_repeat: bool) -> T:
    """What the call reads from the last answer."""
    if isinstance(got, Failure):
        raise ConnectionFailed(got.reason)
    if got is None:
        raise UnreadableAnswer("The driver sent nothing back.")
    if got.status == 404 and endpoint.method == "DELETE" and is_repeat:
        return call.read(Answer(204, got.headers, b""))  # an earlier try deleted it; its answer was lost
    if 200 <= got.status < 300:
        return call.read(got)
    raise error_of(got)


def error_of(answer: Answer) -> ApiError:
    problem: Any = None
    if answer.media_type.endswith("json"):
        with suppress(UnreadableAnswer):  # a proxy's own words; the status is told
            problem = answer.json()
    return read_problem(
        answer.status,
        problem,
        retry_after=retry_after(answer),
        request_id=answer.headers.get("x-request-id", ""),
    )
