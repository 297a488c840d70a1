"""API on the real server: several processes, and bodies that arrive in pieces."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from tests.server import Server

TO = "https://example.com/"
EMAIL = ("--email", "alice@example.com")


@pytest.fixture
def started(make_server: Callable[..., Server]) -> tuple[Server, str]:
    """A server of two web processes, and a key."""
    server = make_server(PROCESSES="2")
    server.flask("users", "create", *EMAIL, "--password-stdin", stdin="five small boats go upriver\n")
    return server, server.flask("keys", "create", *EMAIL, "--name", "test").strip()


def ask(
    server: Server, key: str, method: str, path: str, body: Any = None, kind: str = "application/json"
) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", **({"Content-Type": kind} if body is not None else {})}
    try:
        connection.request(method, f"/api{path}", body, headers, encode_chunked=hasattr(body, "__next__"))
        return read(connection.getresponse())
    finally:
        connection.close()


def read(answer: HTTPResponse) -> tuple[int, Any]:
    content = answer.read()
    return answer.status, json.loads(content) if content else None


def raw(server: Server, key: str, head: str, body: bytes) -> bytes:
    """Sends exactly these bytes, then reads the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        start = f"POST /api/links HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n{head}\r\n\r\n"
        connection.sendall(start.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def test_the_api_on_the_real_server(started: tuple[Server, str]) -> None:
    server, key = started
    one_alias_for_many(server, key)
    bodies_that_are_too_long(server, key)
    bodies_that_end_early(server, key)
    status, found = ask(server, key, "GET", "/links")
    assert (status, found["meta"]["total"]) == (200, 2)


def one_alias_for_many(server: Server, key: str) -> None:
    for number in range(2):
        together = threading.Barrier(12)
        answers: list[tuple[int, Any]] = []

        def post(url: str = f"race-{number}", together: threading.Barrier = together) -> None:
            body = json.dumps({"location_url": TO, "url": url})
            together.wait()
            answers.append(ask(server, key, "POST", "/links", body))  # noqa: B023  joined before the next round

        threads = [threading.Thread(target=post) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(status for status, _ in answers) == [201] + [409] * 11, answers


def bodies_that_are_too_long(server: Server, key: str) -> None:
    long = '{"location_url": "https://example.com/", "notes": "' + "x" * 20 * 1024 * 1024 + '"}'
    pieces = (b"x" * 65536 for _ in range(11 * 16))
    for body in (long, pieces):
        status, found = ask(server, key, "POST", "/links", body)
        assert (status, found["errors"][0]["code"]) == (413, "too_large")


def bodies_that_end_early(server: Server, key: str) -> None:
    """Nothing is created from such a body, whether the server passes it on or not."""
    form, whole = b"location_url=https%3A%2F%2Fexample.com%2F", b'{"location_url": "https://example.com/"}'
    kinds = ["application/x-www-form-urlencoded", "application/json"]
    for head, body in [
        (f"Content-Type: {kinds[0]}\r\nContent-Length: 500", form),
        (f"Content-Type: {kinds[1]}\r\nContent-Length: 500", whole),
        (f"Content-Type: {kinds[1]}\r\nTransfer-Encoding: chunked", b"14\r\n" + whole[:20] + b"\r\n"),
    ]:
        found = raw(server, key, head, body)
        assert not found or found.split(b" ", 2)[1] == b"400", found
