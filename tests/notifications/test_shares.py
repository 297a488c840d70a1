"""Shares of the sending threads by workspace and by host."""

from __future__ import annotations

import pytest

from app.notifications.handler_queue import HandlerQueue, Receiver
from app.notifications.sender import HOST_THREADS, MAX_THREADS, WORKSPACE_THREADS, Shares, in_turns
from app.notifications.waiting import DueDelivery


def shares_of(*used: tuple[int, str, int]) -> Shares:
    queues = []
    for workspace_id, host, threads in used:
        queues.append(HandlerQueue(Receiver(workspace_id, host), is_failing=False))
        queues[-1].threads = threads
    return Shares(queues)


CASES = {
    "nothing under way": ([], False),
    "one thread below the workspace's share": ([(1, "a", WORKSPACE_THREADS - 1)], False),
    "the workspace's share, on two hosts": ([(1, "a", 1), (1, "b", WORKSPACE_THREADS - 1)], True),
    "another workspace's share": ([(2, "b", WORKSPACE_THREADS)], False),
    "the host's share, of two others": ([(2, "a", HOST_THREADS - 1), (3, "a", 1)], True),
    "another host's share": ([(2, "b", HOST_THREADS)], False),
    "as many threads as are free": ([(1, "a", 10), *((id_, f"{id_}", 49) for id_ in range(2, 12)), (12, "x", 2)], True),
    "all threads": ([(id_, f"{id_}", MAX_THREADS // 16) for id_ in range(2, 18)], True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_has_a_share_left(name: str) -> None:
    used, is_full = CASES[name]
    assert shares_of(*used).is_full(Receiver(1, "a")) is is_full


def test_workspaces_take_turns_and_who_has_fewest_threads_is_first() -> None:
    found = [DueDelivery(id_, id_, workspace, is_failing=False) for id_, workspace in enumerate((1, 1, 1, 2, 3, 3))]  # fmt: skip
    found.append(DueDelivery(6, 6, 4, is_failing=True))
    assert [one.id for one in in_turns(found, {1: 2, 3: 1})] == [3, 4, 0, 5, 1, 2, 6]
