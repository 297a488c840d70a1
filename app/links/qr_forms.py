"""Form for a link's QR code."""

from __future__ import annotations

from app.i18n.messages import lazy_gettext as _l
from app.input.colors import ColorField
from app.input.fields import ChoiceField, WholeField
from app.input.forms import ResourceForm
from app.links.fields import PictureField
from app.links.qr import DARK, LIGHT, LOGO_PIXELS, MARGIN, SIZE, Look

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
