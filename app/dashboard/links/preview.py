"""Preview of a link while its form is being filled in.

It shows the two addresses, whether the short one is free, what visitors get at the moment where that is not
the link, the card on social networks, and where three sample visitors end up. `resolve` runs with a link
compiled from the form. Nothing is stored, and no request is sent.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from flask import request

from app.core import clock
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.links.verdicts import Standing, standing, verdict_on
from app.dashboard.shared.concurrent_edits import SHOWN
from app.dashboard.shared.workspace import workspace_id
from app.domains.models import Domain
from app.i18n import percent
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.parsers import Rejected
from app.links import qr, targeting
from app.links.aliases import free_random_alias, is_like_random, is_taken, is_unheld
from app.links.clicks import clicks_of
from app.links.forms import LinkForm
from app.links.models import Link
from app.links.schema import SETTINGS
from app.redirects.compiled_link import CompiledLink, compile_link
from app.redirects.outcomes import Outcome, not_found
from app.redirects.queries import CARD, OPTIONS
from app.redirects.request_context import redirect_context
from app.redirects.resolve import resolve
from app.redirects.simulation.explanation import of_domain
from app.redirects.simulation.visitor import SimulatedVisitor, VisitorProfile
from app.redirects.state import CONFIRMATION, PASSWORD, WARNING, LinkState
from app.web import urls

# what a destination suggests for the link, and which of that is used: no field of the form itself
SUGGESTIONS = frozenset(
    {
        *("suggested_site", "suggested_title", "suggested_description"),
        *("suggested_cloaking_opengraph", "suggested_cloaking_favicon"),
        *("fetched_cloaking_opengraph", "fetched_cloaking_favicon"),
    }
)
# not needed for the preview, and too long or too private to be sent at each keystroke
NOT_ASKED = SUGGESTIONS | {name for name, one in SETTINGS.items() if not one.is_previewed}
# that there is a password matters: the page sends a mask for it
NOT_SENT = sorted({*NOT_ASKED, SHOWN} - {"password"})
NETWORK = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
CODE_SIZE = 240


@dataclass(frozen=True)
class Preview:
    """All that is shown beside the form. `alias` is None where there is nothing to say about it."""

    short_address: str
    alias: tuple[str, str] | None = None
    proposed: str = ""  # the random alias of a new link, unless one is typed
    standing: Standing | None = None
    location: str = ""  # where the link leads, also if it does so only later
    card: Mapping[str, str | None] | None = None
    card_words: str = ""
    samples: tuple[Sample, ...] = ()
    gates: tuple[str, ...] = ()
    code: str = ""  # the QR code as a data: URL


def previewed_fields(fields: RequestData) -> RequestData:
    """The sent fields that the preview needs."""
    return RequestData(
        (f"{name}[{index}]", value) for name, index, value in fields.pairs() if name not in NOT_ASKED
    )


def previewed(form: LinkForm, *, has_password: bool) -> Preview:
    """The preview of a validated form. A field with an error counts as not sent."""
    stored = form.stored
    domain = db.session.get(Domain, form.domain_id.data) if good(form, "domain_id") else None
    host = domain.host if domain else urls.links_site().partition("://")[2]
    proposed = proposed_alias(form)
    alias = good(form, "url") or proposed
    words = alias_words(form, proposed)
    has_code = alias and not (words and words[0] == "bad")
    site = f"{domain.scheme}{domain.host}" if domain else None
    code = drawn(urls.short_url(alias, site)) if has_code else ""
    shown = Preview(f"{host}/{alias or '…'}", words, proposed, code=code)
    if not good(form, "location_url"):
        return shown
    columns = columns_of(form, has_password=has_password)
    compiled_link = compiled(columns)
    clicks = clicks_of([stored.id])[stored.id] if stored is not None and compiled_link.clicks_limit else 0
    shown = replace(
        shown,
        standing=standing_in(compiled_link, clicks, domain),
        **card(form, compiled_link, clicks, shown.short_address),
    )
    if shown.standing and not shown.standing.comes:
        return shown
    columns |= {"is_enabled": True, "start_date": None}  # what comes once it is active
    opened = compiled(columns)
    return replace(
        shown,
        location=at(opened, VisitorProfile(), clicks).location or "",
        samples=tuple(find_samples(columns, opened, clicks)),
        gates=tuple(gates(opened)),
    )


def compiled(columns: Mapping[str, Any]) -> CompiledLink:
    return compile_link(columns, redirect_context().settings.destination_schemes)


def standing_in(compiled_link: CompiledLink, clicks: int, domain: Domain | None) -> Standing | None:
    """What visitors get at the moment, if that is not the link."""
    serves = domain is None or (domain.is_verified and domain.is_enabled)
    outcome = at(compiled_link, VisitorProfile(), clicks) if serves else not_found()
    return standing(of_domain(redirect_context(), domain, outcome), compiled_link if serves else None)


def drawn(address: str) -> str:
    """The QR code as a data: URL; "" if the address is too long for the small picture."""
    try:
        content = qr.render_png(qr.draw(address, qr.Look(size=CODE_SIZE, margin=2)))
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
        **{name: option(form, name, unset) for name, unset in OPTIONS.items() if name in form},
        "id": getattr(form.stored, "id", 0),
        "workspace_id": workspace_id(),
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
    }


def option(form: LinkForm, name: str, unset: Any) -> Any:
    """The value of an option for the compiled link, which has none that is empty."""
    return good(form, name) or type(unset)()


def alias_words(form: LinkForm, proposed: str) -> tuple[str, str] | None:
    """A tone and words for the short link that was typed, or for another one that was asked for."""
    typed, stored = form.url.data, form.stored
    if form.url.errors:
        return "bad", str(form.url.errors[0])
    if not typed and is_shuffled(form):
        return "good", _("%(alias)s is free.", alias=proposed)
    if not typed or (stored is not None and not form.url.sent and not form.domain_id.sent):
        return None
    if is_taken(good(form, "domain_id") or 0, typed, workspace_id(), stored and stored.id):
        return "bad", _("This short link is taken already.")
    return "good", _("This short link is free.")


def gates(compiled_link: CompiledLink) -> Iterator[str]:
    """Words for the interstitials before the destination."""
    if compiled_link.password_hash:
        yield _("Asks for the password first")
    if compiled_link.sensitive_content:
        yield _("Shows the warning page first")
    if compiled_link.asks_confirmation:
        yield _("Asks for a tap first")


# ---------------------------------------------------------- social networks


def card(form: LinkForm, compiled_link: CompiledLink, clicks: int, address: str) -> dict[str, Any]:
    """The card that a social network shows: its bot is answered as every other bot."""
    outcome = at(compiled_link, VisitorProfile(user_agent=NETWORK), clicks, frozenset())
    if (compiled_link.cloaking_is_enabled or compiled_link.has_card) and outcome.outcome in {
        "cloak",
        "preview",
    }:
        picture = getattr(form.stored, "cloaking_opengraph", None)
        texts = {
            "title": good(form, "cloaking_title") or address.partition("/")[0],
            "text": good(form, "cloaking_meta_description") or "",
            "picture": urls.media_url(picture),
        }
        return {"card": texts, "card_words": _("What your link shows of itself.")}
    if outcome.outcome == "redirect":
        return {"card_words": _("The destination’s own card: networks follow the link.")}
    return {
        "card_words": _(
            "No card. What a network’s bot sees: %(verdict)s", verdict=verdict_on(outcome, is_bot=True).title
        )
    }


def has_password(fields: RequestData, link: Link | None) -> bool:
    """Whether the link would have a password, by what was sent, else by what is stored."""
    return bool(fields.last("password")) if "password" in fields else bool(link and link.password_hash)


# --- the random alias of a new link: whether it is still free is decided on saving


PROPOSED = "proposed_alias"


def proposed_alias(form: LinkForm) -> str:
    """The alias that was proposed before while it is free, else another one; "" for a stored link."""
    if form.stored is not None:
        return ""
    domain_id = form.domain_id.data or 0 if not form.domain_id.errors else 0
    before = sent_proposal()
    return before if before and is_unheld(domain_id, before) else free_random_alias(domain_id)


def sent_proposal() -> str:
    """The proposal that came with the form; "" for none, and for what can't have been one."""
    value = submitted_form().text(PROPOSED) if has_sent() else ""
    return value if is_like_random(value) else ""


