"""Descriptors of the process: sockets are found among them, and SQLite's locks survive that."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.draining import admit_accepted, count_connections, forget_in_epolls, stop_accepting
from app.http_server.connections import DESCRIPTORS, duplicate, each_socket, end_connections, is_socket

LOCKS = Path("/proc/locks")


def held_locks() -> set[str]:
    """This process's record locks, without their numbers in the list."""
    mine = f" {os.getpid()} "
    return {line.split(":", 1)[1] for line in LOCKS.read_text().splitlines() if mine in line}


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[set[str]]:
    """A database in the middle of a write; the locks that this process has meanwhile."""
    if not LOCKS.exists():
        pytest.skip("/proc/locks is Linux's")
    before = held_locks()
    with closing(sqlite3.connect(tmp_path / "main.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE link (id)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO link VALUES (1)")
        found = held_locks() - before
        assert found
        yield found
        connection.execute("COMMIT")


def stop_accepting_on_a_closed_listener() -> None:
    """The listener's number passes to a file of SQLite's, as when the server has closed the listener."""
    number = next(
        int(path.name)
        for path in DESCRIPTORS.iterdir()
        if path.is_symlink() and str(path.readlink()).endswith("main.db")
    )
    stop_accepting(number)


LOOKS: dict[str, Callable[[], object]] = {
    "a broken-off answer": lambda: end_connections(lambda _peer: False),
    "connections admitted": lambda: admit_accepted(1),
    "connections counted": lambda: count_connections(1),
    "event loops": lambda: forget_in_epolls(10_000),
    "a closed listener": stop_accepting_on_a_closed_listener,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_locks_of_sqlite_are_kept(writing: set[str], look: Callable[[], object]) -> None:
    if sys.platform != "linux":
        pytest.skip("event loops are looked for on Linux alone")
    look()
    assert writing <= held_locks()


def test_a_number_that_passes_to_another_file_is_not_closed(tmp_path: Path, writing: set[str]) -> None:
    """The check accepts a socket, and the duplicate is one of the database."""
    with (
        socket.socket() as one,
        (tmp_path / "main.db").open("rb") as file,  # closed after the test's own look at the locks
    ):
        checks = iter([True])

        def is_meant(number: int) -> bool:
            if next(checks, False):
                return True
            assert number not in {one.fileno(), file.fileno()}
            return is_socket(number)

        before = len([*DESCRIPTORS.iterdir()])
        assert duplicate(file.fileno(), is_meant) is None
        assert len([*DESCRIPTORS.iterdir()]) == before + 1
        assert writing <= held_locks()


def test_looking_for_sockets_leaves_no_descriptor_open() -> None:
    with socket.socket() as ours:
        before = len([*DESCRIPTORS.iterdir()])
        found = []
        for one in each_socket():
            with one:
                found.append(os.path.sameopenfile(one.fileno(), ours.fileno()))
        assert any(found)
        assert len([*DESCRIPTORS.iterdir()]) == before
