"""Error responses of the API as JSON (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from flask import Response, request

from app.web.errors import ErrorAnswer

PROBLEM = "application/problem+json"


def problem(failure: ErrorAnswer) -> Response:
    """The response, in one shape for every status: RFC 9457 with `message` and one entry for each error."""
    body = json.dumps(described(failure, request.path), ensure_ascii=False)
    return Response(body, failure.status, failure.headers, content_type=PROBLEM)


def described(failure: ErrorAnswer, path: str) -> dict[str, Any]:
    detail = " ".join(str(entry.title) for entry in failure.entries[:3])
    return {
        "type": "about:blank",
        "title": HTTPStatus(failure.status).phrase,
        "status": failure.status,
        "detail": detail,
        "instance": path,
        "message": detail,
        "errors": [
            {
                "title": str(entry.title),
                "status": failure.status,
                **({"field": entry.field} if entry.field else {}),
                "code": entry.code,
            }
            for entry in failure.entries
        ],
        **failure.facts,
    }
