"""Imports of Waypost's own ZIP, with pictures, pixels and handlers, and the refusal of hostile ZIPs."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import sqlalchemy as sa
from PIL import Image

from app.accounts.workspaces import access_of
from app.core.errors import Busy, Invalid
from app.import_export import files, runs
from app.import_export.models import FailedRow, LinkImport
from app.import_export.readers import archive
from app.links import bulk_create, pictures, uploads
from app.links.models import Link
from app.pixels.models import Pixel
from tests import pictures as stored_pictures

TO = "https://example.com/"
FAVICON, CARD = "pictures/" + "a" * 32 + ".png", "pictures/" + "b" * 32 + ".jpg"
Take = Callable[..., LinkImport]


def picture(width: int = 32, height: int = 32, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 10, 10)).save(out, kind)
    return out.getvalue()


def zip_of(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def links_json(*links: dict[str, Any]) -> tuple[str, bytes]:
    return "links.json", json.dumps([{"location_url": TO, **link} for link in links]).encode()


def with_pictures(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP with a link that has a picture, one that has another, and one that has none."""
    table = links_json(
        {"url": "icon", "cloaking_favicon": FAVICON},
        {"url": "card", "cloaking_opengraph": CARD},
        {"url": "plain", "cloaking_favicon": None},
    )
    return zip_of([table, *members], method)


@pytest.fixture
def take(upload: Take) -> Take:
    return upload


def problems(session) -> dict[str, list[list[str]]]:
    """The problems of each failed row, by its alias."""
    rows = session.scalars(sa.select(FailedRow).where(FailedRow.is_made.is_(False)))
    return {row.cells[1]: row.problems for row in rows}


def link_called(session, alias: str) -> Link:
    found: Link = session.scalars(sa.select(Link).where(Link.url == alias)).one()
    return found


def left(settings) -> list[str]:
    return sorted(path.name for path in files.directory_of(settings.data_dir).iterdir())


@pytest.mark.databases
def test_pictures_come_back_written_anew(session, settings, alice, take) -> None:
    found = with_pictures((FAVICON, picture()), (CARD, picture(640, 480, "JPEG")))
    job = take(alice, found)
    assert (job.state, job.made, job.failed) == ("done", 3, 0), problems(session)
    for alias, field, size in (
        ("icon", "cloaking_favicon", (32, 32)),
        ("card", "cloaking_opengraph", (640, 480)),
    ):
        name = getattr(link_called(session, alias), field)
        assert name not in (FAVICON, CARD)
        with Image.open(uploads.path_of(name)) as kept:
            assert kept.size == size
    assert link_called(session, "plain").cloaking_favicon is None
    assert len(stored_pictures.served()) == 2
    again = take(alice, found)
    assert (again.made, again.known, again.failed) == (0, 3, 0)
    assert len(stored_pictures.served()) == 2


def test_a_check_reads_pictures_and_keeps_none(session, alice, take) -> None:
    job = take(alice, with_pictures((FAVICON, b"no picture"), (CARD, picture(kind="JPEG"))), "checking")
    assert (job.state, job.made, job.failed) == ("checked", 2, 1)
    assert not stored_pictures.served()


def directory_entry(content: bytes, name: str, offset: int, value: bytes) -> bytes:
    """The same with other bytes in the directory's entry of this member."""
    start = content.rindex(name.encode()) - 46 + offset
    assert content[start - offset :].startswith(b"PK\x01\x02")
    return content[:start] + value + content[start + len(value) :]


def with_twice() -> bytes:
    out = io.BytesIO(with_pictures((CARD, picture(kind="JPEG"))))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(FAVICON, picture())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(FAVICON, picture(16, 16))
    return out.getvalue()


GOOD_CARD = (CARD, picture(kind="JPEG"))
ICON = (FAVICON, picture())


def patched(offset: int, value: bytes, picture_bytes: bytes | None = None) -> Callable[[], bytes]:
    """A ZIP whose directory says something else of the icon."""
    icon = ICON if picture_bytes is None else (FAVICON, picture_bytes)
    return lambda: directory_entry(with_pictures(GOOD_CARD, icon), FAVICON, offset, value)


