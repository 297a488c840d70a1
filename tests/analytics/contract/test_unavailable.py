"""While ClickHouse gives no answer, links and their list go on, and statistics say what is the matter."""

from __future__ import annotations

import pytest

from app.accounts.models import User
from tests.clients import Api
from tests.factories import Factory

NOWHERE = "clickhouse://127.0.0.1:9/clicks"
pytestmark = pytest.mark.settings(CLICKS_URL=NOWHERE)


@pytest.mark.parametrize("path", ["/statistics", "/statistics/{id}?type=country_code&os_name=iOS"])
def test_statistics_are_unavailable(api: Api, alice: User, factory: Factory, path: str) -> None:
    link = factory.link(alice)
    answer = api.get(path.format(id=link.id))
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert answer.json["errors"][0]["code"] == "statistics_unavailable"
    assert api.get(f"/links/{link.id}").status_code == 200
