"""Whose key is this?"""

from __future__ import annotations

from flask import Response

from app.api import envelope, present
from app.api.auth import caller


def read() -> Response:
    return envelope.answer({"data": present.user(caller())})
