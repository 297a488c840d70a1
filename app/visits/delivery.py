"""How does a visitor who may go there get to the destination: framed, in its app, past pixels, or at once?"""

from __future__ import annotations

from app.visits import outcomes
from app.visits.apps import Opening, opening
from app.visits.outcomes import Outcome
from app.visits.plan import Plan
from app.visits.visitor import Visitor

WEB = ("http:", "https:")
HAND_HELD = frozenset({"mobile", "tablet"})


def delivery(
    plan: Plan, visitor: Visitor, location: str, destination: str, agreed: bool | None = None
) -> tuple[Outcome, str]:
    """The answer, and in words why. `agreed`: what the visitor said when he was asked about pixels."""
    fires = may_fire(plan, visitor) and agreed is not False
    if fires and plan.asks_consent and agreed is None:
        return outcomes.page(
            "consent", location, destination, fires=True
        ), "a person is asked about pixels first"
    if plan.cloaking_is_enabled and (visitor.is_bot or location.lower().startswith(WEB)):
        return cloaked(visitor, location, destination, fires=fires)
    if plan.has_card and visitor.is_preview_bot:
        return outcomes.preview(destination), "a chat or network gets the link's social card"
    if found := opened_in_app(plan, visitor, location):
        page = outcomes.page("app", location, destination, fires=fires, opening=found)
        return page, f"opens in {found.app} on {visitor.os_name}"
    if fires:
        return outcomes.page("pixels", location, destination, fires=True), "pixels fire on the way"
    status = plan.http_status_code
    return outcomes.redirect(status, location, destination), f"redirect with {status}"


def may_fire(plan: Plan, visitor: Visitor) -> bool:
    return plan.has_pixels and not visitor.refuses_pixels and not visitor.is_bot


def cloaked(visitor: Visitor, location: str, destination: str, *, fires: bool) -> tuple[Outcome, str]:
    """A bot gets the same page for its preview, but nothing of the destination."""
    if visitor.is_bot:
        return outcomes.preview(destination), "a bot gets title, description and picture of a cloaked link"
    return outcomes.page(
        "cloak", location, destination, fires=fires
    ), "shown in a frame under the link's address"


def opened_in_app(plan: Plan, visitor: Visitor, location: str) -> Opening | None:
    """A bot has no apps, whatever phone it says it is."""
    if not plan.app_linking_is_enabled or visitor.is_bot or visitor.device_type not in HAND_HELD:
        return None
    return opening(location, visitor.os_name, in_web_view=visitor.is_in_web_view)
