"""Pictures that the demo uploads. They are drawn here, so that none has to be shipped."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

from app.input.data import Upload

INK, PAPER, SIGNAL = "#1b3a4b", "#f4f1ea", "#e4572e"


def icon() -> Upload:
    """A signpost, 64 pixels wide."""
    image = Image.new("RGB", (64, 64), PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((29, 10, 34, 60), fill=INK)
    draw.polygon([(12, 14), (46, 14), (56, 24), (46, 34), (12, 34)], fill=SIGNAL)
    return png("icon.png", image)


def card() -> Upload:
    """A preview image for social networks: hills under a sun, 1200 by 630."""
    image = Image.new("RGB", (1200, 630), PAPER)
    draw = ImageDraw.Draw(image)
    draw.ellipse((880, 90, 1060, 270), fill=SIGNAL)
    for left, top, colour in [(-200, 330, "#8fb8a8"), (300, 380, "#5b8e7d"), (-100, 470, INK)]:
        draw.ellipse((left, top, left + 1300, top + 900), fill=colour)
    return png("card.png", image)


def png(name: str, image: Image.Image) -> Upload:
    file = io.BytesIO()
    image.save(file, "PNG")
    return Upload(name, file.getvalue())
