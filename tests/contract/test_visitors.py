"""Section 3: what a visitor gets, and what counts."""

from __future__ import annotations

import datetime as dt
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.contract.client import PERSON, THERE, Client, alias, eventually, fields

AFTER = "https://example.com/after"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1"
CURL = "curl/8.5.0"


def moment(**distance: float) -> str:
    return f"{dt.datetime.now(dt.UTC) + dt.timedelta(**distance):%Y-%m-%d %H:%M:%S}"


def clicks(api: Client, link: int) -> int:
    return int(api.data(f"/links/{link}")["clicks"])


def outcome(answer: requests.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("Location")


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_link_redirects(api: Client, code: int) -> None:
    link = api.link(http_status_code=code)
    for method in ("GET", "HEAD"):
        answer = api.visit(link, method)
        assert outcome(answer) == (code, THERE)
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"
    assert outcome(api.visit(link, more="/")) == (code, THERE)


def test_an_alias_is_found_without_case(api: Client) -> None:
    link = api.link()
    data = api.data(f"/links/{link}")
    address = data["short_url"].replace(data["url"], data["url"].upper())
    answer = requests.get(address, headers={"User-Agent": PERSON}, allow_redirects=False, timeout=30)
    assert outcome(answer) == (302, THERE)


def test_an_alias_may_have_slashes(api: Client) -> None:
    """Each alias is a link of its own; a trailing or encoded slash reaches it, doubled ones do not."""
    upper = alias()
    above = api.link(url=upper, location_url=f"{THERE}/upper")
    link = api.link(url=f"{upper}/Launch")
    assert api.data(f"/links/{link}")["short_url"].endswith(f"/{upper}/Launch")
    assert outcome(api.visit(link)) == (302, THERE)
    for more in ("/launch", "/LAUNCH/", "%2Flaunch"):
        assert outcome(api.visit(above, more=more)) == (302, THERE), more
    assert outcome(api.visit(above)) == (302, f"{THERE}/upper")
    for more in ("//launch", "/launch//", "/other", "/launch/x"):
        assert api.visit(above, more=more).status_code == 404, more
    for bad in ("/x", "x/", "x//y", "x/.y", "login/x", "API/x", ".well-known/x", "x/.."):
        assert fields(api.post("/links", {"location_url": THERE, "url": bad})) == {"url"}, bad


def test_no_such_link(api: Client) -> None:
    link = api.link()
    assert api.visit(link, more="x").status_code == 404
    assert api.visit(link, more="/x").status_code == 404
    api.post(f"/links/{link}", {"is_enabled": 0})
    assert eventually(lambda: api.visit(link).status_code == 404, 1)


def test_not_active_yet(api: Client) -> None:
    answer = api.visit(api.link(schedule=1, start_date=moment(days=1)))
    assert answer.status_code == 404
    assert THERE not in answer.text


def test_over(api: Client) -> None:
    link = api.link(schedule=1, end_date=moment(seconds=-5), start_date=moment(days=-1))
    assert api.visit(link).status_code == 410
    api.post(f"/links/{link}", {"expiration_url": AFTER})
    assert eventually(lambda: outcome(api.visit(link)) == (302, AFTER), 1)


def test_a_limit_is_exact(api: Client) -> None:
    link = api.link(clicks_limit=5)
    with ThreadPoolExecutor(16) as crowd:
        found = list(crowd.map(lambda _: api.visit(link).status_code, range(40)))
    assert (found.count(302), found.count(410)) == (5, 35)
    assert clicks(api, link) == 5
    api.post(f"/links/{link}", {"clicks_limit": 6})
    assert eventually(lambda: api.visit(link).status_code == 302, 1)


def test_a_limited_link_that_asks_for_a_tap(api: Client) -> None:
    """Pages do not count; each submitted form counts once, and exactly as many pass as the limit allows."""
    link = api.link(clicks_limit=2, clicks_limit_confirmation_is_enabled=1, http_status_code=307)
    assert api.data(f"/links/{link}")["clicks_limit_confirmation_is_enabled"] is True
    pages = [api.visit(link) for _ in range(5)]
    assert {page.status_code for page in pages} == {200}
    assert not [page for page in pages if THERE in page.text]
    assert clicks(api, link) == 0
    tickets = [re.findall(r'name="ticket" value="([^"]+)"', page.text)[0] for page in pages]
    tap = lambda ticket: outcome(api.visit(link, "POST", data={"ticket": ticket}))  # noqa: E731
    assert tap(tickets[0]) == (303, THERE)
    assert tap(tickets[0])[1] != THERE
    assert clicks(api, link) == 1
    assert tap("x")[0] == 303
    assert [tap(ticket) for ticket in tickets[1:]] == [(303, THERE), (410, None), (410, None), (410, None)]
    assert clicks(api, link) == 2
    assert api.visit(link).status_code == 410


def test_a_password(api: Client) -> None:
    link = api.link(password="secret")
    page = api.visit(link, more="?a=1")
    assert (page.status_code, THERE in page.text) == (200, False)
    assert api.visit(link, "POST", data={"password": "wrong"}).status_code == 403
    right = api.visit(link, "POST", more="?a=1", data={"password": "secret"})
    assert right.status_code == 303
    assert right.headers["Location"].endswith("?a=1")
    said = right.headers["Set-Cookie"]
    assert all(
        part in said for part in ("HttpOnly", "SameSite=Lax", f"Path=/{api.data(f'/links/{link}')['url']}")
    )
    cookie = said.partition(";")[0]
    assert outcome(api.visit(link, headers={"Cookie": cookie})) == (302, THERE)
    assert api.visit(api.link(password="secret"), headers={"Cookie": cookie}).status_code == 200
    api.post(f"/links/{link}", {"password": "another"})
    assert eventually(lambda: api.visit(link, headers={"Cookie": cookie}).status_code == 200, 1)


def test_guesses_are_limited(api: Client) -> None:
    link = api.link(password="secret")
    found = [api.visit(link, "POST", data={"password": "wrong"}).status_code for _ in range(10)]
    assert found == [403] * 10
    late = api.visit(link, "POST", data={"password": "secret"})
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) > 0


