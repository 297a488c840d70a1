"""Web vitals of dashboard pages on a slow processor (LCP, CLS, interactions): `python -m bench.vitals`

One owner has 100,000 links and 200,000 clicks on a real server. Chromium's own throttling makes it four times
slower. Each page is opened with an empty cache, and used press by press. The time of a press is the browser's
own measure, from the press to the next paint (below 16 ms nothing is reported: that counts as 16). "frame" is
the longest frame until the requested content was there. `--keep` keeps what was made. Measure on an idle
machine: a busy one doubles the figures.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import secrets
import sqlite3
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from app.analytics.interning import digest_text
from app.core.config import load_settings
from app.core.database import clicks_path
from app.geo.names import COUNTRIES
from bench.list import EMAIL, PASSWORD, store_owners
from bench.stored import fill_clicks, roll_up
from tests.conftest import chromium
from tests.migrations import environ
from tests.server import Server

SLOWER = 4
LCP_MS, INP_MS, CLS, KB = 2500, 200, 0.01, 150
LINKS, CLICKS, DAYS, ROUNDS = 100_000, 200_000, 60, 3
LEAST_MS = 16.0
BETWEEN_KEYS_MS, SLOWLY_MS = (
    70,
    350,
)  # so slow that each search result arrives between two letters
SCRIPT = Path(__file__).with_suffix(".js").read_text()


class Press(NamedTuple):
    """One interaction: milliseconds until the next paint, in its parts, and its target."""

    took: float
    waited: float = 0
    handled: float = 0
    what: str = ""

    def __str__(self) -> str:
        painted = self.took - self.waited - self.handled
        return f"{self.waited:.0f} + {self.handled:.0f} + {painted:.0f} ms, {self.what}" if self.what else ""


class Found(NamedTuple):
    """Figures of one page opened once. By kind of press: all presses, and the longest frames."""

    lcp: float
    lcp_of: str
    cls: float
    kilobytes: float
    presses: dict[str, list[Press]]
    frames: dict[str, list[float]]


class Person:
    """Uses a page, and times presses by their purpose."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.presses: dict[str, list[Press]] = defaultdict(list)
        self.frames: dict[str, list[float]] = defaultdict(list)
        self.cls = 0.0

    def does(self, kind: str, act: Callable[[], object]) -> None:
        before = self.page.evaluate("performance.interactionCount")
        act()
        for _ in range(4):  # a search while typing waits for the next letter
            self.page.evaluate("vitals.blink()")
            self.page.wait_for_timeout(80)
        self.page.evaluate("vitals.settled()")
        read = self.page.evaluate("vitals.read()")
        if read["hidden"]:
            sys.exit(f"WRONG: the page was hidden, so that nothing was painted ({kind})")
        longest: dict[int, Press] = {}
        for one in read["events"]:
            press = Press(one["took"], one["waited"], one["handled"], one["what"])
            longest[one["id"]] = max(press, longest.get(one["id"], Press(0)))
        unread = read["presses"] - before - len(longest)
        if not longest and unread <= 0:
            sys.exit(f"WRONG: the browser took no notice of a press ({kind})")
        self.presses[kind] += [*longest.values(), *[Press(LEAST_MS)] * unread]
        self.frames[kind].append(max(read["frames"], default=0))
        self.cls = read["cls"]

    def clicks(self, kind: str, on: str | Locator, **options: Any) -> None:
        """Click by moving the pointer alone: the driver's own click inspects the page in between."""
        place = self.page.locator(on).first if isinstance(on, str) else on
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        if box is None:
            sys.exit(f"WRONG: there is nothing to press for “{kind}”")
        x, y = box["x"] + min(box["width"] / 2, 60), box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.wait_for_timeout(100)
        self.does(kind, lambda: self.page.mouse.click(x, y, **options))

    def goes_to(self, place: str) -> None:
        """Scroll there: parts further down load when they are in view."""
        self.page.locator(place).scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)
        self.page.evaluate("vitals.settled()")
        self.page.evaluate("vitals.read()")

    def presses_key(self, kind: str, key: str) -> None:
        self.does(kind, lambda: self.page.keyboard.press(key))

    def types(self, kind: str, text: str, delay: float = BETWEEN_KEYS_MS) -> None:
        self.does(kind, lambda: self.page.keyboard.type(text, delay=delay))


