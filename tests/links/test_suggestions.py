"""Suggestions of a destination: its words, its pictures, and what is said where it has none."""

from __future__ import annotations

import ipaddress
import os
import time

import pytest

from app.core.errors import Invalid
from app.core.extensions import db
from app.i18n.messages import in_english
from app.links import orphan_uploads, suggestions, uploads
from app.links.pictures import Picture
from app.links.suggestions import fetch_suggestions, keep_picture, kept_picture
from app.net import dial
from tests.links.pictures import SVG, picture
from tests.links.sites import ICON, answer, page, redirect, serve
from tests.net.odd_answers import no_dns

__all__ = ["no_dns"]

pytestmark = pytest.mark.usefixtures("app")

LOOPBACK = (ipaddress.ip_network("127.0.0.1"),)
PICTURE = picture(size=(2400, 1260))


def card(**answers: bytes) -> dict[str, bytes]:
    head = (
        '<title>Shop</title><meta name=description content="All of it"><link rel=icon href="/icon">'
        '<meta property="og:image" content="/picture">'
    )
    return {"/": page(head), **{f"/{name}": content for name, content in answers.items()}}


def test_everything(peers):
    site = serve(peers, card(picture=answer(PICTURE, "image/png"), icon=answer(ICON, "image/png")))
    found = fetch_suggestions(site.url, LOOPBACK, "de,en;q=0.7")
    assert (found.title, found.description) == ("Shop", "All of it")
    assert found.picture and found.icon
    assert found.picture.content != PICTURE
    assert b"accept-language: de,en;q=0.7" in peers.heard[0].lower()


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


def test_who_takes_too_long(peers, monkeypatch):
    monkeypatch.setattr(suggestions, "SECONDS", 0.3)
    assert refusal(peers.serve(peers.hangs).url) == "The destination took too long to answer."


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


def test_a_kept_picture_is_its_owners(alice, bob):
    token = keep_picture(alice.id, Picture(ICON, "png"))
    db.session.commit()
    found = kept_picture(alice.id, token)
    assert found and found.content == ICON
    assert kept_picture(bob.id, token) is None
    assert kept_picture(alice.id, token[:-1]) is None
    assert kept_picture(alice.id, suggestions.TOKENS.sign([alice.id, "../../main.db"])) is None


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


def test_nothing_is_kept_of_no_picture(alice):
    assert keep_picture(alice.id, None) == ""
