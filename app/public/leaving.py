"""The script by which a page waits for its pixels before it goes on to the destination.

See docs/decisions/2026-11-22-pixels-count-once.md.
"""

from __future__ import annotations

from pathlib import Path

from app.pixels.firing import program_of
from app.redirects.page_scripts import Scripts

LEAVE_PAGE = Path(__file__).with_name("leave_page.js")

# The contract: go on within a second, or within 1.5 s while a request is under way. The first time leaves
# room for what a script sends after its first request; the second lets pictures be requested.
SOONEST_MS, STAND_IN_MS, LATEST_MS = 800, 1400, 1500


def leaving_program(leave: str, own: Scripts, boxed: Scripts) -> str:
    """JavaScript that fires the page's own pixels, waits for them and for those in the sandbox, then leaves.

    `leave` is JavaScript of a function. Without any pixels it is called as soon as the page is loaded.
    """
    parts = [name for name, scripts in (("page", own), ("sandbox", boxed)) if scripts.pixels]
    if not parts:
        return f'addEventListener("load", {leave});'  # before that, an app's URL would stop the loading
    times = f"{SOONEST_MS}, {STAND_IN_MS}, {LATEST_MS}"
    waiting = f"var leaving = {program_of(LEAVE_PAGE)}({leave}, {parts}, {times});"
    fired = own.pixels.program("leaving.tell")
    return f"{waiting}\n{fired and f'leaving.addStandIn({fired});'}"