# ------------------------------------------------------------------ what is used


def in_list(one: Person) -> None:
    for key in "jjkx":
        one.presses_key("a key on the focused row", key)
    for n in range(2, 6):
        one.clicks("select a row", f"#rows > .row:nth-child({n}) .pick")
    one.clicks("select the page", "[data-select-page]")
    one.clicks("select nothing", "[data-select-none]")
    for n in (1, 3, 6):
        one.clicks("open a row's menu", f"#rows > .row:nth-child({n}) [data-menu]")
        one.presses_key("close a menu", "Escape")
    one.clicks("open the filters", one.page.locator("summary", has_text="Filter"))
    one.presses_key("close a menu", "Escape")
    one.clicks("into a field", "#ask-search")
    one.types("type a search", "spring")
    one.types("type a search slowly", " sale no", delay=SLOWLY_MS)
    one.clicks("edit a link", "#rows > .row:nth-child(2) .side-actions a[aria-haspopup]")
    one.presses_key("close the dialog", "Escape")
    one.clicks("edit a link", "#rows > .row:nth-child(2) .side-actions a[aria-haspopup]")
    one.types("type a destination", "/now")
    one.presses_key("save the link", "Enter")


def in_dialog(one: Person) -> None:
    one.clicks("open the create dialog", "[data-create=one]")
    one.types("type a destination", "example.com/a/page")
    one.types("type it slowly", "?to=harbour", delay=SLOWLY_MS)
    for n in (1, 2, 4, 6):
        one.clicks("open a fold", f"#sheet .folds > :nth-child({n}) summary")
    one.clicks("into a field", "#sheet [name=url]")
    one.types("type an alias", f"at-{secrets.token_hex(3)}")  # new: a taken alias is refused
    one.presses_key("create the link", "Enter")


def in_statistics(one: Person) -> None:
    for key in "WM":
        one.presses_key("another period by its letter", key)
    one.clicks("open a menu", "#period > summary")
    one.clicks("another period", "#period [data-key=D]")
    one.clicks("open a menu", "#period > summary")
    one.clicks("another period", "#period [data-key=M]")
    one.clicks("the other measure", "#panel-overview a.total:not([aria-current])")
    one.goes_to("#panel-sources")
    one.clicks("a tab of a card", "#panel-sources .tabs a:not([aria-current])")
    one.goes_to("#panel-devices")
    one.clicks("a row of a top list", "#panel-devices table.top a")
    one.clicks("take the filter away", ".applied .chip")
    one.clicks("show as a table", "#panel-overview .as-table > summary")


def in_another(one: Person) -> None:
    one.clicks("open its dialog", ":is(.page-head, .empty) .actions [hx-get]:visible")
    one.types("type into it", "a name")


def nothing(one: Person) -> None:
    """The page is only opened."""


PAGES: dict[str, tuple[str, Callable[[Person], None]]] = {
    "links": ("links/", in_list),
    "links, the next page": ("links/?page=2", nothing),
    "links, the dialog": ("links/", in_dialog),
    "statistics of all": ("statistics/", in_statistics),
    "statistics of a link": ("links/1/statistics/", in_statistics),
    "projects": ("projects/", in_another),
    "domains": ("domains/", in_another),
    "pixels": ("pixels/", in_another),
    "handlers": ("handlers/", in_another),
    "keys": ("keys/", in_another),
    **{name: (f"{name}/", nothing) for name in ("api", "imports", "trash", "account")},
    "many links": ("links/bulk", nothing),
    "a link's form": ("links/1", nothing),
    "a link's QR code": ("links/1/qr", nothing),
}


# --------------------------------------------------------------------- measuring


@contextmanager
def slow_page(browser: Browser, state: Any) -> Iterator[tuple[Page, list[float]]]:
    """A slow page, signed in, with an empty cache. Also yields the transferred bytes, headers included."""
    context = browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(SCRIPT)
    page.on("dialog", lambda dialog: dialog.accept())
    page.on("pageerror", lambda error: sys.exit(f"WRONG: {error}"))
    tools = context.new_cdp_session(page)
    sizes: list[float] = []
    tools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    tools.send("Network.enable")
    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    yield page, sizes
    context.close()


