"""Traces: what is sent to a collector, what never is, and that there is nothing at all without one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from app.accounts.models import User
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.core.folders import ROOT
from app.core.tracing import NO_SPAN, tracing
from app.jobs.schedule import Scheduled, Scheduler
from app.notifications.handler_queue import ClaimedDelivery
from app.notifications.sender import Sender
from tests.clients import Api
from tests.collector import Collector, ReceivedSpan, running_collector
from tests.notifications.conftest import LOOPBACK
from tests.notifications.peers import Peers
from tests.notifications.test_chats import event
from tests.server import Server
from tests.test_kills import make_hot_link

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, NOT_SAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as found:
        yield found


@pytest.fixture(autouse=True)
def named(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operator names the collector before the application is made. What was begun ends with the test."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    yield
    tracing.stop()


@pytest.fixture
def begin() -> Callable[[], None]:
    """Starts the traces of this process; they are sent when it ends."""
    return partial(tracing.start, "test")


def spans_of(collector: Collector) -> list[ReceivedSpan]:
    """What was traced, without statements."""
    tracing.stop()
    return [span for span in collector.spans if "db.system.name" not in span.attributes]


def test_without_a_collector_there_is_nothing(tmp_path) -> None:
    script = f"""
        import sys
        from app import create_app
        from app.cli import web, worker
        from app.core.config import load_settings
        from app.core.tracing import NO_SPAN, tracing
        app = create_app(load_settings({{"WAYPOST_DATA_DIR": {str(tmp_path)!r}}}))
        tracing.start("web")
        with tracing.span("ingest clicks", {{}}) as span:
            assert span is NO_SPAN
        assert not [each for each in app.before_request_funcs[None] if "trace" in each.__module__]
        print(*(name for name in sys.modules if name.startswith("opentelemetry.")))
    """
    # the client of Redis imports OpenTelemetry itself, wherever it is installed
    without = "import sys; sys.modules['opentelemetry'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", without + textwrap.dedent(script)],
        cwd=ROOT,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_a_missing_package_is_named(
    begin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    begin()
    assert "requirements-tracing.txt is not installed" in caplog.text
    with tracing.span("job", {}) as span:
        assert span is NO_SPAN


def test_a_request_is_a_span_named_by_its_route(
    api: Api, alice: User, make_link, begin, collector: Collector
) -> None:
    link = make_link(alice)
    begin()
    answer = api.get(f"/links/{link.id}?secret=one", headers={"X-Request-Id": "mine"})
    assert answer.status_code == 200
    (span,) = spans_of(collector)
    assert (span.name, span.kind, span.parent_id) == ("GET /api/links/<row_id:id>", 2, "")
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/api/links/<row_id:id>",
        "http.response.status_code": 200,
        "waypost.request_id": "mine",
    }
    assert not span.is_failed
    assert span.resource["service.name"] == "waypost"
    assert span.resource["waypost.process"] == "test"


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_nothing_is_sent_that_somebody_typed_or_that_names_a_visitor(
    api: Api, begin, collector: Collector
) -> None:
    begin()
    headers = {
        "Referer": "https://referrer.example/",
        "X-Forwarded-For": "203.0.113.77",
        "User-Agent": "agent-x",
    }
    body = {"url": "typed-alias", "location_url": "https://typed.example/path"}
    assert api.post("/links?query=typed-query", json=body, headers=headers).status_code == 201
    api.get("/links?search=typed-search", headers=headers)
    api.get("/typed-path", headers=headers)
    api.client.get("/typed-alias", headers=headers)
    tracing.stop()
    everything = b"".join(collector.bodies)
    assert b"INSERT INTO link" in everything
    typed = [
        b"typed",
        b"referrer.example",
        b"203.0.113",
        b"agent-x",
        *(part.encode() for part in api.key.split(".")),
    ]
    assert not [each for each in typed if each in everything]


REQUESTS = {
    "a page": ("GET", "/dashboard/", "GET /dashboard/"),
    "the sign-in": ("GET", "/login", "GET /login"),
    "an unknown path of the API": ("GET", "/api/nothing/here", "GET"),
    "an odd method": ("BREW", "/api/links", "HTTP"),
    "a visit": ("GET", "/no-such-link", None),
    "a health check": ("GET", "/healthz", None),
    "the start": ("GET", "/", None),
}


@pytest.mark.parametrize(("method", "path", "name"), REQUESTS.values(), ids=REQUESTS)
def test_which_requests_are_traced(
    client: FlaskClient, begin, collector: Collector, method: str, path: str, name: str | None
) -> None:
    begin()
    client.open(path, method=method)
    names = [span.name for span in spans_of(collector)]
    assert [each.rstrip("/") for each in names] == ([name.rstrip("/")] if name else [])


def test_a_failure_is_told_by_its_status(
    app: Flask, client: FlaskClient, begin, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("a text with typed words")

    monkeypatch.setitem(app.view_functions, "accounts.login", fail)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    begin()
    assert client.get("/login").status_code == 500
    (span,) = spans_of(collector)
    assert span.is_failed
    assert (span.attributes["http.response.status_code"], span.attributes["error.type"]) == (500, "500")
    assert b"typed words" not in b"".join(collector.bodies)


def test_statements_belong_to_their_request_and_have_no_parameters(
    api: Api, alice: User, make_link, begin, collector: Collector
) -> None:
    make_link(alice, "wanted-alias")
    begin()
    api.get("/links?search=wanted-alias")
    (request,) = spans_of(collector)
    statements = [span for span in collector.spans if span is not request]
    assert {(span.trace_id, span.parent_id) for span in statements} == {(request.trace_id, request.span_id)}
    assert "SELECT" in {span.name for span in statements}
    assert {span.kind for span in statements} == {3}
    assert {span.attributes["db.system.name"] for span in statements} == {"sqlite"}
    assert b"wanted-alias" not in b"".join(collector.bodies)


def test_a_statement_outside_of_a_span_has_none_also_after_one_that_failed(
    begin, collector: Collector
) -> None:
    begin()
    with create_engine("sqlite://").connect() as connection:
        with pytest.raises(OperationalError), tracing.span("job", {}):
            connection.execute(text("SELECT 1 FROM nowhere"))
        connection.execute(text("SELECT 1"))
    tracing.stop()
    assert [(span.name, span.attributes) for span in collector.spans] == [
        ("job", {"error.type": "OperationalError"})
    ]


# the header, and the parents of the spans that are sent
TRACEPARENTS = {
    "of a proxy": (SAMPLED, [PARENT]),
    "of a proxy that leaves it out": (NOT_SAMPLED, []),
    "of nothing": ("00-nothing-at-all-01", [""]),
    "without end": (SAMPLED + "-" + "x" * 10_000, [""]),
}


@pytest.mark.settings(TRUSTED_PROXIES="1")
@pytest.mark.parametrize(("header", "parents"), TRACEPARENTS.values(), ids=TRACEPARENTS)
def test_the_trace_of_a_trusted_proxy_is_continued(
    client: FlaskClient, begin, collector: Collector, header: str, parents: list[str]
) -> None:
    begin()
    client.get("/login", headers={"traceparent": header, "tracestate": "a=1", "baggage": "b=2"})
    spans = spans_of(collector)
    assert [span.parent_id for span in spans] == parents
    assert {span.trace_id == TRACE for span in spans} == {each == PARENT for each in parents}


def test_nobody_else_can_write_into_a_trace(client: FlaskClient, begin, collector: Collector) -> None:
    begin()
    client.get("/login", headers={"traceparent": SAMPLED})
    (span,) = spans_of(collector)
    assert (span.parent_id, span.trace_id == TRACE) == ("", False)


def test_the_end_does_not_wait_for_a_collector_that_hangs(
    begin, peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.core.tracing.LAST_SECONDS", 0.1)
    silent = peers.serve(lambda line: peers.over.wait(5) and None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", silent.url)
    begin()
    with tracing.span("job", {}):
        pass
    started = time.monotonic()
    tracing.stop()
    assert time.monotonic() - started < 4


@pytest.fixture
def engine(app: Flask, settings: Settings) -> Iterator[Engine]:
    found = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(found, settings)
    yield found
    found.dispose()


def test_jobs_are_spans(engine: Engine, settings: Settings, begin, collector: Collector) -> None:
    def fail(_session, _settings) -> None:
        raise ValueError("typed words")

    begin()
    scheduler = Scheduler(engine, settings, [])
    scheduler.work(1, Scheduled("nightly", "0 0 * * *", fail))
    scheduler.work(2, Scheduled("weekly", "0 0 * * 0", lambda _session, _settings: None))
    found = [(span.name, span.is_failed, span.attributes) for span in spans_of(collector)]
    assert found == [("job nightly", True, {"error.type": "ValueError"}), ("job weekly", False, {})]
    assert b"typed words" not in b"".join(collector.bodies)


def test_deliveries_are_spans_without_addresses(
    engine: Engine, settings: Settings, begin, collector: Collector, peers: Peers
) -> None:
    busy = peers.serve(peers.says(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
    good = peers.serve(peers.says(b"HTTP/1.1 204 Fine\r\n\r\n"))
    begin()
    sender = Sender(engine, replace(settings, allow_private_networks=LOOPBACK))
    for tries, url in enumerate((busy.url, good.url)):
        fields = {"webhook": f"{url}typed-path", "secret": "whsec_" + "A" * 32}
        sender.attempt(ClaimedDelivery(7, 8, "webhook", fields, event(), tries=tries))
    found = [(span.name, span.is_failed, span.attributes) for span in spans_of(collector)]
    about = {"waypost.handler_type": "webhook"}
    assert found == [
        (
            "delivery webhook",
            True,
            about | {"waypost.attempt": 1, "http.response.status_code": 503, "error.type": "not delivered"},
        ),
        ("delivery webhook", False, about | {"waypost.attempt": 2, "http.response.status_code": 204}),
    ]
    assert len(peers.heard) == 2
    assert not [heard for heard in peers.heard if b"traceparent" in heard.lower()]
    assert b"typed-path" not in b"".join(collector.bodies)
    assert b"127.0.0.1" not in b"".join(collector.bodies)


def test_a_real_server_sends_traces_from_its_web_processes_and_its_worker(
    make_server: Callable[..., Server], collector: Collector
) -> None:
    """They are forks. Each sends what waits when it ends."""
    server = make_server(PROCESSES="2")
    make_hot_link(server)
    server.stop()
    server.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    server.start()
    assert server.status("/login") == 200
    assert server.status("/hot") == 302
    server.stop()
    assert {"GET /login", "ingest counters", "ingest clicks"} <= {span.name for span in collector.spans}
    assert b"hot" not in b"".join(collector.bodies)
    assert {span.resource["waypost.process"] for span in collector.spans} == {"web", "worker"}
