"""Fidelity of destinations: sent byte for byte, with the parameters to be added and no other change.

Each row: the destination; the link's `utm_source`, or all three separated by `/`; the visitor's query as
sent, or None if the link forwards none; and the `Location`, to the byte.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from app.redirects.resolve import resolve
from app.redirects.visitor import Visitor
from tests.factories import PASSWORD
from tests.redirects.test_resolve import NOW, plan
from tests.server import BROWSER, Server

Row = tuple[str, str, bytes | None, str]
E = "https://e.com"

ROWS: dict[str, Row] = {
    # as it was written
    "host alone": (E, "", None, E),
    "path": (f"{E}/a/b", "", None, f"{E}/a/b"),
    "dots in the path": (f"{E}/a/./b/../c", "", None, f"{E}/a/./b/../c"),
    "slashes": (f"{E}//a///b/", "", None, f"{E}//a///b/"),
    "case of scheme and host": ("HTTPS://Example.COM/A", "", None, "HTTPS://Example.COM/A"),
    "case of percent": (f"{E}/%7e%7E%2f%2F", "", None, f"{E}/%7e%7E%2f%2F"),
    "the usual port": ("https://e.com:443/a", "", None, "https://e.com:443/a"),
    "final dot": ("https://e.com./a", "", None, "https://e.com./a"),
    "IPv6": ("http://[2001:db8::1]:80/a", "", None, "http://[2001:db8::1]:80/a"),
    "login": ("https://me:pa%40ss@e.com/a", "", None, "https://me:pa%40ss@e.com/a"),
    "escaped plus": (f"{E}/a%2Bb?c=d%2Be", "", None, f"{E}/a%2Bb?c=d%2Be"),
    "escaped twice": (f"{E}/a%2520b?c=d%2520e", "", None, f"{E}/a%2520b?c=d%2520e"),
    "no escape": (f"{E}/%zz?a=%zz&b=%&c=%4", "", None, f"{E}/%zz?a=%zz&b=%&c=%4"),
    "square brackets": (f"{E}/a[0]?b[]=1&b[x]=2", "", None, f"{E}/a[0]?b[]=1&b[x]=2"),
    "semicolons": (f"{E}/a;v=1?b;c=2;d", "", None, f"{E}/a;v=1?b;c=2;d"),
    "quotes and pipes": (f"{E}/'\"?a='\"|^`<>", "", None, f"{E}/'\"?a='\"|^`<>"),
    "at and colon": (f"{E}/@me:x?a=@:/?", "", None, f"{E}/@me:x?a=@:/?"),
    "the rest of ASCII": (f"{E}/!$&'*,-._~=", "", None, f"{E}/!$&'*,-._~="),
    "an address inside": (f"{E}/?u=https://f.com/?a=1%26b=2", "", None, f"{E}/?u=https://f.com/?a=1%26b=2"),
    "question mark alone": (f"{E}/?", "", None, f"{E}/?"),
    "ampersands": (f"{E}/?&&a=1&&", "", None, f"{E}/?&&a=1&&"),
    "keys without value": (f"{E}/?a&b=&=c&=", "", None, f"{E}/?a&b=&=c&="),
    "repeated keys": (f"{E}/?a=1&a=2&a=1", "", None, f"{E}/?a=1&a=2&a=1"),
    "fragment": (f"{E}/a#b", "", None, f"{E}/a#b"),
    "fragment with a question": (f"{E}/#/a?b=c", "", None, f"{E}/#/a?b=c"),
    # beyond ASCII
    "umlaut in the path": (f"{E}/ä", "", None, f"{E}/%C3%A4"),
    "composed elsewhere": (f"{E}/a\u0308", "", None, f"{E}/a%CC%88"),
    "Japanese": (f"{E}/日本?語=語#語", "", None, f"{E}/%E6%97%A5%E6%9C%AC?%E8%AA%9E=%E8%AA%9E#%E8%AA%9E"),
    "emoji that is joined": (f"{E}/👩‍🚀", "", None, f"{E}/%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80"),
    "emoji in query and fragment": (f"{E}/?a=😀#😀", "", None, f"{E}/?a=%F0%9F%98%80#%F0%9F%98%80"),
    "umlaut in the login": ("https://ä:ö@e.com/", "", None, "https://%C3%A4:%C3%B6@e.com/"),
    "IDN": ("https://bücher.example/", "", None, "https://xn--bcher-kva.example/"),
    "IDN with port": ("https://bücher.example:8443", "", None, "https://xn--bcher-kva.example:8443"),
    "IDN in its wire form": ("https://xn--bcher-kva.example/", "", None, "https://xn--bcher-kva.example/"),
    "IDN with a sharp s": ("https://straße.example/", "", None, "https://xn--strae-oqa.example/"),
    "IDN with other dots": ("https://例え。テスト/", "", None, "https://xn--r8jz45g.xn--zckzah/"),
    # what the link adds
    "utm to a host": (E, "mail", None, f"{E}?utm_source=mail"),
    "utm to a query": (f"{E}/?a=1", "mail", None, f"{E}/?a=1&utm_source=mail"),
    "utm to an empty query": (f"{E}/?", "mail", None, f"{E}/?utm_source=mail"),
    "utm before the fragment": (f"{E}/#a", "mail", None, f"{E}/?utm_source=mail#a"),
    "utm before a fragment's question": (f"{E}/#/a?b=c", "mail", None, f"{E}/?utm_source=mail#/a?b=c"),
    "utm between query and fragment": (f"{E}/?a=%zz#b", "mail", None, f"{E}/?a=%zz&utm_source=mail#b"),
    "utm, all three": (f"{E}/", "a/b/c", None, f"{E}/?utm_source=a&utm_medium=b&utm_campaign=c"),
    "utm with what must be escaped": (f"{E}/", "a b+c&d=e#f%g", None, f"{E}/?utm_source=a%20b%2Bc%26d%3De%23f%25g"),
    "utm beyond ASCII": (f"{E}/", "Grüße 😀", None, f"{E}/?utm_source=Gr%C3%BC%C3%9Fe%20%F0%9F%98%80"),
    "utm replaces all of that name": (
        f"{E}/?utm_source=x&a=1&utm_source=y&utm_source", "mail", None, f"{E}/?a=1&utm_source=mail"),
    "utm replaces one escaped": (f"{E}/?utm%5Fsource=x", "mail", None, f"{E}/?utm_source=mail"),
    "utm leaves another case alone": (f"{E}/?UTM_Source=x", "mail", None, f"{E}/?UTM_Source=x&utm_source=mail"),
    "utm leaves bytes alone": (
        f"{E}/?a=+%2B%2520%zz[]();&&b=#c", "mail", None, f"{E}/?a=+%2B%2520%zz[]();&&b=&utm_source=mail#c"),
    "no utm, its own stays": (f"{E}/?utm_source=x", "", None, f"{E}/?utm_source=x"),
    # what the visitor's query adds
    "not forwarded": (f"{E}/", "", None, f"{E}/"),
    "nothing sent": (f"{E}/?a=1", "", b"", f"{E}/?a=1"),
    "forwarded": (f"{E}/", "", b"a=1&b=2", f"{E}/?a=1&b=2"),
    "forwarded to a query": (f"{E}/?x=1", "", b"a=1", f"{E}/?x=1&a=1"),
    "forwarded before the fragment": (f"{E}/?x=1#y", "", b"a=1", f"{E}/?x=1&a=1#y"),
    "the destination's key stays": (f"{E}/?a=1", "", b"a=2&b=3", f"{E}/?a=1&b=3"),
    "the destination's key, escaped": (f"{E}/?a%5B%5D=1", "", b"a[]=2&b[]=3", f"{E}/?a%5B%5D=1&b[]=3"),
    "the destination's key without value": (f"{E}/?a", "", b"a=2", f"{E}/?a"),
    "the destination's key with a plus": (f"{E}/?a+b=1", "", b"a%20b=2", f"{E}/?a+b=1"),
    "another case is another key": (f"{E}/?a=1", "", b"A=2", f"{E}/?a=1&A=2"),
    "a key of the fragment is none": (f"{E}/#a=1", "", b"a=2", f"{E}/?a=2#a=1"),
    "forwarded plus": (f"{E}/", "", b"a=b+c%2Bd", f"{E}/?a=b+c%2Bd"),
    "forwarded escapes": (f"{E}/", "", b"a=%2520%20%zz%", f"{E}/?a=%2520%20%zz%"),
    "forwarded brackets": (f"{E}/", "", b"a[]=1&a[]=2&b[x]=(3)", f"{E}/?a[]=1&a[]=2&b[x]=(3)"),
    "forwarded semicolons": (f"{E}/", "", b"a;b=1;c", f"{E}/?a;b=1;c"),
    "forwarded question marks": (f"{E}/", "", b"?a=?&b", f"{E}/??a=?&b"),
    "forwarded twice": (f"{E}/", "", b"a=1&a=2", f"{E}/?a=1&a=2"),
    "forwarded without value": (f"{E}/", "", b"a&b=&=c", f"{E}/?a&b=&=c"),
    "forwarded ampersands": (f"{E}/", "", b"&&a=1&&", f"{E}/?a=1"),
    "forwarded quotes": (f"{E}/", "", b"a='(!*)',$@:/", f"{E}/?a='(!*)',$@:/"),
    "forwarded address": (f"{E}/", "", b"u=https://f.com/?a=1", f"{E}/?u=https://f.com/?a=1"),
    "forwarded line break, escaped": (f"{E}/", "", b"a=%0d%0aSet-Cookie:b", f"{E}/?a=%0d%0aSet-Cookie:b"),
    "forwarded NUL, escaped": (f"{E}/", "", b"a=%00", f"{E}/?a=%00"),
    "forwarded UTF-8, escaped": (f"{E}/", "", b"a=%C3%A4%c3%a4", f"{E}/?a=%C3%A4%c3%a4"),
    "forwarded UTF-8, raw": (f"{E}/", "", "a=ä😀".encode(), f"{E}/?a=%C3%A4%F0%9F%98%80"),
    "forwarded Latin-1, raw": (f"{E}/", "", b"a=\xe4", f"{E}/?a=%E4"),
    "keys that are no text": (f"{E}/?%ff=1", "", b"%fe=2&%ff=3", f"{E}/?%ff=1&%fe=2"),
    # both
    "the link's utm goes first": (f"{E}/", "mail", b"utm_source=x&a=1", f"{E}/?utm_source=mail&a=1"),
    "the link's utm, the visitor's in disguise": (f"{E}/", "mail", b"utm%5fsource=x&utm_source", f"{E}/?utm_source=mail"),
    "the visitor's other utm": (f"{E}/", "mail", b"utm_medium=x", f"{E}/?utm_source=mail&utm_medium=x"),
    "the destination's utm, not the visitor's": (f"{E}/?utm_medium=x", "", b"utm_medium=y", f"{E}/?utm_medium=x"),
    "all at once": (
        f"{E}/ä?a=+%2B&utm_source=x#/b?c", "news letter", b"a=2&d[]=%zz&utm_source=y",
        f"{E}/%C3%A4?a=+%2B&utm_source=news%20letter&d[]=%zz#/b?c"),
    "all at once, to an IDN with a login": (
        "https://me@bücher.example:8443?a&a#😀", "/cpc/", "q=ß&a=1".encode(),
        "https://me@xn--bcher-kva.example:8443?a&a&utm_medium=cpc&q=%C3%9F#%F0%9F%98%80"),
}  # fmt: skip


def fields(row: Row) -> dict[str, Any]:
    source, medium, campaign = [*row[1].split("/"), "", ""][:3]
    return {
        "location_url": row[0],
        "utm_source": source or None,
        "utm_medium": medium or None,
        "utm_campaign": campaign or None,
        "forward_query_parameters_is_enabled": row[2] is not None,
    }


def sent(row: Row) -> str:
    """The visitor's query as servers pass it on: each byte a character. Any query if it is not forwarded."""
    return (b"x=1" if row[2] is None else row[2]).decode("latin-1")