def is_shuffled(form: LinkForm) -> bool:
    """Whether another proposal is asked for: the form came without the one before."""
    return form.stored is None and has_sent() and not sent_proposal()


def has_sent() -> bool:
    return request.method == "POST" and PROPOSED in submitted_form()


# --- sample visitors, and where each ends up


PASSED = frozenset({PASSWORD, WARNING, CONFIRMATION})
MAX_VISITORS = 3


def sample_profile(country: str, device: str, system: str, browser: str, languages: str) -> VisitorProfile:
    return VisitorProfile(
        country_code=country,
        device_type=device,
        os_name=system,
        browser_name=browser,
        accept_language=languages,
    )


USUAL = (
    ("smartphone", _l("Germany, iPhone"), sample_profile("DE", "mobile", "iOS", "Safari", "de")),
    (
        "monitor",
        _l("United States, Windows"),
        sample_profile("US", "desktop", "Windows", "Chrome", "en-US,en"),
    ),
    (
        "smartphone",
        _l("Brazil, Android phone"),
        sample_profile("BR", "mobile", "Android", "Chrome", "pt-BR,pt"),
    ),
)
ELSE = ("user-round", _l("All other visitors"), VisitorProfile())


class Sample(NamedTuple):
    """A sample visitor, and where they end up: an address, or words for what they get instead."""

    icon: str
    who: str
    location: str | None
    words: str


