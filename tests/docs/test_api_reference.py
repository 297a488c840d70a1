"""docs/api-reference.md is what the script makes of the OpenAPI document, and leaves out no call."""

from __future__ import annotations

import re

from app.openapi.document import document
from scripts import api_page


def test_the_page_is_up_to_date() -> None:
    assert api_page.PAGE.read_text() == api_page.render(), f"run `{api_page.COMMAND}`"


def test_every_call_is_on_it_once() -> None:
    written = re.findall(r"^`([A-Z]+) /api(/\S+)`$", api_page.render(), re.MULTILINE)
    methods = {"get", "post", "put", "patch", "delete"}
    paths = document("https://go.example")["paths"]
    calls = [(method.upper(), path) for path, found in paths.items() for method in found if method in methods]
    assert sorted(written) == sorted(calls)


def test_every_field_of_a_link_is_on_it() -> None:
    page = api_page.render()
    schemas = document("https://go.example")["components"]["schemas"]
    for name in ("Link", "LinkCreate"):
        assert not [field for field in schemas[name]["properties"] if f"`{field}`" not in page]
