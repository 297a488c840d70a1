"""How does the API say that something is wrong?"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from flask import Response, request

from app.failures import Failure

PROBLEM = "application/problem+json"


def problem(failure: Failure) -> Response:
    """One shape for every status: RFC 9457, with `message` and an entry for each thing that is wrong."""
    body = json.dumps(described(failure, request.path), ensure_ascii=False)
    return Response(body, failure.status, failure.headers, content_type=PROBLEM)


def described(failure: Failure, path: str) -> dict[str, Any]:
    detail = " ".join(entry.title for entry in failure.entries[:3])
    return {
        "type": "about:blank",
        "title": HTTPStatus(failure.status).phrase,
        "status": failure.status,
        "detail": detail,
        "instance": path,
        "message": detail,
        "errors": [
            {
                "title": entry.title,
                "status": failure.status,
                **({"field": entry.field} if entry.field else {}),
                "code": entry.code,
            }
            for entry in failure.entries
        ],
    }
