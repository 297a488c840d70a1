"""Section 2: the fields of each resource, and their valid values."""

from __future__ import annotations

import base64
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.client import THERE, Client, alias, fields, problem

LINK = """
    id project_id domain_id type url location_url settings clicks order start_date end_date datetime is_enabled
    last_datetime short_url title notes tags pixels_ids email_reports clicks_limit expiration_url schedule
    http_status_code app_linking_is_enabled cloaking_is_enabled cloaking_title cloaking_meta_description
    cloaking_custom_js cloaking_favicon cloaking_opengraph forward_query_parameters_is_enabled utm_source utm_medium
    utm_campaign targeting_type clicks_limit_confirmation_is_enabled
"""
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_the_keys_of_a_link(api: Client) -> None:
    data = api.data(f"/links/{api.link()}")
    assert list(data)[: len(LINK.split())] == LINK.split()
    assert (data["type"], data["project_id"], data["domain_id"], data["order"]) == ("link", None, 0, 0)
    assert (data["http_status_code"], data["is_enabled"], data["schedule"]) == (302, True, False)
    assert data["settings"] == {"password": None, "sensitive_content": False}


def test_a_short_address_of_this_server_is_no_destination(api: Client) -> None:
    short = api.data(f"/links/{api.link()}")["short_url"]
    assert fields(api.post("/links", {"location_url": short})) == {"location_url"}


def test_a_destination_is_required_and_is_not_emptied(api: Client) -> None:
    assert fields(api.post("/links", {"title": "T"})) == {"location_url"}
    link = api.link(expiration_url=THERE)
    assert fields(api.post(f"/links/{link}", {"location_url": ""})) == {"location_url"}
    api.post(f"/links/{link}", {"expiration_url": ""})
    assert api.data(f"/links/{link}")["expiration_url"] is None


RESERVED = """
    api dashboard login logout setup static media healthz readyz metrics robots.txt favicon.ico sitemap.xml API
"""


@pytest.mark.parametrize("text", [*RESERVED.split(), ".well-known", ".well-known-x"])
def test_reserved_aliases(api: Client, text: str) -> None:
    assert fields(api.post("/links", {"location_url": THERE, "url": text})) == {"url"}


def test_a_taken_alias_is_409_in_any_case(api: Client) -> None:
    taken = alias()
    api.link(url=taken)
    for text in (taken, taken.upper()):
        assert fields(api.post("/links", {"location_url": THERE, "url": text}), 409) == {"url"}


def test_an_alias_is_one_links_also_under_a_race(api: Client, other: Client) -> None:
    text = alias()
    with ThreadPoolExecutor(8) as pool:
        clients = [Client(one.url, one.key) for one in (api, other) for _ in range(4)]
        answers = list(
            pool.map(lambda client: client.post("/links", {"location_url": THERE, "url": text}), clients)
        )
    for client in clients:
        client.tidy()
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    for answer in answers:
        if answer.status_code == 409:
            assert fields(answer, 409) == {"url"}


def test_an_empty_alias_is_a_random_one(api: Client) -> None:
    link = api.make("/links", location_url=THERE, url="")
    first = api.data(f"/links/{link}")["url"]
    api.post(f"/links/{link}", {"url": ""})
    second = api.data(f"/links/{link}")["url"]
    assert first != second
    assert {len(first), len(second)} == {7}
    assert not set(first + second) & set("iloILO01")


def test_the_alias_of_a_deleted_link_is_free_for_its_owner_and_held_from_others(
    api: Client, other: Client
) -> None:
    text = alias()
    api.call("DELETE", f"/links/{api.link(url=text)}")
    assert fields(other.post("/links", {"location_url": THERE, "url": text}), 409) == {"url"}
    assert api.post("/links", {"location_url": THERE, "url": text}).status_code == 201


def test_bulk(api: Client) -> None:
    sent = {"is_bulk": 1, "location_urls": f"{THERE}/1\n\n{THERE}/2", "title": "T"}
    answer = api.post("/links", sent)
    data = answer.json()["data"]
    assert (answer.status_code, data["id"], len(data["ids"])) == (201, data["ids"][0], 2)
    made = [api.data(f"/links/{number}") for number in data["ids"]]
    assert [(one["location_url"], one["title"]) for one in made] == [(f"{THERE}/1", "T"), (f"{THERE}/2", "T")]


