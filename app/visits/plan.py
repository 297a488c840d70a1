"""What has to be known of a link to answer for it?"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from app.visits.address import wire, with_query
from app.visits.targets import Targets, compiled_targets

Headers = list[tuple[str, str]]

# on everything a visitor gets: a change must show at once, and no search engine keeps a short address
ALWAYS = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
KEEPS_METHOD = frozenset({307, 308})


@dataclass(slots=True, eq=False, kw_only=True)
class Plan:
    """A link compiled for answering. The first part bears the names of the link's columns."""

    id: int
    user_id: int
    domain_id: int
    url: str
    location_url: str
    is_enabled: bool
    start_date: dt.datetime | None
    end_date: dt.datetime | None
    clicks_limit: int | None
    expiration_url: str | None
    password_hash: str | None
    password_version: int
    sensitive_content: bool
    http_status_code: int
    app_linking_is_enabled: bool
    cloaking_is_enabled: bool
    forward_query_parameters_is_enabled: bool
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    targeting_type: str | None
    has_pixels: bool

    schemes: frozenset[str]
    # a person is asked before pixels fire: the operator's setting
    asks_consent: bool = False
    # the pairs of `targeting_type`
    targets: Targets | None = None
    # neither the visitor nor the time changes the answer, a redirect
    is_plain: bool = False
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
        return (
            ("utm_source", self.utm_source or ""),
            ("utm_medium", self.utm_medium or ""),
            ("utm_campaign", self.utm_campaign or ""),
        )

    @property
    def keeps_method(self) -> bool:
        return self.http_status_code in KEEPS_METHOD


def compiled(columns: Mapping[str, Any], schemes: frozenset[str], *, asks_consent: bool = False) -> Plan:
    """The plan for a link as stored; `schemes` are those a destination may have."""
    columns = {**columns}
    targets = compiled_targets(columns["targeting_type"], columns.pop("targeting"))
    plan = Plan(**columns, schemes=schemes, targets=targets, asks_consent=asks_consent)
    location = wire(with_query(plan.location_url, plan.utm), schemes)
    if location and is_always_a_redirect(plan):
        plan.is_plain = True
        plan.status = f"{plan.http_status_code} {HTTPStatus(plan.http_status_code).phrase}"
        plan.headers = [("Location", location), *ALWAYS]
    return plan


def is_always_a_redirect(plan: Plan) -> bool:
    """Whether nothing of what a link can be set to do stands between the visitor and the destination."""
    asks_visitor = plan.password_hash or plan.sensitive_content or plan.targeting_type
    asks_time = plan.start_date or plan.end_date or plan.clicks_limit
    shows_page = plan.cloaking_is_enabled or plan.app_linking_is_enabled or plan.has_pixels
    forwards = plan.forward_query_parameters_is_enabled
    return plan.is_enabled and not (asks_visitor or asks_time or shows_page or forwards)
