"""The shipped proxy configurations with two servers: which one gets a request."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from flask import Flask

from app.core.config import Settings
from app.core.folders import ROOT
from app.redirects.hosts import Sites
from app.web.paths import OWNERS, RESERVED, first_segment, is_ours
from tests.proxies import HOSTS, WRITERS, Proxy, Upstreams, is_installed, running

SECONDS = 30
# aliases that look like a reserved word
ALIKE = (
    "/{}s",
    "/{}x",
    "/{}-page",
    "/{}.html",
    "/{}+",
    "/my{}",
    "/my/{}",
    "/my/{}/code",
    "/%F0%9F%98%80{}/code",
)
ALIASES = ("/hot", "/hot+", "/hot/", "/summer/hot", "/summer/hot+", "/gr%C3%B6%C3%9Fe", "/%F0%9F%98%80")


class Answer(BaseHTTPRequestHandler):
    """Answers each GET with the role of its server in a header. There is no body: one packet is an answer."""

    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-Role", self.server.role)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


class Upstream(ThreadingHTTPServer):
    daemon_threads = True  # a proxy keeps its connections open

    def __init__(self, role: str) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.role = role


@contextmanager
def upstream(role: str) -> Iterator[int]:
    """The port of a server that answers with its role."""
    with Upstream(role) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module", params=WRITERS)
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    name: str = request.param
    if not is_installed(name):
        pytest.skip(f"no {name} here: install the package {name} to test the file that deploy/ has for it")
    with ExitStack() as started:
        upstreams = Upstreams(*(started.enter_context(upstream(role)) for role in Upstreams._fields))
        yield started.enter_context(running(name, tmp_path_factory.mktemp(name), upstreams))


def roles_of(proxy: Proxy, paths: list[str]) -> dict[str, str | None]:
    """The role of the server that answers each path through the proxy."""
    found = {}
    with closing(http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=SECONDS)) as connection:
        for path in paths:
            connection.request("GET", path, headers={"Host": HOSTS[0]})
            answer = connection.getresponse()
            answer.read()
            found[path] = answer.headers["X-Role"]
    return found


def owners_paths(app: Flask, settings: Settings) -> list[str]:
    """The paths of the URL map that `serve --role visitors` refuses."""
    site = Sites([], settings, "visitors").own
    paths = {re.sub(r"<[^>]*>", "1", rule.rule) for rule in app.url_map.iter_rules()}
    return sorted(path for path in paths if not site.may_serve(path))


def test_owners_paths_reach_the_owners_server(app: Flask, settings: Settings, proxy: Proxy) -> None:
    paths = owners_paths(app, settings)
    assert {first_segment(path) for path in paths} == OWNERS
    paths += [f"/{word}/{rest}" for word in sorted(OWNERS) for rest in ("", "a-new-page", "a/new/page?x=1")]
    assert {path: role for path, role in roles_of(proxy, paths).items() if role != "owners"} == {}


def test_aliases_reach_the_visitors_server(proxy: Proxy) -> None:
    paths = [*ALIASES, *(form.format(word) for word in sorted(RESERVED) for form in ALIKE)]
    assert [path for path in paths if is_ours(path)] == []
    assert {path: role for path, role in roles_of(proxy, paths).items() if role != "visitors"} == {}


def test_the_documents_name_owners_paths() -> None:
    """For operators of another proxy."""
    sentence = re.search(
        r"With another proxy, send (.*?) to the owners' port",
        (ROOT / "docs/operate.md").read_text(),
        re.DOTALL,
    )
    assert sentence
    assert set(re.findall(r"`/(\w+)`", sentence[1])) == OWNERS