def measure(browser: Browser, state: Any, address: str, use: Callable[[Person], None]) -> Found:
    with slow_page(browser, state) as (page, sizes):
        answer = page.goto(address, wait_until="networkidle")
        if answer is None or answer.status != 200:
            sys.exit(f"WRONG: {address} answered {answer and answer.status}")
        page.evaluate("vitals.settled()")
        page.wait_for_timeout(300)  # the browser reports a new largest paint later than it shows it
        loaded, size = page.evaluate("vitals.read()"), sum(sizes) / 1000
        if not loaded["lcp"] or loaded["hidden"]:
            sys.exit(f"WRONG: {address} painted nothing")
        one = Person(page)
        one.cls = loaded["cls"]
        use(one)
    return Found(loaded["lcp"], loaded["lcpOf"], one.cls, size, one.presses, one.frames)


def signed_in(browser: Browser, server: Server) -> Any:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/login")
    page.fill("[name=email]", EMAIL)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/**")
    state = context.storage_state()
    context.close()
    return state


def start_server(data_dir: Path, ends: ExitStack) -> Server:
    secret = environ(data_dir)["WAYPOST_SECRET_KEY"]
    server = Server(data_dir, API_RATE_LIMIT="0", SECRET_KEY=secret).start()
    ends.callback(server.stop)
    return server


def make(data_dir: Path) -> None:
    settings = load_settings(environ(data_dir))
    store_owners(settings, LINKS)
    now = dt.datetime.now(dt.UTC)
    fill_clicks(settings, CLICKS, LINKS, DAYS, now)
    with closing(sqlite3.connect(clicks_path(settings))) as connection, connection:
        for number, code in enumerate([*COUNTRIES][::4]):  # the map shows real countries only
            row = (code, digest_text(code), f"country_code {number}")
            connection.execute("UPDATE term SET value = ?, digest = ? WHERE value = ?", row)
    roll_up(settings, now, 60)
    (data_dir / "made").touch()


# ----------------------------------------------------------------------- report


def at_98(times: list[float]) -> float:
    return sorted(times)[math.ceil(len(times) * 0.98) - 1]


def tell(name: str, rounds: list[Found]) -> int:
    """Print a page's lines. Returns the number of missed targets."""
    lcp, cls = (
        statistics.median(values) for values in zip(*((one.lcp, one.cls) for one in rounds), strict=True)
    )
    size = max(one.kilobytes for one in rounds)
    missed: int = sum((lcp > LCP_MS, cls > CLS, size > KB))
    figures = f"LCP {lcp:5.0f} ms  CLS {cls:.3f}  {size:4.0f} kB  ({rounds[0].lcp_of})"
    print(f"{name:<30}{figures}{'  ABOVE TARGET' if missed else ''}")
    for kind in rounds[0].presses:
        presses = [press for one in rounds for press in one.presses[kind]]
        times = [press.took for press in presses]
        frame = statistics.median(frame for one in rounds for frame in one.frames[kind])
        is_over = at_98(times) > INP_MS
        missed += int(is_over)
        line = f"  {kind:<30}{len(times):>4}{statistics.median(times):>6.0f}{at_98(times):>6.0f}{frame:>7.0f}"
        print(f"{line}  {max(presses)}{'  ABOVE TARGET' if is_over else ''}", flush=True)
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="pages whose name has this in it")
    parser.add_argument("--keep", type=Path, help="a directory in which what is made stays")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as place, ExitStack() as ends, sync_playwright() as driver:
        data_dir = options.keep or Path(place) / "data"
        if not (data_dir / "made").exists():
            make(data_dir)
        server = start_server(data_dir, ends)
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        state = signed_in(browser, server)
        legend = "the longest: waited + handled + painted"
        print(f"{'ms, of presses of a kind':<32}{'n':>4}{'p50':>6}{'p98':>6}{'frame':>7}  {legend}")
        for name, (path, use) in PAGES.items():
            if options.only in name:
                address = f"{server.url}/dashboard/{path}"
                missed += tell(name, [measure(browser, state, address, use) for _ in range(options.rounds)])
        browser.close()
    if missed:
        sys.exit(f"{missed} are above the target")


if __name__ == "__main__":
    main()
