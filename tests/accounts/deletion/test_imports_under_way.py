"""A running import whose owner is deleted, with the real server and its processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.import_export.test_processes import EMAIL, PASSWORD, Visitor, ask, importing, position
from tests.server import Server, wait_for

PURGE = """
from app import create_app
from app.accounts.deletion import purging
from app.core.extensions import db
app = create_app()
with app.app_context():
    assert purging.purge(db.session(), app.config["WAYPOST"]) == 1
"""
ROWS = 5_000


def stop_between_writes(server: Server) -> int:
    """Stop the process of the import while it does not hold the database, and return its id.

    So nothing depends on how long the commands take that run meanwhile: the import waits for SIGCONT.
    """

    def stopped() -> int | None:
        pid = importing(server)
        assert pid is not None, "the import ended before it could be stopped"
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: state_of(pid) == "T", "the stop of the import")
        with closing(sqlite3.connect(server.data_dir / "main.db", timeout=0)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:  # it is in the middle of a write
                os.kill(pid, signal.SIGCONT)
                return None
        return pid

    return wait_for(stopped, "a moment between two writes")


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.full
def test_it_stops_and_leaves_nothing_and_the_worker_goes_on(make_server: Callable[..., Server]) -> None:
    server = make_server()
    server.flask("users", "create", "--email", "admin@example.com", "--password-stdin", stdin=f"{PASSWORD}\n")
    owner = Visitor(server)
    lines = [b"location_url\n", *(b"https://example.com/%05d\n" % n for n in range(ROWS))]
    path = owner.upload(iter(lines), sum(map(len, lines)))
    owner.post(f"{path}/check", {"column:location_url": "location_url"}, path)
    wait_for(lambda: ask(server, "SELECT state FROM link_import") == [("checked",)], "the check")
    owner.post(f"{path}/take", {}, path)
    wait_for(lambda: position(server) > 0 and importing(server), "the import under way")
    pid = stop_between_writes(server)
    assert position(server) < ROWS
    server.flask("users", "delete", "--email", EMAIL, "--yes")
    os.kill(pid, signal.SIGCONT)
    wait_for(lambda: importing(server) is None, "the end of its process")
    [(state, made, links)] = ask(server, "SELECT state, made, (SELECT count(*) FROM link) FROM link_import")
    assert (state, made) == ("ended", links)
    assert links < ROWS
    [(alias,)] = ask(server, "SELECT key FROM alias LIMIT 1")
    wait_for(lambda: server.status(f"/{alias}") == 404, "404 of a link")
    with sqlite3.connect(server.data_dir / "main.db") as connection:
        connection.execute("UPDATE user SET deleted_datetime = '2020-01-01' WHERE email = ?", [EMAIL])
    connection.close()
    subprocess.run([sys.executable, "-c", PURGE], cwd=ROOT, env=server.environ, check=True)
    for table in ("link", "alias", "link_import", "link_change"):
        assert ask(server, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert ask(server, "SELECT email FROM user") == [("admin@example.com",)]
    assert list((server.data_dir / "imports").iterdir()) == []
    assert server.status("/readyz") == 200
