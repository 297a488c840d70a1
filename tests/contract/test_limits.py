"""Section 1: rate limits of keys, and of addresses that send wrong keys."""

from __future__ import annotations

import re

import pytest
import requests

from tests.contract.client import THERE, Client, problem
from tests.contract.conftest import Keys

WRONG_KEYS = 60


def until_refused(client: Client, most: int) -> tuple[list[requests.Response], requests.Response]:
    """The answers before the first 429, and that one.

    It sends up to twice as many requests as allowed, because a new minute may begin meanwhile.
    """
    before: list[requests.Response] = []
    for _ in range(2 * most + 2):
        answer = client.get("/user")
        if answer.status_code == 429:
            return before, answer
        before.append(answer)
    raise AssertionError(f"{2 * most + 2} requests, and none was refused")


def limit_of(client: Client) -> int:
    most = policy(client.get("/user"))
    if most > 1000:
        pytest.skip("this server's limit is too high to be used up here")
    return most


def rate(answer: requests.Response) -> tuple[int, int]:
    """How many requests are left, and for how many seconds."""
    match = re.fullmatch(r'"[^"]+";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
    assert match, answer.headers["RateLimit"]
    return int(match[1]), int(match[2])


def policy(answer: requests.Response) -> int:
    match = re.fullmatch(r'"[^"]+";q=(\d+);w=60', answer.headers["RateLimit-Policy"])
    assert match, answer.headers["RateLimit-Policy"]
    return int(match[1])


def check_refused(answer: requests.Response) -> None:
    problem(answer, 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    left, seconds = rate(answer)
    assert (left, seconds) == (0, int(answer.headers["Retry-After"]))
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.full
def test_a_key_has_so_many_requests_a_minute(limited: Keys) -> None:
    client = Client(limited.url, limited.write)
    before, refused = until_refused(client, limit_of(client))
    check_refused(refused)
    assert rate(before[-1])[0] == 0
    # earlier checks in the contract's order still answer, later ones do not
    problem(client.get("/nothing"), 404)
    problem(client.call("PUT", "/user"), 405)
    problem(client.call("POST", "/links", data=b"<a/>", headers={"Content-Type": "text/xml"}), 429)


def test_too_many_is_told_before_that_a_key_can_only_read(limited: Keys) -> None:
    if not limited.read:
        pytest.skip("no CONTRACT_LIMITED_READ_KEY")
    client = Client(limited.url, limited.read)
    most = limit_of(client)
    problem(client.post("/links", {"location_url": THERE}), 403)
    until_refused(client, most)
    problem(client.post("/links", {"location_url": THERE}), 429)


def test_wrong_keys_are_limited_by_address(limited: Keys) -> None:
    before, refused = until_refused(Client(limited.url, "wp_" + "0" * 36), WRONG_KEYS)
    assert {answer.status_code for answer in before} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in before} == {"Bearer"}
    assert {policy(answer) for answer in [*before, refused]} == {WRONG_KEYS}
    assert rate(before[-1])[0] == 0
    check_refused(refused)
    # an active key works from any address, and a missing key does not count as a wrong one
    good = Client(limited.url, limited.write).get("/user")
    assert good.headers["RateLimit-Policy"] != refused.headers["RateLimit-Policy"]
    problem(Client(limited.url, None).get("/user"), 401)
