"""Spans of traces, by OpenTelemetry's SDK as its own variables configure it (`OTEL_…`).

Without a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`) a span does nothing, and OpenTelemetry is not imported. No
attribute holds what people typed or sent, and no error its text.
"""

# see docs/decisions/2026-11-25-traces.md
from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from app.core.late_modules import LateModule
from app.core.version import VERSION

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace.propagation import tracecontext
else:
    trace = LateModule("opentelemetry.trace")
    tracecontext = LateModule("opentelemetry.trace.propagation.tracecontext")

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LAST_SECONDS = 2.0  # for the last post, at the end of the process
MAX_STATEMENT = 1000
STARTED = "waypost_statement_started"

Attributes = Mapping[str, str | int | float | bool]
log = logging.getLogger(__name__)


class TraceSpan:
    """Work that is under way. Does nothing where no traces are sent."""

    def __init__(self, span: trace.Span | None) -> None:
        self.span = span

    def note(self, attributes: Attributes) -> None:
        if self.span is not None:
            self.span.set_attributes(attributes)

    def fail(self, kind: str) -> None:
        """Marks it as failed. `kind` is a word for the kind of failure."""
        if self.span is not None:
            self.span.set_attribute("error.type", kind)
            self.span.set_status(trace.StatusCode.ERROR)


NO_SPAN = TraceSpan(None)


class Tracing:
    """The traces of this process."""

    provider: TracerProvider | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the operator names a collector."""
        return any(map(os.environ.get, COLLECTORS))

    def start(self, process: str) -> None:
        """Sends traces from now on, if there is a collector. A fork does not have the thread that sends."""
        if not self.is_wanted:
            return
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            log.warning("No traces are sent: requirements-tracing.txt is not installed (%s).", error)
            return
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # not each try to reach the collector
        name = os.environ.get("OTEL_SERVICE_NAME", "waypost")
        own = {"service.name": name, "service.version": VERSION, "waypost.process": process}
        self.provider = TracerProvider(resource=Resource.create(own), shutdown_on_exit=False)
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        event.listen(Engine, "before_cursor_execute", self.begin_statement)
        event.listen(Engine, "after_cursor_execute", self.end_statement)

    def stop(self) -> None:
        """Posts what waits. The thread ends with the process where the collector takes longer."""
        if (provider := self.provider) is not None:
            self.provider = None
            last = threading.Thread(target=provider.shutdown, name="last traces", daemon=True)
            last.start()
            last.join(LAST_SECONDS)

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, *, is_request: bool = False, parent: str = ""
    ) -> Iterator[TraceSpan]:
        """A span of the block, which fails by an error that leaves it. `parent`: a `traceparent`."""
        if self.provider is None:
            yield NO_SPAN
            return
        propagator = tracecontext.TraceContextTextMapPropagator()
        with self.provider.get_tracer("waypost", VERSION).start_as_current_span(
            name,
            context=propagator.extract({"traceparent": parent}) if parent else None,
            kind=trace.SpanKind.SERVER if is_request else trace.SpanKind.INTERNAL,
            attributes=attributes,
            record_exception=False,  # its text may hold anything
            set_status_on_exception=False,
        ) as span:
            found = TraceSpan(span)
            try:
                yield found
            except BaseException as error:
                found.fail(type(error).__name__)
                raise

    def begin_statement(self, connection: Any, *_: Any) -> None:
        # None also in place of the time of one that failed before, of which there was no end
        connection.info[STARTED] = time.time_ns() if trace.get_current_span().is_recording() else None

    def end_statement(self, connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        """A span of a statement that belongs to a span, without its parameters."""
        started = connection.info.pop(STARTED, None)
        if started is None or self.provider is None:
            return
        text = statement[:MAX_STATEMENT]
        operation = text.split(None, 1)[0].upper() if text.strip() else "?"
        attributes = {
            "db.system.name": connection.dialect.name,
            "db.operation.name": operation,
            "db.query.text": text,
        }
        tracer = self.provider.get_tracer("waypost", VERSION)
        tracer.start_span(
            operation, kind=trace.SpanKind.CLIENT, start_time=started, attributes=attributes
        ).end()


tracing = Tracing()
