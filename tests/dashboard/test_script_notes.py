"""Is an owner told where his pixels lose their cookies for want of a domain of his own?"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from app.accounts.models import User
from app.config import Settings
from app.domains.models import Domain
from app.links.models import Link
from app.pixels.firing import firing
from app.pixels.provider import all_providers
from app.public.scripts import Scripts, boxed_types, parted
from app.visits.hosts import Site
from app.visits.plan import compiled
from tests.dashboard.conftest import Desk
from tests.factories import Factory

COUNTED = "On localhost views are counted, but without Pinterest’s cookies, so it recognises nobody."
OF_A_LINK = "On localhost views are counted, but without the provider’s cookies"
CLOSED = "On localhost a container runs closed off"
CURE = "On links of a domain of your own that is different."


def page(desk: Desk, path: str) -> str:
    return html.unescape(desk.get(path).text)


def put_on_links(
    factory: Factory, alice: User, make_link: Callable[..., Link], type_: str, **where: Any
) -> None:
    made = make_link(alice, **where)
    made.pixels = [factory.pixel(alice, type_)]
    factory.session.commit()


def test_the_form_says_so_for_each_type(desk: Desk) -> None:
    shown = page(desk, "/pixels/new")
    assert COUNTED in shown
    assert CLOSED in shown
    assert shown.count(CURE) == len(all_providers())
    assert re.search(rf'data-for="type social_c">{re.escape(COUNTED)}', shown)


def test_the_list_says_so_where_it_is_the_case(
    desk: Desk, factory: Factory, alice: User, make_link: Callable[..., Link]
) -> None:
    own = factory.add(Domain(user_id=alice.id, host="go.example", is_verified=True, token="x"))
    put_on_links(factory, alice, make_link, "social_c", domain_id=own.id)
    factory.pixel(alice, "tagmanager_a")
    factory.session.commit()
    assert CURE not in page(desk, "/pixels/"), "one is on a domain of hers, the other on no link"
    put_on_links(factory, alice, make_link, "tagmanager_a")
    shown = page(desk, "/pixels/")
    assert (CLOSED in shown, COUNTED in shown, shown.count(CURE)) == (True, False, 1)


def test_a_links_form_says_so_for_links_without_a_domain(desk: Desk, factory: Factory, alice: User) -> None:
    assert CURE not in page(desk, "/links/new")
    factory.pixel(alice, "tagmanager_a")
    factory.session.commit()
    assert CLOSED in page(desk, "/links/new")
    factory.pixel(alice, "social_c")
    factory.session.commit()
    shown = page(desk, "/links/new")
    assert re.search(rf'<div class="control"><p class="hint">{re.escape(OF_A_LINK)}', shown)
    factory.add(Domain(user_id=alice.id, host="go.example", is_verified=True, token="x"))
    factory.session.commit()
    assert re.search(
        rf'data-for="domain_id "><p class="hint">{re.escape(OF_A_LINK)}', page(desk, "/links/new")
    )


WHERE: dict[str, tuple[dict[str, str], str, bool]] = {
    "one host for all": ({}, "localhost", True),
    "the dashboard elsewhere": ({"dashboard_url": "https://desk.example"}, "go.example", False),
    "the dashboard at another port": ({"dashboard_url": "https://go.example:8443"}, "go.example", True),
}


@pytest.mark.parametrize("type_", all_providers())
@pytest.mark.parametrize(("changed", "host", "all_are_boxed"), WHERE.values(), ids=WHERE)
def test_what_is_said_is_what_happens(
    type_: str, changed: dict[str, str], host: str, all_are_boxed: bool, app: Flask
) -> None:
    from dataclasses import replace

    settings: Settings = replace(app.config["WAYPOST"], **changed)
    link = {"id": 1, "user_id": 1, "domain_id": 0, "url": "a", "location_url": "https://example.com/"}
    plan = compiled({**link, "http_status_code": 302, "password_version": 0}, settings.destination_schemes)
    scripts = Scripts(firing([(type_, "1")]))
    _, boxed = parted(scripts, plan, Site(), host, settings)
    assert bool(boxed) is (type_ in boxed_types(host, settings))
    assert bool(boxed) is (all_are_boxed or all_providers()[type_].is_owners_script)
    own = Site(domain_id=1, user_id=1)
    assert parted(scripts, plan, own, "go.example", settings) == (scripts, Scripts())
