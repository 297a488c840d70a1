"""Fixtures for projects, taken from the tests of the API and of the dashboard."""

from __future__ import annotations

from tests.api.conftest import count_clicks
from tests.dashboard.conftest import desk

__all__ = ["count_clicks", "desk"]
