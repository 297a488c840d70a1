"""The fast path: what it takes is answered and recorded as by the front, and all else is left to that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.http_server.environ import build_visit_environ, visit_keys
from app.journal.codec import Visit
from app.redirects.compiled_link import start_message
from app.redirects.wsgi import FastPath, Front
from tests.factories import Factory
from tests.redirects.conftest import PHONE
from tests.server import BROWSER

Visits = Callable[[], list[Visit]]
HOST = (b"host", b"localhost")
AGENT = (b"user-agent", BROWSER.encode())
THERE = "https://example.com/thére?a=%zz#b"


def scope(*headers: tuple[bytes, bytes], path: bytes = b"/abc", **more: Any) -> dict[str, Any]:
    return {
        "method": "GET",
        "scheme": "http",
        "raw_path": path,
        "query_string": b"",
        "client": ("192.0.2.1", "4711"),
        "headers": [HOST, *headers],
        **more,
    }


TAKEN = {
    "a browser": scope(AGENT, (b"accept-language", b"de-AT,de;q=0.9"), (b"accept", b"text/html")),
    "a phone": scope((b"user-agent", PHONE.encode())),
    "a bot": scope((b"user-agent", b"Mozilla/5.0 (compatible; Googlebot/2.1)")),
    "no agent": scope(),
    "agent in UTF-8": scope((b"user-agent", "Bücher 1.0".encode())),
    "agent that is no UTF-8": scope((b"user-agent", b"B\xfccher\t1.0\x7f")),
    "a referrer": scope(AGENT, (b"referer", b"https://news.example/story?secret=1")),
    "a query": scope(AGENT, query_string=b"a=1&b=%C3%BC"),
    "IPv6": scope(AGENT, client=("2001:db8::1", "4711")),
    "what only proxies may say": scope(AGENT, (b"x-forwarded-for", b"203.0.113.9")),
    "a slash": scope(AGENT, path=b"/abc/"),
}
LEFT = {
    "HEAD": scope(AGENT, method="HEAD"),
    "POST": scope(AGENT, method="POST"),
    "https": scope(AGENT, scheme="https"),
    "prefetch": scope(AGENT, (b"sec-purpose", b"prefetch")),
    "prefetch of old": scope(AGENT, (b"x-moz", b"prefetch")),
    "preview": scope(AGENT, (b"purpose", b"preview")),
    "headers too long for a cache": scope((b"user-agent", b"a" * 800)),
    "a header twice": scope(AGENT, (b"accept-language", b"de"), (b"accept-language", b"fr")),
    "UTM parameters": scope(AGENT, query_string=b"utm_source=letter"),
    "percent": scope(AGENT, path=b"/%61bc"),
    "another host": {**scope(AGENT), "headers": [(b"host", b"go.example"), AGENT]},
    "no host": {**scope(AGENT), "headers": [AGENT]},
    "an unknown path": scope(AGENT, path=b"/nope"),
    "a page of ours": scope(AGENT, path=b"/healthz"),
    "a link with a rule": scope(AGENT, path=b"/rule"),
}


@pytest.fixture
def fast_path(front: Front, factory: Factory, owner: User) -> FastPath:
    """With links that are in memory already."""
    factory.link(owner, "abc", location_url=THERE, http_status_code=307)
    factory.link(owner, "rule", forward_query_parameters_is_enabled=True)
    for path in ("/abc", "/abc/", "/rule"):
        assert front.look_up("localhost", path)
    return FastPath(front)


def usual(front: Front, sent: dict[str, Any]) -> dict[str, Any] | None:
    found = front.answer_from_memory(build_visit_environ(sent, visit_keys(None)))
    return start_message(*found) if found is not None else None


@pytest.mark.parametrize("sent", TAKEN.values(), ids=TAKEN)
def test_what_it_takes_is_as_the_front_does_it(
    sent: dict[str, Any], fast_path: FastPath, front: Front, visits: Visits
) -> None:
    start = fast_path.answer(sent)
    assert start is not None
    assert start["status"] == 307
    assert start == usual(front, sent)
    first, second = visits()
    assert first._replace(time_ms=0) == second._replace(time_ms=0)


@pytest.mark.parametrize("sent", LEFT.values(), ids=LEFT)
def test_what_it_leaves(sent: dict[str, Any], fast_path: FastPath, visits: Visits) -> None:
    assert fast_path.answer(sent) is None
    assert visits() == []


def test_a_changed_link_is_left(
    fast_path: FastPath, front: Front, change: Callable[..., None], factory: Factory, owner: User
) -> None:
    link = factory.link(owner, "now")
    assert front.look_up("localhost", "/now")
    assert fast_path.answer(scope(AGENT, path=b"/now")) is not None
    change(link, is_enabled=False)
    front.compiled_links.poll()
    assert fast_path.answer(scope(AGENT, path=b"/now")) is None


def test_nothing_is_taken_while_the_process_ends(fast_path: FastPath, front: Front) -> None:
    front.is_draining = True
    assert fast_path.answer(scope(AGENT)) is None


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_nothing_is_taken_where_a_proxy_says_who_comes(fast_path: FastPath) -> None:
    assert fast_path.answer(scope(AGENT)) is None


@pytest.mark.settings(GEO_COUNTRY_HEADER="CF-IPCountry")
def test_nothing_is_taken_where_a_proxy_says_the_country(fast_path: FastPath) -> None:
    assert fast_path.answer(scope(AGENT)) is None