def is_text(query: bytes | None) -> bool:
    """Whether the query is UTF-8. Our server refuses other request lines."""
    try:
        return (query or b"").decode() is not None
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_resolved(row: Row) -> None:
    outcome = resolve(plan(**fields(row)), Visitor({"QUERY_STRING": sent(row)}), NOW)
    assert outcome.location == row[3]
    assert outcome.destination == row[0]


@pytest.mark.parametrize("raw", ["#", "\x00", "\t", " ", "\x7f", "\r\n"])
def test_what_no_browser_sends_raw_is_escaped(raw: str) -> None:
    made = plan(location_url=f"{E}/#x", forward_query_parameters_is_enabled=True)
    escaped = "".join(f"%{ord(character):02X}" for character in raw)
    assert resolve(made, Visitor({"QUERY_STRING": f"a={raw}b"}), NOW).location == f"{E}/?a={escaped}b#x"


@pytest.fixture(scope="module")
def post(live_server: Server) -> Callable[[str, dict[str, Any]], None]:
    who = ("--email", "alice@example.com")
    live_server.flask("users", "create", *who, "--password-stdin", stdin=f"{PASSWORD}\n")
    key = live_server.flask("keys", "create", *who, "--name", "test").strip()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", live_server.port, timeout=60)
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        assert answer.status == 201, said

    return post


