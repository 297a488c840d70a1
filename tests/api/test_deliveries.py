"""API of a handler's deliveries: the list, tests, and renewal of the secret."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from standardwebhooks import Webhook

from app.core.leases import precise_now
from app.notifications import test_send
from app.notifications.delivery import AttemptResult
from app.notifications.models import NotificationHandler
from app.notifications.outbox import deliver, settle
from tests.api.shape import always, problem
from tests.clients import Api
from tests.notifications.conftest import web, web_receiver  # noqa: F401  fixtures
from tests.notifications.peers import Peers
from tests.notifications.receivers import Says, WebReceiver

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")


@pytest.fixture
def make_hook(api: Api, web: WebReceiver) -> Callable[..., int]:
    """Creates a webhook of alice's; returns its id."""

    def make(url: str = "") -> int:
        answer = api.post(
            "/notification-handlers", {"type": "webhook", "name": "Ours", "webhook": url or web.url}
        )
        return int(answer.json["data"]["id"])

    return make


def outcome(**values: Any) -> AttemptResult:
    known = {
        "is_delivered": True,
        "detail": "Delivered.",
        "datetime": precise_now(),
        "duration_ms": 12,
        "status_code": 200,
    }
    return AttemptResult(**(known | values))


@pytest.mark.databases
def test_a_test_arrives_at_once_and_is_written_down(
    api: Api, make_hook: Callable[..., int], web: WebReceiver
) -> None:
    id_ = make_hook()
    secret = api.get(f"/notification-handlers/{id_}").json["data"]["settings"]["secret"]
    answer = api.post(f"/notification-handlers/{id_}/test")
    always(answer)
    assert answer.status_code == 200
    delivery_id = answer.json["data"]["delivery_id"]
    assert answer.json == {
        "data": {"delivery_id": delivery_id, "status": "delivered", "detail": "Delivered."}
    }
    said = Webhook(secret).verify(web.heard[0].body, dict(web.heard[0].headers))
    assert (said["type"], said["data"]) == (
        "handler.test",
        {"handler": {"id": id_, "name": "Ours", "type": "webhook"}},
    )
    row = api.get(f"/notification-handlers/{id_}/deliveries").json["data"][0]
    attempt = row["attempts"][0]
    assert (row["id"], row["type"], row["status"], row["next_attempt"]) == (
        delivery_id,
        "handler.test",
        "delivered",
        None,
    )
    assert list(row) == ["id", "type", "status", "attempts", "next_attempt", "datetime"]
    assert list(attempt) == ["datetime", "status_code", "detail", "duration_ms"]
    assert (attempt["status_code"], attempt["detail"]) == (200, "Delivered.") and len(row["attempts"]) == 1


def test_a_test_that_fails_says_why_and_is_not_tried_again(
    api: Api, make_hook: Callable[..., int], web: WebReceiver
) -> None:
    web.answers.append(Says(503, "later", {"Retry-After": "60"}))
    id_ = make_hook()
    data = api.post(f"/notification-handlers/{id_}/test").json["data"]
    assert (data["status"], data["detail"]) == ("failed", "The server answered 503 Service Unavailable.")
    row = api.get(f"/notification-handlers/{id_}/deliveries?status=failed").json["data"][0]
    assert (row["next_attempt"], len(row["attempts"]), len(web.heard)) == (None, 1, 1)
    assert api.get(f"/notification-handlers/{id_}/deliveries?status=pending").json["meta"]["total"] == 0


def test_the_answer_is_there_although_the_receiver_hangs(
    api: Api, make_hook: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert test_send.SECONDS < 5
    monkeypatch.setattr(test_send, "SECONDS", 0.3)
    peers = Peers()
    try:
        id_ = make_hook(peers.serve(peers.hangs).url)
        before = time.monotonic()
        data = api.post(f"/notification-handlers/{id_}/test").json["data"]
        assert (data["status"], data["detail"]) == ("failed", "The server did not answer in time.")
        assert time.monotonic() - before < 10  # it did not wait for the receiver's whole 10 s
    finally:
        peers.close()


def test_many_tests_at_once_leave_threads_for_visitors(
    api: Api, make_hook: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_send, "CONCURRENT_TESTS", SimpleNamespace(acquire=lambda blocking: False))
    answer = api.post(f"/notification-handlers/{make_hook()}/test")
    problem(answer, 429)
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.databases
def test_the_log_is_a_list_like_all_lists(api: Api, make_hook: Callable[..., int], session: Any) -> None:
    id_ = make_hook()
    for number in range(12):
        row = deliver(session, id_, "link.started" if number % 2 else "link.ended", {"number": number})
        session.flush()
        settle(session, row, outcome(is_delivered=number % 3 == 0, status_code=500 if number % 3 else 200))
    session.commit()
    page = api.get(f"/notification-handlers/{id_}/deliveries?results_per_page=10").json
    assert page["meta"] == {"page": 1, "results_per_page": 10, "total": 12, "total_pages": 2}
    ids = [row["id"] for row in page["data"]]
    assert ids == sorted(ids, reverse=True)
    assert page["links"]["next"].endswith(
        f"/api/notification-handlers/{id_}/deliveries?results_per_page=10&page=2"
    )
    waiting = api.get(f"/notification-handlers/{id_}/deliveries?status=pending&type=link.started").json[
        "data"
    ]
    assert len(waiting) == 4 and all(row["next_attempt"] for row in waiting)
    rising = api.get(f"/notification-handlers/{id_}/deliveries?order_by=delivery_id&order_type=ASC").json[
        "data"
    ]
    assert [row["id"] for row in rising] == sorted(row["id"] for row in rising)
    for query in ("status=lost", "type=nothing", "order_by=name", "page=0"):
        problem(api.get(f"/notification-handlers/{id_}/deliveries?{query}"), 422)


def test_a_new_secret(api: Api, make_hook: Callable[..., int], web: WebReceiver, session: Any) -> None:
    id_ = make_hook()
    old = api.get(f"/notification-handlers/{id_}").json["data"]["settings"]["secret"]
    new = api.post(f"/notification-handlers/{id_}/secret").json["data"]["settings"]
    assert list(new) == ["webhook", "secret"] and new["secret"] != old
    api.post(f"/notification-handlers/{id_}/test")
    for secret in (old, new["secret"]):
        assert Webhook(secret).verify(web.heard[0].body, dict(web.heard[0].headers))
    assert "secret_before" in session.get(NotificationHandler, id_).settings
    mail = api.post("/notification-handlers", {"type": "email", "name": "n", "email": "a@b.example"}).json[
        "data"
    ]["id"]
    assert problem(api.post(f"/notification-handlers/{mail}/secret"), 422)
