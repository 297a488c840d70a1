"""HTTP methods that short links accept, and the response to any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint, Response, request
from flask.blueprints import BlueprintSetupState
from werkzeug.routing import Rule

from app.public import consent, gates
from app.public.answers import render_message
from app.redirects.compiled_link import CompiledLink

SAFE = frozenset({"GET", "HEAD"})
ALLOWED = "GET, HEAD"

View = TypeVar("View", bound=Callable[..., Response])


def with_any(blueprint: Blueprint, rule: str, **options: Any) -> Callable[[View], View]:
    """A route for all methods, also unknown ones.

    Flask's `route` needs a list of methods, and would refuse all others itself, with a text and an `Allow`
    that are not the link's.
    """

    def bind(view: View) -> View:
        endpoint = f"{blueprint.name}.{view.__name__}"

        def add(state: BlueprintSetupState) -> None:
            state.app.url_map.add(Rule(rule, endpoint=endpoint, **options))

        blueprint.record(add)
        return blueprint.endpoint(endpoint)(view)

    return bind


def has_form(compiled_link: CompiledLink) -> bool:
    return gates.has_form(compiled_link) or consent.is_asked(compiled_link) or compiled_link.asks_confirmation


def allows(compiled_link: CompiledLink) -> bool:
    if request.method == "POST" and has_form(compiled_link):
        return True
    return request.method in SAFE or (compiled_link.is_plain and compiled_link.keeps_method)


def not_allowed(compiled_link: CompiledLink) -> Response:
    answer = render_message("method", 405)
    answer.headers["Allow"] = f"{ALLOWED}, POST" if has_form(compiled_link) else ALLOWED
    return answer