def test_a_warning(api: Client) -> None:
    link = api.link(sensitive_content=1)
    page = api.visit(link)
    assert (page.status_code, THERE in page.text) == (200, False)
    on = api.visit(link, "POST")
    assert on.status_code == 303
    cookie = on.headers["Set-Cookie"].partition(";")[0]
    assert outcome(api.visit(link, headers={"Cookie": cookie})) == (302, THERE)


@pytest.mark.parametrize(
    ("type_", "key", "headers"),
    [
        ("device_type", "mobile", {"User-Agent": PHONE}),
        ("os_name", "iOS", {"User-Agent": PHONE}),
        ("browser_name", "Safari", {"User-Agent": PHONE}),
        ("browser_language", "pt", {"Accept-Language": "pt-BR,en;q=0.5"}),
        ("rotation", "1", {}),
    ],
)
def test_targeting(api: Client, type_: str, key: str, headers: dict[str, str]) -> None:
    pair = {f"targeting_{type_}_key[0]": key, f"targeting_{type_}_value[0]": AFTER}
    link = api.link(targeting_type=type_, **pair)
    assert outcome(api.visit(link, headers=headers)) == (302, AFTER)
    if type_ != "rotation":
        assert outcome(api.visit(link)) == (302, THERE)


def test_utm_and_the_visitors_query(api: Client) -> None:
    link = api.link(
        location_url=f"{THERE}?a=1&utm_source=old#end",
        utm_source="new",
        forward_query_parameters_is_enabled=1,
    )
    location = api.visit(link, more="?a=2&b=3").headers["Location"]
    assert location.endswith("#end")
    assert set(location.partition("?")[2].partition("#")[0].split("&")) == {"a=1", "utm_source=new", "b=3"}


