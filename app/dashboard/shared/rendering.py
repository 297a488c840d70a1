"""Renders pages: whole, or as the fragment that htmx swaps; with the formats of times."""

from __future__ import annotations

import datetime as dt
import json
import re
import zlib
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple
from urllib.parse import SplitResult
from zoneinfo import ZoneInfo

from flask import Flask, Response, flash, make_response, redirect, render_template, request
from flask.typing import ResponseReturnValue
from flask_login import current_user
from jinja2.ext import Extension

from app.core.urls import split_address
from app.dashboard.handlers.delivery_words import switched_off
from app.dashboard.shared.workspace import workspace_id
from app.i18n import dated
from app.i18n.messages import lazy_gettext as _l
from app.web.security_headers import host_cookie

THEMES = {"light", "dark"}
THEME_COOKIE = "waypost_theme"
DENSITIES = {"comfortable"}  # a list is compact unless the reader chose otherwise
DENSITY_COOKIE = "waypost_density"


class NavigationEntry(NamedTuple):
    """One entry of the navigation."""

    name: str
    title: str
    icon: str
    opens_group: bool = False

    @property
    def endpoint(self) -> str:
        return f"dashboard.{self.name}"


NAVIGATION = (
    NavigationEntry("links", _l("Links"), "link"),
    NavigationEntry("statistics", _l("Statistics"), "chart-no-axes-column"),
    NavigationEntry("projects", _l("Projects"), "folder", True),
    NavigationEntry("domains", _l("Domains"), "globe"),
    NavigationEntry("pixels", _l("Pixels"), "radio"),
    NavigationEntry("handlers", _l("Handlers"), "bell"),
    NavigationEntry("activity", _l("Activity"), "history"),
    NavigationEntry("keys", _l("API keys"), "key-round", True),
    NavigationEntry("api", "API", "code-xml"),
    NavigationEntry("imports", _l("Import, export"), "arrow-left-right"),
    NavigationEntry("trash", _l("Trash"), "trash-2"),
    NavigationEntry("workspace", _l("Members"), "users", True),
    NavigationEntry("account", _l("Account"), "user-round"),
)
FOR_ADMINS = (
    NavigationEntry("users", _l("Users"), "users"),
    NavigationEntry("instance", _l("Instance"), "server-cog"),
)


class Unindented(Extension):
    """Leaves the indentation of templates out of pages, and of what is parsed for each of them."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002
        return re.sub(r"^[ \t]+", "", source, flags=re.MULTILINE)


def init_app(app: Flask) -> None:
    app.jinja_env.add_extension(Unindented)
    app.context_processor(common)
    app.add_template_filter(full_local_time)
    app.add_template_filter(exactly)
    app.add_template_filter(local_day)
    app.add_template_filter(local_time)
    app.add_template_filter(hue)
    app.add_template_filter(line_number)


def common() -> dict[str, Any]:
    return {
        "theme": theme(),
        "density": density(),
        "navigation": navigation,
        "here": None,
        "switched_off": own_switched_off,
    }


def navigation() -> Sequence[NavigationEntry]:
    """The entries of the navigation; admins have more. Only whole pages call this."""
    return (*NAVIGATION, *FOR_ADMINS) if current_user.is_admin else NAVIGATION


def own_switched_off() -> Sequence[Any]:
    """The handlers that Waypost has switched off: every whole page shows them."""
    return switched_off(workspace_id())


def theme() -> str:
    """The colours that the reader chose, or "" for the system's. Sent with the page: nothing flashes."""
    return chosen(THEME_COOKIE, THEMES)


def density() -> str:
    """How much room the rows of a list take, "" for the compact one. Sent with the page: nothing jumps."""
    return chosen(DENSITY_COOKIE, DENSITIES)


def chosen(cookie: str, choices: Container[str]) -> str:
    """What the reader's browser keeps in this cookie, if that is one of the choices."""
    kept = request.cookies.get(host_cookie(cookie), "")
    return kept if kept in choices else ""


def is_fragment() -> bool:
    """Whether htmx requests a fragment. (To restore a page of the history it needs the whole page.)"""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def is_at(address: str) -> bool:
    """Whether htmx was used on the page of this address."""
    return current_address().path == address


def current_address() -> SplitResult:
    """The address of the page on which htmx was used."""
    return split_address(request.headers.get("HX-Current-URL", ""))


