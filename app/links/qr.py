"""QR codes of short links, drawn as SVG or PNG, and the form for their look.

A picture is exactly as wide as asked for. Every module is a whole number of pixels, or the edges would blur;
what is left over widens the margin.
"""

# see docs/decisions/2026-11-21-qr-codes.md
from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from dataclasses import dataclass

import segno
from PIL import Image

from app.i18n.messages import lazy_gettext as _l
from app.input.fields import ChoiceField, ColorField, WholeField
from app.input.forms import ResourceForm
from app.input.parsers import Rejected
from app.links.fields import PictureField

DARK, LIGHT = "#000000", "#ffffff"
SIZE, MARGIN = 512, 4
# under a logo much of a code is missing; without one, fewer modules are read from further away
WITHOUT_LOGO, WITH_LOGO = "m", "h"
LOGO_PART = 0.22  # of the code's width: a twentieth of its area, where 30 % may be unreadable
LOGO_PIXELS = 512
MIN_CONTRAST = 4.0


@dataclass(frozen=True, kw_only=True)
class Look:
    """The options of a drawing: `size` in pixels, `margin` in modules, `logo` a picture in the middle."""

    size: int = SIZE
    margin: int = MARGIN
    dark: str = DARK
    light: str = LIGHT
    logo: bytes | None = None


@dataclass(frozen=True)
class Drawing:
    """A code laid out: a module is `scale` pixels wide, and the first one begins at pixel `start`."""

    modules: tuple[bytes, ...]
    look: Look
    scale: int
    start: int

    @property
    def width(self) -> int:
        return len(self.modules)

    @property
    def logo_box(self) -> tuple[float, float]:
        """Start and width of the square for the logo, in pixels."""
        wide = self.width * self.scale * LOGO_PART
        return self.start + (self.width * self.scale - wide) / 2, wide


def draw(text: str, look: Look) -> Drawing:
    """Lay out the code for a text. Raises Rejected, of the field `size` if that is too small for the text."""
    try:
        code = segno.make(text, error=WITH_LOGO if look.logo else WITHOUT_LOGO, micro=False)
    except segno.DataOverflowError:
        raise Rejected(_l("This address is too long for a QR code."), "too_long", "url") from None
    modules = tuple(bytes(row) for row in code.matrix)
    least = len(modules) + 2 * look.margin
    if look.size < least:
        raise Rejected(
            _l("So long an address needs a size of %(least)s at least.", least=least), "range", "size"
        )
    scale = look.size // least
    return Drawing(modules, look, scale, (look.size - len(modules) * scale) // 2)


def render_svg(drawing: Drawing) -> bytes:
    """The drawing as SVG. All dark modules are one path, so that no lines show between them."""
    look, scale, start = drawing.look, drawing.scale, drawing.start
    size = f'width="{look.size}" height="{look.size}" viewBox="0 0 {look.size} {look.size}"'
    place = f"translate({start} {start}) scale({scale})"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} shape-rendering="crispEdges">',
        f'<path fill="{look.light}" d="M0 0h{look.size}v{look.size}H0z"/>',
        f'<path fill="{look.dark}" transform="{place}" d="{path(drawing)}"/>',
        logo_as_svg(drawing),
        "</svg>\n",
    ]
    return "".join(parts).encode()


def path(drawing: Drawing) -> str:
    """SVG path data: a rectangle for each run of dark modules in a row."""
    return "".join(
        f"M{run.start()} {y}h{len(run[0])}v1h-{len(run[0])}z"
        for y, row in enumerate(drawing.modules)
        for run in re.finditer(b"\x01+", row)
    )


def logo_as_svg(drawing: Drawing) -> str:
    if drawing.look.logo is None:
        return ""
    start, wide = drawing.logo_box
    inner = wide * 0.86
    at = start + (wide - inner) / 2
    picture = io.BytesIO()
    small(drawing.look.logo, LOGO_PIXELS).save(picture, "PNG")
    content = base64.b64encode(picture.getvalue()).decode("ascii")
    address = f"data:image/png;base64,{content}"
    return (
        f'<rect fill="{drawing.look.light}" {square(start, wide)}/>'
        f'<image {square(at, inner)} href="{address}"/>'
    )


