"""A real PgBouncer in transaction mode before the tests' PostgreSQL, started by the test that asks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests import postgres
from tests.server import free_port, wait_for

CONNECTIONS = 5  # to PostgreSQL: few, so that transactions of one client get different ones
CONFIGURATION = """\
[databases]
* = host={sockets} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
server_round_robin = 1
max_client_conn = 500
logfile = {log}
"""


def find_pgbouncer() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class PgBouncer:
    """One PgBouncer on a port of its own. Skips the test where there is none."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, database: str) -> str:
        return f"postgresql://{postgres.USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> PgBouncer:
        program = find_pgbouncer()
        if program is None:
            pytest.skip("no pgbouncer here")
        file = self._directory / "pgbouncer.ini"
        sockets = os.environ[postgres.DIRECTORY]
        file.write_text(
            CONFIGURATION.format(
                sockets=sockets,
                user=postgres.USER,
                port=self.port,
                connections=CONNECTIONS,
                log=self._directory / "pgbouncer.log",
            )
        )
        # it refuses to run as root, as PostgreSQL does
        prefix: list[str] = []
        if os.geteuid() == 0:
            unshare = shutil.which("unshare")
            if unshare is None:
                pytest.skip("pgbouncer does not run as root, and there is no unshare here")
            prefix = [unshare, "--user", "--map-user=1000", "--map-group=1000"]
        with (self._directory / "pgbouncer.out").open("wb") as out:
            self._process = subprocess.Popen([*prefix, program, "-q", str(file)], stdout=out, stderr=out)
        wait_for(self.answers, "PgBouncer")
        return self

    def answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "pgbouncer.out").read_text()
        try:
            psycopg.connect(self.address("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
