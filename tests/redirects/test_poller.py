"""The poller: wake-ups bring a change at once; where they are lost, it is seen within a second all the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from app.accounts.models import User
from app.core.config import Settings
from app.core.wakeups import CurrentBell, use_wakeups
from app.redirects import cache as polling
from app.redirects.cache import CompiledLinks, Poller
from app.redirects.context import RedirectContext
from tests.factories import Factory
from tests.server import wait_for

ONLY_POSTGRES = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def poller(redirect_context: RedirectContext, settings: Settings) -> Iterator[Poller]:
    """One that hears wake-ups already."""
    use_wakeups(settings)
    poller = Poller(redirect_context.compiled_links)
    poller.start()
    wait_for(lambda: poller.listener and poller.listener.is_live, "wake-ups", 10)
    yield poller
    poller.stop()
    CurrentBell.bell = None


def seconds_until_seen(plans: CompiledLinks) -> float:
    """How long after this call the cached link is known to be stale."""
    plan = plans.find("localhost", "/a")
    assert plan is not None
    begun = time.monotonic()
    wait_for(lambda: plan.is_gone, "the change", 5)
    return time.monotonic() - begun


@ONLY_POSTGRES
def test_a_change_is_seen_without_waiting_for_the_next_poll(
    poller: Poller,
    factory: Factory,
    alice: User,
    change: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = factory.link(alice, "a")
    monkeypatch.setattr(polling, "IDLE_POLL_SECONDS", 60.0)
    poller.woken.set()  # so that this is how long it rests from here on
    plan = poller.compiled_links.find("localhost", "/a")
    assert plan
    change(link, location_url="https://example.com/2")
    wait_for(lambda: plan.is_gone, "the change", 10)


@ONLY_POSTGRES
@pytest.mark.full
def test_a_lost_wake_up_delays_a_change_by_less_than_a_second(
    poller: Poller,
    factory: Factory,
    alice: User,
    change: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = factory.link(alice, "a")
    assert CurrentBell.bell is not None
    monkeypatch.setattr(CurrentBell.bell, "ring", lambda *_topics: None)
    for number in range(5):
        assert poller.compiled_links.find("localhost", "/a")
        change(link, location_url=f"https://example.com/{number}")
        assert seconds_until_seen(poller.compiled_links) < 1.0


def test_without_a_carrier_it_polls_as_often_as_ever(redirect_context: RedirectContext) -> None:
    poller = Poller(redirect_context.compiled_links)
    poller.start()
    begun = time.monotonic()
    for _ in range(3):
        polled = redirect_context.compiled_links.polled
        wait_for(lambda polled=polled: redirect_context.compiled_links.polled > polled, "a poll", 5)  # type: ignore[misc]
    assert poller.listener is None
    assert time.monotonic() - begun < 3 * polling.POLL_SECONDS + 2
    poller.stop()