def square(start: float, wide: float) -> str:
    return f'x="{start:.2f}" y="{start:.2f}" width="{wide:.2f}" height="{wide:.2f}"'


def render_png(drawing: Drawing) -> bytes:
    plain = two_coloured(drawing)
    if drawing.look.logo is None:
        return plain
    written = io.BytesIO()
    with Image.open(io.BytesIO(plain)) as whole:
        finished = with_logo(whole.convert("RGB"), drawing)
    finished.save(written, "PNG", compress_level=3)  # 6 takes twice as long, for 5 kB less
    return written.getvalue()


def two_coloured(drawing: Drawing) -> bytes:
    """A PNG of one bit a pixel. Written here, because at 2048 pixels Pillow takes five times as long: most
    rows equal the one above, and are encoded as that (filter "Up", all zero)."""
    size = drawing.look.size
    same = b"\2" + bytes(-(-size // 8))
    blank = b"\0" + bytes(-(-size // 8))
    rows = [blank + same * (drawing.start - 1) if drawing.start else b""]
    rows += [b"\0" + bits(drawing, row) + same * (drawing.scale - 1) for row in drawing.modules]
    after = size - drawing.start - drawing.width * drawing.scale
    rows.append(blank + same * (after - 1) if after else b"")
    palette = bytes([*channels(drawing.look.light), *channels(drawing.look.dark)])
    head = struct.pack(">IIBBBBB", size, size, 1, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(b"".join(rows), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, content) for name, content in parts)


def bits(drawing: Drawing, row: bytes) -> bytes:
    """A row of modules as pixels, eight in a byte."""
    pixels = "".join(("1" if module else "0") * drawing.scale for module in row)
    width = -(-drawing.look.size // 8) * 8
    return int(("0" * drawing.start + pixels).ljust(width, "0"), 2).to_bytes(width // 8)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def with_logo(whole: Image.Image, drawing: Drawing) -> Image.Image:
    start, wide = drawing.logo_box
    box = (round(start), round(start), round(start + wide), round(start + wide))
    whole.paste(drawing.look.light, box)
    logo = small(drawing.look.logo or b"", round(wide * 0.86))
    middle = round(start + wide / 2)
    whole.paste(logo, (middle - logo.width // 2, middle - logo.height // 2), logo)
    return whole


def small(content: bytes, most: int) -> Image.Image:
    """A picture in RGBA, reduced to at most `most` pixels in each direction. It must be one that was
    re-encoded."""
    with Image.open(io.BytesIO(content)) as picture:
        found = picture.convert("RGBA")
    found.thumbnail((most, most), Image.Resampling.LANCZOS)
    return found


def warning(look: Look) -> str | None:
    """A message for the owner if a code is hard to read, else None."""
    if contrast(look.dark, look.light) < MIN_CONTRAST:
        return _l("These colours are too similar: many phones can't read it.")
    if luminance(look.dark) > luminance(look.light):
        return _l("It is light on dark: some phones read only dark on light.")
    if look.margin < MARGIN:
        return _l("A margin below 4 may be too small when other content is close to the code.")
    return None


FORMATS = {"svg": "SVG", "png": "PNG"}


class QrForm(ResourceForm):
    """Format, size and look of a QR code. What was not sent has its default."""

    format = ChoiceField(_l("Format"), choices=FORMATS, clears_to="svg")
    size = WholeField(_l("Size"), least=128, most=2048, clears_to=SIZE)
    margin = WholeField(_l("Margin"), least=0, most=16, clears_to=MARGIN)
    dark = ColorField(_l("Colour"), clears_to=DARK)
    light = ColorField(_l("Background"), clears_to=LIGHT)
    logo = PictureField(_l("Logo"), most_bytes=2 * 1024 * 1024, max_width=LOGO_PIXELS)

    @property
    def look(self) -> Look:
        wanted = {name: self[name].data for name in ("size", "margin", "dark", "light") if self[name].sent}
        return Look(**wanted, logo=self.logo.data.content if self.logo.data else None)


# --- colours by WCAG 2.2


def channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2.2, from 0 for black to 1 for white."""
    red, green, blue = (linear(value / 255) for value in channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2, from 1 for equal colours to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
