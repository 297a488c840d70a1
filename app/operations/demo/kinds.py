"""Kinds of demo links: at least one for each option of a link."""

from __future__ import annotations

import io
from collections.abc import Iterator

from PIL import Image, ImageDraw

from app.input.data import Upload
from app.operations.demo.links import DemoLink, Fields, Surroundings, members, named, targeted

SCRIPT = "document.documentElement.dataset.tour = 'hills';"
GONE = "https://example.com/gift/gone"
# set after the visits, for it would keep visitors out
LIMITED: Fields = {"clicks_limit": "1000", "clicks_limit_confirmation_is_enabled": "1"}
VIDEO = "https://www.youtube.com/watch?v=aqz-KE-bpKQ"


def every_kind(around: Surroundings) -> list[DemoLink]:
    return [
        plan for family in (plain_links, tagged, timed, guarded, attached, sent_on) for plan in family(around)
    ]


def plain_links(around: Surroundings) -> Iterator[DemoLink]:
    """Redirects of each status, aliases of each script."""
    first, second, *_ = around.projects
    notes = "The address in the announcement. Not to be changed any more."
    start = named("launch", "launch", "Launch day", notes=notes, project_id=first)
    yield DemoLink({**start, "tags[0]": "launch", "tags[1]": "press"}, share=9, launch=True)
    yield DemoLink(named("docs", "docs/start", "Documentation", http_status_code=301), share=5)
    yield DemoLink(named("hook", "v2/hook", "Webhook that may move", http_status_code=307))
    yield DemoLink(named("upload", "upload", "Upload form", http_status_code=308), share=0.5)
    yield DemoLink(named("café", "menü?tag=heute", "The menu", project_id=second), share=1.5)
    yield DemoLink(named("🚀", "careers", "Careers"))
    yield DemoLink(named("", "https://example.org/minutes/2026", "Minutes: a random address"), share=0.3)


def tagged(around: Surroundings) -> Iterator[DemoLink]:
    """Links with parameters of their own, with the visitor's parameters, and on a custom domain."""
    utm = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "spring"}
    yield DemoLink({**named("newsletter", "spring?ref=mail#offers", "Spring newsletter"), **utm}, share=4)
    own = named("partners", "partners?lang=en", "Partners bring their own parameters")
    yield DemoLink({**own, "forward_query_parameters_is_enabled": "1"}, share=2)
    if around.domain is not None:
        yield DemoLink(named("hello", "hello", "On a domain of its own", domain_id=around.domain), share=1.5)


def timed(around: Surroundings) -> Iterator[DemoLink]:
    """Links that start, end, or are used up. What would keep visitors out is set after the visits."""
    moment, ended, closed = around.moment, -around.days / 3, -around.days / 2
    sale = {"schedule": "1", "start_date": moment(-around.days), "end_date": moment(14)}
    yield DemoLink({**named("sale", "sale", "On sale for two more weeks"), **sale}, share=3)
    webinar = {"schedule": "1", "start_date": moment(10)}
    yield DemoLink({**named("webinar", "webinar", "Opens in ten days"), **webinar}, most=0)
    over: Fields = {
        "schedule": "1",
        "end_date": moment(ended),
        "expiration_url": "https://example.com/tickets",
    }
    yield DemoLink(
        named("early-bird", "tickets?price=early", "Early-bird tickets"), over, share=2, until=ended
    )
    yield DemoLink(named("beta", "beta", "A thousand seats"), LIMITED, most=640)
    used_up: Fields = {"clicks_limit": "25", "expiration_url": GONE}
    yield DemoLink(named("first-25", "gift", "For the first 25"), used_up, share=6, most=25, launch=True)
    yield DemoLink(named("old-shop", "https://example.org/shop", "Closed"), {"is_enabled": "0"}, until=closed)


def guarded(around: Surroundings) -> Iterator[DemoLink]:  # noqa: ARG001  one shape for all families
    """Links with an interstitial, and one that is cloaked."""
    notes = "The password is plum-tree-42."
    yield DemoLink(named("board", "board", "For the board", password="plum-tree-42", notes=notes), share=0.8)  # noqa: S106  it opens nothing
    yield DemoLink(named("gallery", "gallery", "Not for everybody", sensitive_content="1"))
    yield DemoLink(named("video", VIDEO, "Opens in the app", app_linking_is_enabled="1"), share=3)
    tour = named(
        "tour",
        "tours/hills",
        "Shown in a frame",
        cloaking_is_enabled="1",
        cloaking_title="A tour of the hills",
        cloaking_meta_description="Three days, two huts, one sunrise.",
        cloaking_custom_js=SCRIPT,
        cloaking_favicon=icon(),
        cloaking_opengraph=card(),
    )
    yield DemoLink(tour, share=2)


def attached(around: Surroundings) -> Iterator[DemoLink]:
    """Every pixel on one link, every handler on another."""
    ads, report = (
        named("ads", "landing", "With every pixel"),
        named("figures", "figures", "Reported everywhere"),
    )
    yield DemoLink({**ads, **members("pixels_ids", around.pixels)}, share=3)
    yield DemoLink({**report, **members("email_reports", around.handlers)})


def sent_on(around: Surroundings) -> Iterator[DemoLink]:  # noqa: ARG001  one shape for all families
    """One link for each targeting type."""
    yield DemoLink(targeted("by-continent", "continent_code", {"EU": "eu", "NA": "us", "AS": "asia"}))
    yield DemoLink(targeted("by-country", "country_code", {"DE": "de", "FR": "fr", "BR": "br"}), share=3)
    yield DemoLink(targeted("by-city", "city_name", {"Berlin": "berlin", "Paris, FR": "paris"}))
    yield DemoLink(targeted("by-device", "device_type", {"mobile": "phone", "tablet": "tablet"}), share=2)
    yield DemoLink(targeted("by-language", "browser_language", {"de": "de", "pt-BR": "br", "fr": "fr"}))
    yield DemoLink(targeted("split", "rotation", {"70": "a", "20": "b", "10": "c"}), share=4)
    yield DemoLink(targeted("app", "os_name", {"iOS": "store/ios", "Android": "store/android"}), share=2)
    yield DemoLink(targeted("extension", "browser_name", {"Firefox": "amo", "Chrome": "webstore"}))


# --- pictures, drawn here so that none has to be shipped

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
