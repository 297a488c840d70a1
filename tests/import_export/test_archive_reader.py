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
from app.import_export import archive_reader, files, importer, row_reading, runs, services
from app.import_export.cleanup import tidy
from app.import_export.models import FailedRow, LinkImport
from app.links import bulk_create, pictures, uploads
from app.links.models import Link
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
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
def take(session, settings) -> Take:
    """`take(user, content)`: what the dashboard and the worker do with an uploaded file."""

    def run(user: Any, content: bytes, state: str = "taking") -> LinkImport:
        path = files.new_file(settings.data_dir)
        path.write_bytes(content)
        job = services.bring(access_of(user), path, "waypost.zip", services.look(path))
        session.flush()
        importer.start(job, state)
        session.commit()
        runs.run(job.id, settings)
        found: LinkImport = session.get(LinkImport, job.id, populate_existing=True)
        return found

    return run


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


def flip(content: bytes, at: bytes, offset: int, value: bytes) -> bytes:
    """The same with other bytes at `offset` behind the last `at`."""
    start = content.rindex(at) + offset
    return content[:start] + value + content[start + len(value) :]


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
BAD_PICTURES: dict[str, tuple[Callable[[], bytes], str]] = {
    "not there": (lambda: with_pictures(GOOD_CARD), "It is not in the ZIP."),
    "there twice": (with_twice, "more than once"),
    "another path to it": (lambda: with_pictures(GOOD_CARD, (f"./{FAVICON}", picture())), "not in the ZIP"),
    "no picture": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"GIF89a")), "a whole picture"),
    "SVG": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"<svg onload='x()'/>")), "a whole picture"),
    "a program": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"#!/bin/sh\n")), "a whole picture"),
    "too many pixels": (
        lambda: with_pictures(GOOD_CARD, (FAVICON, picture(5000, 4001))),
        "at most 20 megapixels",
    ),
    "too large for its field": (
        lambda: with_pictures(GOOD_CARD, (FAVICON, picture() + b"\0" * 512 * 1024)),
        "at most 512 KiB",
    ),
    "a bomb": (lambda: with_pictures(GOOD_CARD, (FAVICON, b"\0" * 200 * 1024 * 1024)), "at most 512 KiB"),
    "a bomb that says it is small": (
        lambda: directory_entry(
            with_pictures(GOOD_CARD, (FAVICON, b"\0" * 50 * 1024 * 1024)), FAVICON, 24, struct.pack("<L", 100)
        ),
        "damaged in the ZIP",
    ),
    "shorter than it says": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 24, struct.pack("<L", 100_000)),
        "damaged in the ZIP",
    ),
    "wrong CRC": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 16, b"\1\2\3\4"),
        "damaged in the ZIP",
    ),
    "encrypted": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 8, b"\1\0"),
        "encrypted in the ZIP",
    ),
    "strongly encrypted": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 8, b"\x40\0"),
        "encrypted in the ZIP",
    ),
    "patched data": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 8, b"\x20\0"),
        "damaged in the ZIP",
    ),
    "LZMA": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 10, b"\x0e\0"),
        "a way that is not read",
    ),
    "bzip2": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 10, b"\x0c\0"),
        "a way that is not read",
    ),
    "no deflate": (
        lambda: flip(with_pictures(ICON, GOOD_CARD, method=zipfile.ZIP_STORED), b"\x89PNG", 0, b"\xff" * 4),
        "damaged in the ZIP",
    ),
    "beyond the file": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 42, struct.pack("<L", 0x7FFFFFFF)),
        "damaged in the ZIP",
    ),
    "where another is": (
        lambda: directory_entry(with_pictures(GOOD_CARD, ICON), FAVICON, 42, struct.pack("<L", 0)),
        "damaged in the ZIP",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD_PICTURES.values(), ids=BAD_PICTURES)
def test_a_bad_picture_is_a_failed_field_of_its_row(
    session, settings, alice, take, make: Callable[[], bytes], said: str
) -> None:
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


