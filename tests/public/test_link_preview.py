"""The page `/{alias}+`: which links show their destination there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.domains.models import Domain
from app.journal.codec import Visit
from app.links.models import Link
from tests.factories import Factory
from tests.redirects.conftest import Person

Links = Callable[..., Link]
THERE = "https://example.com/there"
DAY = dt.timedelta(days=1)


def shows(person: Person, path: str, **more: Any) -> bool:
    answer = person.open(path, **more)
    assert answer.status_code == (200 if THERE in answer.text else 404)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    return answer.status_code == 200


OPEN = {
    "plain": {},
    "permanent": {"http_status_code": 301},
    "app linking": {"app_linking_is_enabled": True},
    "forwarding": {"forward_query_parameters_is_enabled": True},
    "started": {"start_date": now() - DAY, "end_date": now() + DAY},
}
CLOSED = {
    "protected": {"password_hash": "x"},
    "sensitive": {"sensitive_content": True},
    "targeted": {"targeting_type": "country_code", "targeting": [["DE", "https://example.com/de"]]},
    "targeted by nothing yet": {"targeting_type": "rotation"},
    "limited": {"clicks_limit": 5},
    "cloaked": {"cloaking_is_enabled": True},
    "disabled": {"is_enabled": False},
    "not yet active": {"start_date": now() + DAY},
    "expired": {"end_date": now() - DAY},
    "not allowed": {"location_url": "javascript:alert('https://example.com/there')"},
}


@pytest.mark.parametrize(
    ("columns", "is_open"),
    [*((one, True) for one in OPEN.values()), *((one, False) for one in CLOSED.values())],
    ids=[*OPEN, *CLOSED],
)
def test_which_links_tell(
    columns: Any, is_open: bool, person: Person, link: Links, visits: Callable[[], list[Visit]]
) -> None:
    link("a", [("social_a", "1")], **{"location_url": THERE, **columns})
    assert shows(person, "/a+") is is_open
    assert shows(person, "/A+/") is is_open
    assert person.open("/a+", method="HEAD").status_code == (200 if is_open else 404)
    assert visits() == []


def test_what_is_told(person: Person, link: Links) -> None:
    link("a", location_url="https://münchen.example/<b>?x=1", title="<Spring>", utm_source="mail")
    answer = person.open("/a+?x=2")
    assert "https://xn--mnchen-3ya.example/&lt;b&gt;?x=1&amp;utm_source=mail" in answer.text
    assert "<strong>xn--mnchen-3ya.example</strong>" in answer.text
    assert "&lt;Spring&gt;" in answer.text
    assert 'href="/a"' in answer.text
    assert "alice" not in answer.text


@pytest.mark.parametrize("path", ["/b+", "/+", "/a++", "/a+/x", "/dashboard+", "/%2B"])
def test_where_there_is_nothing_to_tell(path: str, person: Person, link: Links) -> None:
    link("a", location_url=THERE)
    assert not shows(person, path)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_is_only_looked_at(method: str, person: Person, link: Links) -> None:
    link("a", location_url=THERE)
    assert person.open("/a+", method=method).status_code == 404


def test_not_ahead(person: Person, link: Links) -> None:
    link("a", location_url=THERE)
    assert person.open("/a+", headers={"Sec-Purpose": "prefetch"}).status_code == 503


def test_each_host_tells_of_its_own(person: Person, link: Links, factory: Factory, owner: Any) -> None:
    domain = factory.add(
        Domain(**access_of(owner).row_columns, host="go.example", is_verified=True, token="x")
    )
    link("a", location_url=THERE, domain_id=domain.id)
    assert shows(person, "/a+", host="go.example")
    assert not shows(person, "/a+")
