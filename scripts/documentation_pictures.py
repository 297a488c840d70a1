"""Takes the pictures of docs/images: `python -m scripts.documentation_pictures` (needs Chromium and Caddy).

It starts an instance with the demo account and photographs its pages. With names, such as `links qr`, only
these. tests/docs/test_pictures.py compares the names with those that the pages show.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import requests
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from app.core.folders import ROOT
from tests.first_click import PASSWORD
from tests.notifications.peers import Authority
from tests.notifications.sinks import Sink
from tests.proxies import HOSTS, Certificate, running
from tests.server import BROWSER, Server

FOLDER = ROOT / "docs" / "images"
HOST = HOSTS[0]
# the sign-in page shows its button, and asks it for nothing
PROVIDER = {"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "waypost", "OIDC_NAME": "Example ID"}
MEMBERS = {"editor": ("mira@example.com", "Mira Editor"), "viewer": ("noah@example.com", "Noah Viewer")}
RECEIVER = "Order system"  # a webhook that is there, and answers
SIZE = {"width": 1280, "height": 820}
COLORS = 128  # a picture of a page needs no more, and takes a third of the bytes
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Links = list[dict[str, Any]]


def first(links: Links, is_wanted: Callable[[dict[str, Any]], Any]) -> int:
    return int(next(link["id"] for link in links if is_wanted(link)))


def with_targeting(links: Links) -> int:
    return first(links, lambda link: link["targeting_type"] == "country_code")


def path_of(links: Links, is_wanted: Callable[[dict[str, Any]], Any]) -> str:
    return "/" + str(next(link["url"] for link in links if is_wanted(link)))


# what each picture shows: the path of its page
PAGES: Mapping[str, Callable[[Links], str]] = {
    "links": lambda _: "/dashboard/links/",
    "create": lambda _: "/dashboard/links/new",
    "capture": lambda _: (
        "/dashboard/capture?url=https://example.com/spring/collection&title=Spring+collection"
    ),
    "targeting": lambda links: f"/dashboard/links/{with_targeting(links)}",
    "try-as-visitor": lambda links: f"/dashboard/links/{with_targeting(links)}/try",
    "history": lambda links: f"/dashboard/links/{first(links, lambda link: link['last_datetime'])}/history",
    "qr": lambda links: f"/dashboard/links/{links[0]['id']}/qr",
    "statistics": lambda _: "/dashboard/statistics/",
    "share": lambda links: f"/dashboard/shares/new?link_id={links[0]['id']}",
    "projects": lambda _: "/dashboard/projects/",
    "domains": lambda _: "/dashboard/domains/new",
    "import": lambda _: "/dashboard/imports/",
    "pixels": lambda _: "/dashboard/pixels/",
    "handler": lambda _: "/dashboard/handlers/new",
    "handler-events": lambda _: "/dashboard/handlers/new",
    "deliveries": lambda _: f"/dashboard/handlers/?search={RECEIVER}",
    "activity": lambda _: "/dashboard/activity",
    "saved-views": lambda _: "/dashboard/links/?state=off",
    "trash": lambda _: "/dashboard/trash/",
    "account": lambda _: "/dashboard/account/",
    "audit-log": lambda _: "/dashboard/account/audit-log",
    "passkeys": lambda _: "/dashboard/account/",
    "sign-in": lambda _: "/login",
    "members": lambda _: "/dashboard/workspace/",
    "bulk": lambda _: "/dashboard/links/",
    "statistics-reach": lambda _: "/dashboard/statistics/?period=12mo&country_code=DE",
    "api": lambda _: "/dashboard/api/",
    "instance": lambda _: "/dashboard/instance/",
    "password-page": lambda links: path_of(links, lambda link: link["settings"]["password"]),
    "warning-page": lambda links: path_of(links, lambda link: link["settings"]["sensitive_content"]),
}


def fill_destination(page: Page) -> None:
    page.get_by_label("Destination", exact=True).first.fill("https://example.com/spring")
    page.keyboard.press("Tab")


def open_targeting(page: Page) -> None:
    page.locator("summary", has_text="Targeting").first.click()
    page.locator("summary", has_text="Targeting").first.scroll_into_view_if_needed()


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


def save_view(page: Page) -> None:
    page.get_by_role("link", name="Save view").click()
    page.get_by_label("Name").fill("Switched off")
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Save")).click()
    page.get_by_role("navigation", name="Saved views").wait_for()


def read_file(page: Page) -> None:
    table = "Short URL,Long URL,Title,Clicks\n" + "".join(
        f"https://s.example/{name},https://example.com/{name},{name.title()},{clicks}\n"
        for name, clicks in (("spring", 120), ("summer", 64), ("autumn", 7))
    )
    file = {
        "name": "links.csv",
        "mimeType": "text/csv",
        "buffer": (table + "https://s.example/x,nowhere,X,1\n").encode(),
    }
    page.locator("input[type=file]").first.set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Read this file").click()
    page.wait_for_url(re.compile(r"/imports/\d+"))
    page.wait_for_load_state("networkidle")


def add_passkey(page: Page) -> None:
    """By Chromium's virtual authenticator, which says yes to everything."""
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
    page.goto(f"https://{HOST}/dashboard/account/", wait_until="networkidle")
    page.locator("#passkeys").scroll_into_view_if_needed()


def select_links(page: Page) -> None:
    for number in range(3):
        page.locator("#rows > li input[type=checkbox]").nth(number).check()


def palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()
    page.wait_for_timeout(500)


