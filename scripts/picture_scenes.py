"""What each picture of the documentation shows: a page of the demo account, and what is done on it before."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from playwright.sync_api import Page, Route

from scripts.example_site import ExampleSite, article, tour
from tests.first_click import PASSWORD

RECEIVER = "Order system"  # a webhook that is there, and answers
Links = list[dict[str, Any]]


def show(page: Page) -> None:
    """Nothing is done: the page as it opens."""


class Scene(NamedTuple):
    """One picture. `path`: of its page; `act`: what is done there; `is_whole`: the page as long as it is.

    `is_printed`: its first two sheets of paper. `is_phone`: on a visitor's iPhone, signed out.
    """

    path: str | Callable[[Links], str]
    act: Callable[[Page], None] = show
    is_whole: bool = False
    is_printed: bool = False
    is_signed_out: bool = False
    is_phone: bool = False

    def find(self, links: Links) -> str:
        return self.path if isinstance(self.path, str) else self.path(links)


# --- which link


def first(links: Links, is_wanted: Callable[[dict[str, Any]], Any]) -> int:
    return int(next(link["id"] for link in links if is_wanted(link)))


def of_link(alias: str, page: str = "") -> Callable[[Links], str]:
    """A page of the demo's link with that alias."""
    return lambda links: f"/dashboard/links/{first(links, lambda link: link['url'] == alias)}{page}"


def of_targeted_link(page: str = "") -> Callable[[Links], str]:
    return lambda links: (
        f"/dashboard/links/{first(links, lambda link: link['targeting_type'] == 'country_code')}{page}"
    )


def last_month() -> tuple[str, str]:
    """Its first and last day. A chart of it does not end in a day that has just begun."""
    last = dt.datetime.now(dt.UTC).date().replace(day=1) - dt.timedelta(days=1)
    return last.replace(day=1).isoformat(), last.isoformat()


# --- what is done before the picture is taken


def fill_destination(page: Page) -> None:
    page.get_by_label("Destination", exact=True).first.fill("https://example.com/spring")
    page.keyboard.press("Tab")


def fetch_suggestions(page: Page) -> None:
    """From a site on this machine. In the form, and in what the server says of it, it is example.com."""
    destination = "https://example.com/tours/hills"
    with ExampleSite(tour()) as site:

        def ask(route: Route) -> None:
            sent = route.request.post_data or ""
            route.continue_(post_data=sent.replace(quote_plus(destination), quote_plus(site.url)))

        page.route("**/suggestions", ask)
        page.get_by_label("Destination", exact=True).first.fill(destination)
        page.get_by_role("button", name="Fetch title and picture").click()
        page.locator("#suggestions img").first.wait_for()
        page.unroute("**/suggestions", ask)
    page.locator("#suggestions legend bdi").evaluate("site => { site.textContent = 'example.com'; }")


def open_section(title: str) -> Callable[[Page], None]:
    """Open a section of the form of a link."""

    def act(page: Page) -> None:
        summary = page.locator("summary", has_text=title).first
        summary.click()
        summary.evaluate("element => element.scrollIntoView({ block: 'start' })")
        page.mouse.wheel(0, -90)  # what stays at the top of the window covers it else

    return act


def change_alias(page: Page) -> None:
    page.get_by_label("Short link", exact=True).fill("launch-2027")
    page.get_by_label("Short link", exact=True).blur()
    page.locator("[data-cautions=url]").get_by_role("checkbox").wait_for()


def create_many(page: Page) -> None:
    page.get_by_role("link", name="Bulk create").click()
    lines = "\n".join(f"https://example.com/spring/{name}" for name in ("coats", "shoes", "hats", "bags"))
    page.get_by_label("Destinations, one a line").fill(lines)
    page.get_by_role("button", name="Create links").click()
    page.get_by_role("button", name="Copy all").wait_for()


def choose_webhook(page: Page) -> None:
    page.locator("label", has_text="Webhook").first.click()


def choose_events(page: Page) -> None:
    """All clicks of people from two countries, for a webhook; the preview shows what it would get."""
    page.get_by_label("Name").fill(RECEIVER)
    choose_webhook(page)
    page.locator("summary", has_text="Events").first.click()
    page.get_by_label("Address", exact=True).fill("https://orders.example/waypost")
    page.get_by_role("checkbox", name="Clicks", exact=True).check()
    page.get_by_label("Of which links").select_option("workspace")
    page.get_by_label("Only from these countries").fill("DE, AT")
    page.get_by_text("would have matched").wait_for()
    page.locator("summary", has_text="Events").first.scroll_into_view_if_needed()