BAD_PICTURES: dict[str, tuple[Callable[[], bytes], str]] = {
    "not there": (lambda: with_pictures(GOOD_CARD), "It is not in the ZIP."),
    "there twice": (with_twice, "more than once"),
    "another path to it": (lambda: with_pictures(GOOD_CARD, (f"./{FAVICON}", picture())), "not in the ZIP"),
    "no picture": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"#!/bin/sh\n")), "a whole picture"),
    "a bomb": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"\0" * 200 * 1024 * 1024)), "at most 512 KiB"),
    "a bomb that says it is small": (patched(24, struct.pack("<L", 100), b"\0" * (50 << 20)), "damaged in the ZIP"),
    "shorter than it says": (patched(24, struct.pack("<L", 100_000)), "damaged in the ZIP"),
    "wrong CRC": (patched(16, b"\1\2\3\4"), "damaged in the ZIP"),
    "encrypted": (patched(8, b"\1\0"), "encrypted in the ZIP"),
    "strongly encrypted": (patched(8, b"\x40\0"), "encrypted in the ZIP"),
    "patched data": (patched(8, b"\x20\0"), "damaged in the ZIP"),
    "LZMA": (patched(10, b"\x0e\0"), "a way that is not read"),
    "beyond the file": (patched(42, struct.pack("<L", 0x7FFFFFFF)), "damaged in the ZIP"),
    "where another is": (patched(42, struct.pack("<L", 0)), "damaged in the ZIP"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said"), BAD_PICTURES.values(), ids=BAD_PICTURES)
def test_a_bad_picture_is_a_failed_field_of_its_row(session, settings, alice, take, make, said) -> None:
    job = take(alice, make())
    found = problems(session)
    assert (job.state, job.made, job.failed) == ("done", 2, 1), found
    [[field, words]] = found["icon"]
    assert (field, said in words) == ("cloaking_favicon", True), words
    assert len(stored_pictures.served()) == 1
    assert {path.parent for path in settings.data_dir.rglob("*.sh")} == set()


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../../secret_key", "pictures/../../main.db", "links.json", "pictures/", "\u0130" * 300],
)
def test_a_name_is_never_a_path(session, settings, alice, take, name: str) -> None:
    """Neither a name in a row, nor the name of a member."""
    table = links_json({"url": "icon", "cloaking_favicon": name}, {"url": "plain"})
    members = {name: b"x", table[0]: table[1]}
    before = {path for path in settings.data_dir.parent.rglob("*") if "imports" not in path.parts}
    job = take(alice, zip_of(members.items()))
    assert (job.made, job.failed) == (1, 1)
    new = {path for path in settings.data_dir.parent.rglob("*") if "imports" not in path.parts} - before
    assert {path.suffix for path in new} <= {".lock", ".id"} | {
        path.suffix for path in new if "locks" in path.parts
    }


def many_members(count: int) -> bytes:
    """An entry of the directory for each, with the shortest of names."""
    entry = struct.pack(
        "<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
    )
    directory = (entry + b"x") * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), 4, 0)
    return b"PK\x03\x04" + directory + end


def with_endless_directory() -> bytes:
    head, _, tail = with_pictures(ICON).rpartition(b"PK\x05\x06")
    return head + b"PK\x05\x06" + tail[:8] + b"\xff\xff\xff\x7f" + tail[12:]


def with_two_lists() -> bytes:
    out = io.BytesIO(with_pictures())
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("links.json", "[]")
    return out.getvalue()


