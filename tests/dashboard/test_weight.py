"""First load of each dashboard page: at most 150 kB with all its files, and nothing cached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.dashboard.shared.rendering import FOR_ADMINS, NAVIGATION
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import Factory
from tests.past import Past

MOST = 150_000
ZIPPED = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "none"}
STATIC = re.compile(r"/static/[0-9a-f]{12}/[\w./-]+")
IMPORTED = re.compile(r'@import url\("([^"]+)"\)')
PART = re.compile(r'data-part>\s*<div hx-get="([^"]+)"')

PAGES = {
    **{place.title: f"/{place.name}/" for place in (*NAVIGATION, *FOR_ADMINS)},
    "the form of a link": "/links/1",
    "the statistics of a link": "/links/1/statistics/",
    "who would go where": "/links/1/try",
    "the QR code of a link": "/links/1/qr",
}


def load(desk: Desk, path: str, **headers: str) -> TestResponse:
    answer = desk.client.get(path, headers={**ZIPPED, **headers})
    assert answer.status_code == 200, path
    return answer


def weight(answer: TestResponse) -> int:
    """The bytes of the response as it is sent, headers included."""
    return len(answer.data) + sum(len(f"{name}: {value}\r\n") for name, value in answer.headers)


def named(desk: Desk, path: str) -> Iterator[tuple[str, int]]:
    """Every request that a browser makes to open a page, with the size of its response."""
    answer = load(desk, path)
    text = desk.client.get(path).text
    yield path, weight(answer)
    for address in sorted(set(STATIC.findall(text))):
        yield address, weight(load(desk, address))
        if address.endswith(".css"):
            imported = IMPORTED.findall(desk.client.get(address).text)
            assert all(urljoin(address, other) in text for other in imported), "it would come late"
    for part in PART.findall(text):
        address = part.replace("&amp;", "&")
        yield address, weight(load(desk, address, **HTMX))


@pytest.fixture
def full(alice: User, factory: Factory, past: Past) -> None:
    """A full page of links with long rows, and rows in every other list."""
    project, pixel = factory.project(alice, name="Spring & more"), factory.pixel(alice, name="Retargeting")
    factory.domain(alice)
    factory.handler(alice)
    alice.is_admin = True
    for number in range(25):
        link = factory.link(
            alice,
            f"an-alias-of-some-length-{number}",
            title=f"A link of a usual length, which says what it is for, {number}",
            location_url=f"https://example.com/{number}/{'a-long-address/' * 8}?campaign=spring",
            tags=("spring", f"letter {number}", "sale"),
            project_id=project.id,
            sensitive_content=True,
            clicks_limit=1_000,
        )
        link.pixels = [pixel]
    factory.session.commit()


@pytest.mark.usefixtures("full")
def test_first_load_of_every_page(desk: Desk) -> None:
    found = {name: dict(named(desk, f"/dashboard{path}")) for name, path in PAGES.items()}
    assert {name: sizes for name, sizes in found.items() if sum(sizes.values()) > MOST} == {}
    assert len(found["Links"]) > 8  # the page, its styles and its scripts
    drawn = {address.rpartition("/")[2] for address in found["the statistics of a link"]}
    assert {"jsvectormap-world.js", "uplot.iife.min.js"} < drawn
    assert sum("statistics/map" in address for address in found["the statistics of a link"]) == 1