def test_cloaking(api: Client) -> None:
    link = api.link(cloaking_is_enabled=1, cloaking_title="Seen <here>", cloaking_meta_description="D")
    page = api.visit(link)
    assert page.status_code == 200
    assert "Seen &lt;here&gt;" in page.text
    assert THERE in page.text
    bot = api.visit(link, headers={"User-Agent": CURL})
    assert (bot.status_code, "<iframe" in bot.text, "<script" in bot.text) == (200, False, False)


def test_pixels_fire_on_a_page_unless_the_visitor_refuses(api: Client) -> None:
    pixel = api.make("/pixels", type="social_a", name="n", pixel="1234567890123456")
    link = api.link(pixels_ids=pixel)
    page = api.visit(link)
    assert page.status_code == 200
    assert "1234567890123456" in page.text
    for headers in ({"Sec-GPC": "1"}, {"DNT": "1"}, {"User-Agent": CURL}):
        assert outcome(api.visit(link, headers=headers)) == (302, THERE)


@pytest.mark.parametrize(
    "headers", [{"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"X-Moz": "prefetch"}]
)
def test_a_prefetch_is_503(api: Client, headers: dict[str, str]) -> None:
    assert api.visit(api.link(), headers=headers).status_code == 503


def test_other_methods(api: Client) -> None:
    answer = api.visit(api.link(), "PUT")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]
    assert outcome(api.visit(api.link(http_status_code=307), "PUT")) == (307, THERE)


def test_where_a_link_leads(api: Client) -> None:
    page = api.visit(api.link(), more="+")
    assert page.status_code == 200
    assert THERE in page.text


HIDDEN: dict[str, dict[str, Any]] = {
    "protected": {"password": "x"},
    "sensitive": {"sensitive_content": 1},
    "targeted": {
        "targeting_type": "rotation",
        "targeting_rotation_key[0]": 1,
        "targeting_rotation_value[0]": AFTER,
    },
    "limited": {"clicks_limit": 5},
    "cloaked": {"cloaking_is_enabled": 1},
    "disabled": {"is_enabled": 0},
    "not active yet": {"schedule": 1, "start_date": "2090-01-01"},
    "over": {"schedule": 1, "end_date": "2020-01-01"},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_where_it_leads_is_not_told(api: Client, name: str) -> None:
    assert api.visit(api.link(**HIDDEN[name]), more="+").status_code == 404


def test_what_counts(api: Client) -> None:
    """A human's GET counts; HEAD, prefetches and bots do not. Shown within 2 s, in statistics within 5 s."""
    link = api.link()
    for headers in ({"User-Agent": CURL}, {"User-Agent": ""}, {"Sec-Purpose": "prefetch"}):
        api.visit(link, headers=headers)
    api.visit(link, "HEAD")
    for _ in range(3):
        api.visit(link, headers={"Referer": "https://news.example/story"})
    assert eventually(lambda: clicks(api, link) == 3, 2)
    today = lambda more="": api.data(f"/statistics/{link}?{more}")  # noqa: E731
    assert eventually(lambda: today()[-1]["pageviews"] == 3, 5)
    assert today()[-1]["visitors"] == 1
    assert today("type=referrer_host") == [{"referrer_host": "news.example", "pageviews": 3, "visitors": 1}]
    assert today("type=browser_name")[0]["browser_name"] == "Chrome"
    assert eventually(lambda: today("bots=1")[-1]["pageviews"] == 2, 5)
    assert clicks(api, link) == 3


@pytest.mark.parametrize("sent", [{"password": "x"}, {"sensitive_content": 1}], ids=["password", "warning"])
def test_bots_learn_nothing_behind_a_gate(api: Client, sent: dict[str, Any]) -> None:
    answer = api.visit(api.link(**sent), headers={"User-Agent": CURL})
    assert THERE not in answer.text
    assert "Location" not in answer.headers
