"""Pages that shorten what a browser or a phone hands over: by a bookmarklet, or from the share sheet.

Opening the page makes nothing, since any site can send somebody there: it fills in a form, whose button makes
the link and copies it. `shared_text` says how the destination is found in what was handed over.
"""

# see docs/decisions/2026-11-25-clients.md
from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from flask import Response, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts.ownership import get_owned
from app.dashboard.links.rows import own_host, short_address, short_url
from app.dashboard.links.shared_text import SharedText, read_shared
from app.dashboard.links.views import LinkViews
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import add_form
from app.dashboard.shared.workspace import current_access
from app.i18n.messages import gettext as _
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.links import services
from app.links.models import Link
from app.web import urls
from app.web.body import read_params

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
    fragment = f"dashboard/capture/_{name}.html"
    return rendering.render_page(
        "dashboard/capture/page.html", fragment, status=status, here="links", **context
    )
