"""What will a link be like, while it is still being typed?

Its two addresses, whether the short one is free, what social networks will show of it, and where three sample
visitors end up. By `resolve`, with a plan of what the form says; nothing is stored and nobody is asked.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app import own_addresses
from app.dashboard.guard import user
from app.dashboard.sample_visitors import Sample, at, samples
from app.dashboard.verdicts import verdict_on
from app.domains.models import Domain
from app.extensions import db
from app.links import qr
from app.links.aliases import is_taken
from app.links.clicks import clicks_of
from app.links.forms import LinkForm
from app.links.models import Link
from app.public.here import desk
from app.reading import Rejected
from app.sent import Sent
from app.visits.plan import Plan, compiled
from app.visits.supposed import Supposed

# what is not needed to show the rest, and too long or too private to be sent with each letter
NOT_ASKED = frozenset({"password", "cloaking_favicon", "cloaking_opengraph", "cloaking_custom_js"})
AS_STORED = (
    "is_enabled", "clicks_limit", "expiration_url", "sensitive_content", "app_linking_is_enabled",
    "cloaking_is_enabled", "forward_query_parameters_is_enabled", "utm_source", "utm_medium", "utm_campaign",
)  # fmt: skip
CARD = ("cloaking_title", "cloaking_meta_description", "cloaking_opengraph")
NETWORK = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
CODE_SIZE = 240


@dataclass(frozen=True)
class Preview:
    """All that is shown beside the form. `alias` is None where nothing needs to be said of it."""

    short_address: str
    alias: tuple[str, str] | None = None
    location: str = ""
    card: Mapping[str, str | None] | None = None
    card_words: str = ""
    samples: tuple[Sample, ...] = ()
    gates: tuple[str, ...] = ()
    code: str = ""  # the QR code, as an address that holds it


def asked_of(fields: Sent) -> Sent:
    """What was typed, as far as the preview needs it."""
    return Sent((f"{name}[{index}]", value) for name, index, value in fields.pairs() if name not in NOT_ASKED)


def previewed(form: LinkForm, *, has_password: bool) -> Preview:
    """Of a form that was checked; what is wrong in it counts as not typed."""
    stored = form.stored
    domain = db.session.get(Domain, form.domain_id.data) if good(form, "domain_id") else None
    host = domain.host if domain else own_addresses.site().partition("://")[2]
    alias = good(form, "url") or ""
    words = alias_words(form)
    has_code = alias and not (words and words[0] == "bad")
    site = f"{domain.scheme}{domain.host}" if domain else None
    code = drawn(own_addresses.short_url(alias, site)) if has_code else ""
    shown = Preview(f"{host}/{alias or '…'}", words, code=code)
    if not good(form, "location_url"):
        return shown
    columns = columns_of(form, has_password=has_password)
    plan = compiled(columns, desk().settings.destination_schemes)
    clicks = clicks_of([stored.id])[stored.id] if stored is not None and plan.clicks_limit else 0
    return replace(
        shown,
        location=at(plan, Supposed(), clicks).location or "",
        samples=tuple(samples(columns, plan, clicks)),
        gates=tuple(gates(plan)),
        **card(form, plan, clicks, shown.short_address),
    )


def drawn(address: str) -> str:
    """Its QR code; none of an address that is too long for so small a one."""
    try:
        content = qr.png(qr.draw(address, qr.Look(size=CODE_SIZE, margin=2)))
    except Rejected:
        return ""
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def good(form: LinkForm, name: str) -> Any:
    field = form[name]
    return field.data if not field.errors else getattr(form.stored, name, None)


def columns_of(form: LinkForm, *, has_password: bool) -> dict[str, Any]:
    has_dates = good(form, "schedule")
    chosen = form.chosen_targeting
    pairs = form[f"targeting_{chosen}"].data if chosen else None
    pairs = [pair for pair in pairs or () if all(pair)]
    return {
        "id": getattr(form.stored, "id", 0),
        "user_id": user().id,
        "domain_id": good(form, "domain_id") or 0,
        "url": good(form, "url") or "",
        "location_url": good(form, "location_url"),
        "http_status_code": good(form, "http_status_code") or 302,
        "password_version": 0,
        "password_hash": "typed" if has_password else None,
        "start_date": good(form, "start_date") if has_dates else None,
        "end_date": good(form, "end_date") if has_dates else None,
        "has_pixels": bool(good(form, "pixels_ids")),
        "has_card": any(good(form, name) for name in CARD),
        "targeting_type": chosen if pairs else None,
        "targeting": pairs,
        **{
            name: good(form, name) or None if name in OR_NONE else bool(good(form, name))
            for name in AS_STORED
        },
    }


OR_NONE = frozenset({"clicks_limit", "expiration_url", "utm_source", "utm_medium", "utm_campaign"})


def alias_words(form: LinkForm) -> tuple[str, str] | None:
    """A tone and words for the short address that was typed."""
    typed, stored = form.url.data, form.stored
    if form.url.errors:
        return "bad", str(form.url.errors[0])
    if not typed or (stored is not None and not form.url.sent and not form.domain_id.sent):
        return None
    if is_taken(good(form, "domain_id") or 0, typed, user().id, stored and stored.id):
        return "bad", "This short address is taken already."
    return "good", "This short address is free."


def gates(plan: Plan) -> Iterator[str]:
    """What stands before all that."""
    if plan.password_hash:
        yield "Asks for the password first"
    if plan.sensitive_content:
        yield "Shows the warning page first"


# ---------------------------------------------------------- social networks


def card(form: LinkForm, plan: Plan, clicks: int, address: str) -> dict[str, Any]:
    """What a network shows that asks for the short address, as every other bot does."""
    outcome = at(plan, Supposed(user_agent=NETWORK), clicks, frozenset())
    if (plan.cloaking_is_enabled or plan.has_card) and outcome.outcome in {"cloak", "preview"}:
        picture = getattr(form.stored, "cloaking_opengraph", None)
        texts = {
            "title": good(form, "cloaking_title") or address.partition("/")[0],
            "text": good(form, "cloaking_meta_description") or "",
            "picture": own_addresses.media_url(picture),
        }
        return {"card": texts, "card_words": "What your link says of itself."}
    if outcome.outcome == "redirect":
        return {"card_words": "The destination’s own card: networks follow the link."}
    return {"card_words": f"No card: a network’s bot {verdict_on(outcome, is_bot=True).title.lower()}."}


def has_password(fields: Sent, link: Link | None) -> bool:
    """Whether there would be one, of what was typed or of what is stored."""
    return bool(fields.last("password")) if "password" in fields else bool(link and link.password_hash)
