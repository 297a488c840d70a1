"""A real streaming replica of the tests' PostgreSQL, made by `pg_basebackup` for the test that asks for it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests import postgres
from tests.server import wait_for

OPTIONS = ("fsync=off", "max_connections=300", "listen_addresses=")


class PostgresReplica:
    """A standby that streams from the tests' cluster. It can be made late, frozen and stopped.

    The cluster keeps in a slot what the standby lacks: frozen for a minute it loses its connection, and
    meanwhile other tests may have written so much that the cluster would have let go of it.
    """

    def __init__(self) -> None:
        # a socket's path must be short
        self.directory = Path(tempfile.mkdtemp(prefix="waypost-replica-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._command: list[str] = []
        self._uid: int | None = None
        self._slot = f"replica_{secrets.token_hex(8)}"

    def address(self, database: str) -> str:
        return f"postgresql://{postgres.USER}@/{database}?host={self.directory}"

    def start(self) -> PostgresReplica:
        self._command, self._uid = self._copy()
        return self.restart()

    def _copy(self) -> tuple[list[str], int | None]:
        """Copies the cluster. Returns the command that serves the copy and the user to run it as."""
        with postgres.connect() as connection:
            connection.execute("SELECT pg_create_physical_replication_slot(%s, true)", (self._slot,))
        data, binaries = self.directory / "data", postgres.bin_directories()[0]
        source = ["-h", os.environ[postgres.DIRECTORY], "-U", postgres.USER, "-R", "-X", "stream"]
        source.append(f"--slot={self._slot}")
        tried = ""
        for prefix, uid in postgres.ways(data):
            command = [*prefix, str(binaries / "pg_basebackup"), *source, "-D", str(data)]
            done = subprocess.run([*command, "--checkpoint=fast", "--no-sync"], capture_output=True, text=True, cwd="/", check=False, **postgres.run_as(uid))  # type: ignore[call-overload]  # fmt: skip
            if done.returncode == 0:
                return [*prefix, str(binaries / "postgres"), "-D", str(data)], uid
            tried += done.stderr
            shutil.rmtree(data, ignore_errors=True)
        raise AssertionError(f"no replica could be made: {tried}")

    def restart(self) -> PostgresReplica:
        options = [*OPTIONS, f"unix_socket_directories={self.directory}"]
        command = [*self._command, *(part for option in options for part in ("-c", option))]
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True, **postgres.run_as(self._uid))  # type: ignore[call-overload]  # fmt: skip
        wait_for(self.answers, "the replica")
        return self

    def answers(self) -> bool:
        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def ask(self, statement: str, database: str = "postgres") -> object:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            row = connection.execute(statement).fetchone()
        return row and row[0]

    def catch_up(self) -> None:
        """Waits until it has replayed all that is committed. (The tests' commits do not wait for the log.)"""
        with postgres.connect() as connection:
            [(until,)] = connection.execute("SELECT pg_current_wal_insert_lsn()::text")
        wait_for(lambda: self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{until}'"), "the replica's replay")

    def pause(self) -> None:
        """From here on it answers with what it has."""
        self.ask("SELECT pg_wal_replay_pause()")
        wait_for(lambda: self.ask("SELECT pg_get_wal_replay_pause_state()") == "paused", "the pause")

    def resume(self) -> None:
        self.ask("SELECT pg_wal_replay_resume()")

    def freeze(self) -> None:
        """No process of it runs on; the system takes connections for it."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self.thaw()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        self.stop()
        wait_for(self._is_slot_dropped, "the end of the replica's connection")
        shutil.rmtree(self.directory)

    def _is_slot_dropped(self) -> bool:
        with postgres.connect() as connection:
            try:
                connection.execute(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
                    (self._slot,),
                )
            except psycopg.errors.ObjectInUse:
                return False
        return True

    def _signal(self, number: int) -> None:
        """To the server and its children, each of which leads a session of its own."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        for process in [self._process.pid, *map(int, children.read_text().split())]:
            os.kill(process, number)
