"""A ClickHouse for the tests: the engine of the package chdb-core, behind ClickHouse's HTTP interface.

The front knows what clickhouse-connect sends: a statement, its parameters and settings, and a block of rows.
All else is the engine's own. It runs in a process of its own, which can be killed, frozen and started again on
the same files.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from tests.server import free_port, wait_for

ROOT = Path(__file__).resolve().parent.parent
# the parameters of a request that are settings with a meaning here
SETTINGS = {
    "insert_deduplication_token", "insert_deduplicate", "deduplicate_blocks_in_dependent_materialized_views",
    "async_insert", "mutations_sync", "max_execution_time",
}  # fmt: skip


class ClickHouseServer:
    """One engine with its files. `url` names an empty database on it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.port = directory, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.database("clicks")

    def database(self, name: str) -> str:
        """The address of a database of this name, which the client makes where it is missing."""
        return f"clickhouse://default:@127.0.0.1:{self.port}/{name}"

    def start(self) -> ClickHouseServer:
        if importlib.util.find_spec("chdb") is None:
            pytest.skip("no engine of ClickHouse here: install requirements-dev.txt")
        command = [sys.executable, "-m", "tests.clickhouse_server", str(self.directory), str(self.port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
        wait_for(self.answers, "ClickHouse")
        return self

    def stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def answers(self) -> bool:
        try:
            return self.query("SELECT 1") == "1"
        except requests.RequestException:
            return False

    def query(self, statement: str) -> str:
        found = requests.post(f"http://127.0.0.1:{self.port}/", data=statement.encode(), timeout=60)
        assert found.ok, found.text
        return found.text.strip()


class Engine:
    """The engine, asked by one request at a time."""

    def __init__(self, directory: str) -> None:
        from chdb.session import Session

        self.session: Any = Session(directory)  # type: ignore[no-untyped-call]
        self.lock = threading.Lock()
        self.database = ""

    def run(self, statement: str, block: bytes, given: dict[str, str]) -> tuple[bytes, int]:
        """The answer, and how many rows of tables were read for it."""
        bound = {name.removeprefix("param_"): each for name, each in given.items() if name[:6] == "param_"}
        settings = {name: each for name, each in given.items() if name in SETTINGS}
        with self.lock, tempfile.NamedTemporaryFile(suffix=".native") as file:
            database = given.get("database") or "default"
            if database != self.database:
                self.session.query(f"USE {database}")
                self.database = database
            for name, each in settings.items():
                self.session.query(f"SET {name} = '{each}'")
            try:
                if block:
                    file.write(block)
                    file.flush()
                    head, _, form = statement.strip().rpartition("FORMAT")
                    statement = f"{head} FROM INFILE '{file.name}' FORMAT {form}"
                found = self.session.query(statement, "TabSeparated", params=bound or None)
                return bytes(found.bytes()), int(found.storage_rows_read())
            finally:
                for name in settings:
                    self.session.query(f"SET {name} = DEFAULT")


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body go out together
    disable_nagle_algorithm = True  # or a piece waits 40 ms for the word that the one before has come
    engine: Engine

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.body()
        if "query" in given:
            statement, block = given["query"], body
        else:  # an INSERT is followed by its rows
            head, mark, block = (
                body.partition(b"FORMAT Native\n") if body[:6].upper() == b"INSERT" else (body, b"", b"")
            )
            statement = (head + mark).decode()
        read = 0
        try:
            (found, read), status = self.engine.run(statement, block, given), 200
        except Exception as error:  # noqa: BLE001  what the engine says is the answer
            found, status = str(error).encode(), 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(found)))
        if status != 200:
            code = found.partition(b"Code: ")[2].partition(b".")[0].decode() or "1"
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.send_header("X-ClickHouse-Summary", f'{{"read_rows":"{read}"}}')
        self.end_headers()
        self.wfile.write(found)
        self.wfile.flush()

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            pieces = []
            while size := int(self.rfile.readline().strip() or b"0", 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(pieces)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "lz4":
            import lz4.frame

            body = bytes(lz4.frame.decompress(body))
        return body

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(directory: str, port: int) -> None:
    Front.engine = Engine(directory)
    server = ThreadingHTTPServer(("127.0.0.1", port), Front)
    threading.Thread(
        target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True
    ).start()  # ends with the tests
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
