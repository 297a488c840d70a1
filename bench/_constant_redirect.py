"""An ASGI application with one answer, the redirect of `bench.redirects`, for granian as it comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]

START: Message = {
    "type": "http.response.start",
    "status": 302,
    "headers": [
        (b"Location", b"https://example.com/a/page?x=1"),
        (b"Cache-Control", b"no-store"),
        (b"X-Robots-Tag", b"noindex"),
    ],
}
END: Message = {"type": "http.response.body", "body": b""}


async def app(
    scope: Message, _receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    if scope["type"] == "http":
        await send(START)
        await send(END)
