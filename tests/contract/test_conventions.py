"""Section 1: conventions of the API."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract.client import THERE, Client, alias, fields, problem

PIXEL = {"type": "social_a", "name": "Shop", "pixel": "123"}
KINDS: dict[str, dict[str, Any]] = {
    "/links": {"location_url": THERE},
    "/pixels": PIXEL,
    "/notification-handlers": {"type": "email", "name": "Me", "email": "me@example.com"},
    "/projects": {"name": "Launch"},
    "/domains": {"host": f"{alias()}.example"},
}


@pytest.mark.parametrize("path", [*KINDS, "/user", "/statistics"])
def test_each_path_answers_with_and_without_a_slash(api: Client, path: str) -> None:
    assert [api.get(path).status_code, api.get(f"{path}/").status_code] == [200, 200]


def test_a_resource_answers_with_and_without_a_slash(api: Client) -> None:
    link = api.link()
    assert api.get(f"/links/{link}/").json() == api.get(f"/links/{link}").json()
    assert api.post("/pixels/", PIXEL).status_code == 201
    assert api.post(f"/links/{link}/", {"title": "T"}).status_code == 200
    assert api.call("DELETE", f"/links/{link}/").status_code == 204


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_in_any_case(api: Client, scheme: str) -> None:
    assert api.get("/user", headers={"Authorization": f"{scheme} {api.key}"}).status_code == 200


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wp_wrong", "Basic abc"])
def test_without_a_good_key_it_is_401(nobody: Client, header: str | None) -> None:
    answer = nobody.get("/user", headers={"Authorization": header} if header else {})
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_key_in_the_query_is_ignored(api: Client, nobody: Client) -> None:
    problem(nobody.get(f"/user?api_key={api.key}&key={api.key}"), 401)


def test_a_read_only_key_writes_nothing(reader: Client) -> None:
    assert reader.get("/links").status_code == 200
    problem(reader.post("/links", {"location_url": THERE}), 403)


@pytest.mark.parametrize("path", [*KINDS, "/user", "/statistics", "/nothing"])
def test_everything_needs_a_key(nobody: Client, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        problem(nobody.call(method, path), 401)


def test_a_revoked_key_is_401(revoked: Client) -> None:
    answer = revoked.get("/user")
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_an_expired_key_is_401(expired: Client) -> None:
    answer = expired.get("/user")
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


TEXT = {"data": b"x", "headers": {"Content-Type": "text/plain"}}


def test_what_comes_before_that_a_key_can_only_read(reader: Client) -> None:
    problem(reader.call("POST", "/nothing"), 404)
    problem(reader.call("PUT", "/links"), 405)
    problem(reader.call("POST", "/links", **TEXT), 403)
    problem(reader.call("DELETE", "/links/999999999"), 403)


def test_409_only_where_nothing_else_is_wrong(api: Client) -> None:
    taken = api.data(f"/links/{api.link()}")["url"]
    sent = {"location_url": THERE, "url": taken}
    assert fields(api.post("/links", {**sent, "http_status_code": "1"})) == {"http_status_code"}
    assert fields(api.post("/links", sent), 409) == {"url"}


ORDER = {
    "401 before 404": (False, "GET", "/nothing", {}, 401),
    "404 of a path before 405": (True, "PUT", "/nothing", {}, 404),
    "405 before 415": (True, "PUT", "/links", {"data": b"x", "headers": {"Content-Type": "text/plain"}}, 405),
    "415 before 404": (True, "POST", "/links/999999999", {"data": b"x", "headers": {"Content-Type": "text/plain"}}, 415),
    "400 before 404": (True, "POST", "/links/999999999", {"data": b"{", "headers": {"Content-Type": "application/json"}}, 400),
    "413 before 404": (True, "POST", "/links/999999999", {"data": {"k": ["1"] * 1001}}, 413),
    "400 before 413": (True, "POST", "/links", {"data": b"k=%FF" + b"&k=1" * 1001, "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, 400),
    "404 before 422": (True, "POST", "/links/999999999", {"json": {"http_status_code": "x"}}, 404),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDER)
def test_the_order_of_checks(api: Client, nobody: Client, name: str) -> None:
    has_key, method, path, sent, status = ORDER[name]
    problem((api if has_key else nobody).call(method, path, **sent), status)


@pytest.mark.parametrize("accept", ["text/html", "nonsense", "*/*;q=0"])
def test_accept_is_ignored(api: Client, accept: str) -> None:
    answer = api.get("/user", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


def test_the_three_encodings_mean_the_same(api: Client) -> None:
    for sent in (
        {"files": [(name, (None, value)) for name, value in PIXEL.items()]},
        {"data": PIXEL},
        {"json": PIXEL},
    ):
        answer = api.call("POST", "/pixels", **sent)
        api.remember("/pixels", answer)
        assert answer.status_code == 201
        assert api.data(f"/pixels/{answer.json()['data']['id']}").items() >= PIXEL.items()


MALFORMED: dict[str, tuple[bytes, str]] = {
    "bad JSON": (b'{"name": ', "application/json"),
    "JSON that is no object": (b"[1]", "application/json"),
    "invalid UTF-8": (b"name=%FF", "application/x-www-form-urlencoded"),
    "invalid UTF-8 in JSON": (b'{"name": "\xff"}', "application/json"),
    "invalid UTF-8 in a part": (b'--X\r\nContent-Disposition: form-data; name="name"\r\n\r\n\xff\r\n--X--\r\n', "multipart/form-data; boundary=X"),
    "NUL in JSON": (b'{"name": "a\\u0000b"}', "application/json"),
    "a control character in a part's name": (b'--X\r\nContent-Disposition: form-data; name="na\x01me"\r\n\r\nab\r\n--X--\r\n', "multipart/form-data; boundary=X"),
    "no boundary": (b"ab", "multipart/form-data"),
    "NUL": (b"name=a%00b", "application/x-www-form-urlencoded"),
    "a part cut off": (b'--X\r\nContent-Disposition: form-data; name="name"\r\n\r\nab', "multipart/form-data; boundary=X"),
    "a part without a name": (b"--X\r\nContent-Disposition: form-data\r\n\r\nab\r\n--X--\r\n", "multipart/form-data; boundary=X"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_is_400_and_changes_nothing(api: Client, name: str) -> None:
    body, kind = MALFORMED[name]
    pixel = api.make("/pixels", **PIXEL)
    problem(api.call("POST", f"/pixels/{pixel}", data=body, headers={"Content-Type": kind}), 400)
    assert api.data(f"/pixels/{pixel}")["name"] == PIXEL["name"]


def test_other_content_types_are_415(api: Client) -> None:
    problem(api.call("POST", "/pixels", data=b"<a/>", headers={"Content-Type": "application/xml"}), 415)


def test_a_post_without_a_body_needs_no_content_type(api: Client) -> None:
    assert api.call("POST", f"/pixels/{api.make('/pixels', **PIXEL)}").status_code == 200


def test_a_create_without_a_body_lacks_its_fields(api: Client) -> None:
    assert fields(api.call("POST", "/pixels")) == {"type", "name", "pixel"}


def test_more_than_a_thousand_parts_are_413(api: Client) -> None:
    assert api.post("/pixels", [*PIXEL.items(), ("x", ["1"] * 997)]).status_code == 201
    problem(api.post("/pixels", [*PIXEL.items(), ("x", ["1"] * 1000)]), 413)


def test_more_than_ten_mebibytes_are_413(api: Client) -> None:
    problem(api.call("POST", "/pixels", data={"name": "x" * (10 * 1024 * 1024 + 1)}), 413)


ARRAYS = {"repeated": "tags", "brackets": "tags[]"}


@pytest.mark.parametrize("name", ARRAYS.values(), ids=ARRAYS)
def test_arrays_in_a_form(api: Client, name: str) -> None:
    link = api.make("/links", **{"location_url": THERE, name: ["a", "", "b,c"]})
    assert api.data(f"/links/{link}")["tags"] == ["a", "b,c"]


@pytest.mark.parametrize(
    "sent", [{"tags": ["a", "", "b,c"]}, {"tags[]": ["a", "b,c"]}, {"tags[3]": "a", "tags[4]": "b,c"}]
)
def test_arrays_in_json(api: Client, sent: dict[str, Any]) -> None:
    answer = api.call("POST", "/links", json={"location_url": THERE, **sent})
    api.remember("/links", answer)
    assert api.data(f"/links/{answer.json()['data']['id']}")["tags"] == ["a", "b,c"]


def test_an_empty_array_is_none(api: Client) -> None:
    for sent in ({"tags": ""}, {"tags[]": ""}):
        link = api.link(tags=["a", "b"])
        api.post(f"/links/{link}", sent)
        assert api.data(f"/links/{link}")["tags"] == []
    link = api.link(tags="a")
    api.call("POST", f"/links/{link}", json={"tags": []})
    assert api.data(f"/links/{link}")["tags"] == []


def test_null_is_sent_empty(api: Client) -> None:
    link = api.link(title="T")
    assert api.call("POST", f"/links/{link}", json={"title": None}).status_code == 200
    assert api.data(f"/links/{link}")["title"] is None


@pytest.mark.parametrize("path", KINDS)
def test_create_update_delete(api: Client, path: str) -> None:
    answer = api.post(path, KINDS[path])
    assert answer.status_code == 201, answer.text
    number = answer.json()["data"]["id"]
    assert answer.json() == {"data": {"id": number}}
    assert answer.headers["Location"].endswith(f"/api{path}/{number}")
    assert re.match("https?://", answer.headers["Location"])
    before = api.data(f"{path}/{number}")
    answer = api.call("POST", f"{path}/{number}")
    assert (answer.status_code, answer.json()) == (200, {"data": {"id": number}})
    after = api.data(f"{path}/{number}")
    assert {k: v for k, v in after.items() if k != "last_datetime"} == {
        k: v for k, v in before.items() if k != "last_datetime"
    }
    gone = api.call("DELETE", f"{path}/{number}")
    assert (gone.status_code, gone.content) == (204, b"")
    for method in ("GET", "POST", "DELETE"):
        problem(api.call(method, f"{path}/{number}"), 404)


def test_a_field_that_was_not_sent_keeps_its_value(api: Client) -> None:
    link = api.link(title="T", utm_source="s")
    api.post(f"/links/{link}", {"utm_source": ""})
    data = api.data(f"/links/{link}")
    assert (data["title"], data["utm_source"]) == ("T", None)


def test_a_required_field_is_not_emptied(api: Client) -> None:
    assert fields(api.post(f"/links/{api.link()}", {"location_url": ""})) == {"location_url"}


def test_the_whole_object_where_it_is_preferred(api: Client) -> None:
    headers = {"Prefer": "return=representation"}
    answer = api.post("/pixels", PIXEL, headers=headers)
    assert answer.headers["Preference-Applied"] == "return=representation"
    assert answer.json()["data"] == api.data(f"/pixels/{answer.json()['data']['id']}")


def test_a_stored_value_that_was_not_sent_is_not_checked_again(api: Client) -> None:
    """A schedule in the past stays unchanged when another field is changed."""
    link = api.link(schedule=1, start_date="2001-01-01", end_date="2001-02-01")
    assert api.post(f"/links/{link}", {"title": "T"}).status_code == 200
    assert api.data(f"/links/{link}")["end_date"] == "2001-02-01 00:00:00"


@pytest.mark.parametrize("path", KINDS)
def test_nobody_is_shown_anothers(api: Client, other: Client, path: str) -> None:
    mine = api.make(path, **KINDS[path])
    listed = {row["id"] for row in other.get(f"{path}?results_per_page=1000&order_type=DESC").json()["data"]}
    assert mine not in listed


@pytest.mark.parametrize("path", KINDS)
def test_another_users_is_as_none(api: Client, other: Client, path: str) -> None:
    mine = api.make(path, **KINDS[path])
    for method in ("GET", "POST", "DELETE"):
        theirs, none = other.call(method, f"{path}/{mine}"), other.call(method, f"{path}/999999999")
        problem(theirs, 404)
        assert theirs.text.replace(f"/{mine}", "/N") == none.text.replace("/999999999", "/N")
    assert api.get(f"{path}/{mine}").status_code == 200


@pytest.mark.parametrize("name", ["pixels_ids", "email_reports", "project_id", "domain_id"])
def test_another_users_id_in_a_field_is_as_one_that_is_not(api: Client, other: Client, name: str) -> None:
    path = {"pixels_ids": "/pixels", "email_reports": "/notification-handlers", "project_id": "/projects", "domain_id": "/domains"}[name]  # fmt: skip
    for number in (api.make(path, **KINDS[path]), 999999999):
        assert fields(other.post("/links", {"location_url": THERE, name: number})) == {name}


@pytest.mark.parametrize("path", [*KINDS, "/user"])
def test_wrong_methods_are_405(api: Client, path: str) -> None:
    answer = api.call("PUT", path)
    problem(answer, 405)
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize("path", ["/nothing", "/links/x", "/links/0", "/links/-1", "/links/01"])
def test_unknown_paths_are_404(api: Client, path: str) -> None:
    problem(api.get(path), 404)


def test_every_bad_field_is_listed_at_once(api: Client) -> None:
    sent = {
        "location_url": "javascript:alert(1)",
        "url": "a b",
        "http_status_code": "200",
        "clicks_limit": "x",
    }
    assert fields(api.post("/links", sent)) == set(sent)


def test_unknown_fields_are_ignored(api: Client) -> None:
    link = api.link(id=5, user_id=5, clicks=5, datetime="2000-01-01", order=5, nonsense=1)
    data = api.data(f"/links/{link}")
    assert (data["clicks"], data["order"]) == (0, 0)
    assert not data["datetime"].startswith("2000")


ANSWERS = {
    "200": ("GET", "/user", {}), "201": ("POST", "/pixels", {"data": PIXEL}), "204": ("DELETE", "/pixels/{id}", {}),
    "400": ("POST", "/pixels", {"data": b"{", "headers": {"Content-Type": "application/json"}}), "404": ("GET", "/nothing", {}),
    "405": ("PUT", "/links", {}), "415": ("POST", "/pixels", TEXT), "422": ("POST", "/pixels", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_headers_of_every_answer(api: Client, name: str) -> None:
    method, path, sent = ANSWERS[name]
    path = path.replace("{id}", str(api.make("/pixels", **PIXEL)) if "{id}" in path else "")
    answer = api.call(method, path, **sent)
    assert str(answer.status_code) == name
    api.remember(path, answer)
    assert ("RateLimit" in answer.headers) == ("RateLimit" in api.get("/user").headers)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Request-Id"]
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize(("sent", "is_echoed"), [("abc.DEF_1-2", True), ("x" * 65, False), ("a b", False)])
def test_the_request_id(api: Client, sent: str, is_echoed: bool) -> None:
    assert (api.get("/user", headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent) is is_echoed


def test_rate_headers(api: Client) -> None:
    answer = api.get("/user")
    if "RateLimit" not in answer.headers:
        pytest.skip("this server has no limit")
    assert re.fullmatch(r'"[^"]+";r=\d+;t=\d+', answer.headers["RateLimit"])
    assert re.fullmatch(r'"[^"]+";q=\d+;w=\d+', answer.headers["RateLimit-Policy"])


def test_where_a_new_resource_is(api: Client) -> None:
    answer = api.post("/pixels", PIXEL)
    assert answer.headers["Location"] == f"{api.url}/api/pixels/{answer.json()['data']['id']}"
