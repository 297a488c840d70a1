"""Fixtures for visitors' pages: those of the redirect tests, and links with all columns that pages show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.links.models import Link
from tests.factories import Factory
from tests.redirects.conftest import change, front, owner, person, redirect_context, visits  # noqa: F401

THERE = "https://example.com/there?a=%zz#b"


@pytest.fixture
def link(factory: Factory, owner: User) -> Callable[..., Link]:  # noqa: F811
    """`link("a", pixels=[("social_a", "1")], title=…)`: a link whose destination is THERE."""

    def link(url: str, pixels: list[tuple[str, str]] | None = None, **columns: Any) -> Link:
        made = factory.link(owner, url, **{"location_url": THERE, **columns})
        made.pixels = [factory.pixel(owner, type_, pixel=pixel) for type_, pixel in pixels or []]
        factory.session.commit()
        return made

    return link