def current_query(address: str = "") -> bytes:
    """The query of the page on which htmx was used, if its path is `address` (or `address` is empty)."""
    page = current_address()
    return page.query.encode() if address in ("", page.path) else b""


def render_page(whole: str, fragment: str, *, status: int = 200, **context: Any) -> Response:
    """The fragment for htmx, else the page that includes the same fragment."""
    part = is_fragment()
    body = render_template(fragment if part else whole, in_dialog=part, fragment=fragment, **context)
    response = make_response(body, status)
    response.vary.add("HX-Request")
    return response


def render_in(folder: str, name: str, status: int = 200, **context: Any) -> Response:
    """A page of a folder of templates by the name of its fragment. The list has a page of its own."""
    whole = f"{folder}/{'list' if name == 'list' else 'page'}.html"
    return render_page(whole, f"{folder}/_{name}.html", status=status, **context)


def redirect_with(message: str, to: str, warning: str | None = None, undo: str = "") -> ResponseReturnValue:
    """Answer a write without htmx: redirect to a page that shows the message.

    `undo`: the address that takes it back.
    """
    if message:
        flash(str(message), undo or "message")
    if warning:
        flash(str(warning), "error")
    return redirect(to, 303)


def leave_page(message: str, to: str, anchor: str = "") -> ResponseReturnValue:
    """Answer a write after which its page is another one or none: the browser loads this one, also by htmx.

    `anchor`: a part of it; left out for htmx, because nothing is loaded where only that differs.
    """
    if not is_fragment():
        return redirect_with(message, f"{to}#{anchor}" if anchor else to)
    flash(message)
    return Response(headers={"HX-Redirect": to})


def swap_part(
    message: str,
    part: str,
    target: str,
    swap: str,
    warning: str | None = None,
    *,
    undo: str = "",
    copy: str | None = None,
) -> Response:
    """Answer a write for htmx: swap the changed part, show the messages, and close the dialog.

    `copy`: the text for the clipboard.
    """
    response = make_response(part)
    message = str(message)
    said: dict[str, Any] = {"toast": {"value": message, "copy": copy} if copy else message} if message else {}
    said = {"toast-undo": {"value": message, "undo": undo}} if undo else said
    triggers = {**said, **({"toast-warning": str(warning)} if warning else {}), "sheet-close": True}
    # json.dumps writes ASCII only, as headers must be
    response.headers["HX-Trigger"] = json.dumps(triggers)
    response.headers["HX-Retarget"], response.headers["HX-Reswap"] = target, swap
    return response


def show_list(
    message: str, to: str, part: Callable[[], str], warning: str | None = None, undo: str = ""
) -> ResponseReturnValue:
    """Answer a write that was made in a list: `part` is the list for htmx, `to` its address without."""
    if not is_fragment():
        return redirect_with(message, to, warning, undo)
    return swap_part(message, part(), "#results", "innerHTML", warning, undo=undo)


def owner_zone() -> ZoneInfo:
    """The time zone in which the owner reads and types."""
    return ZoneInfo(current_user.timezone)


def full_local_time(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """`20 November 2026, 18:30` in this time zone."""
    there = moment.astimezone(zone)
    return f"{dated(there.date(), 'd MMMM y')}, {there:%H:%M}"


def exactly(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """`20 November 2026, 18:30:05 CET`: the tooltip of a shorter time."""
    there = moment.astimezone(zone)
    return f"{dated(there.date(), 'd MMMM y')}, {there:%H:%M:%S} {there.tzname()}"


def local_time(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """`20 Nov, 18:30` in this time zone."""
    there = moment.astimezone(zone)
    return f"{dated(there.date(), 'd MMM')}, {there:%H:%M}"


def local_day(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """`20 Nov 2026` in this time zone."""
    return dated(moment.astimezone(zone).date(), "d MMM y")


def hue(text: str) -> int:
    """One of eight colours (`.hue-0` … in app.css) for a word, always the same."""
    return zlib.crc32(text.encode()) % 8


def line_number(problem: object) -> int | None:
    """The line of a problem in a list of lines, counted from 1; its field is as `location_urls[3]`."""
    match = re.search(r"\[(\d+)\]$", getattr(problem, "field", None) or "")
    return int(match[1]) if match else None
