"""Which kinds of links are there? At least one for each thing that a link can be set to do."""

from __future__ import annotations

from collections.abc import Iterator

from app.cli.demo import pictures
from app.cli.demo.links import Fields, Plan, Surroundings, members, named, targeted

SCRIPT = "document.documentElement.dataset.tour = 'hills';"
GONE = "https://example.com/gift/gone"
VIDEO = "https://www.youtube.com/watch?v=aqz-KE-bpKQ"


def every_kind(around: Surroundings) -> list[Plan]:
    return [plan for family in (plain, tagged, timed, guarded, attached, sent_on) for plan in family(around)]


def plain(around: Surroundings) -> Iterator[Plan]:
    """Redirects of each status, aliases of each script."""
    first, second, *_ = around.projects
    notes = "The address in the announcement. Not to be changed any more."
    start = named("launch", "launch", "Launch day", notes=notes, project_id=first)
    yield Plan({**start, "tags[0]": "launch", "tags[1]": "press"}, share=9, launch=True)
    yield Plan(named("docs", "docs/start", "Documentation", http_status_code=301), share=5)
    yield Plan(named("hook", "v2/hook", "Webhook that may move", http_status_code=307))
    yield Plan(named("upload", "upload", "Upload form", http_status_code=308), share=0.5)
    yield Plan(named("café", "menü?tag=heute", "The menu", project_id=second), share=1.5)
    yield Plan(named("🚀", "careers", "Careers"))
    yield Plan(named("", "https://example.org/minutes/2026", "Minutes: a random address"), share=0.3)


def tagged(around: Surroundings) -> Iterator[Plan]:
    """Parameters of the link's own and of the visitor's, and a domain of one's own."""
    utm = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "spring"}
    yield Plan({**named("newsletter", "spring?ref=mail#offers", "Spring newsletter"), **utm}, share=4)
    own = named("partners", "partners?lang=en", "Partners bring their own parameters")
    yield Plan({**own, "forward_query_parameters_is_enabled": "1"}, share=2)
    if around.domain is not None:
        yield Plan(named("hello", "hello", "On a domain of its own", domain_id=around.domain), share=1.5)


def timed(around: Surroundings) -> Iterator[Plan]:
    """Links that open, end, or are used up. What would keep visitors out is set after they came."""
    moment, ended, closed = around.moment, -around.days / 3, -around.days / 2
    sale = {"schedule": "1", "start_date": moment(-around.days), "end_date": moment(14)}
    yield Plan({**named("sale", "sale", "On sale for two more weeks"), **sale}, share=3)
    webinar = {"schedule": "1", "start_date": moment(10)}
    yield Plan({**named("webinar", "webinar", "Opens in ten days"), **webinar}, most=0)
    over: Fields = {
        "schedule": "1",
        "end_date": moment(ended),
        "expiration_url": "https://example.com/tickets",
    }
    yield Plan(named("early-bird", "tickets?price=early", "Early-bird tickets"), over, share=2, until=ended)
    yield Plan(named("beta", "beta", "A thousand seats"), {"clicks_limit": "1000"}, most=640)
    used_up: Fields = {"clicks_limit": "25", "expiration_url": GONE}
    yield Plan(named("first-25", "gift", "For the first 25"), used_up, share=6, most=25, launch=True)
    yield Plan(named("old-shop", "https://example.org/shop", "Closed"), {"is_enabled": "0"}, until=closed)


def guarded(around: Surroundings) -> Iterator[Plan]:  # noqa: ARG001  one shape for all families
    """Links that stop visitors first, or show them something."""
    notes = "The password is plum-tree-42."
    yield Plan(named("board", "board", "For the board", password="plum-tree-42", notes=notes), share=0.8)  # noqa: S106  it opens nothing
    yield Plan(named("gallery", "gallery", "Not for everybody", sensitive_content="1"))
    yield Plan(named("video", VIDEO, "Opens in the app", app_linking_is_enabled="1"), share=3)
    tour = named(
        "tour",
        "tours/hills",
        "Shown in a frame",
        cloaking_is_enabled="1",
        cloaking_title="A tour of the hills",
        cloaking_meta_description="Three days, two huts, one sunrise.",
        cloaking_custom_js=SCRIPT,
        cloaking_favicon=pictures.icon(),
        cloaking_opengraph=pictures.card(),
    )
    yield Plan(tour, share=2)


def attached(around: Surroundings) -> Iterator[Plan]:
    """Every pixel on one link, every handler on another."""
    ads, report = (
        named("ads", "landing", "With every pixel"),
        named("figures", "figures", "Reported everywhere"),
    )
    yield Plan({**ads, **members("pixels_ids", around.pixels)}, share=3)
    yield Plan({**report, **members("email_reports", around.handlers)})


def sent_on(around: Surroundings) -> Iterator[Plan]:  # noqa: ARG001  one shape for all families
    """One link for each way to tell visitors apart."""
    yield Plan(targeted("by-continent", "continent_code", {"EU": "eu", "NA": "us", "AS": "asia"}))
    yield Plan(targeted("by-country", "country_code", {"DE": "de", "FR": "fr", "BR": "br"}), share=3)
    yield Plan(targeted("by-city", "city_name", {"Berlin": "berlin", "Paris, FR": "paris"}))
    yield Plan(targeted("by-device", "device_type", {"mobile": "phone", "tablet": "tablet"}), share=2)
    yield Plan(targeted("by-language", "browser_language", {"de": "de", "pt-BR": "br", "fr": "fr"}))
    yield Plan(targeted("split", "rotation", {"70": "a", "20": "b", "10": "c"}), share=4)
    yield Plan(targeted("app", "os_name", {"iOS": "store/ios", "Android": "store/android"}), share=2)
    yield Plan(targeted("extension", "browser_name", {"Firefox": "amo", "Chrome": "webstore"}))
