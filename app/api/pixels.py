"""What does the API do with pixels?"""

from __future__ import annotations

from app.api import present
from app.api.resource import Resource
from app.pixels import services
from app.pixels.forms import PixelForm
from app.pixels.lists import LISTING
from app.pixels.models import Pixel

PIXELS = Resource(
    path="/pixels",
    model=Pixel,
    form=PixelForm,
    create=services.create,
    services=services,
    listing=LISTING,
    present=present.pixels,
)
