"""Notes on sandboxed pixels: they name the pixels that run without cookies unless the owner has a domain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from app.core.config import Settings
from app.pixels.firing import firing
from app.pixels.provider import all_providers
from app.redirects.compiled_link import compile_link
from app.redirects.hosts import Site
from app.redirects.page_scripts import Scripts, boxed_types, parted

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
