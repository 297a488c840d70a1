"""WSGI environ: the same as granian's WSGI interface makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.http_server import environ as module
from app.http_server.environ import build_environ, build_visit_environ, visit_keys

APP = Path(module.__file__).parents[1]


def scope(
    path: bytes = b"/", query: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None
) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "http_version": "1.1",
        "scheme": "http",
        "raw_path": path,
        "query_string": query,
        "client": ("192.0.2.1", "4711"),
        "server": ("127.0.0.1", "8000"),
        "headers": headers or [],
    }


PATHS = {
    "plain": (b"/abc", "/abc"),
    "percent": (b"/a%7Eb%2Fc", "/a~b/c"),
    "UTF-8": (b"/gr%C3%BC%C3%9Fe", "/grÃ¼Ã\x9fe"),
    "no UTF-8": (b"/%ff%00%0a", "/ÿ\x00\n"),
    "raw bytes": (b"/\xc3\xbc", "/Ã¼"),
    "stray percent": (b"/a%zz%", "/a%zz%"),
    "plus": (b"/a+b", "/a+b"),
}


@pytest.mark.parametrize(("raw", "path"), PATHS.values(), ids=PATHS)
def test_each_byte_of_the_path_is_a_character(raw: bytes, path: str) -> None:
    assert build_environ(scope(raw))["PATH_INFO"] == path


def test_what_wsgi_asks_for() -> None:
    found = build_environ(scope(b"/a", b"x=%C3\xbc"))
    assert found["REQUEST_METHOD"] == "GET"
    assert found["QUERY_STRING"] == "x=%C3¼"
    assert (found["REMOTE_ADDR"], found["REMOTE_PORT"]) == ("192.0.2.1", "4711")
    assert (found["SERVER_NAME"], found["SERVER_PORT"]) == ("127.0.0.1", "8000")
    assert (found["SERVER_PROTOCOL"], found["wsgi.url_scheme"]) == ("HTTP/1.1", "http")
    assert found["wsgi.input_terminated"] is True


def test_headers() -> None:
    found = build_environ(
        scope(
            headers=[
                (b"host", b"go.example"),
                (b"content-type", b"text/plain"),
                (b"content-length", b"7"),
                (b"accept", b"a"),
                (b"cookie", b"a=1"),
                (b"accept", b"b"),
                (b"cookie", b"b=2"),
                (b"user-agent", "Браузер".encode()),
            ]
        )
    )
    assert found["HTTP_HOST"] == "go.example"
    assert (found["CONTENT_TYPE"], found["CONTENT_LENGTH"]) == ("text/plain", "7")
    assert "HTTP_CONTENT_TYPE" not in found
    assert found["HTTP_ACCEPT"] == "a,b"
    assert found["HTTP_COOKIE"] == "a=1;b=2"
    assert found["HTTP_USER_AGENT"].encode("latin-1").decode() == "Браузер"


def test_an_underscore_can_not_pass_for_a_hyphen() -> None:
    forged = [(b"x_forwarded_for", b"203.0.113.9"), (b"x-forwarded-for", b"192.0.2.7")]
    for headers in (forged, forged[::-1]):
        assert build_environ(scope(headers=headers))["HTTP_X_FORWARDED_FOR"] == "192.0.2.7"
    assert "HTTP_X_FORWARDED_FOR" not in build_environ(scope(headers=forged[:1]))


def test_names_that_are_made_up_are_not_kept_for_ever() -> None:
    for number in range(2 * module.MAX_KNOWN_NAMES):
        build_environ(scope(headers=[(b"x-%d" % number, b"1"), (b"y" * 1000, b"1")]))
    assert len(module.KEYS) <= module.MAX_KNOWN_NAMES
    assert max(map(len, module.KEYS)) <= module.MAX_NAME_LENGTH
    assert build_environ(scope(headers=[(b"x-new", b"1")]))["HTTP_X_NEW"] == "1"


def test_a_visit_has_all_headers_that_redirects_read() -> None:
    """Those of the package `redirects`, by the names in its source: no way of a visitor is forgotten."""
    sources = [path.read_text() for path in (APP / "redirects").glob("*.py")]
    read = {name for source in sources for name in re.findall(r'"(HTTP_[A-Z_]+)"', source)}
    assert read == module.VISIT_KEYS


COUNTRY = "HTTP_CF_IPCOUNTRY"
VISITS = {
    "nothing sent": scope(),
    "all that is read, and more": scope(
        b"/%7Ea",
        b"utm_source=%C3%BC",
        [
            *((key, b"1") for key in visit_keys(COUNTRY)),
            (b"accept", b"text/html"),
            (b"cookie", b"a=1"),
            (b"x_forwarded_for", b"203.0.113.9"),
        ],
    ),
    "a header twice": scope(headers=[(b"x-forwarded-for", b"a"), (b"x-forwarded-for", b"b")]),
}


@pytest.mark.parametrize("sent", VISITS.values(), ids=VISITS)
def test_a_visit_is_read_as_the_whole_request(sent: dict[str, Any]) -> None:
    whole = build_environ(sent)
    found = build_visit_environ(sent, visit_keys(COUNTRY))
    known = {*visit_keys(COUNTRY).values(), *module.request_line(sent)}
    assert found == {key: value for key, value in whole.items() if key in known}
