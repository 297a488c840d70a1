"""Fixtures of subscriptions: those of pushed events, and a receiver."""

from __future__ import annotations

from tests.events.push.conftest import push  # noqa: F401  a fixture
from tests.notifications.conftest import web, web_receiver  # noqa: F401  fixtures
