"""Before which desk, site and visitor does this request stand?"""

from __future__ import annotations

from flask import current_app, request

from app.public.words import Words, words_for
from app.visits.desk import Desk
from app.visits.hosts import Site
from app.visits.visitor import Visitor


def desk() -> Desk:
    found: Desk = current_app.extensions["visits"]
    return found


def host() -> str:
    return str(request.environ.get("HTTP_HOST", ""))


def site() -> Site:
    """What the host that was asked serves. Raises StoreDown."""
    return desk().plans.site(host())


def visitor() -> Visitor:
    return desk().visitor(request.environ)


def words() -> Words:
    """What our pages say, in the visitor's language."""
    return words_for(visitor().languages)
