"""Which pictures are taken, what of them is kept, and does nothing stay behind?"""

from __future__ import annotations

import io
import random
import tracemalloc

import pytest
from PIL import Image, PngImagePlugin

from app.database import begin_write
from app.extensions import db
from app.links import services, uploads
from app.links.emptying import empty_trash
from app.links.models import Link
from app.links.removal import erase
from app.links.uploads import Picture, read_picture
from app.reading import Rejected
from tests.links.pictures import SVG, animation, huge_png, icon_around, picture

GOOD = {
    "PNG": (picture("PNG"), "png"),
    "PNG with a palette": (picture("PNG", mode="P"), "png"),
    "PNG, grey, 16 bits": (picture("PNG", mode="I;16"), "png"),
    "PNG, clear": (picture("PNG", mode="RGBA"), "png"),
    "JPEG": (picture("JPEG"), "jpg"),
    "JPEG, grey": (picture("JPEG", mode="L"), "jpg"),
    "JPEG for printers": (picture("JPEG", mode="CMYK"), "jpg"),
    "GIF": (picture("GIF"), "png"),
    "WebP": (picture("WEBP"), "webp"),
    "GIF that moves": (animation("GIF"), "png"),
    "WebP that moves": (animation("WEBP"), "webp"),
    "PNG that moves": (animation("PNG"), "png"),
}


@pytest.mark.parametrize(("content", "suffix"), GOOD.values(), ids=GOOD)
def test_a_picture_is_written_anew(content, suffix):
    found = read_picture(content)
    assert found.suffix == suffix
    with Image.open(io.BytesIO(found.content)) as image:
        image.load()
        assert image.size == (8, 6)
        assert getattr(image, "n_frames", 1) == 1


def test_an_icon_only_where_there_may_be_one():
    icon = picture("ICO", size=(32, 32))
    assert read_picture(icon, may_be_icon=True).suffix == "png"
    with pytest.raises(Rejected):
        read_picture(icon)


def test_colours_and_transparency_stay():
    out = io.BytesIO()
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    image.putpixel((1, 1), (200, 100, 50, 128))
    image.save(out, "PNG")
    with Image.open(io.BytesIO(read_picture(out.getvalue()).content)) as found:
        assert found.getpixel((1, 1)) == (200, 100, 50, 128)
        assert found.getpixel((0, 0))[3] == 0


def test_nothing_else_stays():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Author", "SECRET-MARK")
    exif = Image.Exif()
    exif[0x010E] = "SECRET-MARK"
    profile = b"SECRET-MARK" * 20
    for content in (
        picture("PNG", pnginfo=notes, exif=exif, icc_profile=profile),
        picture("JPEG", exif=exif, icc_profile=profile, comment=b"SECRET-MARK"),
        picture("WEBP", exif=exif, icc_profile=profile),
        picture("GIF", comment=b"SECRET-MARK"),
        picture("PNG") + b"SECRET-MARK<script>",
    ):
        assert b"SECRET-MARK" in content
        assert b"SECRET-MARK" not in read_picture(content).content


def test_a_photograph_stands_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    with Image.open(io.BytesIO(read_picture(picture("JPEG", exif=exif)).content)) as image:
        assert image.size == (6, 8)