BAD_ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "no links": (lambda: zip_of([("links.csv", b"url,location_url\n")]), "no links.json in this ZIP"),
    "a workbook": (lambda: zip_of([("xl/workbook.xml", b"<x/>")]), "save a spreadsheet as CSV"),
    "links in a folder": (lambda: zip_of([("waypost/links.json", b"[]")]), "no links.json in this ZIP"),
    "empty": (lambda: zip_of([]), "no links.json in this ZIP"),
    "no link": (lambda: zip_of([("links.json", b"[]")]), "no list of links"),
    "links that are no JSON": (lambda: zip_of([("links.json", b"\0\1\2")]), "This is not text"),
    "cut off": (lambda: with_pictures(ICON)[:-40], "damaged, or not all of it"),
    "a head alone": (lambda: b"PK\x03\x04" + b"\1" * 500, "damaged, or not all of it"),
    "four bytes": (lambda: b"PK\x03\x04", "damaged, or not all of it"),
    "too many members": (lambda: many_members(archive_reader.MAX_ENTRIES + 1), "more than 100,000 files"),
    "a directory larger than any": (lambda: many_members(400_000), "more than 100,000 files"),
    "a directory that ends nowhere": (
        lambda: flip(with_pictures(ICON), b"PK\x05\x06", 12, b"\xff\xff\xff\x7f"),
        "damaged, or not all of it",
    ),
    "a name that is no UTF-8": (
        lambda: directory_entry(with_pictures(ICON), FAVICON, 8, b"\0\x08").replace(
            FAVICON.encode(), b"\xff" * len(FAVICON)
        ),
        "damaged, or not all of it",
    ),
    "links encrypted": (
        lambda: directory_entry(with_pictures(ICON), "links.json", 8, b"\1\0"),
        "It is encrypted",
    ),
    "links with a wrong CRC": (
        lambda: directory_entry(with_pictures(ICON), "links.json", 16, b"\1\2\3\4"),
        "It is damaged",
    ),
    "links in LZMA": (
        lambda: directory_entry(with_pictures(ICON), "links.json", 10, b"\x0e\0"),
        "a way that is not read",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD_ZIPS.values(), ids=BAD_ZIPS)
def test_a_bad_zip_is_refused_and_leaves_nothing(
    session, settings, alice, take, make: Callable[[], bytes], said: str
) -> None:
    with pytest.raises(Invalid) as caught:
        take(alice, make())
    assert said in str(caught.value)
    assert left(settings) == []


def test_two_lists_of_links_are_refused(settings, alice, take) -> None:
    out = io.BytesIO(with_pictures())
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("links.json", "[]")
    with pytest.raises(Invalid, match="more than once"):
        take(alice, out.getvalue())
    assert left(settings) == []


def test_a_list_of_links_is_unpacked_up_to_a_limit(settings, alice, take, monkeypatch) -> None:
    monkeypatch.setattr(archive_reader, "MAX_LINKS_BYTES", 1024 * 1024)
    with pytest.raises(Invalid, match="It is too large"):
        take(alice, zip_of([("links.json", b" " * (1024 * 1024 + 1))]))
    assert left(settings) == []


def test_a_full_disk_ends_unpacking(settings, alice, take, monkeypatch) -> None:
    monkeypatch.setattr(files, "SPARE_BYTES", 1 << 60)
    with pytest.raises(Invalid, match="no space for this file"):
        take(alice, with_pictures(ICON))
    assert left(settings) == []


def test_more_zips_at_once_than_a_process_unpacks_wait_and_are_told(
    settings, alice, take, monkeypatch
) -> None:
    monkeypatch.setattr(archive_reader, "WAIT_SECONDS", 0.01)
    for _ in range(archive_reader.MAX_UNPACKED):
        archive_reader._slots.acquire()
    try:
        with pytest.raises(Busy):
            take(alice, with_pictures(ICON))
    finally:
        for _ in range(archive_reader.MAX_UNPACKED):
            archive_reader._slots.release()
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
    wanted = row_reading.BUSY_TRIES - 1
    assert take(alice, with_pictures(ICON, GOOD_CARD)).made == 3
    calls.clear()
    wanted = row_reading.BUSY_TRIES
    table = links_json({"url": "late", "cloaking_favicon": FAVICON})
    assert take(alice, zip_of([table, ICON])).failed == 1
    assert "Too many pictures" in session.scalars(sa.select(FailedRow)).one().problems[0][1]


