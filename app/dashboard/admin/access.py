"""Guard of pages for admins: everybody else gets 404."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import abort
from flask.typing import ResponseReturnValue

from app.dashboard.auth.access import signed_in_user

View = Callable[..., ResponseReturnValue]


def admins_only(view: View) -> View:
    @wraps(view)
    def guarded(**values: Any) -> ResponseReturnValue:
        if not signed_in_user().is_admin:
            abort(404)
        return view(**values)

    return guarded
