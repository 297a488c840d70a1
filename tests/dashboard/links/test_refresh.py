"""Clicks of the rows that somebody looks at: only what has changed, and only one's own."""

from __future__ import annotations

from app.accounts.models import User
from app.dashboard.links.rows import MAX_ROWS
from app.links.models import LimitCounter
from tests.dashboard.conftest import Desk
from tests.factories import Factory


def test_only_rows_with_other_clicks_come(desk: Desk, alice: User, bob: User, factory: Factory) -> None:
    one, two, three = (factory.link(alice, name).id for name in ("one", "two", "three"))
    of_bob = factory.link(bob, "secret").id
    for link_id, clicks in ((one, 1234), (two, 5), (of_bob, 7)):
        factory.session.add(LimitCounter(link_id=link_id, clicks=clicks))
    factory.session.commit()
    answer = desk.get(f"/links/clicks?known={one}-9,{two}-5,{three}-0,{of_bob}-0,{of_bob + 99}-3")
    assert list(answer.json) == [str(one)]
    found = answer.json[str(one)]
    assert found["clicks"] == 1234
    assert found["html"].startswith("<b>1,234</b> clicks<span")
    assert "Statistics for localhost/one" in found["html"]
    assert found["html"] in desk.get("/links/").text  # as the row has it
    assert answer.headers["Cache-Control"] == "no-store"


READ = {
    "none": ("", 200),
    "no count": ("7", 422),
    "no number": ("a-b", 422),
    "a negative count": ("7--1", 422),
    "zero": ("0-0", 422),
    "more than any id": (f"{2**70}-0", 422),
    "too many": (",".join(f"{n}-0" for n in range(1, MAX_ROWS + 2)), 422),
    "as many as may be": (",".join(f"{n}-0" for n in range(1, MAX_ROWS + 1)), 200),
    "too long": ("1-0" + "0" * 5000, 422),
}


def test_what_is_asked_is_read_strictly(desk: Desk) -> None:
    for name, (known, status) in READ.items():
        assert desk.get("/links/clicks", query_string={"known": known}).status_code == status, name
