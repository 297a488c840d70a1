"""What is sent again, how often, and after how long: the exchange without a network."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from email.utils import format_datetime

import httpx
import pytest
from waypost_client import (
    ApiError,
    Client,
    Conflict,
    ConnectionFailed,
    NotFound,
    RateLimited,
    Retries,
    Unavailable,
)
from waypost_client.calls import Answer, Call, Endpoint, Request, nothing, plain
from waypost_client.exchange import Failure, Instance, Pause

READ = Endpoint("read", "GET", "/links/{id}")
CREATE = Endpoint("create", "POST", "/links", is_create=True)
UPDATE = Endpoint("update", "POST", "/links/{id}")
DELETE = Endpoint("delete", "DELETE", "/links/{id}")
BROKEN = Failure("broken", was_sent=True)
REFUSED = Failure("refused", was_sent=False)


def answer(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"content-type": "application/json", **named}, b"{}")


def run(
    endpoint: Endpoint, *got: Answer | Failure, jitter: float = 0.0, retries: Retries | None = None
) -> tuple[list[Request], list[float], Exception | None]:
    """The requests and pauses of a call that gets these answers, and its error."""
    instance = Instance("https://go.example", "wp_x", retries or Retries(), lambda: jitter)
    call = Call(nothing if endpoint is DELETE else plain, {"id": 1}, body={} if endpoint.is_create else None)
    steps = instance.exchange(endpoint, call)
    requests, pauses, answers = [], [], iter(got)
    send: Answer | Failure | None = None
    try:
        while True:
            step = steps.send(send)
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                send = None
            else:
                requests.append(step)
                send = next(answers)
    except StopIteration:
        return requests, pauses, None
    except (ApiError, ConnectionFailed) as error:
        return requests, pauses, error


TRIES = {
    "a read whose connection broke": (READ, BROKEN, 2),
    "a deletion whose connection broke": (DELETE, BROKEN, 2),
    "a create, which has its key": (CREATE, BROKEN, 2),
    "a change that may have happened": (UPDATE, BROKEN, 1),
    "a change that was never sent": (UPDATE, REFUSED, 2),
    "a read of a server that is not ready": (READ, answer(503), 2),
    "a create on one": (CREATE, answer(503), 2),
    "a change on one": (UPDATE, answer(503), 1),
    "a gateway's failure": (READ, answer(502), 2),
    "a rate limit on a read": (READ, answer(429, retry_after="1"), 2),
    "a rate limit on a change, which did not happen": (UPDATE, answer(429, retry_after="1"), 2),
    "a create that still runs": (CREATE, answer(409, retry_after="1"), 2),
    "an alias that is taken": (CREATE, answer(409), 1),
    "a server's own failure": (READ, answer(500), 1),
    "no space": (READ, answer(507), 1),
    "an invalid value": (CREATE, answer(422), 1),
}


@pytest.mark.parametrize(("endpoint", "first", "times"), TRIES.values(), ids=TRIES)
def test_it_is_sent_again_only_where_that_is_safe(
    endpoint: Endpoint, first: Answer | Failure, times: int
) -> None:
    requests, pauses, _ = run(endpoint, first, answer(200))
    assert (len(requests), len(pauses)) == (times, times - 1)


def test_the_same_create_has_the_same_key_each_time_and_another_has_another() -> None:
    first, _, _ = run(CREATE, BROKEN, answer(503), answer(201))
    second, _, _ = run(CREATE, answer(201))
    keys = {request.headers["Idempotency-Key"] for request in first}
    assert (len(first), len(keys)) == (3, 1)
    assert second[0].headers["Idempotency-Key"] not in keys
    assert all("Idempotency-Key" not in request.headers for request in run(UPDATE, answer(200))[0])


def test_it_waits_as_long_as_the_server_asks_and_no_shorter() -> None:
    assert run(READ, answer(429, retry_after="7"), answer(200))[1] == [7.0]
    late = run(READ, answer(429, retry_after="7"), answer(200), jitter=1.0)[1]
    assert 7.0 < late[0] <= 8.0
    moment = format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=20), usegmt=True)
    assert 15 < run(READ, answer(503, retry_after=moment), answer(200))[1][0] <= 20
    assert run(READ, answer(503, retry_after="Thu, 01 Jan 2015 00:00:00 GMT"), answer(200))[1] == [0.0]
    assert run(READ, answer(503, retry_after="soon"), answer(200))[1] == [0.25]


def test_it_does_not_wait_for_too_long() -> None:
    requests, pauses, error = run(READ, answer(429, retry_after="3600"))
    assert (len(requests), pauses) == (1, [])
    assert isinstance(error, RateLimited)
    assert error.retry_after == 3600


def test_tries_are_bounded_and_their_pauses_grow() -> None:
    requests, pauses, error = run(READ, *[BROKEN] * 9, jitter=1.0)
    assert (len(requests), pauses) == (4, [0.5, 1.0, 2.0])
    assert isinstance(error, ConnectionFailed)
    _, longest, _ = run(READ, *[BROKEN] * 9, jitter=1.0, retries=Retries(attempts=8))
    assert longest == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert run(READ, *[answer(503)] * 4)[2].__class__ is Unavailable
    assert len(run(READ, BROKEN, retries=Retries(attempts=1))[0]) == 1


def test_a_deletion_that_an_earlier_try_did_is_done() -> None:
    assert run(DELETE, BROKEN, answer(404))[2] is None
    assert isinstance(run(DELETE, answer(404))[2], NotFound)
    assert isinstance(run(READ, BROKEN, answer(404))[2], NotFound)


def test_an_error_without_a_problem_is_one_all_the_same() -> None:
    _, _, error = run(UPDATE, Answer(409, {"content-type": "application/json"}, b"<no json>"))
    assert isinstance(error, Conflict)
    assert "409" in str(error)
    _, _, page = run(UPDATE, Answer(302, {"content-type": "text/html"}, b"<p>"))
    assert isinstance(page, ApiError)


def test_ids_never_leave_their_place_in_the_path() -> None:
    instance = Instance("https://go.example", "wp_x")
    steps = instance.exchange(READ, Call(plain, {"id": "1/../../login?x="}))
    request = steps.send(None)
    assert isinstance(request, Request)
    assert request.url == "https://go.example/api/links/1%2F..%2F..%2Flogin%3Fx%3D"


def test_the_drivers_sleep_and_send_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {
        "detail": "Slow down.",
        "errors": [{"title": "Slow down.", "code": "rate_limited", "status": 429}],
    }
    answers: Iterator[httpx.Response | Exception] = iter(
        [
            httpx.Response(429, headers={"Retry-After": "3"}, json=problem),
            httpx.ConnectError("refused"),
            httpx.Response(200, content=json.dumps({"paths": {}})),
        ]
    )

    def answer_one(request: httpx.Request) -> httpx.Response:
        got = next(answers)
        if isinstance(got, Exception):
            raise got
        return got

    slept: list[float] = []
    with httpx.Client(transport=httpx.MockTransport(answer_one)) as http:
        client = Client("https://go.example", "x", http=http)
        monkeypatch.setattr(client.driver, "sleep", slept.append)
        assert client.account.openapi() == {"paths": {}}
    assert len(slept) == 2
    assert slept[0] >= 3
