"""Fixtures of wake-ups: settings with each carrier, and a PgBouncer in transaction mode."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from app.core.config import Settings
from app.core.wakeups import bell
from tests import postgres
from tests.redis_server import RedisServer
from tests.server import free_port, wait_for

ONLY_POSTGRES = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def bell_is_put_back() -> Iterator[None]:
    yield
    bell.CurrentBell.bell = None


@pytest.fixture
def carried(request: pytest.FixtureRequest) -> Callable[[str], Settings]:
    """Settings whose wake-ups go by `postgresql` or by `redis`."""

    def made(carrier: str) -> Settings:
        settings: Settings = request.getfixturevalue("settings")
        if carrier == "postgresql":
            return settings
        server: RedisServer = request.getfixturevalue("redis_server")
        return replace(settings, redis_url=server.url)

    return made


@pytest.fixture
def pgbouncer(database_url: str, tmp_path: Path) -> Iterator[str]:
    """The address of the same database through PgBouncer in transaction mode."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer here")
    port, name = free_port(), make_url(database_url).database
    config = tmp_path / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n{name} = host={os.environ[postgres.DIRECTORY]} user={postgres.USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
        f"logfile = {tmp_path / 'pgbouncer.log'}\n"
    )
    url = f"postgresql://{postgres.USER}@127.0.0.1:{port}/{name}"
    # it refuses to run as root, too, and as another user it could not reach the server's socket
    prefix = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
    process = subprocess.Popen([*prefix, program, str(config)], stderr=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_for(answers, "PgBouncer", 20)
        yield url
    finally:
        process.terminate()
        process.wait()
