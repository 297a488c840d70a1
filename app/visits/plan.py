"""What has to be known of a link to answer for it?"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from sys import getsizeof
from typing import Any

from app.visits.address import wire, with_query
from app.visits.targets import Targets, compiled_targets

Headers = list[tuple[str, str]]

# on every answer by https: for a year; not for subdomains, which may be somebody else's
HSTS = ("Strict-Transport-Security", "max-age=31536000")
# on everything a visitor gets: a change must show at once, and no search engine keeps a short address
ALWAYS = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
STATUSES = {code.value: f"{code.value} {code.phrase}" for code in HTTPStatus}
KEEPS_METHOD = frozenset({307, 308})


@dataclass(slots=True, eq=False, kw_only=True)
class Plan:
    """A link compiled for answering. The first part bears the names of the link's columns."""

    id: int
    user_id: int
    domain_id: int
    url: str
    location_url: str
    http_status_code: int
    password_version: int
    is_enabled: bool = True
    start_date: dt.datetime | None = None
    end_date: dt.datetime | None = None
    clicks_limit: int | None = None
    expiration_url: str | None = None
    password_hash: str | None = None
    sensitive_content: bool = False
    app_linking_is_enabled: bool = False
    cloaking_is_enabled: bool = False
    forward_query_parameters_is_enabled: bool = False
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    targeting_type: str | None = None
    has_pixels: bool = False
    # a title, a description or a picture of its own for the previews of chats and networks
    has_card: bool = False

    schemes: frozenset[str]
    # a person is asked before pixels fire: the operator's setting
    asks_consent: bool = False
    # the pairs of `targeting_type`
    targets: Targets | None = None
    # neither the visitor nor the time changes the answer, a redirect
    is_plain: bool = False
    # no page comes in between, and nothing is looked up: `resolve` alone can tell whether it is a redirect
    is_open: bool = False
    # set when the link has changed: whoever still finds this plan must load it anew
    is_gone: bool = False
    # of a limited link: when this was made, and how many visits the journal brought once no more could come
    made: float = field(default_factory=time.monotonic)
    journaled: int | None = None
    status: str = ""
    headers: Headers = field(default_factory=list)

    @property
    def utm(self) -> tuple[tuple[str, str], ...]:
        """The parameters that the owner wants on every destination."""
        if not (self.utm_source or self.utm_medium or self.utm_campaign):
            return ()
        return (
            ("utm_source", self.utm_source or ""),
            ("utm_medium", self.utm_medium or ""),
            ("utm_campaign", self.utm_campaign or ""),
        )

    @property
    def weight(self) -> int:
        """About how many bytes are kept in memory for what may be long in it."""
        texts = getsizeof(self.location_url) + getsizeof(self.expiration_url)
        return texts + (self.targets.weight if self.targets else 0)

    @property
    def keeps_method(self) -> bool:
        return self.http_status_code in KEEPS_METHOD


def compiled(columns: Mapping[str, Any], schemes: frozenset[str], *, asks_consent: bool = False) -> Plan:
    """The plan for a link as stored, columns with nothing in them left out or not; `schemes` are those that a
    destination may have."""
    kept = {**columns, "schemes": schemes, "asks_consent": asks_consent}
    kept["targets"] = compiled_targets(columns.get("targeting_type"), kept.pop("targeting", None))
    plan = Plan(**kept)
    plan.status = STATUSES[plan.http_status_code]
    plan.is_open = is_open(plan)
    location = wire(with_query(plan.location_url, plan.utm), schemes)
    if location and plan.is_open and is_the_same_for_all(plan):
        plan.is_plain = True
        plan.headers = [("Location", location), *ALWAYS]
    return plan


def is_open(plan: Plan) -> bool:
    """Whether nothing that is looked up or shown stands between a visitor and the destination."""
    has_gate = plan.password_hash or plan.sensitive_content or plan.clicks_limit
    return plan.is_enabled and not (has_gate or plan.cloaking_is_enabled or plan.has_pixels)


def is_the_same_for_all(plan: Plan) -> bool:
    """Whether an open link leads every visitor to the same address at any time."""
    asks_visitor = plan.targets or plan.forward_query_parameters_is_enabled or plan.app_linking_is_enabled
    return not (asks_visitor or plan.has_card or plan.start_date or plan.end_date)