def test_bulk_as_an_array_ignores_a_single_links_fields(api: Client) -> None:
    sent = {"is_bulk": True, "location_urls": [f"{THERE}/1", f"{THERE}/2"], "url": "a b", "location_url": "x"}
    answer = api.call("POST", "/links", json=sent)
    api.remember("/links", answer)
    ids = answer.json()["data"]["ids"]
    made = [api.data(f"/links/{number}") for number in ids]
    assert [one["location_url"] for one in made] == [f"{THERE}/1", f"{THERE}/2"]
    assert len({one["url"] for one in made}) == 2


def test_bulk_needs_destinations(api: Client) -> None:
    for sent in ({}, {"location_urls": ""}, {"location_urls": "\n \n"}):
        found = fields(api.post("/links", {"is_bulk": 1, "location_url": THERE, **sent}))
        assert {one.partition("[")[0] for one in found} == {"location_urls"}


def test_bulk_is_all_or_nothing_and_names_the_lines(api: Client) -> None:
    tag = alias()
    sent = {"is_bulk": 1, "location_urls": f"{THERE}\n\nnonsense\n{THERE}\nftp://x", "tags": tag}
    assert fields(api.post("/links", sent)) == {"location_urls[3]", "location_urls[5]"}
    assert api.data(f"/links?tag={tag}") == []
    many = "\n".join([THERE] * 1001)
    assert fields(api.post("/links", {"is_bulk": 1, "location_urls": many})) == {"location_urls"}


def test_a_schedule(api: Client) -> None:
    link = api.link(schedule=1, start_date="2031-01-01", end_date="2031-02-01")
    assert api.data(f"/links/{link}")["end_date"] == "2031-02-01 00:00:00"
    assert fields(api.post(f"/links/{link}", {"end_date": "2030-01-01"})) == {"end_date"}
    api.post(f"/links/{link}", {"schedule": 0})
    data = api.data(f"/links/{link}")
    assert (data["schedule"], data["start_date"], data["end_date"]) == (False, None, None)
    assert api.data(f"/links/{api.link(start_date='2031-01-01')}")["start_date"] is None


def test_a_schedule_that_was_not_sent_is_unchanged(api: Client) -> None:
    link = api.link(schedule=1, start_date="2031-01-01")
    api.post(f"/links/{link}", {"title": "T", "end_date": "2032-01-01"})
    data = api.data(f"/links/{link}")
    assert (data["schedule"], data["start_date"][:10], data["end_date"][:10]) == (
        True,
        "2031-01-01",
        "2032-01-01",
    )


def test_a_password_is_never_sent_back(api: Client) -> None:
    link = api.link(password="secret")
    for sent in ({}, {"password": "********"}):
        api.post(f"/links/{link}", {"title": "T", **sent})
        assert api.data(f"/links/{link}")["settings"]["password"] == "********"
    api.post(f"/links/{link}", {"password": ""})
    assert api.data(f"/links/{link}")["settings"]["password"] is None


@pytest.mark.parametrize("name", ["cloaking_favicon", "cloaking_opengraph"])
def test_a_picture(api: Client, name: str) -> None:
    link = api.link()
    put = lambda content: api.call("POST", f"/links/{link}", files={name: ("p.png", content)})  # noqa: E731
    assert put(PNG).status_code == 200
    address = api.data(f"/links/{link}")[name]
    assert api.session.get(address, timeout=30).headers["Content-Type"].startswith("image/")
    assert fields(put(b"<svg xmlns='http://www.w3.org/2000/svg'/>")) == {name}
    assert fields(put(b"\x89PNG" + bytes(6 * 1024 * 1024)), 413) == {name}
    api.post(f"/links/{link}", {name: address})
    assert api.data(f"/links/{link}")[name] == address
    api.post(f"/links/{link}", {name: ""})
    assert api.data(f"/links/{link}")[name] is None


