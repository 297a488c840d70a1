"""Checks a request's key or session before a large body of it is read.

Every client can send `Authorization: Bearer x`. Ten MiB are read and stored only for a valid key or session:
others get their 401 without their body being read.
"""

from __future__ import annotations

from flask import Flask

from app.accounts.keys import find_key
from app.api.auth import parse_bearer_token
from app.http_server.environ import Environ
from app.web.security_headers import is_api

SIGNED_IN = "_user_id"  # flask-login's key in a session


class Senders:
    """Checks the senders of requests to one process's application."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def is_known(self, environ: Environ) -> bool:
        """Whether the request has a valid key, or the signed session of a user.

        Waits for the database, and raises its errors. Of a session only the signature is checked here: the
        application still checks whether it has ended.
        """
        with self.app.request_context(dict(environ)) as context:
            if not is_api(environ["PATH_INFO"]):
                return context.session is not None and SIGNED_IN in context.session
            key = parse_bearer_token(environ.get("HTTP_AUTHORIZATION", ""))
            return key is not None and find_key(key) is not None
