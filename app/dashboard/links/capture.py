"""Pages that shorten what a browser or a phone hands over: by a bookmarklet, or from the share sheet.

Opening the page makes nothing, since any site can send somebody there: it fills in a form, whose button makes
the link and copies it. Android's share sheet has no field for addresses:
apps put theirs into the text, among words of their own.
"""

# see docs/decisions/2026-11-25-clients.md
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from flask import Response, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts.access import get_owned
from app.dashboard.links.rows import own_host, short_address, short_url
from app.dashboard.links.views import LinkViews
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_input import complete
from app.dashboard.shared.form_views import add_form
from app.dashboard.shared.workspace import current_access
from app.i18n.messages import gettext as _
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.links import services
from app.links.models import Link
from app.web import urls
from app.web.body import read_params

ADDRESS = re.compile(r"https?://[^\s<>\"«»“”„]+", re.IGNORECASE)
# what ends the sentence around an address, and not the address
ENDS = ".,;:!?…'’*_、。，；：！？」』】）"
AROUND = ' :-–—|,;([{"“”„«»「」'
PAIRS = {")": "(", "]": "[", "}": "{"}
MAX_OTHERS = 8
MAX_TITLE = 160  # of a link


class SharedText(NamedTuple):
    """`address`: the one to shorten, "" without any. `others`: what else could have been meant."""

    address: str
    title: str
    others: tuple[str, ...] = ()


def read_shared(url: str = "", text: str = "", title: str = "") -> SharedText:
    """The addresses in the fields, in this order. Without any, what is in the field for one, as it came."""
    url = url.strip()
    exact = [url] if ADDRESS.fullmatch(url) else []
    inside = (
        address
        for field in (url, text, title)
        if not exact or field != url
        for address in addresses_in(field)
    )
    found = list(dict.fromkeys([*exact, *inside])) or [*bare(url), *bare(text), url]
    return SharedText(
        found[0], title_of(title) or title_of(text), tuple(filter(None, found[1 : MAX_OTHERS + 1]))
    )


def addresses_in(text: str) -> Iterator[str]:
    for match in ADDRESS.finditer(text):
        address = without_ends(match[0])
        if len(address) > len("https://"):
            yield address


def bare(text: str) -> Iterator[str]:
    """The text as an address, if it is nothing but one without its scheme."""
    text = text.strip()
    if not re.search(r"\s", text) and complete(text) != text:
        yield complete(text)


def without_ends(address: str) -> str:
    """The address without the marks after it; a closing bracket belongs to it if its opening one does."""
    while address:
        last = address[-1]
        is_bracket = last in PAIRS and address.count(last) > address.count(PAIRS[last])
        if not is_bracket and last not in ENDS:
            break
        address = address[:-1]
    return address


def title_of(text: str) -> str:
    """The words before an address, or else those after it, on one line, as long as a title may be."""
    lines = map(one_line, ADDRESS.split(text))
    line = next(filter(None, lines), "")
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1].rstrip()}…"


def one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split()).strip(AROUND)


SHARED = ("url", "text", "title")  # the parameters of the share target in app/static/manifest.webmanifest
NOTHING = SharedText("", "")
# in a window of its own, beside the page; in the same one where the browser allows no other
BOOKMARKLET = """(()=>{\
const to=new URL(%s);\
to.searchParams.set("url",location.href);\
to.searchParams.set("title",document.title.slice(0,160));\
open(to,"_blank","popup,width=520,height=720")||location.assign(to)\
})()"""


class CaptureViews(LinkViews):
    """The form with what was handed over."""

    def ask_new(self) -> ResponseReturnValue:
        params = read_params()
        shared = read_shared(**{name: params.get(name, "") for name in SHARED})
        sent = [("location_url", shared.address), ("title", shared.title)]
        form = self.read_form(RequestData(sent if shared.address else sent[1:]), None)
        if shared.address:
            form.validate()  # what can't be shortened is said at once
        return render_page("form", form=form, shared=shared, own_host=own_host())

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        return render_page("form", status, form=form, shared=NOTHING, own_host=own_host())

    def save_new(self, form: ResourceForm) -> Link:
        return services.create(current_access(), form.changes)

    def created(self, row: Link) -> ResponseReturnValue:
        """The new short link, which htmx has copied to the clipboard."""
        message = _("%(name)s is created.", name=short_address(row))
        address = url_for("dashboard.capture_made", id=row.id)
        if not rendering.is_fragment():
            return rendering.redirect_with(message, address)
        part = render_template("dashboard/capture/_made.html", **facts_of(row))
        answer = rendering.swap_part(message, part, "#results", "innerHTML", copy=short_url(row))
        answer.headers["HX-Replace-Url"] = address  # a reload shows it, and asks for nothing anew
        return answer


VIEWS = CaptureViews()
add_form("/capture", "capture", VIEWS.ask_new, VIEWS.create)


@blueprint.get("/capture/<int:id>", endpoint="capture_made")
def show_made(id: int) -> Response:
    return render_page("made", **facts_of(get_owned(current_access(), Link, id)))


def facts_of(row: Link) -> dict[str, Any]:
    return {"row": row, "short_url": short_url(row), "short_address": short_address(row)}


@blueprint.get("/capture/tools", endpoint="capture_tools")
def show_tools() -> Response:
    """What to set up once: the bookmarklet, the app of a phone, and a key that only creates links."""
    address = urls.dashboard_site() + url_for("dashboard.capture")
    return make_response(
        render_template(
            "dashboard/capture/tools.html",
            here="account",
            bookmarklet=bookmarklet_of(address),
            command=curl_of(urls.dashboard_site()),
        )
    )


def bookmarklet_of(address: str) -> str:
    """The address of the bookmarklet. Browsers decode it before they run it."""
    return "javascript:" + quote(BOOKMARKLET % json.dumps(address), safe="()[]{}=>;,.:/!|&?'")


def curl_of(site: str) -> str:
    return (
        f"curl {site}/api/links -H 'Prefer: return=representation'"
        ' -H "Authorization: Bearer $WAY_KEY" -F location_url=https://example.com/'
    )


def render_page(name: str, status: int = 200, **context: object) -> Response:
    return rendering.render_in("dashboard/capture", name, status, here="links", **context)