TARGETING = {
    "continent_code": ("eu", "XX"), "country_code": ("de", "XX"), "city_name": ("Berlin, DE", None),
    "device_type": ("Mobile", "watch"), "browser_language": ("pt", "not a tag"), "os_name": ("iOS", None),
    "browser_name": ("Safari", None), "rotation": ("5", "101"),
}  # fmt: skip


@pytest.mark.parametrize("type_", TARGETING)
def test_targeting(api: Client, type_: str) -> None:
    good, bad = TARGETING[type_]
    key, value = f"targeting_{type_}_key[0]", f"targeting_{type_}_value[0]"
    link = api.link(**{"targeting_type": type_, key: good, value: THERE})
    data = api.data(f"/links/{link}")
    assert data["targeting_type"] == type_
    assert [pair["value"] for pair in data["settings"][f"targeting_{type_}"]] == [THERE]
    if bad:
        assert len(fields(api.post(f"/links/{link}", {key: bad, value: THERE}))) == 1
    for half in ({key: good, value: ""}, {key: "", value: THERE}, {key: good}, {value: THERE}):
        assert len(fields(api.post(f"/links/{link}", half))) == 1
    assert len(fields(api.post(f"/links/{link}", {key: good, value: "javascript:alert(1)"}))) == 1
    api.post(f"/links/{link}", {"targeting_type": ""})
    assert api.data(f"/links/{link}")["targeting_type"] is None


def test_pairs_of_another_type_are_ignored(api: Client) -> None:
    link = api.link(
        targeting_type="rotation",
        **{"targeting_country_code_key[0]": "XX", "targeting_country_code_value[0]": "x"},
    )
    assert api.data(f"/links/{link}")["settings"]["targeting_rotation"] == []


PIXELS = {
    "social_a": "facebook", "analytics_a": "google_analytics", "tagmanager_a": "google_tag_manager", "social_b": "linkedin",
    "social_c": "pinterest", "social_d": "twitter", "social_e": "quora", "social_f": "tiktok", "social_g": "snapchat",
}  # fmt: skip


@pytest.mark.parametrize(("type_", "word"), PIXELS.items())
def test_types_of_pixels(api: Client, type_: str, word: str) -> None:
    for sent in (type_, word):
        data = api.data(f"/pixels/{api.make('/pixels', type=sent, name='n', pixel='A.b_c:d-1')}")
        assert list(data) == ["id", "type", "name", "pixel", "last_datetime", "datetime"]
        assert data["type"] == type_


def test_deleting_a_pixel_or_a_handler_takes_it_off_its_links(api: Client) -> None:
    pixel = api.make("/pixels", type="social_a", name="n", pixel="1")
    handler = api.make("/notification-handlers", type="email", name="n", email="me@example.com")
    link = api.link(pixels_ids=[pixel, pixel], email_reports=handler)
    data = api.data(f"/links/{link}")
    assert (data["pixels_ids"], data["email_reports"]) == ([pixel], [handler])
    api.call("DELETE", f"/pixels/{pixel}")
    api.call("DELETE", f"/notification-handlers/{handler}")
    data = api.data(f"/links/{link}")
    assert (data["pixels_ids"], data["email_reports"]) == ([], [])


HANDLERS = {
    "email": ({"email": "me@example.com"}, {"email": "nonsense"}),
    "webhook": ({"webhook": "https://example.com/hook"}, {"webhook": "ftp://example.com/"}),
    "chat_a": ({"chat_a": "https://example.com/a"}, {"chat_a": "https://127.0.0.1/"}),
    "chat_b": ({"chat_b": "https://example.com/b"}, {"chat_b": "https://localhost/"}),
    "chat_c": ({"chat_c": "1:abc", "chat_c_chat_id": "-100"}, {"chat_c_chat_id": "a b"}),
    "chat_d": ({"chat_d": "https://example.com/d"}, {"chat_d": "https://[::1]/"}),
    "google_chat": ({"google_chat": "https://example.com/e?token=1"}, {"google_chat": "https://10.0.0.1/"}),
    "gotify": ({"gotify": "https://example.com", "gotify_token": "A1"}, {"gotify": "https://192.168.0.1"}),
    "matrix": (
        {"matrix": "https://example.com", "matrix_room_id": "!r:example.com", "matrix_token": "t"},
        {"matrix_room_id": "#r:example.com"},
    ),
    "mattermost": ({"mattermost": "https://example.com/hooks/f"}, {"mattermost": "https://169.254.1.1/"}),
    "ntfy": ({"ntfy": "https://ntfy.example", "ntfy_topic": "t"}, {"ntfy_topic": "a b"}),
    "pushover": ({"pushover": "a" * 30, "pushover_user_key": "u" * 30}, {"pushover": "a"}),
}
WORDS = {"chat_a": "slack", "chat_b": "discord", "chat_c": "telegram", "chat_d": "microsoft_teams"}


