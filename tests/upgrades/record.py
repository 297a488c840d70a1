"""What must survive an upgrade: what the API answers, and rows of the database."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.pages import Person
from tests.server import BROWSER, Server

RESOURCES = ("links", "projects", "pixels", "domains", "notification-handlers")


class ApiReader:
    """Reads everything of the key's owner."""

    def __init__(self, server: Server, key: str) -> None:
        self.port = server.port
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.own = f"127.0.0.1:{server.port}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Any:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        line.request(method, f"/api{path}", body, self.headers | headers)
        answer = line.getresponse()
        text = answer.read().decode().replace(self.own, "here")
        line.close()
        assert answer.status in {200, 201}, f"{path}: {answer.status} {text}"
        return json.loads(text)

    def rows_of(self, resource: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        page = 1
        while page:
            answer = self.ask(f"/{resource}?results_per_page=100&page={page}")
            found |= {str(row["id"]): row for row in answer["data"]}
            page = page + 1 if answer["links"]["next"] else 0
        return found

    def clicks(self, link_id: int) -> int:
        return int(self.ask(f"/links/{link_id}")["data"]["clicks"])

    def make_link(self, **fields: str | bytes) -> int:
        """Make a link. A value of bytes is a picture."""
        boundary = "a-boundary"
        parts = []
        for name, value in fields.items():
            file = '; filename="a.png"' if isinstance(value, bytes) else ""
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
            parts += [head.encode(), value if isinstance(value, bytes) else value.encode(), b"\r\n"]
        body = b"".join([*parts, f"--{boundary}--\r\n".encode()])
        made = self.ask(
            "/links", "POST", body, **{"Content-Type": f"multipart/form-data; boundary={boundary}"}
        )
        return int(made["data"]["id"])

    def record(self) -> dict[str, Any]:
        return {"user": self.ask("/user")["data"], **{name: self.rows_of(name) for name in RESOURCES}}


def visit(server: Server, path: str, times: int, source: str = "hot") -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in range(times):
        line.request("GET", f"/{path}?utm_source={source}-{number}", headers={"User-Agent": BROWSER})
        answer = line.getresponse()
        answer.read()
        assert answer.status == 302
    line.close()


def read_pictures(server: Server, api: dict[str, Any]) -> dict[str, str]:
    """The digests of all pictures that the API's answers name, as they are served."""
    person = Person(server.url)
    found = {}
    for path in sorted(set(re.findall(r"/media/[\w./-]+", json.dumps(api["links"])))):
        answer = person.open(path)
        assert answer.status_code == 200, path
        found[path] = hashlib.sha256(answer.content).hexdigest()
    person.close()
    return found


@dataclass(frozen=True)
class TableRows:
    """The rows of a table, and the columns of its primary key."""

    key: list[str]
    rows: list[dict[str, Any]]


def read_rows(data_dir: Path, database_url: str) -> dict[str, TableRows]:
    """All rows of all tables."""
    places = (
        [(database_url.replace("postgresql:", "postgresql+psycopg:"), name) for name in ("public", "clicks")]
        if database_url
        else [(f"sqlite:///{data_dir / name}", None) for name in ("main.db", "clicks.db")]
    )
    found: dict[str, TableRows] = {}
    for url, schema in places:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            metadata = sa.MetaData(schema=schema)
            metadata.reflect(connection)
            for table in metadata.tables.values():
                rows = [dict(row._mapping) for row in connection.execute(sa.select(table))]
                found[table.name] = TableRows([column.name for column in table.primary_key], rows)
        engine.dispose()
    return found


def list_losses(before: TableRows, after: TableRows, *, but: frozenset[str] = frozenset()) -> list[str]:
    """The rows and values of `before` that `after` does not have. Columns may have been added or removed."""
    by_key = {tuple(row[name] for name in before.key): row for row in after.rows}
    assert len(by_key) == len(after.rows), f"{before.key} is not unique any more"
    losses = []
    for row in before.rows:
        key = tuple(row[name] for name in before.key)
        if (now := by_key.get(key)) is None:
            losses.append(f"{key} is gone")
            continue
        different = [name for name in row if name in now and name not in but and row[name] != now[name]]
        losses += [f"{key}.{name}: {row[name]!r} became {now[name]!r}" for name in different]
    return losses
