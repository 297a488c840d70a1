"""Form for a link's QR code."""

from __future__ import annotations

from app.input.colors import ColorField
from app.input.fields import ChoiceField, WholeField
from app.input.forms import ResourceForm
from app.links.fields import PictureField
from app.links.qr import DARK, LIGHT, LOGO_PIXELS, MARGIN, SIZE, Look

FORMATS = {"svg": "SVG", "png": "PNG"}


class QrForm(ResourceForm):
    """Format, size and look of a QR code. What was not sent has its default."""

    format = ChoiceField("Format", choices=FORMATS, clears_to="svg")
    size = WholeField("Size", least=128, most=2048, clears_to=SIZE)
    margin = WholeField("Margin", least=0, most=16, clears_to=MARGIN)
    dark = ColorField("Colour", clears_to=DARK)
    light = ColorField("Background", clears_to=LIGHT)
    logo = PictureField("Logo", most_bytes=2 * 1024 * 1024, max_width=LOGO_PIXELS)

    @property
    def look(self) -> Look:
        wanted = {name: self[name].data for name in ("size", "margin", "dark", "light") if self[name].sent}
        return Look(**wanted, logo=self.logo.data.content if self.logo.data else None)
