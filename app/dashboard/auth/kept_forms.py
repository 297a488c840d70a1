"""What was typed into a form whose session was over, kept in the sign-in page until its owner is back.

The server stores nothing for a stranger. The sign-in page carries the fields in one encrypted text, which
only a sign-in to the form's own account opens again.
"""

# see docs/decisions/2026-11-24-kept-forms.md
from __future__ import annotations

import json
import zlib
from typing import NamedTuple

from flask import Response, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from app.accounts.models import User
from app.core.clock import now
from app.core.encryption import decrypt_text, encrypt_text
from app.core.errors import WaypostError
from app.core.secret_keys.ring import current_keys
from app.dashboard.auth.access import require_same_origin, submitted_form
from app.dashboard.shared.rendering import is_fragment

FIELD = "kept"
ACCOUNT = "account"  # the field by which a form says whose it is
AGAIN = "again"  # the field that has a form shown, not saved
KEPT_SECONDS = 3600
MAX_KEPT = 48_000  # characters: the sign-in form must stay below the size of a form of strangers
SECRETS = frozenset({"password", "own_password", "current_password", "code"})
NOT_KEPT = SECRETS | {"csrf_token", "passkey", ACCOUNT, AGAIN}


class KeptForm(NamedTuple):
    """The path of a form, and the fields that were sent there. `is_whole`: nothing had to be left out."""

    path: str
    fields: list[tuple[str, str]]
    is_whole: bool


def keep_sent() -> str:
    """The sent form as an encrypted text; "" for a form that can't be shown again, or is too long."""
    try:
        require_same_origin()
        sent = submitted_form()
    except (WaypostError, HTTPException):  # from another site, too long, or none that can be read
        return ""
    account = sent.last(ACCOUNT) if ACCOUNT in sent else None
    if is_fragment() or not isinstance(account, str):
        return ""
    pairs = [(f"{name}[{index}]", value) for name, index, value in sent.pairs() if name not in NOT_KEPT]
    fields = [(name, value) for name, value in pairs if isinstance(value, str)]
    is_whole = len(fields) == len(pairs) and not any(sent.last(name) for name in SECRETS if name in sent)
    until = now().timestamp() + KEPT_SECONDS
    content = json.dumps([account, until, request.path, fields, is_whole])
    text = encrypt_text(zlib.compress(content.encode()), current_keys().current())
    return text if len(text) <= MAX_KEPT else ""


def carried() -> str:
    """The encrypted text that came with a step of the sign-in."""
    found = submitted_form().last(FIELD) if FIELD in submitted_form() else ""
    return found if isinstance(found, str) else ""


def open_kept(text: str, user: User) -> KeptForm | None:
    """The form that this user sent. None for another's, for one that is too old, and for what is none."""
    content = decrypt_text(text, current_keys().all()) if text else None
    if content is None:
        return None
    account, until, path, fields, is_whole = json.loads(zlib.decompress(content))
    if account != str(user.id) or until < now().timestamp():
        return None
    return KeptForm(path, [(name, value) for name, value in fields], is_whole)


def page_after_sign_in(user: User) -> Response | None:
    """The page that leads back to the form; None where none was kept for this user."""
    kept = open_kept(carried(), user)
    return kept and make_response(render_template("dashboard/kept_form.html", kept=kept, again=AGAIN))
