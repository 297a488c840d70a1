"""Notes on sandboxed pixels: they name the pixels that run without cookies unless the owner has a domain."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.accounts.models import User
from app.accounts.setup import setup_token
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.domains.models import Domain
from app.links.models import Link
from app.pixels.firing import firing
from app.pixels.provider import all_providers
from app.redirects.compiled_link import compile_link
from app.redirects.hosts import Site
from app.redirects.page_scripts import Scripts, boxed_types, parted
from tests.dashboard.conftest import Desk
from tests.factories import Factory

COUNTED = "On localhost, Pinterest runs in a sandboxed frame: clicks are counted, but without cookies"
OF_A_LINK = "On localhost, each pixel runs in a sandboxed frame: clicks are counted, but without cookies"
CLOSED = "On localhost, a container runs in a sandboxed frame"
CURE = "on a domain of your own"
OPEN = "runs with its cookies, because the dashboard has its own address."
PICTURE = "If its script is blocked, an image counts the click."
NO_PICTURE = "If its script is blocked, or JavaScript is off, the click is not counted."


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
    assert shown.lower().count(CURE) == len(all_providers())
    assert re.search(rf'data-for="type social_c">{re.escape(COUNTED)}', shown)
    without = [one for one in all_providers().values() if not one.picture and not one.is_owners_script]
    assert shown.count(NO_PICTURE) == len(without)
    assert shown.count(PICTURE) == len(all_providers()) - len(without) - 1


@pytest.mark.settings(DASHBOARD_URL="http://localhost", BASE_URL="https://go.example")
def test_and_where_the_dashboard_is_elsewhere_that_cookies_work(desk: Desk) -> None:
    shown = page(desk, "/pixels/new")
    assert shown.count(OPEN) == len(all_providers()) - 1
    assert "On go.example, a container runs in a sandboxed frame" in shown
    assert "WAYPOST_DASHBOARD_URL" not in shown


SETUP = "give the dashboard its own address first"


@pytest.mark.parametrize(
    "is_recommended",
    [True, pytest.param(False, marks=pytest.mark.settings(DASHBOARD_URL="http://localhost"))],
)
def test_set_up_recommends_an_address_of_its_own_for_the_dashboard(
    is_recommended: bool, app: Flask, client: FlaskClient
) -> None:
    token = setup_token(app.config["WAYPOST"].data_dir)
    shown = client.get(f"/setup?token={token}").text
    assert "This is a new instance" in shown
    assert (SETUP in shown) is is_recommended


def test_the_list_says_so_where_it_is_the_case(
    desk: Desk, factory: Factory, alice: User, make_link: Callable[..., Link]
) -> None:
    own = factory.add(Domain(**access_of(alice).row_columns, host="go.example", is_verified=True, token="x"))
    put_on_links(factory, alice, make_link, "social_c", domain_id=own.id)
    factory.pixel(alice, "tagmanager_a")
    factory.session.commit()
    assert CURE not in page(desk, "/pixels/").lower(), "one is on a domain of hers, the other on no link"
    put_on_links(factory, alice, make_link, "tagmanager_a")
    shown = page(desk, "/pixels/")
    assert (CLOSED in shown, COUNTED in shown, shown.lower().count(CURE)) == (True, False, 1)


def test_a_links_form_says_so_for_links_without_a_domain(desk: Desk, factory: Factory, alice: User) -> None:
    assert CURE not in page(desk, "/links/new")
    factory.pixel(alice, "tagmanager_a")
    factory.session.commit()
    assert CLOSED in page(desk, "/links/new")
    factory.pixel(alice, "social_c")
    factory.session.commit()
    shown = page(desk, "/links/new")
    assert re.search(rf'<div class="control"><p class="hint">{re.escape(OF_A_LINK)}', shown)
    factory.add(Domain(**access_of(alice).row_columns, host="go.example", is_verified=True, token="x"))
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
    link = {"id": 1, "workspace_id": 1, "domain_id": 0, "url": "a", "location_url": "https://example.com/"}
    plan = compile_link(
        {**link, "http_status_code": 302, "password_version": 0}, settings.destination_schemes
    )
    scripts = Scripts(firing([(type_, "1")]))
    _, boxed = parted(scripts, plan, Site(), host, settings)
    assert bool(boxed) is (type_ in boxed_types(host, settings))
    assert bool(boxed) is (all_are_boxed or all_providers()[type_].is_owners_script)
    own = Site(domain_id=1, workspace_id=1)
    assert parted(scripts, plan, own, "go.example", settings) == (scripts, Scripts())
