"""Icons of destinations: which sites are asked, what is taken from them, and what is kept."""

from __future__ import annotations

import datetime as dt
import io
import ipaddress

import pytest
from PIL import Image
from sqlalchemy import select, update

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.leases import precise_now
from app.links import bulk_create, favicons, removal, services
from app.links.favicons import FetchedIcon, site_of
from app.links.models import Favicon, Link
from app.trash.models import Trashed
from tests.links.pictures import SVG, huge_png
from tests.links.sites import ICON, answer, asked, page, redirect, serve
from tests.net.odd_answers import no_dns

__all__ = ["no_dns"]

LOOPBACK = (ipaddress.ip_network("127.0.0.1"),)
PNG = "image/png"


@pytest.mark.parametrize(
    ("url", "site"),
    {
        "a path and a query": ("https://Example.com/a?b=c#d", "https://example.com"),
        "the usual port": ("https://example.com:443/", "https://example.com"),
        "another port": ("http://example.com:8080/x", "http://example.com:8080"),
        "a login": ("https://me:secret@example.com/", "https://example.com"),
        "IPv6": ("http://[2001:DB8::1]:81/x", "http://[2001:db8::1]:81"),
        "another scheme": ("mailto:me@example.com", ""),
        "no address": ("nonsense", ""),
        "a port that is none": ("https://example.com:99999/", ""),
        "too long": (f"https://{'a' * 400}/", ""),
    }.values(),
    ids=lambda one: one[0] if isinstance(one, tuple) else None,
)
def test_site_of(url, site):
    assert site_of(url) == site


# --- which are wanted


def sites(session) -> list[tuple[int, str]]:
    session.commit()
    return sorted((row.workspace_id, row.site) for row in session.scalars(select(Favicon)))


def make(user: User, *destinations: str) -> list[Link]:
    return services.create_bulk(access_of(user), {"location_urls": list(destinations)})


@pytest.mark.databases
def test_each_site_of_an_owner_once(session, alice, bob):
    make(alice, "https://a.example/1", "https://a.example/2", "https://b.example/")
    make(alice, "https://a.example/3", "mailto:x@a.example")
    make(bob, "https://a.example/")
    assert sites(session) == [
        (alice.id, "https://a.example"),
        (alice.id, "https://b.example"),
        (bob.id, "https://a.example"),
    ]


def test_each_way_to_a_destination(session, alice):
    services.create(access_of(alice), {"location_url": "https://created.example/"})
    bulk_create.create_each(access_of(alice), [{"location_url": "https://imported.example/", "url": "x"}])
    link = services.create(access_of(alice), {"location_url": "https://before.example/"})
    services.update(link, {"location_url": "https://after.example/"})
    services.update(link, {"title": "x"})
    assert [site.partition("//")[2].partition(".")[0] for _, site in sites(session)] == [
        *("after", "before", "created", "imported")
    ]


def test_a_restored_link_has_its_icon_again(session, alice):
    link = services.create(access_of(alice), {"location_url": "https://a.example/"})
    removal.delete(link)
    session.commit()
    favicons.remove_unused(session)
    assert sites(session) == []
    removal.restore(session.scalars(select(Trashed)).one())
    assert sites(session) == [(alice.id, "https://a.example")]


def test_an_owner_who_wants_none(session, alice):
    alice.fetches_favicons = False
    make(alice, "https://a.example/")
    assert sites(session) == []


def test_sites_of_an_owner_are_bounded(session, alice, monkeypatch):
    monkeypatch.setattr(favicons, "MAX_SITES", 2)
    make(alice, *(f"https://{letter}.example/" for letter in "dcba"))
    make(alice, "https://e.example/")
    assert [site for _, site in sites(session)] == ["https://a.example", "https://b.example"]


