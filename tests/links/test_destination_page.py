"""Pages of destinations: what is read from them, however they are written, and what they may not do."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from app.links import destination_page
from app.links.destination_page import NotAPage, Refused, clean, parse_page, read_page
from app.net.dial import Deadline
from app.net.http import NoAnswer
from tests.links.sites import answer, asked, page, redirect, serve

LOOPBACK = (ipaddress.ip_network("127.0.0.1"),)
URL = "https://a.example/dir/page"


def title_of(head: str) -> str:
    return parse_page(URL, f"<head>{head}</head>").title


@pytest.mark.parametrize(
    ("head", "title"),
    {
        "a title": ("<title>Shop</title>", "Shop"),
        "a card first": ('<title>Shop | A</title><meta property="og:title" content="Shop">', "Shop"),
        "names in place of properties": ('<meta name="twitter:title" content="Shop">', "Shop"),
        "references": ("<title>Fish &amp; Chips &#8364;&euro;</title>", "Fish & Chips €€"),
        "white space": ("<title>\n  A \t b\r\n</title>", "A b"),
        "two": ("<title>One</title><title>Two</title>", "One"),
        "an empty card": ('<title>Shop</title><meta property="og:title" content=" ">', "Shop"),
        "none": ("<p>x", ""),
        "in capitals": ("<TITLE>Shop</TITLE>", "Shop"),
        "markup within is text": ("<title><b>A</b> <!-- &amp; --></title>", "<b>A</b> <!-- & -->"),
        "in a script": ("<script>'<title>No</title>'</script><title>Yes</title>", "Yes"),
        "in a comment": ("<!-- <title>No</title> --><title>Yes</title>", "Yes"),
        "of a drawing in the body": ("</head><body><svg><title>No</title></svg>", ""),
        "marks that turn the direction": ("<title>a\u202egpj\u2066.exe\u200f</title>", "agpj.exe"),
        "controls": ("<title>a\x07b\x00c&#7;</title>", "a b c"),
        "an emoji keeps its joiner": (
            "<title>\U0001f469\u200d\U0001f4bb</title>",
            "\U0001f469\u200d\U0001f4bb",
        ),
        "too long": (f"<title>{'x' * 500}</title>", f"{'x' * 159}…"),
    }.values(),
)
def test_title(head, title):
    assert title_of(head) == title


def test_all_that_a_page_says():
    found = parse_page(
        URL,
        """<html><head><base href="/b/">
        <meta name=description content="plain"><meta property="og:description" content="A &lt;b&gt; shop">
        <meta property="og:image" content="card.png">
        <link rel="icon" href="a.svg" type="image/svg+xml"><link rel="icon" href="i.png" sizes="16x16 48x48">
        <link rel="mask-icon" href="m.png"><link rel="apple-touch-icon" href="//cdn.example/t.png">
        </head><body><link rel=icon href=late.png>""",
    )
    assert (found.title, found.description) == ("", "A <b> shop")
    assert found.picture_url == "https://a.example/b/card.png"
    assert [tuple(icon) for icon in found.icons] == [
        ("https://a.example/b/i.png", 48, False),
        ("https://cdn.example/t.png", 0, True),
    ]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:image/png;base64,AA",
        "file:///etc/passwd",
        "http://[::1",
        "http:///a",
        " ",
        "x" * 9000,
    ],
)
def test_addresses_that_are_none(address):
    found = parse_page(URL, f'<meta property="og:image" content="{address}"><link rel=icon href="{address}">')
    assert (found.picture_url, found.icons) == ("", [])


@pytest.mark.parametrize(
    "markup",
    {
        name: text * (destination_page.MAX_HTML // len(text))
        for name, text in {
            "brackets": "<",
            "comments": "<!--",
            "declarations": "<![x",
            "tags without end": "<a ",
            "attributes": '<a x="',
            "titles": "<title>",
            "references": "&a",
        }.items()
    }.values(),
)
def test_markup_that_is_none(markup):
    assert parse_page(URL, f"<title>Shop</title>{markup}").title == "Shop"


def test_what_is_cleaned_to_nothing():
    assert clean("\u202e\u200b \n", 10) == ""
    assert clean("\ud800a", 10) == "a"


# --- over the network


def read(url: str, seconds: float = 10.0):
    return read_page(url, LOOPBACK, Deadline(seconds))


ENCODED = "<title>Grüße €</title>"


@pytest.mark.parametrize(
    ("body", "content_type"),
    {
        "UTF-8 without a word": (ENCODED.encode(), "text/html"),
        "by the header": (ENCODED.encode("cp1252"), "text/html; charset=ISO-8859-1"),
        "by the page": (b'<meta charset="windows-1252">' + ENCODED.encode("cp1252"), "text/html"),
        "by the old way": (
            b'<meta http-equiv="content-type" content="text/html; charset=iso-8859-15">'
            + ENCODED.encode("iso-8859-15"),
            "text/html",
        ),
        "the header before the page": (
            b"<meta charset=koi8-r>" + ENCODED.encode(),
            "text/html; charset=utf-8",
        ),
        "a mark of UTF-16": (ENCODED.encode("utf-16"), "text/html"),
        "a mark of UTF-8": (ENCODED.encode("utf-8-sig"), "text/html; charset=iso-8859-1"),
        "one that is none": (ENCODED.encode(), "text/html; charset=bogus"),
        "one that is no text": (ENCODED.encode(), "text/html; charset=punycode"),
        "XHTML": (ENCODED.encode(), "application/xhtml+xml"),
    }.values(),
)
def test_encodings(peers, body, content_type):
    assert read(serve(peers, {"/": answer(body, content_type)}).url).title == "Grüße €"


def test_an_encoding_that_is_wrong_is_shown_as_it_can_be(peers):
    body = b"<title>a\xff\xfeb</title>"
    assert read(serve(peers, {"/": answer(body, "text/html; charset=utf-8")}).url).title == "a\ufffd\ufffdb"


def test_redirects_are_followed_and_counted(peers):
    answers = {f"/{n}": redirect(f"/{n + 1}") for n in range(5)} | {"/5": page("<title>End</title>")}
    site = serve(peers, answers)
    assert read(f"{site.url}0").title == "End"
    loop = serve(peers, {"/": redirect("/")})
    peers.heard.clear()
    with pytest.raises(NoAnswer, match=r"^$"):
        read(loop.url)
    assert asked(peers) == ["/"] * (destination_page.HOPS + 1)


@pytest.mark.parametrize("target", ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/"])
def test_a_redirect_into_a_private_network_is_not_followed(peers, target):
    with pytest.raises(NoAnswer) as raised:
        read(serve(peers, {"/": redirect(target)}).url)
    assert raised.value.code == "private_address"


@pytest.mark.parametrize(
    ("content", "error"),
    {
        "a picture": (answer(b"x", "image/png"), NotAPage),
        "text": (answer(b"<title>x</title>", "text/plain"), NotAPage),
        "no type": (b"HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\nx", NotAPage),
        "not there": (answer(b"x", "text/html", 404), Refused),
        "broken": (answer(b"x", "text/html", 500), Refused),
    }.values(),
)
def test_what_is_no_page(peers, content, error):
    with pytest.raises(error):
        read(serve(peers, {"/": content}).url)


def test_a_huge_page_is_read_to_its_limit(peers, monkeypatch):
    monkeypatch.setattr(destination_page, "MAX_HTML", 2000)
    endless = peers.goes_on(
        b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\n<title>Shop</title>", b"<meta name=x content=y>"
    )
    assert read(peers.serve(endless).url).title == "Shop"


def test_one_deadline_for_all(peers):
    def slow(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\n")
        while not peers.over.wait(0.05):
            line.sendall(b"<")

    with pytest.raises(NoAnswer) as raised:
        read(serve(peers, {"/": redirect("/slow"), "/slow": slow}).url, seconds=0.5)
    assert raised.value.code == "timed_out"
