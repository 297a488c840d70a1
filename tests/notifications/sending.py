"""Sends what is due, in the thread of a test."""

from __future__ import annotations

from app.notifications.sender import Sender


def send_all(sender: Sender) -> None:
    """Takes turns until nothing is due, and every result is stored."""
    while sender.turn() or sender.held:
        sender.rest(0.05)
