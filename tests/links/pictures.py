"""Pictures for tests, good and bad."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(kind="PNG", size=(8, 6), mode="RGB", color=(200, 30, 30), **options):
    out = io.BytesIO()
    Image.new(mode, size, color if mode == "RGB" else 0).save(out, kind, **options)
    return out.getvalue()


def animation(kind):
    frames = [Image.new("RGB", (8, 6), color) for color in ("red", "green", "blue")]
    out = io.BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:], duration=50)
    return out.getvalue()


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def huge_png(width, height):
    """A PNG that claims to have so many pixels: 50,000 × 50,000 would be 7.5 GB."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def icon_around(png):
    """An ICO that claims to have 16 × 16 pixels and holds this PNG."""
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(png), 22) + png


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
