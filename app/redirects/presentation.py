"""How a visitor gets to the destination: in a frame, in its app, by a page with pixels, or by a redirect."""

from __future__ import annotations

from app.i18n.messages import lazy_gettext as _l
from app.redirects import outcomes
from app.redirects.apps import Opening, opening
from app.redirects.compiled_link import CompiledLink
from app.redirects.outcomes import Outcome
from app.redirects.visitor import Visitor

WEB = ("http:", "https:")
HAND_HELD = frozenset({"mobile", "tablet"})


def delivery(
    compiled_link: CompiledLink, visitor: Visitor, location: str, destination: str, agreed: bool | None = None
) -> tuple[Outcome, str]:
    """The outcome, and the reason in words. `agreed`: the visitor's answer about pixels, None if unasked."""
    fires = may_fire(compiled_link, visitor) and agreed is not False
    if agreed is None and asks_consent(compiled_link, visitor):
        return outcomes.page_outcome("consent", location, destination, fires=True), _l(
            "a person is asked about pixels first"
        )
    if compiled_link.cloaking_is_enabled and (visitor.is_bot or location.lower().startswith(WEB)):
        return cloaked(visitor, location, destination, fires=fires)
    if compiled_link.has_card and visitor.is_preview_bot:
        return outcomes.preview(destination), _l("a chat or network gets the link's social card")
    if found := opened_in_app(compiled_link, visitor, location):
        page = outcomes.page_outcome("app", location, destination, fires=fires, opening=found)
        return page, _l("opens in %(app)s on %(os_name)s", app=found.app, os_name=visitor.os_name)
    if fires:
        return outcomes.page_outcome("pixels", location, destination, fires=True), _l(
            "pixels fire on the way"
        )
    status = compiled_link.http_status_code
    return outcomes.redirect(status, location, destination), _l("redirect with %(status)s", status=status)


def asks_consent(compiled_link: CompiledLink, visitor: Visitor) -> bool:
    return compiled_link.asks_consent and may_fire(compiled_link, visitor)


def may_fire(compiled_link: CompiledLink, visitor: Visitor) -> bool:
    return compiled_link.has_pixels and not visitor.refuses_pixels and not visitor.is_bot


def cloaked(visitor: Visitor, location: str, destination: str, *, fires: bool) -> tuple[Outcome, str]:
    """The outcome for a cloaked link. A bot gets a preview, which shows nothing of the destination."""
    if visitor.is_bot:
        return outcomes.preview(destination), _l(
            "a bot gets title, description and picture of a cloaked link"
        )
    return outcomes.page_outcome("cloak", location, destination, fires=fires), _l(
        "shown in a frame under the link's address"
    )


def opened_in_app(compiled_link: CompiledLink, visitor: Visitor, location: str) -> Opening | None:
    """How the visitor's phone opens the destination in an app, or None. Bots have no apps, whatever device
    they claim to be."""
    if not compiled_link.app_linking_is_enabled or visitor.is_bot or visitor.device_type not in HAND_HELD:
        return None
    return opening(location, visitor.os_name, in_web_view=visitor.is_in_web_view)
