"""How is JSON posted to a service, and who says what its answer means?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.notifications.door import Door
from app.notifications.judging import judge, text_of
from app.notifications.transport import Refused, Sent

JSON = {"content-type": "application/json; charset=utf-8"}

#: what a service says (status and body) when nothing sent to this address will arrive any more
IsGone = Callable[[int, str], bool]


def post_json(door: Door, url: str, value: Mapping[str, Any], is_gone: IsGone) -> Sent:
    """It has arrived, or Refused says why not; `gone` by what this service documents. Raises NoAnswer too."""
    answer = door.request("POST", url, headers=JSON, body=json.dumps(value, ensure_ascii=False).encode())
    try:
        return judge(answer)
    except Refused as refused:
        refused.gone = refused.gone or is_gone(answer.status, text_of(answer))
        raise


def read_object(body: str) -> dict[str, Any]:
    """A JSON object; an empty one where it is none, as with the page of a proxy that is in trouble."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
