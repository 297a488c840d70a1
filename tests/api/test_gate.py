"""Checks of every API request: keys, rate limits, and what a proxy says of who asks."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
import time_machine
from flask.testing import FlaskClient

from app.accounts.models import User
from tests.api.shape import always, problem
from tests.clients import Api

AUTHORIZATIONS = [
    None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {key}", "{key}", "Bearer{key}", "Bearer {key}x",
    "Bearer {key} x", "Bearer {key}, Bearer {key}", 'Bearer "{key}"', "Bearer ä", "Token {key}",
]  # fmt: skip


@pytest.mark.parametrize("authorization", AUTHORIZATIONS)
def test_no_good_key(client: FlaskClient, api: Api, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.format(key=api.key)}
    for method, path in [("GET", "/links"), ("GET", "/nothing"), ("PUT", "/links"), ("POST", "/links/x")]:
        answer = client.open(f"/api{path}", method=method, headers=headers)
        problem(answer, 401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_what_a_key_may_not_do_has_a_code(make_api: Callable[..., Api], alice: User) -> None:
    reader, creator = make_api(alice, "read"), make_api(alice, "create")
    headers, sent = {"Prefer": "return=representation"}, {"location_url": "https://example.com/"}
    assert problem(reader.post("/links", sent), 403)[0]["code"] == "read_only_key"
    assert problem(creator.get("/links"), 403)[0]["code"] == "create_only_key"
    assert creator.post("/links", sent, headers=headers).json["data"]["location_url"] == sent["location_url"]


def test_more_slashes_in_front_open_nothing(client: FlaskClient) -> None:
    for path in ("//api/user", "///api/links", "/api/../api/user", "/./api/user", "/api;x/user", "/API/user"):
        assert client.get(path).status_code in {401, 404}


def test_head_is_get_without_the_body(api: Api) -> None:
    answer = api.open("HEAD", "/pixels")
    assert answer.status_code == 200
    assert answer.data == b""
    assert int(answer.headers["Content-Length"]) == len(api.get("/pixels").data)
    always(answer)


RATE = re.compile(r'"([a-z-]+)";r=(\d+);t=(\d+)')


def left(api: Api) -> int:
    found = RATE.fullmatch(api.get("/user").headers["RateLimit"])
    assert found
    assert found[1] == "key"
    assert 1 <= int(found[3]) <= 60
    return int(found[2])


@pytest.mark.settings(API_RATE_LIMIT="3")
def test_too_many(api: Api, make_api: Callable[..., Api], alice: User) -> None:
    now = dt.datetime.now(dt.UTC)
    with time_machine.travel(now, tick=False):
        assert [left(api) for _ in range(3)] == [2, 1, 0]
        for method, path in [("GET", "/user"), ("POST", "/links"), ("DELETE", "/links/1")]:
            answer = api.open(method, path)
            assert problem(answer, 429)[0]["code"] == "rate_limited"
            assert 1 <= int(answer.headers["Retry-After"]) <= 60
            assert "r=0" in answer.headers["RateLimit"]
        problem(api.get("/nothing"), 404)
        problem(api.open("PUT", "/links"), 405)
        assert left(make_api(alice)) == 2
    with time_machine.travel(now + dt.timedelta(seconds=61)):
        assert left(api) == 2


@pytest.mark.settings(API_RATE_LIMIT="0")
def test_no_limit(api: Api) -> None:
    answer = api.get("/user")
    assert answer.status_code == 200
    assert "RateLimit" not in answer.headers


def test_wrong_keys_by_address(client: FlaskClient, api: Api) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    now = dt.datetime.now(dt.UTC)
    with time_machine.travel(now, tick=False):
        for number in range(60):
            answer = client.get("/api/user", headers=wrong)
            problem(answer, 401)
            assert answer.headers["RateLimit-Policy"] == '"wrong-keys";q=60;w=60'
            assert f"r={59 - number};" in answer.headers["RateLimit"]
        answer = client.get("/api/user", headers=wrong)
        problem(answer, 429)
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert api.get("/user").status_code == 200  # an active key works from any address
        elsewhere = client.get("/api/user", headers=wrong, environ_base={"REMOTE_ADDR": "192.0.2.1"})
        problem(elsewhere, 401)
    with time_machine.travel(now + dt.timedelta(seconds=61)):
        problem(client.get("/api/user", headers=wrong), 401)


FORWARDED = {
    "X-Forwarded-For": "192.0.2.1, 198.51.100.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "go.example",
    "X-Forwarded-Port": "666",
    "X-Forwarded-Prefix": "/evil",
    "Forwarded": "host=evil.example",
}


def here(api: Api) -> str:
    return str(api.get("/links", headers=FORWARDED).json["links"]["self"])


def test_nobody_unless_told(api: Api) -> None:
    assert here(api) == "http://localhost/api/links?page=1"


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_the_nearest_proxy_for_scheme_and_host(api: Api) -> None:
    assert here(api) == "https://go.example/api/links?page=1"


@pytest.mark.settings(TRUSTED_PROXIES="1", BASE_URL="https://short.example")
def test_the_setting_before_all(api: Api) -> None:
    assert here(api) == "https://short.example/api/links?page=1"


@pytest.mark.settings(BASE_URL="https://short.example", DASHBOARD_URL="https://links.example")
def test_the_api_is_where_the_dashboard_is(api: Api) -> None:
    answer = api.post("/links", {"location_url": "https://example.com/"}, base_url="https://links.example")
    assert answer.headers["Location"].startswith("https://links.example/api/links/")
    shown = api.get(f"/links/{answer.json['data']['id']}", base_url="https://links.example").json["data"]
    assert shown["short_url"].startswith("https://short.example/")
    assert api.get("/links").status_code == 404


def wrong(client: FlaskClient, addresses: str) -> str:
    headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": addresses}
    return client.get("/api/user", headers=headers).headers["RateLimit"].split(";")[1]


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_a_forged_address_counts_for_nothing(client: FlaskClient) -> None:
    assert wrong(client, "192.0.2.1, 198.51.100.7") == "r=59"
    assert wrong(client, "192.0.2.2, 198.51.100.7") == "r=58"
    assert wrong(client, "192.0.2.2, 198.51.100.8") == "r=59"


def test_without_a_proxy_the_peer_counts(client: FlaskClient) -> None:
    assert [wrong(client, address) for address in ("192.0.2.1", "192.0.2.2")] == ["r=59", "r=58"]


@pytest.mark.settings(TRUSTED_HOSTS="go.example localhost")
def test_other_hosts_are_not_answered(api: Api, client: FlaskClient) -> None:
    assert api.get("/links").status_code == 200
    assert api.get("/links", base_url="http://go.example").status_code == 200
    problem(api.get("/links", base_url="http://evil.example"), 400)
    assert client.get("/login", base_url="http://evil.example").status_code == 400


@pytest.mark.settings(TRUSTED_HOSTS=".example.org go.example:8443 [2001:db8::1]")
def test_hosts_are_trusted_by_name_end_and_address_on_any_port(client: FlaskClient) -> None:
    def status(host: str) -> int:
        return client.get("/login", base_url=f"http://{host}").status_code

    trusted = ["example.org", "a.b.example.org", "go.example", "GO.example.:81", "[2001:DB8::1]:8000"]
    assert {host: status(host) for host in trusted} == dict.fromkeys(trusted, 200)
    others = ["notexample.org", "example.org.evil", "a.go.example", "[2001:db8::2]", "127.0.0.1"]
    assert {host: status(host) for host in others} == dict.fromkeys(others, 400)


@pytest.mark.settings(TRUSTED_HOSTS="go.example", METRICS_TOKEN="a token of the tests")
@pytest.mark.parametrize("host", ["127.0.0.1:8000", "[::1]:8000", "waypost_web", "evil.example"])
def test_health_answers_any_host(client: FlaskClient, host: str) -> None:
    assert client.get("/healthz", base_url=f"http://{host}").json == {"status": "ok"}
    assert "checks" in (client.get("/readyz", base_url=f"http://{host}").json or {})
    assert client.get("/metrics", base_url=f"http://{host}").status_code == 401
    assert client.get("/healthz", headers={"Host": ""}).status_code == 200
    assert client.get("/", base_url=f"http://{host}").status_code == 400