def asked(server: Server, target: bytes) -> bytes:
    """The raw head of the answer to a raw request, which no client library has normalised."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        agent = f"User-Agent: {BROWSER}".encode()
        line.sendall(b"GET %b HTTP/1.1\r\nHost: e\r\nConnection: close\r\n%b\r\n\r\n" % (target, agent))
        return b"".join(iter(lambda: line.recv(65536), b""))


SENT = {name: row for name, row in ROWS.items() if is_text(row[2])}
ANSWERERS: dict[str, dict[str, Any]] = {"by the front": {}, "by a page": {"clicks_limit": 1000}}


@pytest.mark.parametrize(("name", "answerer"), [*zip(SENT, cycle(ANSWERERS), strict=False)])
def test_on_the_wire(
    name: str, answerer: str, live_server: Server, post: Callable[[str, dict[str, Any]], None]
) -> None:
    row, alias = SENT[name], f"{list(SENT).index(name)}-{len(answerer)}"
    post("/api/links", {"url": alias, **fields(row), **ANSWERERS[answerer]})
    status, headers = head_of(asked(live_server, f"/{alias}?{sent(row)}".encode("latin-1")))
    assert (status, headers[b"location"]) == (b"302", row[3].encode("ascii"))


def head_of(answer: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The status, and the headers by their names in lower case."""
    first, *lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
    pairs = [line.split(b": ", 1) for line in lines]
    return first.split(b" ")[1], {name.lower(): value for name, value in pairs}


def test_a_query_outlives_a_gate_to_the_byte(
    live_server: Server, post: Callable[[str, dict[str, Any]], None]
) -> None:
    post("/api/links", {"url": "gate", "location_url": E, "sensitive_content": True})
    status, headers = head_of(asked(live_server, b"/GATE?a[]=+%2B%2520%zz&&b=;'|"))
    assert (status, headers[b"location"]) == (b"302", b"/gate?a[]=+%2B%2520%zz&&b=;'|")
