"""API of the trash: the list, and restoring."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.shape import problem
from tests.clients import Api

HERE = "https://example.com/here"


def made(api: Api, path: str, **fields: str) -> int:
    answer = api.post(path, fields)
    assert answer.status_code == 201, answer.text
    return int(answer.json["data"]["id"])


def deleted(api: Api, path: str, **fields: str) -> tuple[int, dict[str, Any]]:
    """The id of a row that was created and deleted, and what the trash says of it."""
    id_ = made(api, path, **fields)
    assert api.delete(f"{path}/{id_}").status_code == 204
    return id_, api.get("/trash").json["data"][0]


ROWS = {
    "link": ("/links", {"location_url": HERE, "url": "gone", "title": "Back"}, ("gone", HERE)),
    "pixel": ("/pixels", {"type": "social_a", "name": "Shop", "pixel": "12345"}, ("Shop", "12345")),
    "notification_handler": (
        "/notification-handlers",
        {"type": "email", "name": "Me", "email": "me@example.com"},
        ("Me", "E-mail"),
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_what_was_deleted_is_listed_and_comes_back_as_it_was(kind: str, api: Api) -> None:
    path, fields, told = ROWS[kind]
    id_ = made(api, path, **fields)
    before = api.get(f"{path}/{id_}").json["data"]
    api.delete(f"{path}/{id_}")
    entry = api.get("/trash").json["data"][0]
    assert (entry["type"], entry["row_id"], entry["name"], entry["detail"]) == (kind, id_, *told)
    assert entry["datetime"] < entry["purge_datetime"]
    answer = api.post(f"/trash/{entry['id']}/restore")
    assert (answer.status_code, answer.json) == (200, {"data": {"id": id_}})
    after = api.get(f"{path}/{id_}").json["data"]
    assert {**after, "last_datetime": None} == {**before, "last_datetime": None}
    assert api.get("/trash").json["data"] == []
    problem(api.post(f"/trash/{entry['id']}/restore"), 404)


def test_newest_first_by_type_and_in_pages(api: Api) -> None:
    for kind in ROWS:
        deleted(api, ROWS[kind][0], **ROWS[kind][1])
    assert [one["type"] for one in api.get("/trash").json["data"]] == list(ROWS)[::-1]
    assert [one["type"] for one in api.get("/trash?order_type=ASC").json["data"]] == list(ROWS)
    assert [one["type"] for one in api.get("/trash?type=pixel").json["data"]] == ["pixel"]
    assert api.get("/trash?results_per_page=10&page=2").json["meta"]["total"] == 3
    assert [one["field"] for one in problem(api.get("/trash?type=user"), 422)] == ["type"]


def test_a_link_whose_alias_is_taken_needs_another(api: Api) -> None:
    id_, entry = deleted(api, "/links", location_url=HERE, url="wanted")
    made(api, "/links", location_url=HERE, url="wanted")
    assert problem(api.post(f"/trash/{entry['id']}/restore"), 409)[0]["field"] == "url"
    assert len(api.get("/trash").json["data"]) == 1
    assert problem(api.post(f"/trash/{entry['id']}/restore", {"url": "a b"}), 422)[0]["field"] == "url"
    assert api.post(f"/trash/{entry['id']}/restore", {"url": "another"}).status_code == 200
    assert api.get(f"/links/{id_}").json["data"]["url"] == "another"