def test_pictures_are_stored_a_row_at_a_time(session, settings, alice, monkeypatch) -> None:
    """Each may take a minute, and the links that a killed process has made stay."""
    rows = [{"url": f"n{n}", "cloaking_favicon": FAVICON if n % 2 else None} for n in range(6)]
    path = files.new_file(settings.data_dir)
    path.write_bytes(zip_of([links_json(*rows), ICON]))
    job = services.bring(access_of(alice), path, "x.zip", services.look(path))
    importer.start(job, "taking")
    session.commit()
    found = runs.begin(job, settings)
    assert found is not None and found.archive is not None
    with found.archive:
        assert [len(found.next_rows()) for _ in range(4)] == [2, 2, 2, 0]


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


HANDLERS = [
    {"type": "webhook", "name": "shop", "is_enabled": True,
     "settings": {"webhook": "https://hooks.example/a", "secret": "whsec_" + "QUJD" * 8}},
    {"type": "webhook", "name": "weak", "is_enabled": False,
     "settings": {"webhook": "https://hooks.example/b", "secret": "whsec_short"}},
    {"type": "webhook", "name": "inside", "settings": {"webhook": "http://127.0.0.1/"}},
    {"type": "nope", "name": "strange", "settings": {}},
    {"type": "email", "name": "empty", "settings": None},
]  # fmt: skip


@pytest.mark.databases
def test_handlers_are_made_of_what_the_file_says(session, alice, take) -> None:
    names = [[one["type"], one["name"]] for one in HANDLERS]
    table = links_json(
        *({"url": name, "handlers": [[type_, name]]} for type_, name in names),
        {"url": "both", "handlers": names[:2]},
        {"url": "missing", "handlers": [["email", "nobody"]]},
    )
    job = take(alice, zip_of([table, ("notification-handlers.json", json.dumps(HANDLERS).encode())]))
    assert set(problems(session)) == {"inside", "strange", "empty", "missing"}
    assert job.made == 3
    shop, weak = session.scalars(sa.select(NotificationHandler).order_by(NotificationHandler.name))
    assert (shop.settings, shop.is_enabled) == (HANDLERS[0]["settings"], True)
    assert (weak.name, weak.is_enabled) == ("weak", False)
    assert len(weak.settings["secret"]) > 30
    assert link_called(session, "both").handlers == [shop, weak]


@pytest.mark.parametrize(
    "content", [b"{}", b"[1, null]", b"[" * 100_000, b"\xff", b"[]" + b" " * (4 << 20), None]
)
def test_lists_beside_the_links_that_say_nothing(session, alice, take, content: bytes | None) -> None:
    beside = [] if content is None else [("notification-handlers.json", content), ("projects.json", content)]
    table = links_json({"url": "a", "handlers": [["email", "x"]]}, {"url": "b", "project": "Spring"})
    job = take(alice, zip_of([table, *beside]))
    assert (job.made, job.failed) == (1, 1)


def test_projects_keep_their_colours(session, alice, take, factory) -> None:
    factory.project(alice, name="Mine", color="#111111")
    rows = [
        {"name": "Mine", "color": "#222222"},
        {"name": "New", "color": "#333333"},
        {"name": "Odd", "color": "red"},
    ]
    table = links_json(*({"url": row["name"], "project": row["name"]} for row in rows))
    assert take(alice, zip_of([table, ("projects.json", json.dumps(rows).encode())])).made == 3
    found = dict(session.execute(sa.select(Project.name, Project.color)).all())
    assert found == {"Mine": "#111111", "New": "#333333", "Odd": "#4263eb"}


def test_a_table_without_its_zip_says_which_pictures_it_lacks(session, alice, bring, settings) -> None:
    job = bring(alice, links_json({"url": "icon", "cloaking_favicon": FAVICON})[1].decode())
    runs.run(job.id, settings)
    session.refresh(job)
    [row] = session.scalars(sa.select(FailedRow))
    assert (job.made, row.is_made, row.problems[0][0]) == (1, True, "cloaking_favicon")
    assert "does not contain its picture" in row.problems[0][1]


def test_both_files_go_when_nobody_needs_them(session, settings, alice, take) -> None:
    import os

    job = take(alice, with_pictures(ICON, GOOD_CARD))
    assert left(settings) == [job.file, job.file.replace(".csv", ".zip")]
    for path in files.directory_of(settings.data_dir).iterdir():
        os.utime(path, (0, 0))
    assert tidy(session, settings.data_dir) == 2
    assert left(settings) == []
