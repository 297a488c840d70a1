"""Keeps the state that a release leaves, for tests of upgrades: `python -m tests.upgrades.make 1.0.0 v1.0.0`.

The program of that commit seeds an instance on each database, is visited, and is killed while visits wait in its
journal. It runs with the libraries of this version.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from pathlib import Path

from PIL import Image

from tests import postgres
from tests.server import wait_for
from tests.upgrades.program import OldServer, unpack_program
from tests.upgrades.record import ApiReader, read_pictures, visit
from tests.upgrades.releases import DUMP, FOLDER, RECORD

SEED = ("--links", "14", "--clicks", "300", "--days", "20")
COUNTED, WAITING = 30, 12
NOT_KEPT = re.compile(r".*(\.lock|-shm|heartbeat|/keys(/.*)?|reserve)")


def make_state(program: Path, folder: Path, database: str) -> Path:
    """An archive of what the program leaves: its data directory, its database, and what its API says."""
    url = make_empty_database() if database == "postgresql" else ""
    server = OldServer(program, folder / "data", **({"DATABASE_URL": url} if url else {}), API_RATE_LIMIT="0")
    said = server.flask("seed", *SEED)
    found = {
        name: re.findall(rf"^{name}: +(\S+)$", said, re.MULTILINE)[0]
        for name in ("E-mail", "Password", "API key")
    }
    server.start()
    api = ApiReader(server, found["API key"])
    hot = api.make_link(url="hot", location_url="https://example.com/hot", title="Hot")
    framed = {"url": "framed", "location_url": "https://example.com/framed", "cloaking_is_enabled": "true"}
    api.make_link(**framed, cloaking_favicon=make_picture())
    visit(server, "hot", COUNTED)
    wait_for(lambda: api.clicks(hot) == COUNTED, "the clicks")
    record = {**found, "hot": hot, "clicks": COUNTED + WAITING, "api": api.record()}
    record["pictures"] = read_pictures(server, record["api"])
    visit(server, "hot", WAITING, source="wait")
    server.kill()
    (folder / RECORD).write_text(json.dumps(record, indent=1))
    members = [RECORD, "data"]
    if url:
        dump(url, folder / DUMP)
        members.append(DUMP)
    return pack(folder, members, folder / f"{database}.tar.xz")


def make_picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (16, 16), "teal").save(out, "PNG")
    return out.getvalue()


def make_empty_database() -> str:
    name = f"made_{uuid.uuid4().hex}"
    with postgres.started(), postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.address(name)


def dump(url: str, target: Path) -> None:
    program = postgres.bin_directories()[0] / "pg_dump"
    plain = ("--format=plain", "--no-owner", "--no-privileges")
    subprocess.run([program, *plain, f"--file={target}", f"--dbname={url}"], check=True)
    lines = target.read_text().splitlines(keepends=True)  # without two that older programs can't read
    target.write_text("".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict"))))


def pack(folder: Path, members: list[str], target: Path) -> Path:
    """Packs a state without what a start makes anew. The daily keys of visitor hashes are in no copy."""

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return None if NOT_KEPT.fullmatch(member.name) else member

    with (
        lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name in members:
            tar.add(folder / name, name, filter=keep)
    return target


def read_revision(program: Path, folder: Path) -> str:
    server = OldServer(program, folder / "data")
    return server.flask("db", "heads").split()[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="what the release is called")
    parser.add_argument("commit", help="the commit, or the tag, of its program")
    given = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", f"{given.commit}^{{commit}}"], capture_output=True, text=True, check=True
    )
    kept = FOLDER / given.name
    kept.mkdir(parents=True, exist_ok=True)
    with postgres.session(), tempfile.TemporaryDirectory() as made:
        program = unpack_program(commit.stdout.strip(), Path(made) / "program")
        for database in ("sqlite", "postgresql"):
            folder = Path(made) / database
            folder.mkdir()
            archive = make_state(program, folder, database)
            (kept / archive.name).write_bytes(archive.read_bytes())
            print(f"{database}: {archive.stat().st_size:,} bytes")
        release = {
            "name": given.name,
            "commit": commit.stdout.strip(),
            "revision": read_revision(program, Path(made)),
        }
        (kept / "release.json").write_text(json.dumps(release, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