def at(
    compiled_link: CompiledLink, profile: VisitorProfile, clicks: int, passed: frozenset[str] = PASSED
) -> Outcome:
    """What this visitor would get now, after the interstitials in `passed`."""
    visitor = SimulatedVisitor(profile, redirect_context().geolocation.find, redirect_context().today.current)
    return resolve(compiled_link, visitor, clock.now(), LinkState(clicks, passed))


def find_samples(columns: Mapping[str, Any], compiled_link: CompiledLink, clicks: int) -> Iterator[Sample]:
    type_ = targeting.TYPES.get(columns["targeting_type"])
    if type_ and not type_.matcher:
        yield from shares(columns, clicks)
        return
    for icon, who, profile in who_comes(columns):
        yield sample(icon, who, at(compiled_link, profile, clicks))


def sample(icon: str, who: str, outcome: Outcome) -> Sample:
    return Sample(icon, who, outcome.location, verdict_on(outcome, is_bot=False).title)


def shares(columns: Mapping[str, Any], clicks: int) -> Iterator[Sample]:
    """Samples of a rotation: each destination with its share of the visitors, which is its weight."""
    pairs = columns["targeting"]
    total = sum(int(weight) for weight, _ in pairs)
    for pair in pairs[:MAX_VISITORS]:
        compiled_link = compile_link(
            {**columns, "targeting": [pair]}, redirect_context().settings.destination_schemes
        )
        yield sample(
            "split",
            _("%(share)s of visitors", share=percent(100 * int(pair[0]) / total)),
            at(compiled_link, VisitorProfile(), clicks),
        )


def who_comes(columns: Mapping[str, Any]) -> tuple[tuple[str, str, VisitorProfile], ...]:
    """A visitor for each of the first targeting lines, and any other; without targeting, three usual ones."""
    type_ = columns["targeting_type"]
    if not type_:
        return USUAL
    keys = list(dict.fromkeys(key for key, _ in columns["targeting"]))[: MAX_VISITORS - 1]
    one = targeting.TYPES[type_]
    return (*(("user-round", one.describe(key), VisitorProfile(**one.simulate(key))) for key in keys), ELSE)