@pytest.mark.parametrize("type_", HANDLERS)
def test_types_of_handlers(api: Client, type_: str) -> None:
    good, bad = HANDLERS[type_]
    handler = api.make("/notification-handlers", type=WORDS.get(type_, type_), name="n", **good)
    data = api.data(f"/notification-handlers/{handler}")
    assert list(data)[:7] == ["id", "type", "name", "settings", "is_enabled", "last_datetime", "datetime"]
    assert (data["type"], data["is_enabled"]) == (type_, True)
    assert data["settings"].items() >= good.items()
    assert fields(api.post(f"/notification-handlers/{handler}", bad)) == set(bad)
    missing = fields(api.post("/notification-handlers", {"type": type_, "name": "n"}))
    assert missing == set(good)
    for word, value in (("0", False), ("1", True)):
        api.post(f"/notification-handlers/{handler}", {"is_enabled": word})
        assert api.data(f"/notification-handlers/{handler}")["is_enabled"] is value


OWN_WORDS = {
    "slack": "chat_a", "discord": "chat_b", "telegram": "chat_c", "telegram_chat_id": "chat_c_chat_id", "microsoft_teams": "chat_d",
}  # fmt: skip


@pytest.mark.parametrize("type_", WORDS)
def test_the_providers_own_words_for_fields(api: Client, type_: str) -> None:
    good, _ = HANDLERS[type_]
    sent = {word: good[name] for word, name in OWN_WORDS.items() if name in good}
    handler = api.make("/notification-handlers", type=WORDS[type_], name="n", **sent)
    assert api.data(f"/notification-handlers/{handler}")["settings"].items() >= good.items()


@pytest.mark.parametrize("path", ["/pixels", "/notification-handlers", "/links"])
def test_the_moment_of_the_last_edit(api: Client, path: str) -> None:
    sent = {"/pixels": {"type": "social_a", "name": "n", "pixel": "1"}, "/links": {"location_url": THERE}}
    number = api.make(path, **sent.get(path, {"type": "email", "name": "n", "email": "me@example.com"}))
    assert api.data(f"{path}/{number}")["last_datetime"] is None
    api.post(f"{path}/{number}", {"title" if path == "/links" else "name": "Other"})
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", api.data(f"{path}/{number}")["last_datetime"])


def test_a_read_only_key_sees_neither_address_nor_secret_of_a_webhook(api: Client, reader: Client) -> None:
    handler = api.make("/notification-handlers", type="webhook", name="n", webhook="https://example.com/hook")
    path = f"/notification-handlers/{handler}"
    assert api.data(path)["settings"]["secret"].startswith("whsec_")
    assert api.data(path)["settings"]["webhook"] == "https://example.com/hook"
    assert reader.data(path)["settings"] == {"webhook": "********", "secret": "********"}
    assert "example.com/hook" not in reader.get("/notification-handlers").text


def test_a_token_is_masked_for_a_read_only_key(api: Client, reader: Client) -> None:
    sent = {"chat_c": "123:token", "chat_c_chat_id": "@shop"}
    path = f"/notification-handlers/{api.make('/notification-handlers', type='chat_c', name='n', **sent)}"
    assert api.data(path)["settings"] == sent
    assert reader.data(path)["settings"] == {"chat_c": "********", "chat_c_chat_id": "@shop"}


def test_projects(api: Client) -> None:
    project = api.make("/projects", name="Launch", color="#E4572E")
    assert api.data(f"/projects/{project}")["color"].lower() == "#e4572e"
    for name, value in (("name", ""), ("name", "x" * 129), ("color", "red"), ("color", "#fff")):
        assert fields(api.post(f"/projects/{project}", {name: value})) == {name}
    link = api.link(project_id=project)
    api.call("DELETE", f"/projects/{project}")
    assert api.data(f"/links/{link}")["project_id"] is None


