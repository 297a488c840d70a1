"""Turns of workspaces where the feed is read for many handlers."""

from __future__ import annotations

from app.events.push.pusher import BATCH_SIZE, WORKSPACE_PLACES, PlaceState, choose_places


def test_a_workspace_with_many_handlers_leaves_room_for_others_in_a_turn() -> None:
    of_one = [PlaceState(id_, 1, is_ready=True) for id_ in range(BATCH_SIZE)]
    assert choose_places([*of_one, PlaceState(900, 2, is_ready=True)]) == [*range(WORKSPACE_PLACES), 900]
