"""A collector of traces on the loopback interface, which takes OTLP over HTTP and decodes it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class ReceivedSpan:
    """A span, with the attributes of its process."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    milliseconds: float
    is_failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """Keeps all spans that it is sent. `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 200
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.take(self.path, dict(self.headers.items()), body)
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        plain = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        self.paths.append(path)
        self.headers.append(headers)
        self.bodies.append(plain)
        found = ExportTraceServiceRequest.FromString(plain)
        for of_resource in found.resource_spans:
            resource = read_attributes(of_resource.resource.attributes)
            for scope in of_resource.scope_spans:
                self.spans += [read_span(span, resource) for span in scope.spans]

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in list(self.spans) if span.name == name]


def read_span(span: Any, resource: dict[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6,
        span.status.code == 2,
        read_attributes(span.attributes),
        resource,
    )


def read_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextmanager
def running_collector() -> Iterator[Collector]:
    found = Collector()
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        thread.join()
        found.server.server_close()
