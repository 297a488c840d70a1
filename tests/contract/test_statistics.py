"""Section 4: statistics of clicks made by the test."""

from __future__ import annotations

from typing import Any

from tests.contract.client import PERSON, THERE, Client, eventually

PHONE = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
TABLET = PHONE.replace(" Mobile", "")


def visited(api: Client) -> int:
    """A link with three clicks by one visitor, and one by each of two others."""
    link = api.link(http_status_code=307)
    letter = {"Referer": "https://News.example/story?id=7#top", "Accept-Language": "de-AT,en;q=0.5"}
    for _ in range(3):
        api.visit(link, more="?utm_source=letter&utm_medium=mail&utm_campaign=may", headers=letter)
    api.visit(link, headers={"User-Agent": PHONE, "Accept-Language": "pt-BR"})
    api.visit(link, headers={"User-Agent": TABLET})
    assert eventually(lambda: api.data(f"/statistics/{link}")[-1]["pageviews"] == 5, 5)
    return link


def rows(api: Client, link: int, type_: str) -> dict[Any, tuple[int, int]]:
    found = api.data(f"/statistics/{link}?type={type_}")
    assert [row["pageviews"] for row in found] == sorted((row["pageviews"] for row in found), reverse=True)
    return {row[type_]: (row["pageviews"], row["visitors"]) for row in found}


TOLD: dict[str, dict[Any, tuple[int, int]]] = {
    "referrer_host": {"news.example": (3, 1), None: (2, 2)},
    "browser_language": {"de": (3, 1), "pt": (1, 1), None: (1, 1)},
    "utm_source": {"letter": (3, 1), None: (2, 2)},
    "utm_medium": {"mail": (3, 1), None: (2, 2)},
    "utm_campaign": {"may": (3, 1), None: (2, 2)},
    "os_name": {"Linux": (3, 1), "Android": (2, 2)},
    "browser_name": {"Chrome": (5, 3)},
    "device_type": {"desktop": (3, 1), "mobile": (1, 1), "tablet": (1, 1)},
    "destination": {THERE: (5, 3)},
}


def test_each_dimension(api: Client) -> None:
    """Referrers without query, languages by primary subtag, UTM from the visitor's query; unknown is null."""
    link = visited(api)
    assert {type_: rows(api, link, type_) for type_ in TOLD} == TOLD
    ((path, counted),) = [one for one in rows(api, link, "referrer_path").items() if one[0] is not None]
    assert (path.endswith("/story"), counted) == (True, (3, 1))
    (today,) = [row for row in api.data(f"/statistics/{link}") if row["pageviews"]]
    assert (today["pageviews"], today["visitors"]) == (5, 3)


def test_all_links_together_are_the_sum(api: Client) -> None:
    """A visitor of two links counts as one visitor of their owner."""
    total = lambda: sum(row["pageviews"] for row in api.data("/statistics"))  # noqa: E731
    before = total()
    for link in (api.link(), api.link()):
        api.visit(link, headers={"User-Agent": PERSON})
    assert eventually(lambda: total() == before + 2, 5)


def test_a_put_is_redirected_and_not_counted(api: Client) -> None:
    link = api.link(http_status_code=307)
    for method in ("PUT", "DELETE", "POST", "GET"):
        assert api.visit(link, method).status_code == 307
    assert eventually(lambda: api.data(f"/links/{link}")["clicks"] == 1, 2)
    assert eventually(lambda: api.data(f"/statistics/{link}")[-1]["pageviews"] == 1, 5)
