"""Takes the pictures of docs/images: `python -m scripts.documentation_pictures`

It needs Chromium, Caddy, and for paper pdftoppm (package poppler-utils). It starts an instance with the demo
account and photographs its pages. With names, such as `links qr`, only these.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from PIL import Image
from playwright.sync_api import Browser, Page, Route, sync_playwright

from app.core.folders import ROOT
from scripts.picture_scenes import RECEIVER, SCENES, Links, Scene, first
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
PIXELS = ("LinkedIn", "Meta (Facebook)")  # of the newsletter's link
SIZE = {"width": 1280, "height": 820}
PHONE_SIZE = {"width": 390, "height": 700}
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Mobile/15E148 Safari/604.1"
)
TABLE = "#dfe5e4"  # on which sheets of paper lie
MARGIN = 24  # between them and around them
COLORS = 128  # a picture of a page needs no more, and takes a third of the bytes
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of the pictures; all without any")
    names = parser.parse_args().names or list(SCENES)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"TRUSTED_PROXIES": "1", "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "PIXEL_CONSENT": "ask"}
        server = Server(Path(folder) / "data", BASE_URL=f"https://{HOST}", **settings, **PROVIDER)
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
            scene = SCENES[name]
            is_visitors = scene.is_signed_out or scene.is_phone
            take(new_page(browser, is_phone=scene.is_phone) if is_visitors else page, name, links)
        browser.close()


def read_links(server: Server, key: str) -> Links:
    """All links but the last one, which goes to the trash. One gets a history, another one two pixels."""
    links: Links = call(server, key, "/links?results_per_page=100")
    call(server, key, f"/links/{links.pop()['id']}", "DELETE")
    changed = first(links, lambda link: link["last_datetime"])
    call(server, key, f"/links/{changed}", "POST", title="Early bird", utm_source="newsletter")
    pixels = {pixel["name"]: pixel["id"] for pixel in call(server, key, "/pixels?results_per_page=100")}
    chosen = {f"pixels_ids[{place}]": pixels[name] for place, name in enumerate(PIXELS)}
    fired = first(links, lambda link: link["url"] == "newsletter")
    call(server, key, f"/links/{fired}", "POST", **chosen)
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


def new_page(browser: Browser, *, is_phone: bool = False) -> Page:
    context = browser.new_context(
        viewport=PHONE_SIZE if is_phone else SIZE,  # type: ignore[arg-type]
        locale="en-GB",
        color_scheme="light",
        user_agent=PHONE if is_phone else BROWSER,
    )
    if is_phone:
        context.route(lambda url: not url.startswith(f"https://{HOST}/"), stay)
    return context.new_page()


def stay(route: Route) -> None:
    """Keep the page that is about to go on to its destination: 204 leaves a browser where it is."""
    route.fulfill(status=204)


def sign_in(browser: Browser, login: Mapping[str, str]) -> Page:
    page = new_page(browser)
    page.goto(f"https://{HOST}/login")
    page.get_by_label("E-mail").fill(login["e-mail"])
    page.get_by_label("Password", exact=True).fill(login["password"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/dashboard/**")
    return page


def take(page: Page, name: str, links: Links) -> None:
    scene = SCENES[name]
    path = scene.find(links)
    page.goto(f"https://{HOST}{path}", wait_until="networkidle")
    scene.act(page)
    page.wait_for_timeout(400)  # charts and dialogs move when they appear
    shot = photograph(page, scene).quantize(COLORS, dither=Image.Dither.NONE)
    shot.save(FOLDER / f"{name}.png", optimize=True)
    sys.stdout.write(f"{name}: {path}, {(FOLDER / f'{name}.png').stat().st_size // 1024} KB\n")


def photograph(page: Page, scene: Scene) -> Image.Image:
    if scene.is_printed:
        return lay_out(page.pdf(format="A4", prefer_css_page_size=True))
    shot = page.screenshot(full_page=scene.is_whole, animations="disabled")
    return Image.open(io.BytesIO(shot)).convert("RGB")


def lay_out(paper: bytes) -> Image.Image:
    """The first two pages of a PDF file, beside each other."""
    width = (SIZE["width"] - 3 * MARGIN) // 2
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        options = ("-png", "-l", "2", "-scale-to-x", str(width), "-scale-to-y", "-1", "-")
        subprocess.run(["pdftoppm", *options, target / "sheet"], input=paper, check=True)
        sheets = [Image.open(path).convert("RGB") for path in sorted(target.iterdir())]
    table = Image.new("RGB", (SIZE["width"], sheets[0].height + 2 * MARGIN), TABLE)
    for place, sheet in enumerate(sheets):
        table.paste(sheet, (MARGIN + place * (width + MARGIN), MARGIN))
    return table


if __name__ == "__main__":
    main()
