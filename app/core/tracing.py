"""Spans of traces: how long a piece of work took, and what became of it.

Without a collector (`TRACES_URL`) a span is one object that does nothing, and OpenTelemetry is not imported.
`app/net/traces.py` puts a tracer in.
"""

# see docs/decisions/2026-11-25-traces.md
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool]


class TraceSpan(Protocol):
    """What can be said about work that is under way. No attribute holds what people typed or sent."""

    def note(self, attributes: Attributes) -> None: ...

    def fail(self, kind: str) -> None:
        """Marks it as failed. `kind` is a word for the kind of failure."""


class NoSpan:
    """A span where no traces are sent."""

    def __enter__(self) -> NoSpan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, attributes: Attributes) -> None:
        pass

    def fail(self, kind: str) -> None:
        pass


# the name, the attributes, whether it is a request's, and its `traceparent`
StartSpan = Callable[[str, Attributes, bool, str], AbstractContextManager[TraceSpan]]

NO_SPAN = NoSpan()


class Tracing:
    """How this process makes spans."""

    def __init__(self) -> None:
        self.start: StartSpan | None = None

    def span(
        self, name: str, attributes: Attributes, *, is_request: bool = False, parent: str = ""
    ) -> AbstractContextManager[TraceSpan]:
        """A span of the block that it is entered for, which fails by an error that leaves the block."""
        return NO_SPAN if self.start is None else self.start(name, attributes, is_request, parent)


tracing = Tracing()
