"""Which methods does a short address take, and what does a visitor get who comes with another one?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint, Response, request
from flask.blueprints import BlueprintSetupState
from werkzeug.routing import Rule

from app.public import consent, gates
from app.public.answers import page
from app.visits.plan import Plan

SAFE = frozenset({"GET", "HEAD"})
ALLOWED = "GET, HEAD"

View = TypeVar("View", bound=Callable[..., Response])


def with_any(blueprint: Blueprint, rule: str, **options: Any) -> Callable[[View], View]:
    """A route for each method that there is or will be. (`route` wants them named, and would itself refuse
    all others, with words and an `Allow` that are not the link's.)"""

    def bind(view: View) -> View:
        endpoint = f"{blueprint.name}.{view.__name__}"

        def add(state: BlueprintSetupState) -> None:
            state.app.url_map.add(Rule(rule, endpoint=endpoint, **options))

        blueprint.record(add)
        return blueprint.endpoint(endpoint)(view)

    return bind


def has_form(plan: Plan) -> bool:
    return gates.has_form(plan) or consent.is_asked(plan)


def allows(plan: Plan) -> bool:
    if request.method == "POST" and has_form(plan):
        return True
    return request.method in SAFE or (plan.is_plain and plan.keeps_method)


def not_allowed(plan: Plan) -> Response:
    answer = page("method", 405)
    answer.headers["Allow"] = f"{ALLOWED}, POST" if has_form(plan) else ALLOWED
    return answer
