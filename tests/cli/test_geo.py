"""`flask geo update`: it installs a file that works, or leaves the old one as it was."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import time_machine
from click.testing import Result
from flask import Flask

from app.core.config import Settings
from app.geo import update as geo_update
from app.geo import validate as geo_validate
from app.geo.lookup import GeoDatabase, Location
from app.jobs.outbound import refresh_places
from tests.geo.geo_files import ADDRESS, LONDON, NETWORK, write_geo_file
from tests.notifications.peers import Peers, Script

IN_LONDON = Location("EU", "GB", "London")
LOOPBACK = {"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
Update = Callable[..., Result]


@pytest.fixture
def path(settings: Settings) -> Path:
    return settings.data_dir / "geo.mmdb"


@pytest.fixture
def update(app: Flask) -> Update:
    return lambda *arguments: app.test_cli_runner().invoke(args=["geo", "update", *arguments])


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return write_geo_file(tmp_path / "served.mmdb", kind="DBIP-City-Lite").read_bytes()


def ok(body: bytes, *headers: bytes) -> bytes:
    lines = (b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def redirect(url: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def by_path(peers: Peers, answers: dict[str, bytes]) -> Script:
    """A server with a response for each path, and 404 for the others."""

    def script(line: object) -> None:
        asked = peers.hear(line).split(b" ")[1].decode()  # type: ignore[arg-type]
        line.sendall(answers.get(asked, NOT_FOUND))  # type: ignore[attr-defined]

    return script


def leftovers(path: Path) -> list[str]:
    return [found.name for found in path.parent.glob(f".{path.name}*") if found.suffix != ".fetched"]


@pytest.mark.parametrize("is_packed", [True, False], ids=["packed", "plain"])
def test_a_file_is_fetched_and_put_in_place(
    is_packed: bool, update: Update, peers: Peers, path: Path, content: bytes
) -> None:
    peer = peers.serve(peers.says(ok(gzip.compress(content) if is_packed else content)))
    result = update("--url", f"{peer.url}geo.mmdb")
    assert result.exit_code == 0, result.output
    today = dt.datetime.now(dt.UTC).date()
    assert result.stdout.splitlines() == [
        f"{path}: DBIP-City-Lite, made on {today}",
        "IP Geolocation by DB-IP (https://db-ip.com)",
    ]
    assert GeoDatabase(path).find(ADDRESS) == IN_LONDON
    assert leftovers(path) == []


@pytest.mark.settings(**LOOPBACK)
@pytest.mark.parametrize(
    "days_ago", [0, 31], ids=["this month's", "last month's, as this month's is not out yet"]
)
def test_the_free_file(
    days_ago: int, update: Update, peers: Peers, path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with time_machine.travel(dt.datetime(2026, 11, 25, tzinfo=dt.UTC), tick=True):
        month = f"{dt.datetime.now(dt.UTC) - dt.timedelta(days_ago):%Y-%m}"
        peer = peers.serve(by_path(peers, {f"/lite-{month}.gz": ok(gzip.compress(content))}))
        monkeypatch.setattr(geo_update, "FREE", peer.url + "lite-{month:%Y-%m}.gz")
        result = update()
    assert result.exit_code == 0, result.output
    assert GeoDatabase(path).find(ADDRESS) == IN_LONDON
    assert len(peers.heard) == 1 + bool(days_ago)


@pytest.mark.settings(GEOIP_URL="http://127.0.0.1:9/nobody")
def test_the_setting_names_an_address_and_the_option_goes_before_it(
    update: Update, peers: Peers, content: bytes
) -> None:
    result = update()
    assert result.exit_code == 1
    assert "http://127.0.0.1:9/nobody: The server refused the connection." in result.stderr
    assert update("--url", peers.serve(peers.says(ok(content))).url).exit_code == 0


def test_the_setting_names_the_file(app: Flask, peers: Peers, content: bytes, tmp_path: Path) -> None:
    named = tmp_path / "some" / "where" / "places.mmdb"
    app.config["WAYPOST"] = dataclasses.replace(app.config["WAYPOST"], geoip_db=named)
    result = app.test_cli_runner().invoke(
        args=["geo", "update", "--url", peers.serve(peers.says(ok(content))).url]
    )
    assert result.exit_code == 0, result.output
    assert GeoDatabase(named).find(ADDRESS) == IN_LONDON


def test_the_free_file_does_not_replace_another_publishers(update: Update, path: Path) -> None:
    before = write_geo_file(path, kind="GeoIP2-City").read_bytes()
    result = update()
    assert result.exit_code == 1
    assert "GeoIP2-City" in result.stderr
    assert path.read_bytes() == before


# --- redirects


@pytest.mark.settings(**LOOPBACK)
def test_redirects_are_followed(update: Update, peers: Peers, path: Path, content: bytes) -> None:
    there = peers.serve(peers.says(ok(content)))
    relative = peers.serve(by_path(peers, {"/a": redirect("/b"), "/b": redirect(there.url)}))
    assert update("--url", f"{relative.url}a").exit_code == 0
    assert GeoDatabase(path).find(ADDRESS) == IN_LONDON


def test_a_redirect_does_not_lead_into_private_networks(update: Update, peers: Peers, content: bytes) -> None:
    there = peers.serve(peers.says(ok(content)))
    result = update("--url", peers.serve(peers.says(redirect(there.url))).url)
    assert result.exit_code == 1
    assert f"{there.url}: This address is in a private network" in result.stderr
    assert len(peers.heard) == 1


@pytest.mark.settings(**LOOPBACK)
def test_a_circle_of_redirects_ends(update: Update, peers: Peers) -> None:
    result = update("--url", peers.serve(by_path(peers, {"/": redirect("/")})).url)
    assert result.exit_code == 1
    assert "More than 5 redirects" in result.stderr


# --- what goes wrong leaves the old file as it was


def not_keyed_by_text(content: bytes) -> bytes:
    """Damage that crashes the reader in C: the key `iso_code` is no text any more."""
    return content.replace(b"Hiso_code", b"\xa8iso_code")


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "not there": (lambda content: NOT_FOUND, "answered 404"),
    "forbidden": (lambda content: b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "answered 403"),
    "a web page": (lambda content: ok(b"<!doctype html>" * 99), "not a file of places"),
    "empty": (lambda content: ok(b""), "not a file of places"),
    "cut off": (lambda content: ok(content[:-200]), "not a file of places"),
    "packed and cut off": (lambda content: ok(gzip.compress(content)[:-9]), "can't be unpacked"),
    "packed and damaged": (
        lambda content: ok(gzip.compress(content)[:30] + bytes(99) + gzip.compress(content)[129:]),
        "can't be unpacked",
    ),
    "the line breaks": (
        lambda content: b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + content,
        "hung up early",
    ),
    "a tree that leads out": (lambda content: ok(b"\xff" * 600 + content[600:]), "not a file of places"),
    "a key that is no text": (lambda content: ok(not_keyed_by_text(content)), "not a file of places"),
}


@pytest.mark.parametrize(("answer", "words"), BAD.values(), ids=BAD)
def test_bad_files(
    answer: Callable[[bytes], bytes], words: str, update: Update, peers: Peers, path: Path, content: bytes
) -> None:
    before = write_geo_file(path, {NETWORK: {**LONDON, "city": {"names": {"en": "Old"}}}}).read_bytes()
    result = update("--url", peers.serve(peers.says(answer(content))).url)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert path.read_bytes() == before
    assert leftovers(path) == []


def test_a_bomb_does_not_fill_the_disk(
    update: Update, peers: Peers, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geo_update, "LARGEST", 5_000_000)
    result = update("--url", peers.serve(peers.says(ok(gzip.compress(bytes(20_000_000))))).url)
    assert result.exit_code == 1
    assert "too large" in result.stderr
    assert not path.exists()
    assert leftovers(path) == []


def test_a_reader_that_does_not_end_is_ended(
    update: Update, peers: Peers, path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geo_validate, "READ_THROUGH", "while True: pass")
    monkeypatch.setattr(geo_validate, "READ_SECONDS", 0.2)
    result = update("--url", peers.serve(peers.says(ok(content))).url)
    assert result.exit_code == 1
    assert "too long" in result.stderr
    assert leftovers(path) == []


@pytest.mark.parametrize("url", ["geo.mmdb", "ftp://x.example/geo.mmdb", ""])
def test_what_is_no_address(url: str, update: Update, path: Path) -> None:
    write_geo_file(path, kind="GeoIP2-City")  # so that nothing is downloaded if an empty file counts as none
    assert update("--url", url).exit_code == 1


# --- by itself

A_WEEK = dt.timedelta(days=7)


@pytest.mark.settings(**LOOPBACK)
def test_a_file_that_was_fetched_is_fetched_again_each_week(
    settings: Settings, path: Path, update: Update, content: bytes, peers: Peers
) -> None:
    url = f"{peers.serve(peers.says(ok(content))).url}places.mmdb"
    assert update("--url", url).exit_code == 0
    days = []
    for day in range(1, 16):
        with time_machine.travel(dt.datetime.now(dt.UTC) + day * dt.timedelta(days=1), tick=False):
            before = len(peers.heard)
            refresh_places(None, settings)  # type: ignore[arg-type]
            if len(peers.heard) > before:
                days.append(day)
                signed = dt.datetime.now(dt.UTC).timestamp()
                os.utime(geo_update.signature(path), (signed, signed))
    assert days == [7, 14]
    assert GeoDatabase(path).find(ADDRESS) == IN_LONDON


@pytest.mark.settings(**LOOPBACK)
@pytest.mark.parametrize("whose", ["nobody's", "another's", "replaced"])
def test_a_file_that_somebody_else_looks_after_is_left_alone(
    whose: str, settings: Settings, path: Path, update: Update, content: bytes, peers: Peers
) -> None:
    if whose != "nobody's":
        write_geo_file(path, kind="DBIP-City-Lite")
    if whose == "replaced":
        assert update("--url", f"{peers.serve(peers.says(ok(content))).url}places.mmdb").exit_code == 0
        path.unlink()
        write_geo_file(path, kind="DBIP-City-Lite")
    heard = len(peers.heard)
    with time_machine.travel(dt.datetime.now(dt.UTC) + 2 * A_WEEK, tick=False):
        refresh_places(None, settings)  # type: ignore[arg-type]
    assert len(peers.heard) == heard


@pytest.mark.settings(**LOOPBACK)
def test_a_fetch_that_fails_leaves_the_file_and_is_tried_the_next_day(
    settings: Settings,
    path: Path,
    update: Update,
    content: bytes,
    peers: Peers,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = f"{peers.serve(by_path(peers, {'/good': ok(content)})).url}good"
    assert update("--url", url).exit_code == 0
    peers.close()
    for day in (7, 8):
        with time_machine.travel(dt.datetime.now(dt.UTC) + day * dt.timedelta(days=1), tick=False):
            caplog.clear()
            refresh_places(None, settings)  # type: ignore[arg-type]
        assert "was not updated" in caplog.text
    assert GeoDatabase(path).find(ADDRESS) == IN_LONDON
