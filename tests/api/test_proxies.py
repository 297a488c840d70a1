"""Proxy headers and hosts: which ones the application trusts for its own address and the visitor's."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from tests.api.shape import problem
from tests.clients import Api

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
