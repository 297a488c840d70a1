"""`/{alias}+`: where does a link lead, told without going there?"""

from __future__ import annotations

import datetime as dt

from flask import Response

from app.addresses import host_of
from app.public import answers, here
from app.public.gates import path_of
from app.visits.address import wire, with_query
from app.visits.plan import Plan

SIGN = "+"  # no alias has one


def asked(path: str) -> str | None:
    """The path of the link that is asked about; None where a path asks for no such thing."""
    name = path.removesuffix("/")
    return name.removesuffix(SIGN) if name.endswith(SIGN) else None


def found(path: str) -> Response | None:
    """The page about the link with this path; None where there is none, or it is not to be told."""
    plan = here.desk().plans.find(here.host(), path)
    location = leads_to(plan, dt.datetime.now(dt.UTC)) if plan else None
    if plan is None or location is None:
        return None
    details = here.desk().plans.store.page(plan.id) or {}
    return answers.shown(
        "leads",
        200,
        template="public/leads.html",
        link_title=details.get("title"),
        host=host_of(location),
        location=location,
        path=path_of(plan),
    )


def leads_to(plan: Plan, now: dt.datetime) -> str | None:
    """The stored destination of an open link that leads everybody there; None for any other."""
    is_closed = (
        plan.password_hash or plan.sensitive_content or plan.targeting_type or plan.cloaking_is_enabled
    )
    is_limited = plan.clicks_limit is not None
    starts, ends = plan.start_date, plan.end_date
    is_active = plan.is_enabled and (starts is None or starts <= now) and (ends is None or now < ends)
    if is_closed or is_limited or not is_active:
        return None
    return wire(with_query(plan.location_url, plan.utm), plan.schemes)
