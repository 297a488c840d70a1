"""Pages of destinations: what is read from them, what they may not do, and what they suggest for a link."""

from __future__ import annotations

import ipaddress
import os
import socket
import time

import pytest

from app.core.errors import Invalid
from app.core.extensions import db
from app.i18n.messages import in_english
from app.links import destination_page, orphan_uploads, suggestions, uploads
from app.links.destination_page import NotAPage, Refused, clean, parse_page, read_page
from app.links.pictures import Picture
from app.links.suggestions import fetch_suggestions, keep_picture, kept_picture
from app.net import dial
from app.net.dial import Deadline
from app.net.http import NoAnswer
from tests.links.pictures import SVG, picture
from tests.links.sites import ICON, answer, asked, page, redirect, serve
from tests.net.odd_answers import no_dns

__all__ = ["no_dns"]

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


PICTURE = picture(size=(2400, 1260))


def card(**answers: bytes) -> dict[str, bytes]:
    head = (
        '<title>Shop</title><meta name=description content="All of it"><link rel=icon href="/icon">'
        '<meta property="og:image" content="/picture">'
    )
    return {"/": page(head), **{f"/{name}": content for name, content in answers.items()}}


@pytest.mark.usefixtures("app")
def test_everything(peers):
    site = serve(peers, card(picture=answer(PICTURE, "image/png"), icon=answer(ICON, "image/png")))
    found = fetch_suggestions(site.url, LOOPBACK, "de,en;q=0.7")
    assert (found.title, found.description) == ("Shop", "All of it")
    assert found.picture and found.icon
    assert found.picture.content != PICTURE
    assert b"accept-language: de,en;q=0.7" in peers.heard[0].lower()


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    "content",
    {
        "not there": answer(b"", "image/png", 404),
        "an SVG": answer(SVG, "image/svg+xml"),
        "a page": page(""),
        "too large": answer(b"x" * (6 << 20), "image/png"),
        "in a private network": redirect("http://10.0.0.1/"),
    }.values(),
)
def test_a_picture_that_is_none_is_left_out(peers, content):
    found = fetch_suggestions(serve(peers, card(picture=content, icon=content)).url, LOOPBACK)
    assert (found.title, found.picture, found.icon) == ("Shop", None, None)


def refusal(url: str, allowed=LOOPBACK) -> str:
    with pytest.raises(Invalid) as raised:
        fetch_suggestions(url, allowed)
    return in_english(raised.value.errors[0].title)


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("content", "words"),
    {
        "no page": (answer(b"x", "application/pdf"), "not a web page"),
        "an error": (answer(b"x", "text/html", 403), "error 403"),
        "a circle": (redirect("/"), "too many times"),
        "nothing to say": (page(""), "no title, no description"),
    }.values(),
)
def test_what_is_said(peers, content, words):
    assert words in refusal(serve(peers, {"/": content}).url)


@pytest.mark.usefixtures("app")
def test_who_takes_too_long(peers, monkeypatch):
    monkeypatch.setattr(suggestions, "SECONDS", 0.3)
    assert refusal(peers.serve(peers.hangs).url) == "The destination took too long to answer."


@pytest.mark.usefixtures("app")
@pytest.mark.usefixtures("no_dns")
def test_nothing_is_said_of_what_is_not_public(peers, monkeypatch):
    """An open port, a closed one, a name of the internal network and a private address sound the same."""
    closed = peers.serve(peers.resets)
    words = {
        refusal(peers.serve(peers.hangs).url, ()),
        refusal("http://10.255.255.1:1/", ()),
        refusal("http://intranet.invalid/", ()),
        refusal("http://169.254.169.254/", ()),
        refusal(serve(peers, {"/": redirect("http://127.0.0.9:22/")}).url),
        refusal(closed.url),
    }
    assert len(words) == 1
    monkeypatch.setattr(dial, "connect_to", lambda *_: pytest.fail("a private address was dialled"))
    refusal("http://127.0.0.1:1/", ())


# --- pictures that wait for their link


@pytest.mark.usefixtures("app")
def test_a_kept_picture_is_its_owners(alice, bob):
    token = keep_picture(alice.id, Picture(ICON, "png"))
    db.session.commit()
    found = kept_picture(alice.id, token)
    assert found and found.content == ICON
    assert kept_picture(bob.id, token) is None
    assert kept_picture(alice.id, token[:-1]) is None
    assert kept_picture(alice.id, suggestions.TOKENS.sign([alice.id, "../../main.db"])) is None


@pytest.mark.usefixtures("app")
def test_a_picture_that_is_not_used_goes_with_the_orphans(alice, session):
    token = keep_picture(alice.id, Picture(ICON, "png"))
    db.session.commit()
    [file] = uploads.directory().iterdir()
    orphan_uploads.remove_strays(session)
    assert file.exists()
    assert suggestions.TOKENS.max_age < orphan_uploads.YOUNGEST_SECONDS
    old = time.time() - orphan_uploads.YOUNGEST_SECONDS - 1
    os.utime(file, (old, old))
    orphan_uploads.remove_strays(session)
    assert not file.exists()
    assert kept_picture(alice.id, token) is None


@pytest.mark.usefixtures("app")
def test_nothing_is_kept_of_no_picture(alice):
    assert keep_picture(alice.id, None) == ""
