"""What pages offer: no link, form or command leads to what the reader's role would be refused.

Opens every page of the workspace as each member, and asks the table of rights about each address in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlsplit

import pytest
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from app.accounts.access import EDITOR, OWNER, VIEWER, Access, may
from app.core.config import Settings
from app.dashboard.shared.workspace import action_of, is_inside
from tests.factories import Factory
from tests.rights import table
from tests.rights.table import MARK
from tests.rights.test_rights import INSIDE, groups_of, page_values, path_of, routes
from tests.rights.world import World, make_world

HTMX = {"HX-Request": "true"}
# attributes whose address is opened, and those whose address is sent something
OPENED = re.compile(r'(?<![a-z-])(?:href|hx-get)="([^"#]*)')
SENT = re.compile(r'(?<![a-z-])(?:hx-post|hx-delete)="([^"]*)"')
FORM = re.compile(r"<form\b[^>]*>")
ACTION, METHOD = re.compile(r'\saction="([^"]*)"'), re.compile(r'\smethod="post"')


@pytest.fixture
def world(app: Flask, settings: Settings, factory: Factory) -> World:
    return make_world(app, settings, factory)


def offered(page: str, at: str) -> Iterator[tuple[str, str]]:
    """Each address in the page, with the verb by which it would be used."""
    for form in FORM.findall(page):
        action = ACTION.search(form)
        yield action[1] if action else at, "POST" if METHOD.search(form) else "GET"
    yield from ((address, "GET") for address in OPENED.findall(page))
    yield from ((address, "POST") for address in SENT.findall(page))


def right_of(addresses: MapAdapter, address: str, method: str) -> str:
    """The right that a page of the workspace needs; "" for an address that is none."""
    path = urlsplit(unescape(address)).path
    if not path.startswith("/dashboard/"):
        return ""
    try:
        endpoint, _ = addresses.match(path, method)
    except HTTPException:
        return ""
    return action_of(endpoint, method) if is_inside(endpoint) else ""


@pytest.mark.parametrize("role", [OWNER, EDITOR, VIEWER])
def test_nothing_is_offered_that_would_be_refused(app: Flask, world: World, role: str) -> None:
    addresses = app.url_map.bind("localhost")
    access = Access(None, world.workspace_id, role)  # type: ignore[arg-type]
    seen, wrong = 0, set()
    for rule, name, method in routes(app, "dashboard"):
        if INSIDE not in rule.arguments or method != "GET" or name.endswith(("_file", ".csv", ".json")):
            continue
        path = path_of(rule, page_values(world, role, name))
        path += f"?search={MARK}" if name == "palette_links" else ""
        for headers in ({}, HTMX):
            answer = world.open(role, "GET", path, {}, headers=headers)
            if answer.status_code != 200 or answer.mimetype != "text/html":
                continue
            seen += 1
            for address, verb in offered(answer.text, path):
                right = right_of(addresses, address, verb)
                if right and not may(access, right):
                    wrong.add(f"{path} offers {verb} {unescape(address)}, which needs {right}")
            if not may(access, "write") and 'name="ids"' in answer.text:
                wrong.add(f"{path} has boxes to select rows")
    assert seen > 20
    assert not wrong, "\n".join(sorted(wrong))


def test_every_page_is_opened(app: Flask) -> None:
    """The pages above are those of the table of rights."""
    inside = {name for rule, name, _ in routes(app, "dashboard") if INSIDE in rule.arguments}
    assert inside == set(groups_of(table.PAGES))
