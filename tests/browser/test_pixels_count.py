"""Pixels: each provider counts a view exactly once, wherever its script runs and whenever it arrives.

The page's clock stands still except for the time that a test lets pass. So tests see that the page leaves
after 1.5 s and not before, without waiting for it.
"""

# ruff: noqa: F811  fixtures of another module bear the names of what tests are given

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from app.accounts.models import User
from app.links.models import Link
from app.pixels.provider import all_providers
from app.public.interstitials import LATEST_MS, SOONEST_MS, STAND_IN_MS
from tests.browser.provider_scripts import STAND_INS, Providers
from tests.browser.test_visitor_pages import link, shop, site, there  # noqa: F401
from tests.browser.visitors import Shop, until
from tests.factories import Factory
from tests.server import BROWSER

pytestmark = [pytest.mark.browser, pytest.mark.full]

TYPES = sorted(STAND_INS)
WITH_PICTURE = {type_ for type_, provider in all_providers().items() if provider.picture}
WAYS = [
    pytest.param("boxed"),
    pytest.param("dashboard apart", marks=pytest.mark.settings(DASHBOARD_URL="http://desk.localhost")),
    pytest.param("own domain"),
]
ARRIVALS: list[int | str] = [100, 500, 900, "never", "refused"]
FROZEN = 4_102_444_800  # where the page's clock begins, in seconds
# reports when the page leaves for the destination, by its own clock
LEFT = """if (parent === window) {
  const begun = performance.now();
  navigation.addEventListener("navigate", event => {
    if (event.destination.url.includes("//shop.")) { console.log("left " + (performance.now() - begun)); }
  });
}"""

Base = tuple[str, int | None]


@pytest.fixture
def base(way: str, site: str, factory: Factory, alice: User) -> Base:
    """The base URL that serves the link, and its domain."""
    if way != "own domain":
        return site, None
    domain = factory.domain(alice, "go.localhost")
    return site.replace("127.0.0.1", "go.localhost"), domain.id


class Visit:
    """One visit of a link, in a browser of its own."""

    def __init__(self, browser: Browser, address: str, **providers: bool) -> None:
        self.context = browser.new_context(user_agent=BROWSER)
        self.providers = Providers(self.context, **providers)
        self.left: list[int] = []  # by the page's clock, in milliseconds
        self.context.on("console", lambda message: self.hear(message.text))
        self.page = self.context.new_page()
        self.page.clock.install(time=FROZEN)
        self.page.clock.pause_at(FROZEN + 1)
        self.context.add_init_script(LEFT)  # added after the clock, which it reads
        self.page.goto(address, wait_until="commit")

    def hear(self, text: str) -> None:
        if text.startswith("left "):
            self.left.append(round(float(text.removeprefix("left "))))

    def pass_time(self, ms: int) -> None:
        if ms:
            self.page.clock.run_for(ms)

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(self.page, condition, what)

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.providers.close()
        self.context.close()


def expected_views(types: list[str], arrival: int | str) -> Counter[str]:
    """The views that must be counted. Without its script, only a provider with a picture counts one."""
    is_there = isinstance(arrival, int)
    return Counter(type_ for type_ in types if is_there or type_ in WITH_PICTURE)


def expected_leaving(types: list[str], arrival: int | str) -> int:
    """When the page must leave: as soon as no request is open, but not before 0.8 s if there was one."""
    if arrival == "refused":
        return 0
    if arrival == "never":
        return STAND_IN_MS if WITH_PICTURE.issuperset(types) else LATEST_MS
    return max(SOONEST_MS, int(arrival))


def visited(
    browser: Browser, address: str, types: list[str], arrival: int | str, there: str
) -> tuple[Counter[str], list[int]]:
    """The counted views, and when the page left, if the providers' scripts arrive at this time."""
    with Visit(browser, address) as visit:
        visit.until(lambda: len(visit.providers.waiting) == len(types), "the request for each script")
        leaving = expected_leaving(types, arrival)
        if arrival == "refused":
            visit.providers.refuse()
        elif arrival == "never":
            visit.pass_time(STAND_IN_MS)
        else:
            visit.pass_time(int(arrival))
            visit.providers.let_come()
        views = expected_views(types, arrival)
        visit.until(lambda: Counter(visit.providers.views) == views, f"{arrival}: {views}")
        begun = arrival if isinstance(arrival, int) else STAND_IN_MS if arrival == "never" else 0
        visit.pass_time(leaving - begun)
        visit.until(lambda: visit.left, f"{arrival}: the leaving")
        visit.providers.let_come()  # the page is unloading: this must not count a view again
        visit.page.wait_for_url(there)
        found = Counter(visit.providers.views)
        # (where no picture has counted the view, a script that comes in that moment counts it once)
        return Counter({type_: n for type_, n in found.items() if type_ in views or n > 1}), visit.left


def check(browser: Browser, base: Base, types: list[str], there: str, shop: Shop) -> None:
    found = {arrival: visited(browser, f"{base[0]}/a", types, arrival, there) for arrival in ARRIVALS}
    assert found == {
        arrival: (expected_views(types, arrival), [expected_leaving(types, arrival)]) for arrival in ARRIVALS
    }
    assert shop.referrers == [f"{base[0]}/"] * len(ARRIVALS)


@pytest.mark.parametrize("way", WAYS)
def test_each_provider_counts_once(
    way: str,
    base: Base,
    browser: Browser,
    link: Callable[..., Link],
    there: str,
    shop: Shop,
) -> None:
    link("a", [(type_, STAND_INS[type_].id) for type_ in TYPES], domain_id=base[1])
    check(browser, base, TYPES, there, shop)


@pytest.mark.parametrize("way", WAYS)
def test_leaving_waits_for_what_is_under_way_and_no_longer(
    way: str,
    base: Base,
    browser: Browser,
    link: Callable[..., Link],
    there: str,
) -> None:
    """The scripts have requested their pictures, and get no answer."""
    link("a", [(type_, STAND_INS[type_].id) for type_ in TYPES], domain_id=base[1])
    with Visit(browser, f"{base[0]}/a", is_open=True, answers_views=False) as visit:
        views = expected_views(TYPES, 0)
        visit.until(lambda: Counter(visit.providers.views) == views, f"{views}")
        visit.pass_time(LATEST_MS)
        visit.page.wait_for_url(there)
        assert visit.left == [LATEST_MS]
        assert Counter(visit.providers.views) == views


@pytest.mark.parametrize("way", WAYS)
def test_without_javascript_the_pictures_count_once(
    way: str,
    base: Base,
    browser: Browser,
    link: Callable[..., Link],
    there: str,
    shop: Shop,
) -> None:
    link("a", [(type_, STAND_INS[type_].id) for type_ in TYPES], domain_id=base[1])
    context = browser.new_context(user_agent=BROWSER, java_script_enabled=False)
    providers = Providers(context)
    page = context.new_page()
    page.goto(f"{base[0]}/a")
    page.wait_for_url(there)
    assert Counter(providers.views) == Counter(WITH_PICTURE)
    assert shop.referrers == [f"{base[0]}/"]
    providers.close()
    context.close()


@pytest.mark.parametrize("way", WAYS)
def test_on_a_cloaked_page_each_counts_once_too(
    way: str,
    base: Base,
    browser: Browser,
    link: Callable[..., Link],
) -> None:
    link("a", [(type_, STAND_INS[type_].id) for type_ in TYPES], domain_id=base[1], cloaking_is_enabled=True)
    with Visit(browser, f"{base[0]}/a", is_open=True) as visit:
        visit.until(lambda: Counter(visit.providers.views) == Counter(TYPES), "all views")