# what is done on a page before its picture is taken, and pictures that are an action on another page
ACTIONS: Mapping[str, tuple[str, Callable[[Page], None]]] = {
    "create": ("create", fill_destination),
    "targeting": ("targeting", open_targeting),
    "handler": ("handler", choose_webhook),
    "handler-events": ("handler-events", choose_events),
    "deliveries": ("deliveries", open_log),
    "saved-views": ("saved-views", save_view),
    "import": ("import", read_file),
    "palette": ("links", palette),
    "passkeys": ("passkeys", add_passkey),
    "bulk": ("bulk", select_links),
}
SIGNED_OUT = frozenset({"sign-in"})
TALL = frozenset({"try-as-visitor"})  # the whole page, as long as it is


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of the pictures; all without any")
    names = parser.parse_args().names or list(dict.fromkeys((*PAGES, *ACTIONS)))
    with tempfile.TemporaryDirectory() as folder:
        settings = {"TRUSTED_PROXIES": "1", "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", **PROVIDER}
        server = Server(Path(folder) / "data", BASE_URL=f"https://{HOST}", **settings)
        login = read_login(server.flask("seed")) | {"password": PASSWORD}
        own = ("users", "set-password", "--email", login["e-mail"], "--password-stdin")
        server.flask(*own, stdin=f"{PASSWORD}\n")
        server.start()
        try:
            make_members(server)
            make_deliveries(server, login["api key"])
            with running("caddy", Path(folder), server.port, make_certificate(Path(folder))) as caddy:
                take_all(server, caddy.port, login, names)
        finally:
            server.stop()


def read_login(printed: str) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in re.findall(r"^(E-mail|Password|API key): +(\S.*)$", printed, re.M)
    }


def make_members(server: Server) -> None:
    """Accounts that the demo's owner invites into the workspace."""
    for email, name in MEMBERS.values():
        account = ("users", "create", "--email", email, "--name", name, "--password-stdin")
        server.flask(*account, stdin=f"{PASSWORD}\n")


def make_deliveries(server: Server, key: str) -> None:
    """A webhook that answers, then refuses, then answers again."""
    sink = Sink()
    try:
        fields = {"type": "webhook", "name": RECEIVER, "webhook": sink.url()}
        id_ = call(server, key, "/notification-handlers", "POST", **fields)["id"]
        for status in (204, 503, 204):
            sink.status["/"] = status
            call(server, key, f"/notification-handlers/{id_}/test", "POST")
    finally:
        sink.close()


def invite_members(browser: Browser, server: Server, key: str) -> None:
    """They accept in browsers of their own; somebody else has not yet."""
    for role, (email, _) in MEMBERS.items():
        member = sign_in(browser, {"e-mail": email, "password": PASSWORD})
        member.goto(call(server, key, "/workspace/members", "POST", email=email, role=role)["url"])
        member.get_by_role("button", name="Join the workspace").click()
        member.wait_for_url(re.compile("/dashboard/(?!join)"))
        member.context.close()
    call(server, key, "/workspace/members", "POST", email="olga@example.com", role="editor")


def make_certificate(folder: Path) -> Certificate:
    authority = Authority(folder)
    authority.server(HOST)
    (pem,) = authority.folder.glob(f"{HOST}-*.pem")
    return Certificate(pem, pem)


def take_all(server: Server, port: int, login: Mapping[str, str], names: list[str]) -> None:
    """`port`: of the proxy, for which the browser takes the host. Passkeys want HTTPS."""
    links = read_links(server, login["api key"])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=[
                f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{port}",
                "--ignore-certificate-errors",
                "--no-sandbox",
                "--disable-gpu",
            ],
        )
        invite_members(browser, server, login["api key"])
        page = sign_in(browser, login)
        for name in names:
            take(new_page(browser) if name in SIGNED_OUT else page, name, links)
        browser.close()


def read_links(server: Server, key: str) -> Links:
    """All links but the last one, which goes to the trash. One gets a history."""
    links: Links = call(server, key, "/links?results_per_page=100")
    call(server, key, f"/links/{links.pop()['id']}", "DELETE")
    changed = first(links, lambda link: link["last_datetime"])
    call(server, key, f"/links/{changed}", "POST", title="Early bird", utm_source="newsletter")
    return links


def call(server: Server, key: str, path: str, method: str = "GET", **fields: str) -> Any:
    headers = {
        "Authorization": f"Bearer {key}",
        "Host": HOST,
        "X-Forwarded-Proto": "https",
        "Prefer": "return=representation",
    }
    answer = requests.request(method, f"{server.url}/api{path}", headers=headers, data=fields, timeout=30)
    answer.raise_for_status()
    return answer.json()["data"] if answer.content else None


def find_chromium() -> str:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if not found:
        raise SystemExit("No Chromium here: install the package chromium, or name one in CHROMIUM.")
    return found


def new_page(browser: Browser) -> Page:
    context = browser.new_context(
        viewport=SIZE,  # type: ignore[arg-type]
        locale="en-GB",
        color_scheme="light",
        user_agent=BROWSER,
    )
    return context.new_page()


def sign_in(browser: Browser, login: Mapping[str, str]) -> Page:
    page = new_page(browser)
    page.goto(f"https://{HOST}/login")
    page.get_by_label("E-mail").fill(login["e-mail"])
    page.get_by_label("Password", exact=True).fill(login["password"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/dashboard/**")
    return page


def take(page: Page, name: str, links: Links) -> None:
    of, act = ACTIONS.get(name, (name, None))
    path = PAGES[of](links)
    page.goto(f"https://{HOST}{path}", wait_until="networkidle")
    if act is not None:
        act(page)
    page.wait_for_timeout(400)  # charts and dialogs move when they appear
    shot = page.screenshot(full_page=name in TALL, animations="disabled")
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    picture.save(FOLDER / f"{name}.png", optimize=True)
    sys.stdout.write(f"{name}: {path}, {(FOLDER / f'{name}.png').stat().st_size // 1024} KB\n")


if __name__ == "__main__":
    main()
