"""Rate limits on messages that an owner requests, by handler, user and receiver."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.database import begin_write
from app.notifications import test_send
from app.notifications.outbox import deliver
from app.notifications.transport import all_transports
from tests.api.shape import problem
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.notifications.messages import LINK
from tests.notifications.receivers import WebReceiver

__all__ = ["desk"]
pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example")


def make_hook(api: Api, url: str) -> int:
    return int(
        api.post("/notification-handlers", {"type": "webhook", "name": "n", "webhook": url}).json["data"][
            "id"
        ]
    )


def test_tests_of_a_handler_are_limited(api: Api, web: WebReceiver) -> None:
    id_ = make_hook(api, web.url)
    statuses = Counter(
        api.post(f"/notification-handlers/{id_}/test").status_code
        for _ in range(test_send.BY_HANDLER.amount + 10)
    )
    assert statuses == {200: test_send.BY_HANDLER.amount, 429: 10}
    assert len(web.heard) == test_send.BY_HANDLER.amount
    answer = api.post(f"/notification-handlers/{id_}/test")
    assert problem(answer, 429)[0]["code"] == "too_many_tests"
    assert 0 < int(answer.headers["Retry-After"]) <= 600


def test_tests_of_a_user_are_limited(api: Api, web: WebReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_send, "BY_TARGET", replace_amount(test_send.BY_TARGET, 1000))
    ids = [make_hook(api, f"{web.url}/{number}") for number in range(12)]
    statuses = Counter(
        api.post(f"/notification-handlers/{id_}/test").status_code for _ in range(3) for id_ in ids
    )
    assert statuses == {200: test_send.BY_USER.amount, 429: 36 - test_send.BY_USER.amount}


def test_tests_to_a_receiver_are_limited_for_all_users_together(
    api: Api, make_api: Any, bob: User, web: WebReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is the same for every spelling of the address."""
    monkeypatch.setattr(test_send, "BY_TARGET", replace_amount(test_send.BY_TARGET, 8))
    other = make_api(bob)
    hooks = [(one, make_hook(one, f"{web.url}/{number}?x=1")) for number in range(6) for one in (api, other)]
    statuses = Counter(one.post(f"/notification-handlers/{id_}/test").status_code for one, id_ in hooks)
    assert statuses == {200: 8, 429: 4}
    assert len(web.heard) == 8


def replace_amount(limit: Any, amount: int) -> Any:
    return type(limit)(amount, limit.multiples, namespace=limit.namespace)


TARGETS = {
    "mail": ("email", {"email": "Ann+1@X.example"}, "ann@x.example"),
    "webhook": ("webhook", {"webhook": "https://X.example:8443/a?b"}, "x.example"),
    "chat by an address": ("chat_a", {"chat_a": "https://x.example/services/1"}, "x.example"),
    "chat by a number": ("chat_c", {"chat_c": "token", "chat_c_chat_id": "@Room"}, "@room"),
}


@pytest.mark.parametrize(("type_", "settings", "target"), TARGETS.values(), ids=TARGETS)
def test_who_receives_it(type_: str, settings: dict[str, str], target: str) -> None:
    assert all_transports()[type_].target_of(settings) == target


def test_every_type_has_a_receiver() -> None:
    for transport in all_transports().values():
        assert transport.target_of({one.name: one.example for one in transport.settings})


def test_sending_again_is_limited_as_tests_are(
    desk: Desk, alice: User, session: Session, make_handler: Any, web: WebReceiver
) -> None:
    handler = make_handler(alice, "webhook", settings={"webhook": web.url, "secret": "whsec_x"})
    begin_write(session)
    delivery = deliver(session, handler.id, "link.started", {"link": LINK})
    session.commit()
    path = f"/handlers/{handler.id}/deliveries/{delivery.id}/again"
    statuses = [desk.post(path, {}).status_code for _ in range(test_send.BY_HANDLER.amount + 1)]
    assert statuses == [303] * test_send.BY_HANDLER.amount + [429]