def test_owners_in_turns(session, alice, bob):
    make(alice, *(f"https://a{n}.example/" for n in range(5)))
    session.commit()
    make(bob, "https://b.example/")
    session.commit()
    assert {one.workspace_id for one in favicons.due(session, 2)} == {
        access_of(alice).workspace_id,
        access_of(bob).workspace_id,
    }


@pytest.mark.parametrize(
    "change",
    [update(User).values(fetches_favicons=False), update(Workspace).values(deleted_datetime=now())],
    ids=["not wanted", "workspace deleted"],
)
def test_who_wants_none_any_more(session, alice, change):
    make(alice, "https://a.example/")
    session.commit()
    assert len(favicons.due(session, 2)) == 1
    session.execute(change)
    session.commit()
    assert favicons.due(session, 2) == []


# --- fetching


def fetched(url: str) -> FetchedIcon:
    return favicons.ask(site_of(url), LOOPBACK)


def size_of(result: FetchedIcon) -> tuple[int, int]:
    assert result.content is not None
    with Image.open(io.BytesIO(result.content)) as image:
        assert image.format == "PNG"
        return image.size


def linked(*links: str) -> bytes:
    return page("".join(f"<link {link}>" for link in links))


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("answers", "wanted"),
    {
        "named by the page": (
            {"/": linked('rel=icon href="/i.png"'), "/i.png": answer(ICON, PNG)},
            ["/", "/i.png"],
        ),
        "relative to the base": (
            {
                "/": page('<base href="/b/"><link rel="shortcut icon" href="i.png">'),
                "/b/i.png": answer(ICON, PNG),
            },
            ["/", "/b/i.png"],
        ),
        "not named": ({"/": page(""), "/favicon.ico": answer(ICON, PNG)}, ["/", "/favicon.ico"]),
        "no page": ({"/favicon.ico": answer(ICON, PNG)}, ["/", "/favicon.ico"]),
        "an SVG beside another": (
            {"/": linked('rel=icon href="/i.svg"', 'rel=icon href="/i.png"'), "/i.png": answer(ICON, PNG)},
            ["/", "/i.png"],
        ),
        "an SVG that says PNG": (
            {
                "/": linked('rel=icon type="image/png" href="/i"'),
                "/i": answer(SVG, PNG),
                "/favicon.ico": answer(ICON, PNG),
            },
            ["/", "/i", "/favicon.ico"],
        ),
        "the size that fits first": (
            {
                "/": linked('rel=icon sizes="16x16" href="/16"', 'rel=icon sizes="32x32" href="/32"'),
                "/32": answer(ICON, PNG),
            },
            ["/", "/32"],
        ),
        "only for phones": (
            {"/": linked('rel=apple-touch-icon href="/t.png"'), "/t.png": answer(ICON, PNG)},
            ["/", "/favicon.ico", "/t.png"],
        ),
        "after a redirect": (
            {
                "/": redirect("/start/"),
                "/start/": linked('rel=icon href="i.png"'),
                "/start/i.png": answer(ICON, PNG),
            },
            ["/", "/start/", "/start/i.png"],
        ),
    }.values(),
)
def test_where_the_icon_is(peers, answers, wanted):
    assert size_of(fetched(serve(peers, answers).url)) == (32, 32)
    assert asked(peers) == wanted


@pytest.mark.usefixtures("app")
def test_only_the_first_page_is_opened(peers):
    """A destination may be a one-time address, or hold a token: the site does not hear of it."""
    site = serve(peers, {"/": page("")})
    assert fetched(f"{site.url}secret?token=1").content is None
    assert asked(peers) == ["/", "/favicon.ico"]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    "icon",
    {
        "none": answer(b"", PNG, 404),
        "a page": page(""),
        "an SVG": answer(SVG, "image/svg+xml"),
        "huge bytes": answer(b"\x89PNG" + b"x" * 600_000, PNG),
        "huge pixels": answer(huge_png(50_000, 50_000), PNG),
        "nothing": answer(b"", PNG),
        "a circle": redirect("/favicon.ico"),
        "elsewhere, in a private network": redirect("http://10.1.2.3/i.png"),
    }.values(),
)
def test_what_is_no_icon_is_given_up(peers, icon):
    assert fetched(serve(peers, {"/": page(""), "/favicon.ico": icon}).url) == FetchedIcon(
        None, is_final=True
    )