BAD_ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "no links": (lambda: zip_of([("links.csv", b"url,location_url\n")]), "no links.json in this ZIP"),
    "a workbook": (lambda: zip_of([("xl/workbook.xml", b"<x/>")]), "save a spreadsheet as CSV"),
    "links in a folder": (lambda: zip_of([("waypost/links.json", b"[]")]), "no links.json in this ZIP"),
    "empty": (lambda: zip_of([]), "no links.json in this ZIP"),
    "no link": (lambda: zip_of([("links.json", b"[]")]), "no list of links"),
    "cut off": (lambda: with_pictures(ICON)[:-40], "damaged, or not all of it"),
    "a head alone": (lambda: b"PK\x03\x04" + b"\1" * 500, "damaged, or not all of it"),
    "four bytes": (lambda: b"PK\x03\x04", "damaged, or not all of it"),
    "too many members": (lambda: many_members(archive.MAX_ENTRIES + 1), "more than 100,000 files"),
    "a directory larger than any": (lambda: many_members(400_000), "more than 100,000 files"),
    "a directory that ends nowhere": (with_endless_directory, "damaged, or not all of it"),
    "a name that is no UTF-8": (
        lambda: directory_entry(with_pictures(ICON), FAVICON, 8, b"\0\x08").replace(
            FAVICON.encode(), b"\xff" * len(FAVICON)
        ),
        "damaged, or not all of it",
    ),
    "links encrypted": (lambda: directory_entry(with_pictures(ICON), "links.json", 8, b"\1\0"), "It is encrypted"),
    "links damaged": (lambda: directory_entry(with_pictures(ICON), "links.json", 16, b"\1\2\3\4"), "It is damaged"),
    "two lists of links": (with_two_lists, "more than once"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said"), BAD_ZIPS.values(), ids=BAD_ZIPS)
def test_a_bad_zip_is_refused_and_leaves_nothing(session, settings, alice, take, make, said) -> None:
    with pytest.raises(Invalid) as caught:
        take(alice, make())
    assert said in str(caught.value)
    assert left(settings) == []


def test_a_list_of_links_is_unpacked_up_to_a_limit(settings, alice, take, monkeypatch) -> None:
    monkeypatch.setattr(archive, "MAX_LINKS_BYTES", 1024 * 1024)
    with pytest.raises(Invalid, match="It is too large"):
        take(alice, zip_of([("links.json", b" " * (1024 * 1024 + 1))]))
    assert left(settings) == []


def test_more_zips_at_once_than_a_process_unpacks_wait_and_are_told(
    settings, alice, take, monkeypatch
) -> None:
    monkeypatch.setattr(archive, "WAIT_SECONDS", 0.01)
    for _ in range(archive.MAX_UNPACKED):
        archive._slots.acquire()
    try:
        with pytest.raises(Busy):
            take(alice, with_pictures(ICON))
    finally:
        for _ in range(archive.MAX_UNPACKED):
            archive._slots.release()
    assert left(settings) == []
    assert take(alice, with_pictures(ICON, GOOD_CARD)).made == 3


def test_a_row_waits_for_a_picture_helper_and_says_so_in_the_end(session, alice, take, monkeypatch) -> None:
    real, calls = pictures.read_picture, []

    def busy_at_first(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) <= wanted:
            raise pictures.busy()
        return real(*arguments, **options)

    monkeypatch.setattr("app.links.fields.read_picture", busy_at_first)
    wanted = runs.BUSY_TRIES - 1
    assert take(alice, with_pictures(ICON, GOOD_CARD)).made == 3
    calls.clear()
    wanted = runs.BUSY_TRIES
    table = links_json({"url": "late", "cloaking_favicon": FAVICON})
    assert take(alice, zip_of([table, ICON])).failed == 1
    assert "Too many pictures" in session.scalars(sa.select(FailedRow)).one().problems[0][1]


@pytest.mark.databases
def test_a_picture_of_a_link_that_lost_its_alias_goes(session, alice, bob, factory) -> None:
    """A concurrent writer takes the alias between the decision and the write."""
    factory.link(bob, "taken")
    changes = {"url": "taken", "location_url": TO, "cloaking_favicon": uploads.Picture(picture(), "png")}
    assert bulk_create.create_each(access_of(alice), [changes]) == [None]
    session.commit()
    assert stored_pictures.served() == []


PIXELS = [["social_a", "77", "One"], ["social_a", "77", "Two"]]


@pytest.mark.databases
@pytest.mark.parametrize("state", ["checking", "taking"])
def test_pixels_that_are_not_there_are_made(session, alice, make_pixel, take, state: str) -> None:
    """Each once for all rows, by its name, even where two share a type and an identifier."""
    make_pixel(alice, type="social_a", pixel="77", name="Mine")
    table = links_json(
        {"url": "one", "pixels": PIXELS[:1]},
        {"url": "two", "pixels": PIXELS[1:]},
        {"url": "both", "pixels": [*PIXELS, PIXELS[0]]},
        {"url": "bad", "pixels": [["social_a", "7 7", "x"]]},
        {"url": "unknown", "pixels": [["nope", "77", "x"]]},
        {"url": "old", "pixels": [["social_a", "78"]]},
    )
    job = take(alice, zip_of([table]), state)
    assert (job.made, job.failed) == (3, 3)
    assert {alias: [field for field, _ in found] for alias, found in problems(session).items()} == {
        alias: ["pixels"] for alias in ("bad", "unknown", "old")
    }
    names = list(session.scalars(sa.select(Pixel.name).order_by(Pixel.name)))
    if state == "checking":
        assert names == ["Mine"]
        return
    assert names == ["Mine", "One", "One", "Two"]
    found = {
        url: [pixel.name for pixel in link_called(session, url).pixels] for url in ("one", "two", "both")
    }
    assert {url: sorted(each) for url, each in found.items()} == {
        "one": ["One"],
        "two": ["Two"],
        "both": ["One", "One", "Two"],
    }


def test_a_table_without_its_zip_says_which_pictures_it_lacks(session, alice, bring, settings) -> None:
    job = bring(alice, links_json({"url": "icon", "cloaking_favicon": FAVICON})[1].decode())
    runs.run(job.id, settings)
    session.refresh(job)
    [row] = session.scalars(sa.select(FailedRow))
    assert (job.made, row.is_made, row.problems[0][0]) == (1, True, "cloaking_favicon")
    assert "does not contain its picture" in row.problems[0][1]
