"""Pages while the ClickHouse with the clicks gives no answer."""

from __future__ import annotations

import pytest

from app.accounts.models import User
from tests.dashboard.conftest import Desk
from tests.factories import Factory

pytestmark = pytest.mark.settings(CLICKS_URL="clickhouse://127.0.0.1:9/clicks")


def test_the_list_goes_on_and_statistics_say_so(desk: Desk, alice: User, factory: Factory) -> None:
    link = factory.link(alice, url="goes-on")
    assert "goes-on" in desk.get("/links/").text
    page = desk.get(f"/links/{link.id}/statistics/")
    assert page.status_code == 503
    assert "Statistics are not available right now" in page.text
