"""Rate limits of the API, for keys and for addresses that send wrong keys."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
import time_machine
from flask.testing import FlaskClient

from app.accounts.models import User
from tests.api.shape import problem
from tests.clients import Api

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
