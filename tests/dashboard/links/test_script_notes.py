"""Notes on sandboxed pixels: they name the pixels that run without cookies unless the owner has a domain."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from flask import Flask

from app.core.config import Settings
from app.pixels.firing import firing
from app.pixels.provider import all_providers
from app.redirects.compiled_link import compile_link
from app.redirects.hosts import Site
from app.redirects.page_scripts import Scripts, boxed_types, parted
from tests.dashboard.conftest import Desk

COUNTED = "On localhost, Pinterest runs in a sandboxed frame: clicks are counted, but without cookies"
CLOSED = "On localhost, a container runs in a sandboxed frame"
CURE = "on a domain of your own"
PICTURE = "If its script is blocked, an image counts the click."
NO_PICTURE = "If its script is blocked, or JavaScript is off, the click is not counted."


def page(desk: Desk, path: str) -> str:
    return html.unescape(desk.get(path).text)


def test_the_form_says_so_for_each_type(desk: Desk) -> None:
    shown = page(desk, "/pixels/new")
    assert COUNTED in shown
    assert CLOSED in shown
    assert shown.lower().count(CURE) == len(all_providers())
    assert re.search(rf'data-for="type social_c">{re.escape(COUNTED)}', shown)
    without = [one for one in all_providers().values() if not one.picture and not one.is_owners_script]
    assert shown.count(NO_PICTURE) == len(without)
    assert shown.count(PICTURE) == len(all_providers()) - len(without) - 1


WHERE: dict[str, tuple[dict[str, str], str, bool]] = {
    "one host for all": ({}, "localhost", True),
    "the dashboard elsewhere": ({"dashboard_url": "https://desk.example"}, "go.example", False),
    "the dashboard at another port": ({"dashboard_url": "https://go.example:8443"}, "go.example", True),
}


@pytest.mark.parametrize(("changed", "host", "all_are_boxed"), WHERE.values(), ids=WHERE)
def test_what_is_said_is_what_happens(
    changed: dict[str, str], host: str, all_are_boxed: bool, app: Flask
) -> None:
    settings: Settings = replace(app.config["WAYPOST"], **changed)
    link = {"id": 1, "workspace_id": 1, "domain_id": 0, "url": "a", "location_url": "https://example.com/"}
    columns = {**link, "http_status_code": 302, "password_version": 0}
    plan, own = compile_link(columns, settings.destination_schemes), Site(domain_id=1, workspace_id=1)
    for type_, provider in all_providers().items():
        scripts = Scripts(firing([(type_, "1")]))
        _, boxed = parted(scripts, plan, Site(), host, settings)
        assert bool(boxed) is (type_ in boxed_types(host, settings)), type_
        assert bool(boxed) is (all_are_boxed or provider.is_owners_script), type_
        assert parted(scripts, plan, own, "go.example", settings) == (scripts, Scripts()), type_
