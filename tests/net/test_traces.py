"""Traces: what is sent to a collector, what never is, and that there is nothing at all without one."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from app.accounts.models import User
from app.core.config import Settings, load_settings
from app.core.database import engine_options, prepare_engine
from app.core.folders import ROOT
from app.core.tracing import NO_SPAN, tracing
from app.jobs.schedule import Scheduled, Scheduler
from app.net import otlp
from app.net.traces import start_traces, stop_traces
from app.notifications.handler_queue import ClaimedDelivery
from app.notifications.sender import Sender
from tests.clients import Api
from tests.collector import Collector, ReceivedSpan, running_collector
from tests.notifications.conftest import LOOPBACK
from tests.notifications.peers import Peers
from tests.notifications.test_chats import event
from tests.server import Server, wait_for

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, NOT_SAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
URL = "http://127.0.0.1:9"  # settings must name one when the application is made; `collector` is used instead


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as found:
        yield found


@pytest.fixture
def begin(collector: Collector) -> Iterator[Callable[..., None]]:
    """Starts the traces of this process; they are sent when it ends, or is called again."""

    def begin(**settings: str) -> None:
        values = {"WAYPOST_TRACES_URL": collector.url} | {f"WAYPOST_{k}": v for k, v in settings.items()}
        start_traces(load_settings(values), "test")

    yield begin
    stop_traces()


def spans_of(collector: Collector) -> list[ReceivedSpan]:
    """What was traced, without statements."""
    stop_traces()
    return [span for span in collector.spans if "db.system.name" not in span.attributes]


def test_without_a_collector_nothing_is_imported(tmp_path) -> None:
    script = f"""
        import sys
        from app import create_app
        from app.cli import web, worker
        from app.core.config import load_settings
        from app.net.traces import start_traces
        settings = load_settings({{"WAYPOST_DATA_DIR": {str(tmp_path)!r}}})
        app = create_app(settings)
        start_traces(settings, "web")
        assert not [each for each in app.before_request_funcs[None] if "trace" in each.__module__]
        print(*(name for name in sys.modules if name.startswith(("app.net.otlp", "opentelemetry."))))
    """
    # the client of Redis imports OpenTelemetry itself, wherever it is installed
    without = "import sys; sys.modules['opentelemetry'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", without + textwrap.dedent(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_without_a_collector_a_span_is_nothing() -> None:
    assert tracing.span("ingest clicks", {}) is NO_SPAN


def test_a_missing_package_is_named_at_the_start() -> None:
    command = "import sys; sys.modules['opentelemetry'] = None; from app.core.config import load_settings; load_settings()"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT,
        env={"WAYPOST_TRACES_URL": URL, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "WAYPOST_TRACES_URL: needs the packages of OpenTelemetry" in done.stderr
    assert "requirements-tracing.txt" in done.stderr


@pytest.mark.settings(TRACES_URL=URL)
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


@pytest.mark.settings(TRACES_URL=URL, TRUSTED_PROXIES="1")
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
    stop_traces()
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


@pytest.mark.settings(TRACES_URL=URL)
@pytest.mark.parametrize(("method", "path", "name"), REQUESTS.values(), ids=REQUESTS)
def test_which_requests_are_traced(
    client: FlaskClient, begin, collector: Collector, method: str, path: str, name: str | None
) -> None:
    begin()
    client.open(path, method=method)
    names = [span.name for span in spans_of(collector)]
    assert [each.rstrip("/") for each in names] == ([name.rstrip("/")] if name else [])


@pytest.mark.settings(TRACES_URL=URL)
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


@pytest.mark.settings(TRACES_URL=URL)
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
    stop_traces()
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


@pytest.mark.settings(TRACES_URL=URL, TRUSTED_PROXIES="1")
@pytest.mark.parametrize(("header", "parents"), TRACEPARENTS.values(), ids=TRACEPARENTS)
def test_the_trace_of_a_trusted_proxy_is_continued(
    client: FlaskClient, begin, collector: Collector, header: str, parents: list[str]
) -> None:
    begin()
    client.get("/login", headers={"traceparent": header, "tracestate": "a=1", "baggage": "b=2"})
    spans = spans_of(collector)
    assert [span.parent_id for span in spans] == parents
    assert {span.trace_id == TRACE for span in spans} == {each == PARENT for each in parents}


@pytest.mark.settings(TRACES_URL=URL)
def test_nobody_else_can_write_into_a_trace(client: FlaskClient, begin, collector: Collector) -> None:
    begin()
    client.get("/login", headers={"traceparent": SAMPLED})
    (span,) = spans_of(collector)
    assert (span.parent_id, span.trace_id == TRACE) == ("", False)


RATIOS = {"all": ("1", 40), "none": ("0", 0)}


@pytest.mark.parametrize(("ratio", "count"), RATIOS.values(), ids=RATIOS)
def test_a_share_of_traces_is_sent(begin, collector: Collector, ratio: str, count: int) -> None:
    begin(TRACES_RATIO=ratio)
    for _ in range(40):
        with tracing.span("job", {}):
            pass
    assert len(spans_of(collector)) == count


def test_a_proxy_can_not_have_more_traces_sent_than_the_setting_says(begin, collector: Collector) -> None:
    begin(TRACES_RATIO="0")
    with tracing.span("GET /login", {}, is_request=True, parent=SAMPLED):
        pass
    assert spans_of(collector) == []


def test_an_error_is_told_by_its_class(begin, collector: Collector) -> None:
    begin()
    with pytest.raises(ZeroDivisionError), tracing.span("job", {}):
        raise ZeroDivisionError("typed words")
    (span,) = spans_of(collector)
    assert span.is_failed
    assert span.attributes == {"error.type": "ZeroDivisionError"}


def test_headers_and_the_usual_path(begin, collector: Collector) -> None:
    begin(TRACES_HEADERS="authorization=Bearer%20one%2Ctwo, x-tenant=a")
    with tracing.span("job", {}):
        pass
    assert len(spans_of(collector)) == 1
    assert collector.paths == ["/v1/traces"]
    sent = {name.lower(): value for name, value in collector.headers[0].items()}
    assert (sent["authorization"], sent["x-tenant"]) == ("Bearer one,two", "a")
    assert sent["content-type"] == "application/x-protobuf"


def test_a_path_of_the_collector_is_kept(begin, collector: Collector) -> None:
    begin(TRACES_URL=f"{collector.url}/otlp/traces?project=1")
    with tracing.span("job", {}):
        pass
    stop_traces()
    assert collector.paths == ["/otlp/traces?project=1"]


def test_a_collector_that_is_away_costs_one_line(
    begin, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 503
    caplog.set_level(logging.INFO)
    begin()
    exporter = otlp.Collector(f"{collector.url}/v1/traces", ())
    for status in (503, 503, 400, 200, 200):
        collector.status = status
        exporter.export([])
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "answers 503" in caplog.text


def test_nothing_waits_for_a_collector_that_hangs_and_the_queue_is_bounded(
    begin, peers: Peers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "LAST_SECONDS", 0.1)
    monkeypatch.setattr(otlp, "EXPORT_SECONDS", 0.5)
    silent = peers.serve(lambda line: peers.over.wait(5) and None)
    begin(TRACES_URL=silent.url)
    for _ in range(3 * otlp.QUEUE_SPANS):
        with tracing.span("job", {}):
            pass
    wait_for(lambda: "does not take traces" in caplog.text, "the line")
    stop_traces()
    assert caplog.text.count("does not take traces") == 1
    assert len(caplog.records) == 1


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
    """They are forks. Each sends what waits when it ends, and a reload begins anew."""
    server = make_server(TRACES_URL=collector.url, PROCESSES="2")
    server.flask("seed", "--links", "3", "--clicks", "0", "--days", "1")
    assert server.status("/login") == 200
    server.flask("serve", "--reload")
    wait_for(lambda: collector.named("GET /login"), "what waited in the old generation")
    assert server.status("/setup") in {200, 404}
    assert server.status("/launch") in {302, 307}
    server.stop()
    names = {span.name for span in collector.spans}
    assert {"GET /login", "GET /setup", "ingest counters", "ingest clicks"} <= names
    assert b"launch" not in b"".join(collector.bodies)
    by_process = {span.resource["waypost.process"] for span in collector.spans}
    assert by_process == {"web", "worker"}
    pids = {span.resource["process.pid"] for span in collector.spans}
    assert server.process is not None
    assert server.process.pid not in pids
