"""Section 1, "Lists"."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.contract.client import Client, alias, eventually, fields

PATHS = ["/links", "/pixels", "/notification-handlers", "/projects", "/domains"]
IDS = {"/links": "link_id", "/pixels": "pixel_id", "/notification-handlers": "notification_handler_id"}


@pytest.mark.parametrize("path", PATHS)
def test_the_envelope(api: Client, path: str) -> None:
    body = api.get(path).json()
    assert list(body) == ["data", "meta", "links"]
    assert set(body["meta"]) == {"page", "results_per_page", "total", "total_pages"}
    assert set(body["links"]) == {"first", "last", "next", "prev", "self"}
    assert (body["meta"]["page"], body["meta"]["results_per_page"]) == (1, 25)
    assert body["meta"]["total_pages"] >= 1
    assert body["links"]["prev"] is None


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("page", "0"), ("page", "x"), ("results_per_page", "11"), ("results_per_page", ""), ("order_by", "nonsense"), ("order_type", "up")],
)  # fmt: skip
def test_bad_parameters(api: Client, path: str, name: str, value: str) -> None:
    assert fields(api.get(path, params={name: value})) == {name}


@pytest.mark.parametrize("size", [10, 25, 50, 100, 250, 500, 1000])
def test_each_size(api: Client, size: int) -> None:
    assert api.get(f"/pixels?results_per_page={size}").json()["meta"]["results_per_page"] == size


def test_pages_follow_one_another(api: Client) -> None:
    name = alias()
    made = [api.make("/pixels", type="social_a", name=name, pixel="1") for _ in range(12)]
    seen, address = [], f"/pixels/?results_per_page=10&search={name}"
    answer = api.get(address)
    body = answer.json()
    assert body["meta"] == {"page": 1, "results_per_page": 10, "total": 12, "total_pages": 2}
    for link in filter(None, body["links"].values()):
        asked = dict(parse_qsl(urlsplit(link).query))
        assert (asked["search"], asked["results_per_page"]) == (name, "10")
        assert "/?" not in link
        assert f"<{link}>" in answer.headers["Link"]
    while True:
        seen += [row["id"] for row in body["data"]]
        if body["links"]["next"] is None:
            break
        body = api.session.get(
            body["links"]["next"], headers={"Authorization": f"Bearer {api.key}"}, timeout=30
        ).json()
    assert seen == made
    assert body["links"]["prev"]


@pytest.mark.parametrize("path", IDS)
def test_by_id_unless_asked_otherwise(api: Client, path: str) -> None:
    sent = {
        "/links": {"location_url": "https://example.com/"},
        "/pixels": {"type": "social_a", "name": "n", "pixel": "1"},
    }
    fields_ = sent.get(path, {"type": "email", "name": "n", "email": "a@example.com"})
    made = [api.make(path, **fields_) for _ in range(2)]
    rows = lambda query: [row["id"] for row in api.get(f"{path}?results_per_page=1000{query}").json()["data"]]  # noqa: E731
    assert [row for row in rows("") if row in made] == made
    assert [row for row in rows(f"&order_by={IDS[path]}&order_type=DESC") if row in made] == made[::-1]


def test_where_links_are_searched(api: Client) -> None:
    mark = alias()
    made = {
        "url": api.link(url=mark),
        "location_url": api.link(location_url=f"https://example.com/{mark}"),
        "title": api.link(title=mark.upper()),
    }
    assert [row["id"] for row in api.data(f"/links?search={mark}")] == list(made.values())
    for name, link in made.items():
        assert [row["id"] for row in api.data(f"/links?search={mark}&search_by={name}")] == [link]


def test_links_in_order(api: Client) -> None:
    tag, marks = alias(), sorted(alias() for _ in range(3))
    links = {mark: api.link(url=mark, tags=tag) for mark in (marks[1], marks[0], marks[2])}
    rows = lambda query: [row["id"] for row in api.data(f"/links?tag={tag}{query}")]  # noqa: E731
    by_url = [links[mark] for mark in marks]
    assert rows("") == list(links.values())
    assert rows("&order_by=url") == rows("&order_by=url&order_type=ASC") == by_url
    assert rows("&order_by=url&order_type=DESC") == by_url[::-1]
    for _ in range(2):
        api.visit(by_url[2])
    assert eventually(lambda: rows("&order_by=clicks&order_type=DESC")[0] == by_url[2], 2)


def test_the_filters_of_links(api: Client) -> None:
    tag = alias()
    pixel = api.make("/pixels", type="social_a", name="n", pixel="1")
    project = api.make("/projects", name="p")
    on = api.link(tags=tag, pixels_ids=pixel, project_id=project)
    off = api.link(tags=tag, is_enabled=0)
    for query, found in {
        "": [on, off],
        "&is_enabled=1": [on],
        "&is_enabled=false": [off],
        f"&pixel_id={pixel}": [on],
        f"&project_id={project}": [on],
        "&project_id=0": [off],
        "&domain_id=0": [on, off],
        "&type=link": [on, off],
        "&datetime_start=2000-01-01": [on, off],
        "&datetime_end=2000-01-01": [],
        "&order_by=link_id&order_type=DESC": [off, on],
        "&search=&is_enabled=": [on, off],
    }.items():
        assert [row["id"] for row in api.data(f"/links?tag={tag}{query}")] == found, query


@pytest.mark.parametrize(
    "query", ["is_enabled=x", "type=biolink", "search=a&search_by=notes", "project_id=x", "datetime_start=x"]
)
def test_unknown_values_of_filters(api: Client, query: str) -> None:
    assert fields(api.get(f"/links?{query}")) == {query.rpartition("&")[2].partition("=")[0]}


ORDERS = {
    "/links": ("link_id", "datetime", "last_datetime", "clicks", "url"),
    "/pixels": ("pixel_id", "datetime", "last_datetime", "name"),
    "/notification-handlers": ("notification_handler_id", "datetime", "last_datetime", "name"),
}


@pytest.mark.parametrize(
    ("path", "order"), [(path, order) for path, orders in ORDERS.items() for order in orders]
)
def test_each_order(api: Client, path: str, order: str) -> None:
    for way in ("ASC", "DESC"):
        assert api.get(f"{path}?order_by={order}&order_type={way}").status_code == 200


def test_the_filters_of_pixels(api: Client) -> None:
    mark = alias()
    one = api.make("/pixels", type="social_a", name=mark, pixel="1")
    two = api.make("/pixels", type="social_b", name="n", pixel=mark)
    for query, found in (("", [one, two]), ("&type=social_b", [two]), ("&type=facebook", [])):
        answer = api.get(f"/pixels?search={mark}{query}")
        rows = [row["id"] for row in answer.json().get("data", [])]
        assert rows == found or (query == "&type=facebook" and (answer.status_code == 422 or rows == [one]))
    assert fields(api.get("/pixels?type=nonsense")) == {"type"}


def test_the_filters_of_handlers(api: Client) -> None:
    mark = alias()
    on = api.make("/notification-handlers", type="email", name=mark, email="a@example.com")
    off = api.make("/notification-handlers", type="webhook", name=mark, webhook="https://example.com/")
    api.post(f"/notification-handlers/{off}", {"is_enabled": 0})
    for query, found in {
        "": [on, off],
        "&is_enabled=0": [off],
        "&type=email": [on],
        "&type=chat_a": [],
    }.items():
        rows = api.get(f"/notification-handlers?search={mark}{query}").json()["data"]
        assert [row["id"] for row in rows] == found, query
    assert fields(api.get("/notification-handlers?is_enabled=x")) == {"is_enabled"}
