"""Where is the description to be had? It needs no key."""

from __future__ import annotations

from flask import Response

from app import own_addresses
from app.api import envelope
from app.api.openapi.document import document

PATH = "/api/openapi.json"


def read() -> Response:
    return envelope.answer(document(own_addresses.owners_site()))
