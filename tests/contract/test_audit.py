"""Section 8: the audit log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import Client, alias, fields, problem

NEWEST = {"order_type": "DESC", "results_per_page": "1000"}


def entries(client: Client, **query: str) -> list[dict[str, Any]]:
    answer = client.get("/audit", params={**NEWEST, **query})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def test_a_deletion_and_a_change_are_in_it(api: Client) -> None:
    pixel = api.make("/pixels", type="social_a", name=(name := alias()), pixel="1")
    assert api.call("DELETE", f"/pixels/{pixel}").status_code == 204
    entry = next(one for one in entries(api, group="deletions") if one["object_name"] == name)
    assert (entry["action"], entry["object_id"], entry["actor_way"]) == ("pixel.deleted", pixel, "api")
    assert api.key is not None
    assert entry["key_prefix"]
    assert api.key.startswith(entry["key_prefix"])
    assert entry["network"].endswith(("/24", "/48"))
    me = api.data("/user")
    assert (entry["actor_id"], entry["actor_email"]) == (me["id"], me["email"])


def test_it_holds_no_secret_of_a_handler(api: Client) -> None:
    word = alias()
    handler = api.make(
        "/notification-handlers", type="webhook", name="n", webhook=f"https://example.com/{word}"
    )
    api.post(f"/notification-handlers/{handler}", {"webhook": f"https://example.com/other-{word}"})
    changed = next(one for one in entries(api, action="handler.updated") if one["object_id"] == handler)
    assert "webhook" in changed["changes"]["fields"]
    assert word not in api.get("/audit", params=NEWEST).text


def test_a_key_that_only_reads_reads_it(reader: Client, api: Client) -> None:
    assert entries(reader)[0].keys() == entries(api)[0].keys()


def test_another_users_is_not_in_it(other: Client, api: Client) -> None:
    pixel = other.make("/pixels", type="social_a", name=(name := alias()), pixel="1")
    other.call("DELETE", f"/pixels/{pixel}")
    assert name in other.get("/audit", params=NEWEST).text
    assert name not in api.get("/audit", params=NEWEST).text
    email = other.data("/user")["email"]
    assert entries(api, actor_email=email) == []


@pytest.mark.parametrize("name", ["group", "action", "datetime_start", "order_by", "page"])
def test_bad_parameters(api: Client, name: str) -> None:
    assert fields(api.get("/audit", params={name: "nonsense"})) == {name}


def test_it_can_only_be_read(api: Client) -> None:
    for method in ("POST", "DELETE"):
        problem(api.call(method, "/audit"), 405)
