"""Calls as values: what is sent, and how the answer is read. Nothing here touches the network."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from waypost_client.errors import UnreadableAnswer
from waypost_client.objects import (
    TIME,
    ApiObject,
    Event,
    FeedMeta,
    FeedPage,
    File,
    Meta,
    Neighbours,
    Page,
    decode,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Upload:
    """A picture to send. The server decides by its content what it is, not by its name."""

    content: bytes = field(repr=False)
    filename: str = "picture"

    @classmethod
    def read(cls, path: str | Path) -> Upload:
        return cls(Path(path).read_bytes(), Path(path).name)


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]  # by their names in lower case
    content: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise UnreadableAnswer("The answer is not JSON. Is this the address of a Waypost?") from error

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip()


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request to an operation. `path` holds the values of the operation's path, as `id`."""

    read: Callable[[Answer], T]
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    wants_whole: bool = False
    if_match: str | None = None
    if_none_match: str | None = None


@dataclass(frozen=True)
class Endpoint:
    """An operation of the API: its id in the OpenAPI document, and where it is."""

    name: str
    method: str
    path: str  # below /api
    is_create: bool = False
    needs_key: bool = True
    sends: tuple[str, ...] = ()  # fields beside the arguments of its method


@dataclass(frozen=True)
class Request:
    """A request as it is sent. `url`: an absolute address."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)  # the key is in them
    params: list[tuple[str, str]] = field(default_factory=list)
    content: bytes | None = None  # JSON
    parts: list[tuple[str, tuple[str | None, bytes]]] | None = None  # of a multipart body


def one(kind: type[T]) -> Callable[[Answer], T]:
    """Reads `{"data": {…}}`."""

    def read(answer: Answer) -> T:
        found: T = decode(kind, data_of(answer))
        tag = answer.headers.get("etag", "")
        return replace(found, etag=tag) if tag and isinstance(found, ApiObject) else found

    return read


def many(kind: type[T]) -> Callable[[Answer], list[T]]:
    """Reads `{"data": […]}`, all of it at once."""

    def read(answer: Answer) -> list[T]:
        found: list[T] = decode(list[kind], data_of(answer))  # type: ignore[valid-type]
        return found

    return read


def page(kind: type[T]) -> Callable[[Answer], Page[T]]:
    """Reads one page of a list."""

    def read(answer: Answer) -> Page[T]:
        body = answer.json()
        data = decode(list[kind], data_of(answer))  # type: ignore[valid-type]
        return Page(
            data=data, meta=decode(Meta, body.get("meta")), links=decode(Neighbours, body.get("links"))
        )

    return read


def feed_page(answer: Answer) -> FeedPage:
    """Reads a page of the feed of events."""
    body = answer.json()
    return FeedPage(data=decode(list[Event], data_of(answer)), meta=decode(FeedMeta, body.get("meta")))


def nothing(answer: Answer) -> None:
    """Reads an answer without a body."""


def file(answer: Answer) -> File:
    return File(content=answer.content, media_type=answer.media_type)


def plain(answer: Answer) -> Any:
    """Reads JSON as it is."""
    return answer.json()


def data_of(answer: Answer) -> Any:
    body = answer.json()
    if not isinstance(body, dict) or "data" not in body:
        raise UnreadableAnswer("The answer has no data. Is this the address of a Waypost?")
    return body["data"]


def build_request(base: str, key: str, endpoint: Endpoint, call: Call[Any], agent: str) -> Request:
    """The request of a call to the instance at `base`."""
    headers = {"Accept": "application/json", "User-Agent": agent}
    if endpoint.needs_key:
        headers["Authorization"] = f"Bearer {key}"
    if call.wants_whole:
        headers["Prefer"] = "return=representation"
    if call.idempotency_key:
        headers["Idempotency-Key"] = call.idempotency_key
    conditions = {"If-Match": call.if_match, "If-None-Match": call.if_none_match}
    headers |= {name: tag for name, tag in conditions.items() if tag}
    values = {name: quote(str(value), safe="") for name, value in call.path.items()}
    url = f"{base}/api{endpoint.path.format(**values)}"
    params = [pair for name, value in call.query.items() for pair in as_texts(name, value)]
    if call.body is None:
        return Request(endpoint.method, url, headers, params)
    if any(isinstance(value, Upload) for value in call.body.values()):
        return Request(endpoint.method, url, headers, params, parts=as_parts(call.body))
    headers["Content-Type"] = "application/json"
    content = json.dumps({name: as_json(value) for name, value in call.body.items()}).encode()
    return Request(endpoint.method, url, headers, params, content)


def as_json(value: Any) -> Any:
    """A field's value in a JSON body. `None` is "sent empty": it clears the field."""
    if isinstance(value, dt.datetime):
        return format_time(value)
    return [as_json(each) for each in value] if isinstance(value, list | tuple) else value


def as_parts(body: Mapping[str, Any]) -> list[tuple[str, tuple[str | None, bytes]]]:
    """The parts of a multipart body: files as they are, everything else as text."""
    found: list[tuple[str, tuple[str | None, bytes]]] = []
    for name, value in body.items():
        if isinstance(value, Upload):
            found.append((name, (value.filename, value.content)))
        else:
            found += [(key, (None, text.encode())) for key, text in as_texts(name, value, clears=True)]
    return found


def as_texts(name: str, value: Any, *, clears: bool = False) -> list[tuple[str, str]]:
    """A value as names and texts, for a query or a form. In a query (not `clears`) `None` is left out."""
    if isinstance(value, list | tuple):
        return [(f"{name}[]", as_text(each)) for each in value] or ([(name, "")] if clears else [])
    return [(name, as_text(value))] if clears or value is not None else []


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return format_time(value) if isinstance(value, dt.datetime) else str(value)


def format_time(value: dt.datetime) -> str:
    """A time as the API reads it. One without an offset is in UTC already."""
    return (value.astimezone(dt.UTC) if value.tzinfo else value).strftime(TIME)
