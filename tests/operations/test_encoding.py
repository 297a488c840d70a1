"""A database of PostgreSQL that can't keep every text is refused before anything is made in it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests import postgres
from tests.commands import run_command
from tests.server import Server

pytestmark = pytest.mark.usefixtures("programs_of_postgres")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_another_encoding_than_utf8_is_refused(encoding: str, tmp_path: Path) -> None:
    """Debian's `createdb` makes SQL_ASCII where no locale is set."""
    name = f"other_{uuid.uuid4().hex}"
    options = f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    with postgres.started(), postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} {options}".encode())
    server = Server(tmp_path / "data", DATABASE_URL=postgres.address(name))
    done = run_command(("db", "upgrade"), ROOT, server.environ)
    said = done.stderr.decode()
    assert (done.returncode, "Traceback" in said) == (1, False), said
    assert f"encoding is {encoding}, and Waypost needs UTF8" in said
    assert "createdb --encoding=UTF8" in said