def open_log(page: Page) -> None:
    page.get_by_role("link", name=re.compile("log", re.IGNORECASE)).first.click()
    page.wait_for_load_state("networkidle")
    page.locator("summary", has_text="Failed").first.click()


def open_filters(page: Page) -> None:
    page.locator("#list-tools summary", has_text="Filter").click()
    page.locator("#list-tools details.choice > summary").first.click()


def save_view(page: Page) -> None:
    page.get_by_role("link", name="Save view").click()
    page.get_by_label("Name").fill("Switched off")
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Save")).click()
    page.get_by_role("navigation", name="Saved views").wait_for()


def select_links(page: Page) -> None:
    for number in range(3):
        page.locator("#rows > li input[type=checkbox]").nth(number).check()


def preview_replacement(page: Page) -> None:
    select_links(page)
    page.get_by_role("button", name="Find and replace").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Find", exact=True).fill("example.com")
    dialog.get_by_label("Replace with").fill("example.net")
    dialog.get_by_role("button", name="Preview changes").click()
    dialog.get_by_role("list", name="Changes").wait_for()


def open_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()
    page.wait_for_timeout(500)


def read_table(page: Page, table: str) -> None:
    file = {"name": "links.csv", "mimeType": "text/csv", "buffer": table.encode()}
    page.locator("input[type=file]").first.set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Read this file").click()
    page.wait_for_url(re.compile(r"/imports/\d+"))
    page.wait_for_load_state("networkidle")


def read_file(page: Page) -> None:
    rows = "".join(
        f"https://s.example/{name},https://example.com/{name},{name.title()},{clicks}\n"
        for name, clicks in (("spring", 120), ("summer", 64), ("autumn", 7))
    )
    read_table(page, f"Short URL,Long URL,Title,Clicks\n{rows}https://s.example/x,nowhere,X,1\n")


def check_update(page: Page) -> None:
    """A table that changes two links of the demo, and has a new one."""
    read_table(
        page,
        "alias,destination,title\nlaunch,https://example.com/launch/2027,Launch day\n"
        "careers,https://example.com/jobs,Jobs\nhats,https://example.com/hats,Hats\n",
    )
    page.get_by_label("Update them").check()
    page.get_by_role("button", name="Check all rows").click()
    page.get_by_text("This is a preview").wait_for()
    page.get_by_role("link", name=re.compile("change", re.IGNORECASE)).first.click()
    page.wait_for_load_state("networkidle")


def open_share_menu(page: Page) -> None:
    page.locator("#share > summary").click()


def open_shared_page(page: Page) -> None:
    page.get_by_label("Name").fill("Spring campaign")
    page.get_by_role("button", name="Create share address").click()
    address = page.locator("#share-address")
    address.wait_for()
    page.goto(address.inner_text(), wait_until="networkidle")


def embed_statistics(page: Page) -> None:
    page.get_by_label("Name").fill("Spring newsletter")
    page.get_by_label("Period").select_option("custom")
    for label, day in zip(("From", "To"), last_month(), strict=True):
        page.get_by_label(label, exact=True).fill(day)
    page.get_by_role("switch", name="Allow embedding").check()
    page.get_by_role("button", name="Create share address").click()
    with ExampleSite(article(page.locator("#share-snippet").inner_text())) as site:
        page.goto(site.url, wait_until="networkidle")
        page.frame_locator("iframe").locator("[data-chart] canvas").wait_for()


def print_statistics(page: Page) -> None:
    """All parts are there when the dialog of the browser would open."""
    page.locator("[data-chart] canvas").wait_for()
    page.evaluate("window.print = () => { document.documentElement.dataset.printed = 'yes'; }")
    open_share_menu(page)
    page.get_by_role("button", name="Print").click()
    page.locator("html[data-printed]").wait_for()


def choose_creating_key(page: Page) -> None:
    page.get_by_label("Name").fill("Phone")
    page.get_by_label("Permissions").select_option(label="Create links only")


def make_archive(page: Page) -> None:
    page.get_by_role("button", name="Create the file").click()
    page.get_by_role("link", name=re.compile("Download")).wait_for(timeout=120_000)


