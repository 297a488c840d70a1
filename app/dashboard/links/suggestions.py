"""Suggestions of a destination in the form of its link: fetched by a button, and used by a button each.

With JavaScript the button gets the panel alone. Without it, it sends the whole form, which comes back with
the panel: hidden controls carry what was suggested until the form is saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flask import Response, make_response, render_template, request

from app.core.errors import NotFound, WaypostError
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.shared import form_input
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.data import RequestData, Upload, Value
from app.input.forms import ResourceForm
from app.input.parsers import Rejected
from app.links import suggestions
from app.links.destination import read_destination
from app.links.destination_page import DESCRIPTION_LENGTH, TITLE_LENGTH, clean
from app.rate_limit.limiter import at_most
from app.web.application import rate_limiter, settings

LIMITS = (
    at_most(20, minutes=5, name="suggestions"),
    at_most(200, minutes=24 * 60, name="suggestions of a day"),
)
FETCH, USE = "fetch", "use:"  # what the buttons send as `again`
SUGGESTED, FETCHED = "suggested_", "fetched_"
PICTURES = ("cloaking_opengraph", "cloaking_favicon")
# each button of the panel: the field that it fills, what with, and its word
BUTTONS = {
    "title": (("title", _l("Use title")), ("cloaking_title", _l("Use as card title"))),
    "description": (("cloaking_meta_description", _l("Use description")),),
    "cloaking_opengraph": (("cloaking_opengraph", _l("Use picture")),),
    "cloaking_favicon": (("cloaking_favicon", _l("Use icon")),),
}
LENGTHS = {"title": TITLE_LENGTH, "description": DESCRIPTION_LENGTH}
SOURCES = {target: source for source, buttons in BUTTONS.items() for target, _word in buttons}


@dataclass
class Panel:
    """What the panel shows. `pictures` and `used` are tokens by field, the latter of those to be saved."""

    site: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    error: str = ""
    buttons = BUTTONS


@blueprint.post("/links/suggestions", endpoint="links_suggestions")
def show() -> Response:
    """The panel alone, with what the destination that was sent suggests."""
    fields = submitted_form()
    panel = fetched(fields.text("location_url"))
    panel.used = used_tokens(fields)
    return make_response(render_template("dashboard/links/_suggestions.html", suggested=panel))


@blueprint.get("/links/suggestions/<token>", endpoint="links_suggested_picture")
def show_picture(token: str) -> Response:
    """A picture that was suggested, to the owner who asked for it."""
    found = suggestions.kept_picture(signed_in_user().id, token)
    if found is None:
        raise NotFound("picture")
    kinds = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
    answer = make_response(found.content)
    answer.headers["Content-Type"] = kinds[found.filename.rpartition(".")[2]]
    return answer


def panel_of_request() -> Panel | None:
    """The panel of a whole form that was sent; None where nothing was suggested yet."""
    fields = submitted_form() if request.method == "POST" else RequestData()
    if fields.text("again") == FETCH:
        panel = fetched(fields.text("location_url"))
    else:
        panel = Panel(
            clean(fields.text(f"{SUGGESTED}site"), 255),
            {name: clean(fields.text(SUGGESTED + name), most) for name, most in LENGTHS.items()},
            {name: token for name in PICTURES if (token := known_token(fields, SUGGESTED + name))},
        )
    panel.used = used_tokens(fields)
    return panel if panel.error or panel.site or panel.used else None


def fetched(typed: str) -> Panel:
    """The panel for a destination: what it suggests, or what kept that from being known."""
    url, user = form_input.complete(typed), signed_in_user()
    user_id, language = user.id, user.language
    try:
        address = read_destination(url, settings())
    except Rejected as rejected:
        return Panel(error=str(rejected.args[0].title) if typed.strip() else _("Enter a destination first."))
    if seconds := rate_limiter().take_each((limit, str(user_id)) for limit in LIMITS):
        minutes = -(-seconds // 60)
        return Panel(
            error=ngettext(
                "You have asked many destinations. Wait a minute, then try again.",
                "You have asked many destinations. Wait %(num)s minutes, then try again.",
                minutes,
            )
        )
    db.session.rollback()  # no transaction is open while the destination answers
    try:
        found = suggestions.fetch_suggestions(
            url, settings().allow_private_networks, f"{language},en;q=0.7,*;q=0.5"
        )
    except WaypostError as error:
        return Panel(error=str(error.errors[0].title))
    pictures = {
        name: token
        for name, picture in zip(PICTURES, (found.picture, found.icon), strict=True)
        if (token := suggestions.keep_picture(user_id, picture))
    }
    db.session.commit()
    site = urlsplit(url).hostname or address.host
    return Panel(site, {"title": found.title, "description": found.description}, pictures)


# --- what the form sends


def known_token(fields: RequestData, name: str) -> str:
    token = fields.text(name)
    return token if token and suggestions.kept_picture(signed_in_user().id, token) else ""


def used_tokens(fields: RequestData) -> dict[str, str]:
    """The pictures that are to be saved: those used before, and the one whose button was pressed now."""
    target = fields.text("again").removeprefix(USE)
    names = {name: FETCHED + name for name in PICTURES} | {
        name: SUGGESTED + name for name in PICTURES if name == target
    }
    return {name: token for name, source in names.items() if (token := known_token(fields, source))}


def link_fields(sent: RequestData) -> RequestData:
    """The fields of a link as the form reads them, with what a pressed button uses, and used pictures."""
    return RequestData([*plain(form_input.link_fields(sent), used_text(sent)), *used_files(sent)])


def plain(fields: RequestData, used: tuple[str, str] | None) -> Iterator[tuple[str, Value]]:
    for name, index, value in fields.pairs():
        if used is None or name != used[0]:
            yield f"{name}[{index}]", value
    if used is not None:
        yield used


def used_text(sent: RequestData) -> tuple[str, str] | None:
    """The field whose button was pressed, and the suggested text for it."""
    again = sent.text("again")
    target = again.removeprefix(USE)
    source = SOURCES.get(target, "") if again.startswith(USE) else ""
    if source not in LENGTHS:
        return None
    return target, clean(sent.text(SUGGESTED + source), LENGTHS[source])


def used_files(sent: RequestData) -> Iterator[tuple[str, Value]]:
    """The used pictures, unless another file was chosen. On the page that is shown again none is needed."""
    if "again" in sent:
        return
    for name in PICTURES:
        is_chosen = name in sent and isinstance(sent.last(name), Upload)
        token = sent.text(FETCHED + name)
        upload = suggestions.kept_picture(signed_in_user().id, token) if token and not is_chosen else None
        if upload is not None:
            yield name, upload


def refuse_lost(form: ResourceForm, sent: RequestData) -> None:
    """Reject used pictures that are not there any more: the form stayed open for too long."""
    for name in PICTURES:
        token = sent.text(FETCHED + name)
        if token and not suggestions.kept_picture(signed_in_user().id, token):
            form.reject(
                name, _("This picture is not kept any more. Fetch it from the destination again."), "gone"
            )
