"""Threads that write to one file share its syncs, and none goes on before its own write is on disk."""

from __future__ import annotations

import threading

import pytest

from app.journal.writer import GroupSync


def test_one_sync_is_enough_for_all_who_wrote_before_it() -> None:
    group, syncs = GroupSync(), list[int]()
    tickets = [group.take_ticket() for _ in range(3)]
    for ticket in tickets:
        group.wait(ticket, lambda: syncs.append(1))
    assert len(syncs) == 1


def test_what_is_written_during_a_sync_has_one_of_its_own() -> None:
    group, begun, go_on, syncs = GroupSync(), threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        assert go_on.wait(60)
        syncs.append("first")

    thread = threading.Thread(target=group.wait, args=[group.take_ticket(), first])
    thread.start()
    assert begun.wait(60)
    later = [group.take_ticket(), group.take_ticket()]
    go_on.set()
    for ticket in later:
        group.wait(ticket, lambda: syncs.append("second"))
    thread.join(60)
    assert syncs == ["first", "second"]


def test_a_sync_that_fails_is_done_again() -> None:
    group, syncs = GroupSync(), list[int]()

    def fail() -> None:
        raise OSError

    ticket = group.take_ticket()
    with pytest.raises(OSError):
        group.wait(ticket, fail)
    group.wait(ticket, lambda: syncs.append(1))
    assert len(syncs) == 1
