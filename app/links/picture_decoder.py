"""Decodes one picture and re-encodes it; a program of its own, run by `app/links/pictures.py`.

Standard input holds the picture. Standard output gets one line, the suffix of the new picture or `!` and an
error code, and then the new picture. It imports nothing of Waypost, so that it starts within 60 ms of CPU
time and knows no secret. It sets its own limits before it reads the first byte.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import resource
import struct
import sys
import warnings
import zlib

from PIL import (
    GifImagePlugin,
    IcoImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

MAX_PIXELS = 20_000_000
# address space. The most that 20 megapixels take is 420 MiB, as a WebP that becomes a PNG
MAX_MEMORY = 512 * 1024 * 1024
MAX_CPU_SECONDS = 30
MAX_OPEN_FILES = 16
LOW_PRIORITY = 5  # what `nice` adds: redirects get the core first
# with transparency, Pillow takes 45 bytes a pixel to write a WebP: 900 MB for 20 megapixels
MAX_CLEAR_WEBP_PIXELS = 8_000_000

# only these decoders are loaded, whatever else Pillow knows
FORMATS = [
    plugin.format
    for plugin in (
        PngImagePlugin.PngImageFile,
        JpegImagePlugin.JpegImageFile,
        GifImagePlugin.GifImageFile,
        WebPImagePlugin.WebPImageFile,
    )
]
ICON = IcoImagePlugin.IcoImageFile.format
SUFFIXES = {"JPEG": "jpg", "WEBP": "webp", "PNG": "png"}

# what Pillow raises on malformed files, as found by feeding it such files
BROKEN = (OSError, SyntaxError, ValueError, LookupError, ArithmeticError, TypeError, struct.error, zlib.error)


class TooManyPixelsError(Exception):
    """The picture has more than `MAX_PIXELS`."""


TOO_MANY = (TooManyPixelsError, Image.DecompressionBombError, Image.DecompressionBombWarning)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--icon", action="store_true", help="the picture may be an icon")
    parser.add_argument("--width", type=int, help="of a smaller picture, at most, and its height")
    parser.add_argument("--bytes", type=int, help="of the new picture, at most; it is made smaller")
    parser.add_argument("--png", action="store_true", help="the new picture is a PNG, whatever it was")
    asked = parser.parse_args()
    limit_resources()
    os.nice(LOW_PRIORITY)
    try:
        suffix, content = rewrite_picture(
            sys.stdin.buffer.read(),
            may_be_icon=asked.icon,
            width=asked.width,
            most_bytes=asked.bytes,
            as_png=asked.png,
        )
    except TOO_MANY:
        suffix, content = "!too_many_pixels", b""
    except MemoryError:
        suffix, content = "!picture_too_complex", b""
    except BROKEN:
        suffix, content = "!picture", b""
    sys.stdout.buffer.write(suffix.encode() + b"\n" + content)


def limit_resources() -> None:
    """Bound pixels, memory, CPU time and files for good; what exceeds them ends this process alone."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # guards what lies inside of an icon, too
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    for kind, most in (
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def rewrite_picture(
    content: bytes,
    *,
    may_be_icon: bool = False,
    width: int | None = None,
    most_bytes: int | None = None,
    as_png: bool = False,
) -> tuple[str, bytes]:
    """The suffix and the content of the same picture, without what else was in the file.

    Of an animation the first frame is kept, of an icon the largest size. All but JPEG and WebP become PNG.
    Raises one of TOO_MANY, one of BROKEN, or MemoryError.
    """
    with Image.open(io.BytesIO(content), formats=[*FORMATS, *([ICON] if may_be_icon else [])]) as image:
        refuse_huge(image)
        image.load()
        refuse_huge(image)
        kind = {"JPEG": "JPEG", "MPO": "JPEG", "WEBP": "WEBP"}.get(image.format or "", "PNG")
        # the orientation is in the metadata, which is dropped
        ImageOps.exif_transpose(image, in_place=True)
        is_clear = kind != "JPEG" and image.has_transparency_data
        mode = "RGBA" if is_clear else "RGB"
        plain = image if image.mode == mode else image.convert(mode)
    plain.info.clear()
    if width:
        plain.thumbnail((width, width), Image.Resampling.LANCZOS)
    if as_png or (kind == "WEBP" and is_clear and plain.width * plain.height > MAX_CLEAR_WEBP_PIXELS):
        kind = "PNG"
    suffix, rewritten = encode(plain, kind)
    while most_bytes and len(rewritten) > most_bytes:
        size = max(1, plain.width * 3 // 4), max(1, plain.height * 3 // 4)
        plain.thumbnail(size, Image.Resampling.LANCZOS)
        suffix, rewritten = encode(plain, kind)
    return suffix, rewritten


def refuse_huge(image: Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise TooManyPixelsError


def encode(image: Image.Image, kind: str) -> tuple[str, bytes]:
    out = io.BytesIO()
    if kind == "WEBP":
        with contextlib.suppress(ValueError):  # the format can't hold some large noise: that becomes PNG
            image.save(out, kind, quality=90)
            return SUFFIXES[kind], out.getvalue()
        kind = "PNG"
    image.save(out, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return SUFFIXES[kind], out.getvalue()


if __name__ == "__main__":
    main()