@pytest.mark.usefixtures("app")
def test_what_never_ends(peers, monkeypatch):
    monkeypatch.setattr(favicons, "SECONDS", 1.0)
    endless = peers.goes_on(b"HTTP/1.1 200 X\r\nContent-Type: image/png\r\n\r\n", b"x" * 4096)
    # the server of `paths` has heard the request already
    site = peers.serve(endless)
    assert fetched(site.url).content is None


@pytest.mark.usefixtures("app", "no_dns")
@pytest.mark.parametrize(
    ("what", "is_final"),
    {"hangs": ("hangs", False), "resets": ("resets", False)}.values(),
    ids=["hangs", "resets"],
)
def test_who_does_not_answer_is_asked_again(peers, monkeypatch, what, is_final):
    monkeypatch.setattr(favicons, "SECONDS", 0.3)
    assert fetched(peers.serve(getattr(peers, what)).url) == FetchedIcon(None, is_final)


def test_private_networks_are_not_asked(peers):
    site = serve(peers, {"/": page("")})
    assert favicons.ask(site_of(site.url), ()) == FetchedIcon(None, is_final=True)
    assert peers.heard == []


# --- storing


@pytest.fixture
def wanted(session, alice) -> int:
    make(alice, "https://a.example/")
    session.commit()
    return favicons.due(session, 1)[0].id


@pytest.mark.databases
def test_a_result_is_stored_once(session, alice, wanted):
    assert favicons.take(session, [wanted], "one") == {wanted}
    assert favicons.take(session, [wanted], "two") == set()
    assert favicons.due(session, 1) == []
    favicons.store(session, wanted, "two", FetchedIcon(b"other"))
    favicons.store(session, wanted, "one", FetchedIcon(b"icon"))
    favicons.store(session, wanted, "one", FetchedIcon(b"late"))
    row = session.get(Favicon, wanted)
    assert (row.content, row.due, row.lease, row.who, row.tries) == (b"icon", None, None, None, 1)
    assert favicons.versions_of(alice.id, session.scalars(select(Link)).all()).values()


def test_a_killed_worker_is_replaced(session, wanted):
    favicons.take(session, [wanted], "killed")
    session.execute(update(Favicon).values(lease=precise_now() - dt.timedelta(seconds=1)))
    session.commit()
    assert favicons.take(session, [wanted], "next") == {wanted}
    favicons.store(session, wanted, "killed", FetchedIcon(b"late"))
    favicons.store(session, wanted, "next", FetchedIcon(b"icon"))
    assert session.get(Favicon, wanted).content == b"icon"


def test_few_tries_and_then_none(session, wanted):
    pauses = []
    for _ in range(favicons.TRIES):
        session.execute(update(Favicon).values(due=precise_now()))
        session.commit()
        assert favicons.take(session, [wanted], "one") == {wanted}
        favicons.store(session, wanted, "one", FetchedIcon(None, is_final=False))
        row = session.get(Favicon, wanted, populate_existing=True)
        pauses.append(row.due and row.due - row.planned)
        session.rollback()
    assert pauses == [*favicons.PAUSES, None]


# --- forgetting


def test_unused_icons_are_removed(session, alice, bob):
    first, _ = make(alice, "https://a.example/", "https://b.example/")
    make(bob, "https://a.example/")
    services.update(first, {"location_url": "https://c.example/"})
    session.commit()
    assert favicons.remove_unused(session) == 1
    bob.fetches_favicons = False
    session.commit()
    assert favicons.remove_unused(session) == 1
    assert sites(session) == [(alice.id, "https://b.example"), (alice.id, "https://c.example")]
