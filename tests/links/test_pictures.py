"""Uploaded pictures: which are accepted, what is kept of them, and the limits of the helper process."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from app.core.file_locks import lock_file
from app.input.parsers import Rejected
from app.links import pictures
from app.links.pictures import read_picture
from tests.api.shape import problem
from tests.links.pictures import SVG, animation, huge_png, icon_around, picture
from tests.server import wait_for

pytestmark = pytest.mark.usefixtures("lock_directory")


@pytest.fixture
def lock_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "_lock_directory", tmp_path)
    return tmp_path


@pytest.fixture
def use_helper(tmp_path, monkeypatch) -> Callable[[str], Path]:
    """Run other code in place of the helper."""

    def use(code: str) -> Path:
        path = tmp_path / "helper.py"
        path.write_text(f"import os, pathlib, resource, runpy, signal, sys, time\n{code}\n")
        monkeypatch.setattr(pictures, "HELPER", path)
        return path

    return use


@pytest.fixture
def small_helper(use_helper):
    """The helper, with too little memory for anything large."""
    helper = f"sys.argv[0] = {str(pictures.HELPER)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    use_helper(f"resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))\n{helper}")


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
def test_a_huge_picture_is_refused_before_it_is_unpacked(content, small_helper):
    with pytest.raises(Rejected) as caught:
        read_picture(content)
    assert caught.value.args[0].code == "too_many_pixels"
    assert "20 megapixels" in str(caught.value.args[0])


@pytest.mark.parametrize("size", [(5_001, 4_000), (50_000, 50_000)])
def test_a_huge_picture_inside_an_icon_is_refused(size, small_helper):
    with pytest.raises(Rejected) as caught:
        read_picture(icon_around(huge_png(*size)), may_be_icon=True)
    assert caught.value.args[0].code == "too_many_pixels"


def test_a_picture_of_over_twenty_megapixels_says_so(api, alice, make_link):
    content = picture("GIF", size=(5_001, 4_000))
    answer = api.post(f"/links/{make_link(alice).id}", {"cloaking_opengraph": (io.BytesIO(content), "x")})
    (entry,) = problem(answer, 422)
    assert entry["title"] == "This picture may have at most 20 megapixels."
    assert (entry["field"], entry["code"]) == ("cloaking_opengraph", "too_many_pixels")


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "mode", "suffix"), [("PNG", "RGB", "png"), ("JPEG", "CMYK", "jpg"), ("WEBP", "RGBA", "png")]
)
def test_twenty_megapixels_are_taken(kind, mode, suffix):
    """A WebP with transparency becomes a PNG: writing it as WebP would take 900 MB."""
    found = read_picture(picture(kind, size=(5_000, 4_000), mode=mode))
    assert found.suffix == suffix
    with Image.open(io.BytesIO(found.content)) as image:
        assert image.size == (5_000, 4_000)


def test_no_wider_than_asked_for():
    found = read_picture(picture("PNG", size=(3_000, 2_000), mode="RGBA"), max_width=512)
    with Image.open(io.BytesIO(found.content)) as image:
        assert image.size == (512, 341)
    found = read_picture(picture("PNG", size=(300, 200)), max_width=512)
    with Image.open(io.BytesIO(found.content)) as image:
        assert image.size == (300, 200)


NOISE = Image.effect_noise((700, 700), 90)


@pytest.mark.parametrize(("kind", "suffix"), [("GIF", "png"), ("JPEG", "jpg"), ("WEBP", "webp")])
def test_a_picture_that_would_grow_is_made_smaller(kind, suffix):
    """Noise of low quality, which takes more when it is re-encoded."""
    out = io.BytesIO()
    NOISE.convert("RGB" if kind != "GIF" else "L").save(out, kind, quality=20)
    most = len(out.getvalue())
    assert len(read_picture(out.getvalue()).content) > most
    found = read_picture(out.getvalue(), most_bytes=most)
    assert (len(found.content) <= most, found.suffix) == (True, suffix)
    with Image.open(io.BytesIO(found.content)) as image:
        assert 100 < image.width == image.height < 700


def test_what_is_stored_is_no_larger_than_an_upload_may_be(api, alice, make_link, monkeypatch):
    """So that an import, whose limits are the same, takes each picture of an export."""
    link, asked = make_link(alice), []
    monkeypatch.setattr(
        "app.links.fields.read_picture", lambda _, **options: asked.append(options["most_bytes"])
    )
    for field in ("cloaking_favicon", "cloaking_opengraph"):
        api.post(f"/links/{link.id}", {field: (io.BytesIO(PNG), "x")})
    assert asked == [512 * 1024, 5 * 1024 * 1024]


# --- what the helper guards against

PNG = picture("PNG")
FAILURES = {
    "a crash": "os.kill(os.getpid(), signal.SIGSEGV)",
    "a bug": "raise RuntimeError",
    "memory without end": "resource.setrlimit(resource.RLIMIT_AS, (64 << 20,) * 2)\nx = bytearray(1 << 30)",
    "computing without end": "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
}


@pytest.mark.parametrize("code", FAILURES.values(), ids=FAILURES)
def test_a_helper_that_fails_is_a_picture_refused(api, alice, make_link, use_helper, code):
    link = make_link(alice)
    use_helper(code)
    answer = api.post(f"/links/{link.id}", {"cloaking_favicon": (io.BytesIO(PNG), "x")})
    (entry,) = problem(answer, 422)
    assert (entry["field"], entry["code"]) == ("cloaking_favicon", "picture_too_complex")
    assert "takes too much time or memory" in entry["title"]
    assert api.get(f"/links/{link.id}").json["data"]["cloaking_favicon"] is None


def test_not_enough_memory_is_a_picture_refused(small_helper):
    with pytest.raises(Rejected) as caught:
        read_picture(picture("PNG", size=(5_000, 4_000)))
    assert caught.value.args[0].code == "picture_too_complex"


@pytest.mark.full
def test_a_helper_that_does_not_end_is_killed(use_helper, monkeypatch, tmp_path):
    use_helper(f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); signal.pause()")
    monkeypatch.setattr(pictures, "DEADLINE_SECONDS", 5)
    with pytest.raises(Rejected) as caught:
        read_picture(PNG)
    assert caught.value.args[0].code == "picture_too_complex"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_helper_knows_no_secret(use_helper, monkeypatch):
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "not for helpers")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    use_helper("print('png'); print(sorted(os.environ), os.getcwd(), 'app' in sys.modules)")
    # a Python that finds no locale sets one
    names, cwd, has_app = read_picture(PNG).content.decode().rsplit(maxsplit=2)
    assert eval(names) in ([], ["LC_CTYPE"])
    assert (cwd, has_app) == ("/", "False")


def test_the_web_process_decodes_nothing(api, alice, make_link, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("decoded in the web process")

    icon = picture("ICO", size=(32, 32))
    monkeypatch.setattr(Image, "open", refuse)
    answer = api.post(
        f"/links/{make_link(alice).id}",
        {"cloaking_opengraph": (io.BytesIO(PNG), "x"), "cloaking_favicon": (io.BytesIO(icon), "x")},
    )
    assert answer.status_code == 200


# --- two at once

WAITS = """
directory = pathlib.Path({directory!r})
(directory / f"started-{{os.getpid()}}").touch()
while not (directory / "go").exists(): time.sleep(0.02)
print("png")
"""


def test_two_run_at_once_and_the_next_one_waits(use_helper, tmp_path):
    use_helper(WAITS.format(directory=str(tmp_path)))
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(read_picture, PNG) for _ in range(4)]
        wait_for(lambda: len(list(tmp_path.glob("started-*"))) == 2, "two helpers")
        for number in range(2):
            with lock_file(tmp_path / f"pictures-{number}.lock") as is_free:
                assert not is_free
        (tmp_path / "go").touch()
        assert [read.result().suffix for read in reads] == ["png"] * 4
    assert len(list(tmp_path.glob("started-*"))) == 4


@pytest.fixture
def all_helpers_taken(lock_directory, app, monkeypatch):
    """Both locks are held, as if other processes of the machine ran the helpers."""
    monkeypatch.setattr(pictures, "_lock_directory", lock_directory)
    monkeypatch.setattr(pictures, "WAIT_SECONDS", 0)
    with lock_file(lock_directory / "pictures-0.lock"), lock_file(lock_directory / "pictures-1.lock"):
        yield


def test_beyond_that_the_answer_is_503(api, alice, make_link, all_helpers_taken):
    link = make_link(alice)
    sent = {"title": "new", "cloaking_favicon": (io.BytesIO(PNG), "x")}
    answer = api.post(f"/links/{link.id}", sent)
    (entry,) = problem(answer, 503)
    assert entry["code"] == "busy"
    assert int(answer.headers["Retry-After"]) > 0
    assert api.get(f"/links/{link.id}").json["data"]["title"] != "new"
    assert api.post(f"/links/{link.id}", {"title": "new"}).status_code == 200
