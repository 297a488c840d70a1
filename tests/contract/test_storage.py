"""Section 1: answers when storage takes no writes. Both cases need a server that was prepared for them."""

from __future__ import annotations

import pytest

from tests.contract.client import THERE, Client, problem
from tests.contract.conftest import Keys

LONG = THERE + "/" + "x" * 8000
MANY = 500  # more than fit into the little space


def total(client: Client) -> int:
    return int(client.get("/links").json()["meta"]["total"])


@pytest.mark.full
def test_while_another_holds_the_database_writes_are_503_and_reads_go_on(busy: Keys) -> None:
    client = Client(busy.url, busy.write)
    before = total(client)
    answer = client.post("/links", {"location_url": THERE})
    problem(answer, 503)
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.headers["Cache-Control"] == "no-store"
    assert total(client) == before


@pytest.mark.full
def test_without_space_writes_are_507_and_reads_go_on(full: Keys) -> None:
    client = Client(full.url, full.write)
    before = total(client)
    tries = (client.post("/links", {"location_url": LONG}) for _ in range(MANY))
    problem(next((answer for answer in tries if answer.status_code != 201), client.get("/links")), 507)
    assert total(client) == before + len(client.made)
    for path in client.made:
        assert client.data(path)["location_url"] == LONG
    client.tidy()