def add_passkey(page: Page) -> None:
    """By Chromium's virtual authenticator, which says yes to everything."""
    account = page.url
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    usual = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    able = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": usual | able})
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Create the passkey").click()
    page.get_by_label("Recovery codes").wait_for()
    page.goto(account, wait_until="networkidle")
    page.locator("#passkeys").scroll_into_view_if_needed()


SCENES: Mapping[str, Scene] = {
    "links": Scene("/dashboard/links/"),
    "create": Scene("/dashboard/links/new", fill_destination),
    "fetch": Scene("/dashboard/links/new", fetch_suggestions),
    "alias-change": Scene(of_link("launch"), change_alias),
    "limits": Scene(of_link("sale"), open_section("Schedule & limits")),
    "redirect-type": Scene(of_link("video"), open_section("Address")),
    "social-card": Scene(of_link("tour"), open_section("Appearance")),
    "tracking": Scene(of_link("newsletter"), open_section("Tracking")),
    "targeting": Scene(of_targeted_link(), open_section("Targeting")),
    "try-as-visitor": Scene(of_targeted_link("/try"), is_whole=True),
    "history": Scene(
        lambda links: f"/dashboard/links/{first(links, lambda link: link['last_datetime'])}/history"
    ),
    "capture": Scene("/dashboard/capture?url=https://example.com/spring/collection&title=Spring+collection"),
    "capture-tools": Scene("/dashboard/capture/tools"),
    "create-only-key": Scene("/dashboard/keys/new", choose_creating_key),
    "palette": Scene("/dashboard/links/", open_palette),
    "filters": Scene("/dashboard/links/", open_filters),
    "bulk": Scene("/dashboard/links/", select_links),
    "replace": Scene("/dashboard/links/", preview_replacement),
    "qr": Scene(lambda links: f"/dashboard/links/{links[0]['id']}/qr"),
    "projects": Scene("/dashboard/projects/"),
    "domains": Scene("/dashboard/domains/new"),
    "pixels": Scene("/dashboard/pixels/"),
    "statistics": Scene("/dashboard/statistics/"),
    "statistics-reach": Scene("/dashboard/statistics/?period=12mo&country_code=DE"),
    "share-menu": Scene(of_link("newsletter", "/statistics/"), open_share_menu),
    "printed-statistics": Scene(
        of_link("newsletter", f"/statistics/?period=month&date={last_month()[0]}"),
        print_statistics,
        is_printed=True,
    ),
    "share": Scene(lambda links: f"/dashboard/shares/new?link_id={links[0]['id']}"),
    "activity": Scene("/dashboard/activity"),
    "handler": Scene("/dashboard/handlers/new", choose_webhook),
    "handler-events": Scene("/dashboard/handlers/new", choose_events),
    "deliveries": Scene(f"/dashboard/handlers/?search={RECEIVER}", open_log),
    "trash": Scene("/dashboard/trash/"),
    "account": Scene("/dashboard/account/"),
    "your-data": Scene("/dashboard/account/data", make_archive),
    "audit-log": Scene("/dashboard/account/audit-log"),
    "sign-in": Scene("/login", is_signed_out=True),
    "members": Scene("/dashboard/workspace/"),
    "users": Scene("/dashboard/users/"),
    "api": Scene("/dashboard/api/"),
    "instance": Scene("/dashboard/instance/"),
    "password-page": Scene("/board", is_signed_out=True),
    "warning-page": Scene("/gallery", is_signed_out=True),
    "tap-page": Scene("/beta", is_signed_out=True),
    "not-active-page": Scene("/webinar", is_signed_out=True),
    "consent-page": Scene("/newsletter", is_phone=True),
    "app-page": Scene("/video", is_phone=True),
    "link-preview": Scene("/launch+", is_signed_out=True),
    # last, for they leave something that others would show
    "saved-views": Scene("/dashboard/links/?state=off", save_view),
    "import": Scene("/dashboard/imports/", read_file),
    "import-update": Scene("/dashboard/imports/", check_update),
    "shared-statistics": Scene(
        lambda links: (
            f"/dashboard/shares/new?link_id={first(links, lambda link: link['url'] == 'newsletter')}"
        ),
        open_shared_page,
    ),
    "embedded-statistics": Scene(
        lambda links: (
            f"/dashboard/shares/new?link_id={first(links, lambda link: link['url'] == 'newsletter')}"
        ),
        embed_statistics,
    ),
    "passkeys": Scene("/dashboard/account/", add_passkey),
    "many-links": Scene("/dashboard/links/", create_many),
}
