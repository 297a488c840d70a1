"""Interstitials: which one a visitor gets, what it contains, and that the click counts once."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.journal.codec import Visit
from app.links.models import Link
from app.public.page_texts import PAGES
from tests.clients import Api
from tests.factories import Factory
from tests.public.conftest import THERE
from tests.redirects.conftest import Person

Links = Callable[..., Link]
Visits = Callable[[], list[Visit]]
ANDROID = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
TABLET = "Mozilla/5.0 (Linux; Android 15; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
FILM = "https://www.youtube.com/watch?v=abc"
META = [("social_a", "123")]
CLOAKED = {
    "cloaking_is_enabled": True, "cloaking_title": "Mine & <yours>", "cloaking_meta_description": "All \"new\"",
    "cloaking_favicon": "abcdefgh.png", "cloaking_opengraph": "ijklmnop.jpg",
}  # fmt: skip


def policy(answer: TestResponse) -> dict[str, str]:
    parts = [part.partition(" ") for part in answer.headers["Content-Security-Policy"].split("; ")]
    return {name: sources for name, _, sources in parts}


def boxes(answer: TestResponse) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'class="box" src="([^"]*)"', answer.text)]


def is_boxed(answer: TestResponse) -> bool:
    """Whether the pixels of META are in the sandbox alone."""
    return bool(boxes(answer)) and "fbq" not in answer.text


# --- which page


WAYS = {
    "nothing": ({}, [], {}, "redirect"),
    "pixels": ({}, META, {}, "pixels"),
    "an app, on a phone": ({"app_linking_is_enabled": True}, META, {"agent": ANDROID}, "app"),
    "an app, on a tablet": ({"app_linking_is_enabled": True}, [], {"agent": TABLET}, "app"),
    "an app, on an iPhone": ({"app_linking_is_enabled": True}, [], {"agent": IPHONE}, "app"),
    "an app, on a desktop": ({"app_linking_is_enabled": True}, META, {}, "pixels"),
    "an app, for a bot": ({"app_linking_is_enabled": True}, META, {"agent": ANDROID + " (compatible; Googlebot/2.1)"}, "redirect"),
    "no known app": ({"app_linking_is_enabled": True, "location_url": THERE}, [], {"agent": ANDROID}, "redirect"),
    "a frame before an app": ({"app_linking_is_enabled": True, **CLOAKED}, META, {"agent": ANDROID}, "cloak"),
    "pixels and GPC": ({}, META, {"headers": {"Sec-GPC": "1"}}, "redirect"),
    "pixels and DNT": ({}, META, {"headers": {"DNT": "1"}}, "redirect"),
    "pixels and DNT that allows": ({}, META, {"headers": {"DNT": "0"}}, "pixels"),
    "pixels for a bot": ({}, META, {"agent": "Twitterbot/1.0"}, "redirect"),
    "an app and GPC": ({"app_linking_is_enabled": True}, META, {"agent": ANDROID, "headers": {"Sec-GPC": "1"}}, "app"),
    "a frame for a bot": (CLOAKED, META, {"agent": "Twitterbot/1.0"}, "preview"),
}  # fmt: skip
MARKS = {
    "app": "Open YouTube",
    "cloak": 'class="whole"',
    "pixels": "You are being redirected",
    "preview": '<meta property="og:title" content="Mine &amp; &lt;yours&gt;">',
}


@pytest.mark.parametrize(("columns", "pixels", "asked", "outcome"), WAYS.values(), ids=WAYS)
def test_the_way_there(
    columns: Any, pixels: Any, asked: Any, outcome: str, person: Person, link: Links, visits: Visits
) -> None:
    link("a", pixels, **{"location_url": FILM, **columns})
    answer = person.open("/a", **asked)
    assert answer.status_code == (302 if outcome == "redirect" else 200)
    assert [name for name, mark in MARKS.items() if mark in answer.text and name != "preview"] == (
        [outcome] if outcome in {"app", "cloak", "pixels"} else []
    )
    assert (outcome in {"cloak", "preview"}) == (MARKS["preview"] in answer.text)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    [visit] = visits()
    assert visit.destination == columns.get("location_url", FILM)
    assert visit.is_bot == ("bot" in asked.get("agent", ""))


@pytest.mark.parametrize("columns", [{}, CLOAKED, {"app_linking_is_enabled": True}])
@pytest.mark.parametrize(
    "planted", ["javascript:alert(1)", "data:text/html,x", "https:example.com", "//x.example"]
)
def test_a_planted_destination_is_on_no_page(planted: str, columns: Any, person: Person, link: Links) -> None:
    link("a", META, location_url=planted, **columns)
    answer = person.open("/a", agent=ANDROID)
    assert answer.status_code == 404
    assert planted not in answer.text


# --- pixels


def test_a_pixel_page(person: Person, link: Links) -> None:
    link("a", [*META, ("social_c", "456")], title="<Spring>", utm_source="x")
    answer = person.open("/a")
    there = "https://example.com/there?a=%zz&utm_source=x#b"
    without = answer.text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert f'<meta http-equiv="refresh" content="1;url={html.escape(there)}">' in without
    assert 'location.replace("https://example.com/there?a=%zz\\u0026utm_source=x#b")' in answer.text
    assert f'href="{html.escape(there)}"' in answer.text
    assert "<title>&lt;Spring&gt;</title>" in answer.text
    nonce = re.findall(r'<script nonce="([\w-]+)">', answer.text)[0]
    assert policy(answer)["script-src"] == f"'nonce-{nonce}'"
    assert policy(answer)["frame-src"] == "'self'"
    assert "https://www.facebook.com/tr?id=123&amp;ev=PageView&amp;noscript=1" in without
    assert "https://ct.pinterest.com/v3/?event=init&amp;tid=456&amp;noscript=1" in without
    assert policy(answer)["img-src"] == "data: https://www.facebook.com https://ct.pinterest.com"
    assert "sandbox" not in policy(answer), "or the destination sees no referrer"
    assert "fbq" not in answer.text
    assert answer.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert answer.headers["Referrer-Policy"] == "strict-origin-when-cross-origin"
    [address] = boxes(answer)
    box = person.open(f"/a{address}")
    assert "<noscript>" not in box.text, "or they would count twice"
    assert policy(box)["script-src"].partition(" ")[2] == "https://connect.facebook.net https://s.pinimg.com"
    assert policy(box)["img-src"] == "data: https://www.facebook.com https://ct.pinterest.com"
    assert policy(box)["sandbox"] == "allow-scripts"
    assert box.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert "example.com" not in box.text


@pytest.mark.settings(DASHBOARD_URL="https://desk.example")
def test_apart_from_the_dashboard_only_owners_scripts_are_boxed(person: Person, link: Links) -> None:
    link("a", META)
    link("b", [*META, ("tagmanager_a", "GTM-1")])
    link("c", [("tagmanager_a", "GTM-1")])
    alone, both, container = (person.open(path) for path in ("/a", "/b", "/c"))
    assert [len(boxes(answer)) for answer in (alone, both, container)] == [0, 1, 1]
    assert "gtm.js" not in container.text
    assert "fbq" in both.text
    assert "gtm.js" not in both.text
    box = person.open(f"/b{boxes(both)[0]}")
    assert "gtm.js" in box.text
    assert "fbq" not in box.text
    assert policy(box)["sandbox"] == "allow-scripts"


@pytest.fixture
def domain(factory: Factory, owner: User) -> Domain:
    found: Domain = factory.add(
        Domain(**access_of(owner).row_columns, host="go.example", is_verified=True, token="x")
    )
    return found


def test_nothing_is_boxed_on_the_owners_own_domain(person: Person, link: Links, domain: Domain) -> None:
    link("a", [*META, ("tagmanager_a", "GTM-1")], domain_id=domain.id)
    link("b", META, domain_id=domain.id, cloaking_custom_js="mine()", **CLOAKED)
    for path in ("/a", "/b"):
        answer = person.open(path, host="go.example")
        assert "sandbox" not in policy(answer)
        assert boxes(answer) == []
        assert "fbq" in answer.text
    assert "mine()" in person.open("/b", host="go.example").text


def test_somebody_elses_domain_is_not_his_own(
    person: Person, link: Links, domain: Domain, factory: Factory, bob: User
) -> None:
    link("a", META, domain_id=domain.id)
    domain.workspace_id = access_of(bob).workspace_id
    factory.session.commit()
    assert is_boxed(person.open("/a", host="go.example"))


# --- frames


def test_a_cloaked_page(person: Person, link: Links) -> None:
    link("a", **CLOAKED)
    answer = person.open("/a")
    assert "<title>Mine &amp; &lt;yours&gt;</title>" in answer.text
    assert '<meta name="description" content="All &#34;new&#34;">' in answer.text
    assert '<meta property="og:image" content="http://localhost/media/ijklmnop.jpg">' in answer.text
    assert '<link rel="icon" href="/media/abcdefgh.png">' in answer.text
    assert f'<iframe class="whole" src="{html.escape(THERE)}"' in answer.text
    assert '<meta name="viewport"' in answer.text
    assert answer.text.count("<iframe") == 1
    assert "<script" not in answer.text
    assert "sandbox" not in answer.text
    assert policy(answer)["frame-src"] == "http: https:"
    assert "script-src" not in policy(answer)
    assert "sandbox" not in policy(answer)


def test_scripts_of_a_cloaked_page_are_boxed_beside_it(person: Person, link: Links, visits: Visits) -> None:
    link("a", [("social_c", "456")], cloaking_custom_js="mine('</script>')", **CLOAKED)
    answer = person.open("/a?q=%FF&x=ä")
    assert "<script" not in answer.text
    assert "mine" not in answer.text
    [address] = boxes(answer)
    assert address.startswith("?q=%FF&x=%C3%A4&box=")
    assert 'sandbox="allow-scripts"' in answer.text
    box = person.open(f"/a{address}")
    assert "example.com" not in box.text
    assert "mine('\\u003c/script\\u003e')" in box.text
    assert '"456"' in box.text
    assert box.text.count("</script>") == 1
    assert policy(box)["sandbox"] == "allow-scripts"
    assert policy(box)["frame-ancestors"] == "'self'"
    assert box.headers["Cache-Control"] == "no-store"
    assert len(visits()) == 1


def test_a_box_needs_a_ticket_of_its_own_link(
    person: Person, link: Links, change: Callable[..., None], redirect_context: Any
) -> None:
    made = link("a", cloaking_custom_js="mine()", **CLOAKED)
    link("b", cloaking_custom_js="other()", **CLOAKED)
    [address] = boxes(person.open("/a"))
    for path in (f"/b{address}", f"/a{address}x", "/a?box=", "/a?box=W10", f"/a{address}&x=1"):
        assert "()" not in person.open(path).text
        assert 'class="whole"' in person.open(path).text
    with time_machine.travel("2100-01-01", tick=False):
        assert "mine()" not in person.open(f"/a{address}").text
    change(made, is_enabled=False)
    redirect_context.compiled_links.poll()
    assert person.open(f"/a{address}").status_code == 404


def test_a_preview_bot_gets_the_card_and_nothing_else(person: Person, link: Links, visits: Visits) -> None:
    link("a", META, cloaking_custom_js="mine()", **CLOAKED)
    answer = person.open("/a", agent="facebookexternalhit/1.1")
    assert answer.status_code == 200
    for part in ("og:title", "og:description", "og:image", "og:url", "twitter:card", "<title>Mine"):
        assert part in answer.text
    for part in ("example.com", "<script", "<iframe", "mine"):
        assert part not in answer.text
    assert [visit.is_bot for visit in visits()] == [1]


# --- apps


FILM_INTENT = (
    "intent://www.youtube.com/watch?v=abc#Intent;scheme=https;package=com.google.android.youtube;"
    "S.browser_fallback_url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Dabc;end"
)
UNIVERSAL = "https://www.reddit.com/r/cats/comments/1/x/"
WEB_VIEW = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 350.0.0"


def test_an_app_page(person: Person, link: Links) -> None:
    link("a", META, app_linking_is_enabled=True, location_url=FILM, title="A film")
    android, iphone = (person.open("/a", agent=agent) for agent in (ANDROID, IPHONE))
    assert buttons(android) == [
        FILM_INTENT,
        FILM,
    ]
    assert buttons(iphone) == ["vnd.youtube://www.youtube.com/watch?v=abc", FILM]
    for answer in (android, iphone):
        first = buttons(answer)[0].replace("&", "\\u0026")
        assert f'("{first}", "{FILM}", 2000)' in answer.text
        assert f'<meta http-equiv="refresh" content="2;url={FILM}">' in answer.text
        assert str(PAGES["app"].text) in answer.text
        assert "A film" in answer.text
        assert policy(answer)["frame-src"] == "'self'"
        assert "sandbox" not in policy(answer)
        assert "fbq" in person.open(f"/a{boxes(answer)[0]}").text


def test_an_app_that_only_a_tap_opens(person: Person, link: Links) -> None:
    link("a", app_linking_is_enabled=True, location_url=UNIVERSAL)
    answer = person.open("/a", agent=IPHONE)
    assert buttons(answer) == [UNIVERSAL], "with or without the app"
    assert f'(null, "{UNIVERSAL}", 2000)' in answer.text
    assert f'<meta http-equiv="refresh" content="2;url={UNIVERSAL}">' in answer.text
    assert html.escape(str(PAGES["app_by_tap"].text)) in answer.text


@pytest.mark.parametrize("location_url", [UNIVERSAL, FILM])
def test_in_a_web_view_the_button_leads_to_safari(location_url: str, person: Person, link: Links) -> None:
    link("a", app_linking_is_enabled=True, location_url=location_url)
    answer = person.open("/a", agent=WEB_VIEW)
    assert buttons(answer) == [f"x-safari-{location_url}", location_url]
    assert f'"{location_url}", 2000)' in answer.text


def buttons(answer: TestResponse) -> list[str]:
    return [
        html.unescape(found) for found in re.findall(r'<a class="button[^"]*" href="([^"]*)"', answer.text)
    ]


# --- consent


def ticket(answer: TestResponse) -> str:
    return re.findall(r'name="ticket" value="([^"]+)"', answer.text)[0]


def answered(person: Person, path: str, ticket: str, consent: str, **more: Any) -> TestResponse:
    return person.open(path, method="POST", data={"ticket": ticket, "consent": consent}, **more)


ask = pytest.mark.settings(PIXEL_CONSENT="ask")


@ask
@pytest.mark.parametrize("status", [302, 308])
def test_who_is_asked_about_pixels_goes_on_either_way(
    status: int, person: Person, link: Links, visits: Visits
) -> None:
    link("a", [*META, ("social_f", "4")], http_status_code=status, title="Spring")
    asked = person.open("/a")
    assert asked.status_code == 200
    assert "Meta (Facebook) and TikTok" in asked.text
    assert "Spring" in asked.text
    assert "fbq" not in asked.text
    assert "https:" not in asked.headers["Content-Security-Policy"]
    no = answered(person, "/a", ticket(asked), "no")
    assert (no.status_code, no.headers["Location"]) == (303, THERE)
    yes = answered(person, "/a", ticket(asked), "yes")
    assert "fbq" in person.open(f"/a{boxes(yes)[0]}").text
    assert len(visits()) == 1
    assert "Set-Cookie" not in asked.headers


@ask
@pytest.mark.parametrize(
    "asked", [{"headers": {"Sec-GPC": "1"}}, {"headers": {"DNT": "1"}}, {"agent": "curl/8.5.0"}]
)
def test_who_needs_no_asking_is_not_asked(asked: Any, person: Person, link: Links) -> None:
    link("a", META)
    assert person.open("/a", **asked).headers["Location"] == THERE


@ask
def test_a_ticket_is_good_for_its_link_for_ten_minutes(
    person: Person, link: Links, change: Callable[..., None], redirect_context: Any
) -> None:
    made = link("a", META)
    link("b", META, location_url="https://example.com/b")
    good = ticket(person.open("/a"))
    for path, bad in (("/b", good), ("/a", good + "x"), ("/a", ""), ("/a", "W10")):
        answer = answered(person, f"{path}?x=1", bad, "yes")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}?x=1")
    assert person.open("/a", method="POST").status_code == 303
    with time_machine.travel("2100-01-01", tick=False):
        assert answered(person, "/a", good, "no").headers["Location"] == "/a"
    change(made, password_version=2)
    redirect_context.compiled_links.poll()
    assert answered(person, "/a", good, "no").headers["Location"] == "/a"


WAYS_ON = {
    "redirect": ({}, "no"),
    "pixels": ({}, "yes"),
    "frame": (CLOAKED, "no"),
    "app": ({"app_linking_is_enabled": True, "location_url": FILM}, "no"),
}


@ask
@pytest.mark.databases
@pytest.mark.parametrize(("columns", "consent"), WAYS_ON.values(), ids=WAYS_ON)
def test_a_ticket_of_a_limited_link_leads_on_once(
    columns: Any, consent: str, person: Person, link: Links, api: Api
) -> None:
    """Sent again (by a reload, or by another visitor) it redirects to the link itself, which counts again."""
    made = link("a", META, clicks_limit=2, **columns)
    leads_on = columns.get("location_url", THERE)
    good = ticket(person.open("/a", agent=ANDROID))
    answers = [answered(person, "/a?x=1", good, consent, agent=ANDROID) for _ in range(5)]
    reached = [answer for answer in answers if leads_to(answer, leads_on)]
    assert reached == answers[:1]
    assert {(answer.status_code, answer.headers["Location"]) for answer in answers[1:]} == {(303, "/a?x=1")}
    assert clicks(api, made) == 1
    other = ticket(person.open("/a", agent=ANDROID))
    assert other != good
    assert person.open("/a").status_code == 410
    assert leads_to(answered(person, "/a", other, consent, agent=ANDROID), leads_on)
    assert clicks(api, made) == 2


def leads_to(answer: TestResponse, address: str) -> bool:
    pages = html.unescape(answer.text).replace("\\u0026", "&").replace("intent://", "https://")
    return address in answer.headers.get("Location", "") or address in pages


def clicks(api: Api, link: Link) -> int:
    return int(api.get(f"/links/{link.id}").json["data"]["clicks"])


NASTY = "https://example.com/'\"</script><script>alert(1)</script>&x=;url=javascript:alert(1)"


def test_a_destination_can_not_leave_its_place(person: Person, link: Links) -> None:
    link("a", META, location_url=NASTY)
    text = person.open("/a").text
    assert text.count("<script") == text.count("</script>") == 1
    assert "url=https://example.com/&#39;&#34;&lt;/script" in text