BAD = {
    "SVG": SVG,
    "HTML": b"<!doctype html><script>alert(1)</script>",
    "text": b"hello",
    "empty": b"",
    "BMP": picture("BMP"),
    "TIFF": picture("TIFF"),
    "PDF": picture("PDF"),
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
    "only the first bytes of a PNG": b"\x89PNG\r\n\x1a\n",
    "JPEG, cut off": picture("JPEG", size=(99, 99))[:-200],
    "PNG, cut off": picture("PNG", size=(99, 99))[:-40],
    "WebP, cut off": picture("WEBP", size=(99, 99))[:-20],
    "ICO, not here": picture("ICO"),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_no_picture(content):
    with pytest.raises(Rejected) as caught:
        read_picture(content)
    assert caught.value.args[0].code == "picture"


HUGE = {
    "50,000 × 50,000": huge_png(50_000, 50_000),
    "just above": huge_png(5_000, 4_001),
    "twice as much": huge_png(10_000, 5_000),
    "one row": huge_png(2**31 - 1, 1),
}


@pytest.mark.parametrize("content", HUGE.values(), ids=HUGE)
def test_a_huge_picture_is_refused_before_it_is_unpacked(content):
    tracemalloc.start()
    with pytest.raises(Rejected) as caught:
        read_picture(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.args[0].code == "too_many_pixels"
    assert peak < 5_000_000


def test_a_huge_picture_inside_an_icon_is_refused():
    with pytest.raises(Rejected):
        read_picture(icon_around(huge_png(50_000, 50_000)), may_be_icon=True)


def test_twenty_megapixels_are_taken():
    assert read_picture(picture("PNG", size=(5_000, 4_000))).suffix == "png"


def test_broken_bytes_never_crash():
    chance = random.Random(1)
    whole = [picture(kind, size=(20, 20)) for kind in ("PNG", "JPEG", "GIF", "WEBP", "ICO")]
    refused = 0
    for _ in range(1500):
        broken = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            read_picture(bytes(broken[: chance.randint(10, len(broken))]), may_be_icon=True)
        except Rejected:
            refused += 1
    assert refused > 500


# --- files


@pytest.fixture
def files(session):
    def names():
        found = uploads.directory().iterdir() if uploads.directory().exists() else ()
        return sorted(path.name for path in found)

    return names


PICTURE = Picture(b"\x89PNG of a kind", "png")
OTHER = Picture(b"another one", "jpg")


def make(user, **changes):
    begin_write(db.session)
    link = services.create(user, {"location_url": "https://example.com/", **changes})
    db.session.commit()
    return link


def test_a_file_comes_and_goes_with_its_link(alice, files):
    link = make(alice, cloaking_favicon=PICTURE, cloaking_opengraph=OTHER)
    assert files() == sorted([link.cloaking_favicon, link.cloaking_opengraph])
    assert (uploads.directory() / link.cloaking_favicon).read_bytes() == PICTURE.content
    begin_write(db.session)
    services.delete(link)
    db.session.commit()
    assert len(files()) == 2  # it may be put back
    begin_write(db.session)
    empty_trash(alice.id)
    assert len(files()) == 2
    db.session.commit()
    assert files() == []


def test_a_new_picture_replaces_the_file(alice, files):
    link = make(alice, cloaking_favicon=PICTURE)
    old = link.cloaking_favicon
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": OTHER})
    assert old in files()
    db.session.commit()
    assert files() == [link.cloaking_favicon] != [old]


def test_a_picture_taken_away(alice, files):
    link = make(alice, cloaking_favicon=PICTURE)
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": None})
    db.session.commit()
    assert link.cloaking_favicon is None
    assert files() == []


def test_other_changes_leave_the_file(alice, files):
    link = make(alice, cloaking_favicon=PICTURE)
    begin_write(db.session)
    services.update(link, {"title": "x"})
    db.session.commit()
    assert files() == [link.cloaking_favicon]


def roll_back():
    db.session.rollback()


def walk_away():
    db.session.remove()


@pytest.mark.parametrize("give_up", [roll_back, walk_away])
def test_a_request_that_fails_leaves_the_files_as_they_were(alice, files, give_up):
    link = make(alice, cloaking_favicon=PICTURE)
    link_id, old, before = link.id, link.cloaking_favicon, files()
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": OTHER, "cloaking_opengraph": OTHER})
    services.create(alice, {"location_url": "https://example.com/", "cloaking_favicon": PICTURE})
    assert len(files()) == 4
    give_up()
    assert files() == before
    assert db.session.get(Link, link_id).cloaking_favicon == old


def test_a_savepoint_does_not_end_the_write(alice, files):
    begin_write(db.session)
    link = services.create(alice, {"location_url": "https://example.com/", "cloaking_favicon": PICTURE})
    with db.session.begin_nested():
        pass
    assert files() == [link.cloaking_favicon]
    db.session.commit()
    assert files() == [link.cloaking_favicon]


def test_of_many_links_each_has_a_file_of_its_own(alice, files):
    begin_write(db.session)
    changes = {"location_urls": ["https://example.com/"] * 3, "cloaking_opengraph": PICTURE}
    links = services.create_bulk(alice, changes)
    db.session.commit()
    assert files() == sorted(link.cloaking_opengraph for link in links)
    assert len(set(files())) == 3
    begin_write(db.session)
    erase(alice.id, [links[0].id])
    db.session.commit()
    assert len(files()) == 2
    assert all(
        (uploads.directory() / link.cloaking_opengraph).read_bytes() == PICTURE.content for link in links[1:]
    )
