"""Requests to the provider, by the connections of `app.net`, in the shape that Authlib's client expects.

The operator names the provider, so it may be in any network. One sign-in shares a deadline, and an answer is
cut at MAX_BYTES.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

from app.accounts.oidc.errors import ProviderDown
from app.net import http as net_http
from app.net.dial import Deadline
from app.net.http import EVERYWHERE, HttpResponse, NoAnswer

SECONDS = 8.0  # for all requests of one sign-in
MAX_BYTES = 512 * 1024
OK, TOO_MANY, SERVER_ERROR = 200, 429, 500


class ClientAuthentication(Protocol):
    """How Authlib adds the client's id and secret to a request."""

    def prepare(
        self, method: str, uri: str, headers: dict[str, str], body: str
    ) -> tuple[str, dict[str, str], str]: ...


@dataclass(frozen=True)
class ProviderAnswer:
    """An answer with the attributes that Authlib reads."""

    status_code: int
    content: bytes

    def json(self) -> Any:
        """Raises ValueError for what is no JSON."""
        try:
            return json.loads(self.content)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def raise_for_status(self) -> None:
        raise ProviderDown(f"the answer has the status {self.status_code}")


class ProviderRequests:
    """The requests of one sign-in. Raises ProviderDown where there is no answer."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.deadline = Deadline(seconds)

    def post(
        self,
        url: str,
        data: Mapping[str, str],
        headers: Mapping[str, str],
        auth: ClientAuthentication,
    ) -> ProviderAnswer:
        """A request for a token, as Authlib sends it."""
        url, signed, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        return self.send("POST", url, signed, body.encode())

    def get_object(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object at an address."""
        answer = self.send("GET", url, {"Accept": "application/json", **(headers or {})})
        try:
            found = answer.json() if answer.status_code == OK else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ProviderDown(f"{url} has the status {answer.status_code} or holds no JSON object")
        return found

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> ProviderAnswer:
        try:
            answer: HttpResponse = net_http.request(
                method,
                url,
                headers=headers,
                body=body,
                allowed=EVERYWHERE,
                seconds=self.deadline.left(),
                limit=MAX_BYTES,
            )
        except (NoAnswer, TimeoutError) as error:
            raise ProviderDown(f"{url}: {error}") from error
        if answer.status == TOO_MANY or answer.status >= SERVER_ERROR:
            raise ProviderDown(f"{url} has the status {answer.status}")
        return ProviderAnswer(answer.status, answer.body)