def test_the_user(api: Client) -> None:
    assert list(api.data("/user")) == [
        "id",
        "email",
        "name",
        "timezone",
        "language",
        "is_admin",
        "datetime",
        "workspace",
    ]


def test_a_qr_code(api: Client) -> None:
    path = f"/links/{api.link()}/qr"
    assert api.get(path).headers["Content-Type"].startswith("image/svg+xml")
    assert api.get(f"{path}?format=png&size=128").content.startswith(b"\x89PNG")
    for name, value in (("format", "gif"), ("size", "127"), ("size", "2049")):
        assert fields(api.get(path, params={name: value})) == {name}


def test_the_openapi_document_needs_no_key(nobody: Client) -> None:
    answer = nobody.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.json()["openapi"].startswith("3.1")


def test_the_log_and_the_test_of_a_handler(api: Client) -> None:
    handler = api.make("/notification-handlers", type="webhook", name="n", webhook="https://hook.invalid/")
    path = f"/notification-handlers/{handler}"
    data = api.post(f"{path}/test").json()["data"]
    assert set(data) == {"delivery_id", "status", "detail"}
    assert data["status"] == "failed"
    (row,) = api.data(f"{path}/deliveries")
    assert set(row) >= {"id", "type", "status", "attempts", "next_attempt", "datetime"}
    assert (row["id"], row["type"]) == (data["delivery_id"], "handler.test")
    assert set(row["attempts"][0]) >= {"datetime", "status_code", "detail", "duration_ms"}
    second = api.post(f"{path}/test").json()["data"]["delivery_id"]
    body = api.get(f"{path}/deliveries?results_per_page=10").json()
    assert [one["id"] for one in body["data"]] == [second, row["id"]]
    assert body["meta"] == {"page": 1, "results_per_page": 10, "total": 2, "total_pages": 1}


def test_statistics(api: Client) -> None:
    link = api.link()
    days = "start_date=2026-01-01&end_date=2026-01-03"
    rows = api.data(f"/statistics/{link}?{days}")
    assert [row["formatted_date"] for row in rows] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert rows[0] == {"formatted_date": "2026-01-01", "pageviews": 0, "visitors": 0}
    assert len(api.data(f"/statistics/{link}")) == 30
    assert [row["hour"] for row in api.data(f"/statistics/{link}?{days}&type=hour")] == list(range(24))
    types = (
        "referrer_host referrer_path continent_code country_code city_name os_name browser_name device_type"
    )
    for type_ in f"{types} browser_language utm_source utm_medium utm_campaign destination".split():
        assert api.data(f"/statistics/{link}?{days}&type={type_}") == []
        assert api.get(f"/statistics?{days}&type={type_}&bots=1").status_code == 200
    for name, value in (
        ("type", "planet"),
        ("start_date", "2026-02-30"),
        ("timezone", "Mars"),
        ("bots", "maybe"),
    ):
        assert fields(api.get(f"/statistics/{link}", params={name: value})) == {name}
    problem(api.get("/statistics/999999999"), 404)


def pairs_of(count: int, first: int = 0) -> dict[str, str]:
    numbers = range(first, first + count)
    keys = {f"targeting_city_name_key[{n}]": f"Town {n}" for n in numbers}
    return keys | {f"targeting_city_name_value[{n}]": THERE for n in numbers}


def test_pairs_replace_the_list_of_the_stored_type(api: Client) -> None:
    link = api.link(targeting_type="city_name", **pairs_of(3))
    api.post(f"/links/{link}", pairs_of(1, first=7))
    assert [pair["key"] for pair in api.data(f"/links/{link}")["settings"]["targeting_city_name"]] == [
        "Town 7"
    ]
    api.post(f"/links/{link}", {"targeting_type": "rotation"})
    assert api.data(f"/links/{link}")["settings"]["targeting_rotation"] == []
    assert "targeting_city_name" not in api.data(f"/links/{link}")["settings"]
