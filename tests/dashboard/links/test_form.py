"""The link form: every field of a link has a control, and every control has an accessible name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import select
from wtforms.fields.core import UnboundField

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.links.forms import PAIRS, LinkForm
from app.links.models import Link
from tests.dashboard.conftest import Desk
from tests.factories import Factory

FIELDS = [name for name, field in vars(LinkForm).items() if isinstance(field, UnboundField)]
# it has one value, which need not be sent
NOT_ASKED = {"type"}
MANY = {"is_bulk", "location_urls"}


@pytest.fixture
def pages(desk: Desk, factory: Factory, alice: User) -> dict[str, str]:
    """The forms for one new link and for many, of an owner who has something of each kind to choose."""
    factory.add(Domain(**access_of(alice).row_columns, host="go.example", is_verified=True, token="x"))
    factory.project(alice), factory.pixel(alice), factory.handler(alice)
    factory.session.commit()
    return {"one": desk.get("/links/new").text, "many": desk.get("/links/bulk").text}


def controls(page: str, name: str) -> list[str]:
    return re.findall(rf'<(?:input|select|textarea)\b[^>]*?\bname="{name}"[^>]*>', page)


def is_named(page: str, control: str) -> bool:
    """Whether the control has a label that points to it or encloses it, or an `aria-label`."""
    id_ = re.search(r'\bid="([^"]+)"', control)
    inside = re.search(rf"<label[^>]*>\s*{re.escape(control)}", page)
    return "aria-label=" in control or bool(inside) or bool(id_ and f'<label for="{id_[1]}"' in page)


def test_each_page_makes_what_it_says(desk: Desk, session: Any) -> None:
    """The page decides between one link and many, not a field of the request."""
    one = desk.post("/links/new", {"is_bulk": "1", "location_url": "https://example.com/one"})
    many = desk.post("/links/bulk", {"is_bulk": "0", "location_urls": "https://example.com/two"})
    assert (one.status_code, many.status_code) == (303, 303)
    assert set(session.scalars(select(Link.location_url))) == {
        "https://example.com/one",
        "https://example.com/two",
    }


def test_every_field_has_a_control_with_a_name(pages: dict[str, str]) -> None:
    names = [name for name in FIELDS if name not in {*NOT_ASKED, *PAIRS}]
    assert len(names) > 25
    missing, nameless = [], []
    for name in names:
        page = pages["many" if name in MANY else "one"]
        found = [control for control in controls(page, name) if 'type="hidden"' not in control]
        missing += [] if found or name in MANY else [name]
        nameless += [control for control in found if not is_named(page, control)]
    assert (missing, nameless) == ([], [])


def test_many_links_have_a_page_of_their_own(pages: dict[str, str]) -> None:
    assert controls(pages["many"], "location_urls")
    assert controls(pages["many"], "is_bulk")


def test_every_type_of_targeting_has_lines_of_its_own(pages: dict[str, str]) -> None:
    for name in PAIRS:
        for part in ("key", "value"):
            found = controls(pages["one"], rf"{name}_{part}\[\]")
            assert found, name
            assert all(is_named(pages["one"], control) for control in found)
