"""Traces by OpenTelemetry: spans are kept in a bounded queue, and a thread posts them to a collector (OTLP).

Nothing waits for the collector. While it does not answer, spans are dropped, and the log says so once.
"""

# see docs/decisions/2026-11-25-traces.md
from __future__ import annotations

import gzip
import logging
import os
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sqlalchemy import Engine, event

from app.core.config import Settings
from app.core.tracing import Attributes
from app.core.version import VERSION
from app.net import http as net_http
from app.net.dial import EVERYWHERE, NoAnswer

QUEUE_SPANS, BATCH_SPANS = 2048, 512
EXPORT_SECONDS = 5.0  # between two posts, and for one
LAST_SECONDS = 2.0  # for the last post, at the end of the process
MAX_STATEMENT = 1000
STARTED = "waypost_statement_started"

log = logging.getLogger(__name__)
# what the SDK warns of are full queues, spans after the end: `Collector` says once that spans are lost
logging.getLogger("opentelemetry").setLevel(logging.ERROR)


class Traces:
    """The tracer of this process, from its first span to the last post."""

    def __init__(self, settings: Settings, process: str) -> None:
        self.provider = TracerProvider(
            resource=resource_of(process), sampler=sampler_of(settings.traces_ratio), shutdown_on_exit=False
        )
        collector = Collector(settings.traces_url or "", settings.traces_headers)
        self.provider.add_span_processor(
            BatchSpanProcessor(
                collector,
                max_queue_size=QUEUE_SPANS,
                schedule_delay_millis=EXPORT_SECONDS * 1000,
                max_export_batch_size=BATCH_SPANS,
            )
        )
        self.tracer = self.provider.get_tracer("waypost", VERSION)
        self.statements = StatementSpans(self.tracer)

    def start(self, name: str, attributes: Attributes, is_request: bool, parent: str) -> RecordedSpan:
        found = TraceContextTextMapPropagator().extract({"traceparent": parent}) if parent else None
        kind = trace.SpanKind.SERVER if is_request else trace.SpanKind.INTERNAL
        return RecordedSpan(
            self.tracer.start_span(name, context=found, kind=kind, attributes=dict(attributes))
        )

    def stop(self) -> None:
        """Posts what waits. The thread ends with the process where the collector takes longer."""
        self.statements.forget()
        last = threading.Thread(target=self.provider.shutdown, name="last traces", daemon=True)
        last.start()
        last.join(LAST_SECONDS)


def resource_of(process: str) -> Resource:
    """What all spans of this process say, with OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME."""
    own: dict[str, str | int] = {
        "service.version": VERSION,
        "process.pid": os.getpid(),
        "waypost.process": process,
    }
    found = Resource.create({**own})
    is_named = not str(found.attributes["service.name"]).startswith("unknown_service")
    return found if is_named else found.merge(Resource({"service.name": "waypost"}))


def sampler_of(ratio: float) -> ParentBased:
    """A proxy may leave a trace out. It can't have more of them kept than the setting says."""
    by_ratio = TraceIdRatioBased(ratio)
    return ParentBased(by_ratio, remote_parent_sampled=by_ratio, remote_parent_not_sampled=ALWAYS_OFF)


class RecordedSpan:
    """A span of a block. Errors are named by their class: their texts may hold anything."""

    def __init__(self, span: trace.Span) -> None:
        self.span = span

    def __enter__(self) -> RecordedSpan:
        self.token = context.attach(trace.set_span_in_context(self.span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.fail(kind.__name__)
        context.detach(self.token)
        self.span.end()

    def note(self, attributes: Attributes) -> None:
        self.span.set_attributes(dict(attributes))

    def fail(self, kind: str) -> None:
        self.span.set_attribute("error.type", kind)
        self.span.set_status(trace.StatusCode.ERROR)


class StatementSpans:
    """Spans of the statements that belong to a span, without their parameters."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer
        self.listeners = {"before_cursor_execute": self.begin, "after_cursor_execute": self.end}
        for name, listener in self.listeners.items():
            event.listen(Engine, name, listener)

    def forget(self) -> None:
        for name, listener in self.listeners.items():
            event.remove(Engine, name, listener)

    def begin(self, connection: Any, *_: Any) -> None:
        # None also in place of the time of one that failed before, of which there was no end
        connection.info[STARTED] = time.time_ns() if trace.get_current_span().is_recording() else None

    def end(self, connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if (started := connection.info.pop(STARTED, None)) is None:
            return
        text = statement[:MAX_STATEMENT]
        operation = text.split(None, 1)[0].upper() if text.strip() else "?"
        attributes = {
            "db.system.name": connection.dialect.name,
            "db.operation.name": operation,
            "db.query.text": text,
        }
        kind = trace.SpanKind.CLIENT
        self.tracer.start_span(operation, kind=kind, start_time=started, attributes=attributes).end()


class Collector(SpanExporter):
    """Posts spans to the server that the operator has named. What it does not take is dropped."""

    def __init__(self, url: str, headers: Sequence[tuple[str, str]]) -> None:
        own = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
        self.url, self.headers = url, {name.lower(): value for name, value in headers} | own
        self.is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        body = gzip.compress(encode_spans(spans).SerializeToString(), 1)
        try:
            answer = net_http.request(
                "POST", self.url, headers=self.headers, body=body, allowed=EVERYWHERE, seconds=EXPORT_SECONDS
            )
        except NoAnswer as error:
            return self.drop(str(error.reason))
        if answer.status != HTTPStatus.OK:
            return self.drop(f"it answers {answer.status}")
        if self.is_away:
            self.is_away = False
            log.info("The collector at %s takes traces again", net_http.server_of(self.url))
        return SpanExportResult.SUCCESS

    def drop(self, reason: str) -> SpanExportResult:
        if not self.is_away:
            self.is_away = True
            server = net_http.server_of(self.url)
            log.warning("The collector at %s does not take traces, which are dropped: %s", server, reason)
        return SpanExportResult.FAILURE
