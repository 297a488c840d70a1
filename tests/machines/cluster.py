"""Three machines on one PostgreSQL and one Redis, each of which can be killed, stopped and started."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import requests

from tests import postgres
from tests.redis_server import RedisServer
from tests.server import SECONDS, Server, wait_for

MACHINES = 3
DATABASE = "waypost"
# durable as in an installation: it is stopped and started in the middle of writes
OPTIONS = ("max_connections=200", "listen_addresses=", "shared_buffers=32MB")


class PostgresServer:
    """A cluster of its own, which can be stopped and started again."""

    def __init__(self) -> None:
        # a socket's path must be short
        self.directory = Path(tempfile.mkdtemp(prefix="waypost-machines-", dir="/tmp"))
        self.url = f"postgresql://{postgres.USER}@/{DATABASE}?host={self.directory}"
        self.command, self.uid = postgres.make_cluster(self.directory / "data")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> PostgresServer:
        options = [
            part for each in (*OPTIONS, f"unix_socket_directories={self.directory}") for part in ("-c", each)
        ]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen([*self.command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **postgres.run_as(self.uid))  # type: ignore[call-overload]  # fmt: skip
        wait_for(self.answers, "PostgreSQL")
        return self

    def stop(self) -> None:
        """Stop at once, without waiting for clients; the next start recovers from its log."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(SECONDS)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory)

    def answers(self) -> bool:
        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def connect(self, database: str = DATABASE) -> psycopg.Connection[Any]:
        url = f"postgresql://{postgres.USER}@/{database}?host={self.directory}"
        return psycopg.connect(url, autocommit=True, connect_timeout=5)


class Cluster:
    """The machines, what they share, and an owner who uses the API of any of them."""

    def __init__(self, root: Path, redis: RedisServer) -> None:
        self.redis, self.postgres = redis, PostgresServer().start()
        with self.postgres.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        shared = {
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": redis.url,
            "SECRET_KEY": "the same long secret on each machine",
            "BASE_URL": "http://go.example",
            "TRUSTED_PROXIES": "1",
            "API_RATE_LIMIT": "0",
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        }
        self.machines = [Server(root / f"machine-{number}", **shared) for number in range(MACHINES)]
        self.session = requests.Session()
        self.session.trust_env = False

    def start(self) -> None:
        """All at once, as after a power cut: one of them migrates the empty database."""
        for machine in self.machines:
            machine.begin()
        for machine in self.machines:
            machine.wait_until_ready()
        first, email = self.machines[0], ("--email", "owner@example.com")
        first.flask("users", "create", *email, "--password-stdin", stdin="five small boats go upriver\n")
        key = first.flask("keys", "create", *email, "--name", "test").strip()
        self.session.headers["Authorization"] = f"Bearer {key}"
        self.session.headers["X-Forwarded-Host"] = "go.example"

    def api(self, method: str, path: str, *, at: int = 0, **fields: Any) -> Any:
        url = f"{self.machines[at].url}/api/{path}"
        answer = self.session.request(method, url, json=fields or None, timeout=SECONDS)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()["data"]

    def make_link(self, at: int = 0, **fields: Any) -> int:
        return int(self.api("POST", "links", at=at, **fields)["id"])

    def clicks(self, link_id: int, at: int = 0) -> int:
        return int(self.api("GET", f"links/{link_id}", at=at)["clicks"])

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.postgres.connect() as connection:
            return connection.execute(statement.encode(), values).fetchall()

    def stop(self) -> None:
        for machine in self.machines:
            machine.stop()
        self.session.close()


@contextmanager
def started(root: Path) -> Iterator[Cluster]:
    redis = RedisServer().start()
    cluster = Cluster(root, redis)
    try:
        cluster.start()
        yield cluster
        cluster.stop()
    finally:
        for machine in cluster.machines:
            machine.kill()
        cluster.postgres.remove()
        redis.stop()
