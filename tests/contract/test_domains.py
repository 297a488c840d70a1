"""Sections 2 and 3: which hosts may be domains, and what a verified domain serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from tests.contract.client import PERSON, THERE, Client, alias, eventually, fields, problem


@pytest.fixture
def domain(api: Client, host: str) -> Iterator[int]:
    """The user's verified domain, restored after the case."""
    (row,) = [one for one in api.data(f"/domains?search={host}") if one["host"] == host]
    yield row["id"]
    kept = {name: row[name] for name in ("custom_index_url", "custom_not_found_url", "is_enabled")}
    assert api.call("POST", f"/domains/{row['id']}", json=kept).status_code == 200


def opened(api: Client, host: str, path: str, **headers: str) -> requests.Response:
    """The answer of that host, requested at the server's base URL."""
    return requests.get(
        f"{api.url}{path}", headers={"User-Agent": PERSON, "Host": host, **headers}, allow_redirects=False,
        timeout=30, proxies={"http": "", "https": ""},
    )  # fmt: skip


def test_a_domain(api: Client) -> None:
    host = f"{alias()}.example"
    domain = api.make("/domains", host=host.upper(), custom_index_url=THERE, is_verified=1)
    data = api.data(f"/domains/{domain}")
    keys = ("host", "scheme", "custom_index_url", "custom_not_found_url", "is_enabled", "is_verified")
    assert [data[key] for key in keys] == [host, "https://", THERE, None, True, False]
    assert fields(api.post("/links", {"location_url": THERE, "domain_id": domain})) == {"domain_id"}


def test_a_verified_host_is_one_owners(other: Client, host: str) -> None:
    assert fields(other.post("/domains", {"host": host})) == {"host"}
    assert fields(other.post("/domains", {"host": f"{host}:8443"})) == {"host"}


def test_another_host_has_to_be_verified_anew(api: Client) -> None:
    domain = api.make("/domains", host=f"{alias()}.example")
    before = api.data(f"/domains/{domain}")["verification"]
    api.post(f"/domains/{domain}", {"host": f"{alias()}.example"})
    after = api.data(f"/domains/{domain}")
    assert (after["is_verified"], after["verification"]["txt_value"] != before["txt_value"]) == (False, True)


def test_its_links_are_served_on_it_alone(api: Client, host: str, domain: int) -> None:
    link = api.link(domain_id=domain)
    data = api.data(f"/links/{link}")
    assert (data["domain_id"], data["short_url"].split("/")[2]) == (domain, host)
    there = opened(api, host, f"/{data['url']}")
    assert (there.status_code, there.headers["Location"]) == (302, THERE)
    elsewhere = requests.get(f"{api.url}/{data['url']}", headers={"User-Agent": PERSON}, timeout=30)
    assert elsewhere.status_code == 404


def test_it_serves_no_other_links_and_nothing_else(api: Client, host: str, domain: int) -> None:
    api.call("POST", f"/domains/{domain}", json={"custom_not_found_url": None})
    others = api.data(f"/links/{api.link()}")["url"]
    for path in (
        f"/{others}",
        "/login",
        "/dashboard/",
        "/setup",
        "/api/user",
        "/api/openapi.json",
        "/nothing",
    ):
        answer = opened(api, host, path, Authorization=f"Bearer {api.key}")
        assert answer.status_code == 404, path


def test_the_same_alias_on_two_domains(api: Client, domain: int) -> None:
    text = alias()
    api.link(url=text)
    link = api.link(url=text, domain_id=domain)
    assert fields(api.post("/links", {"location_url": THERE, "url": text, "domain_id": domain}), 409) == {
        "url"
    }
    assert fields(api.post(f"/links/{link}", {"domain_id": 0}), 409) == {"url"}


def test_its_front_page_and_what_is_not_there(api: Client, host: str, domain: int) -> None:
    def at(path: str) -> tuple[int, str | None]:
        answer = opened(api, host, path)
        return answer.status_code, answer.headers.get("Location")

    sent = {"custom_index_url": f"{THERE}/index", "custom_not_found_url": f"{THERE}/lost"}
    assert api.call("POST", f"/domains/{domain}", json=sent).status_code == 200
    assert eventually(lambda: at("/") == (302, sent["custom_index_url"]), 2)
    assert eventually(lambda: at("/nothing") == (302, sent["custom_not_found_url"]), 2)
    api.call("POST", f"/domains/{domain}", json={"custom_index_url": None, "custom_not_found_url": None})
    assert eventually(lambda: [at("/")[0], at("/nothing")[0]] == [404, 404], 2)


def test_switched_off_nothing_is_answered_on_it(api: Client, host: str, domain: int) -> None:
    path = "/" + api.data(f"/links/{api.link(domain_id=domain)}")["url"]
    status = lambda: opened(api, host, path).status_code  # noqa: E731
    assert status() == 302
    api.post(f"/domains/{domain}", {"is_enabled": 0})
    assert eventually(lambda: status() == 404, 2)
    assert fields(api.post("/links", {"location_url": THERE, "domain_id": domain})) == {"domain_id"}
    api.post(f"/domains/{domain}", {"is_enabled": 1})
    assert eventually(lambda: status() == 302, 2)


def test_with_links_it_is_not_deleted(api: Client, domain: int) -> None:
    link = api.link(domain_id=domain)
    (found,) = problem(api.call("DELETE", f"/domains/{domain}"), 409)
    assert found["code"] == "in_use"
    assert api.data(f"/links/{link}")["domain_id"] == domain
    assert api.data(f"/domains/{domain}")["is_verified"] is True
