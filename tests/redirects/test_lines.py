"""Line encoding: a line made of cached fields equals the line that the journal's codec makes."""

from __future__ import annotations

import time

import pytest

from app.journal.codec import Visit, decode, encode
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import RedirectContext
from app.redirects.simulation.visitor import as_sent
from app.redirects.visitor import Visitor, utm
from tests.redirects.test_resolve import plan
from tests.server import BROWSER

ENVIRONS = {
    "nothing known": {},
    "a person": {
        "HTTP_USER_AGENT": BROWSER,
        "HTTP_ACCEPT_LANGUAGE": "de-CH,fr;q=0.5",
        "HTTP_REFERER": "https://news.example/a/b?c=d",
        "QUERY_STRING": "utm_source=mail&utm_medium=%C3%A4&utm_campaign=x+y",
    },
    "a bot": {"HTTP_USER_AGENT": "curl/8.5.0"},
    "what would part fields or lines": {
        "HTTP_USER_AGENT": "a\tb\nc\x00d\x85e",
        "HTTP_REFERER": as_sent("https://news.example/\ta\u2028b"),
        "HTTP_ACCEPT_LANGUAGE": "d\te",
        "QUERY_STRING": "utm_source=%09%0A%00&utm_medium=%ED%A0%80&utm_campaign=\ud800",
    },
    "beyond ASCII": {
        "HTTP_USER_AGENT": as_sent(f"{BROWSER} Приложение/2 東京"),
        "HTTP_REFERER": as_sent("https://news.example/новости"),
    },
    "too long": {
        "HTTP_USER_AGENT": "Mozilla/5.0 " + "é" * 5000,
        "HTTP_REFERER": "https://news.example/" + "a" * 5000,
        "QUERY_STRING": "utm_source=" + "b" * 5000,
    },
}


@pytest.mark.parametrize("environ", ENVIRONS.values(), ids=ENVIRONS)
@pytest.mark.parametrize("destination", ["https://example.com/ü", "https://e.com/" + "x" * 8000])
def test_same_as_the_journals_own(
    environ: dict[str, str], destination: str, redirect_context: RedirectContext
) -> None:
    visitor = Visitor({"REMOTE_ADDR": "192.0.2.1", **environ})
    made = plan(location_url=destination)
    line = redirect_context.line(made, visitor, destination)
    found = decode(line.strip(b"\n"))
    assert found
    assert time.time() - found.time_ms / 1000 < 60
    assert found == decode(encode(visit_of(found, made, visitor, destination)).strip(b"\n"))


def visit_of(found: Visit, made: CompiledLink, visitor: Visitor, destination: str) -> Visit:
    return Visit(
        found.time_ms, made.id, made.workspace_id, int(visitor.is_bot), visitor.bot_name, found.visitor,
        visitor.country_code, "", "", visitor.agent, visitor.language, *visitor.referrer, *utm(visitor.query), destination,
    )  # fmt: skip
