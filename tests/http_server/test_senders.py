"""Large bodies: read only with a valid key or session."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.sessions import SecureCookieSessionInterface

from tests.crowds import Owner
from tests.server import Server

SECONDS = 60
MIB = 1024 * 1024
FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    server = Server(tmp_path_factory.mktemp("senders") / "data").start()
    yield Owner(server)
    server.stop()


def forged_session() -> str:
    """A session cookie of a signed-in user, signed with another key."""
    app = Flask("forger")
    app.secret_key = "another key"
    signer = SecureCookieSessionInterface().get_signing_serializer(app)
    assert signer
    return f"Cookie: waypost={signer.dumps({'_user_id': '1'})!s}"


def ask_before_sending(server: Server, path: str, *lines: str) -> bytes:
    """Send a request's head without its body, and return the answer."""
    head = "\r\n".join([f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", FORM, *lines, "", ""])
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:
        line.sendall(head.encode())
        return line.recv(65536)


LARGE = f"Content-Length: {MIB}"
CHUNKED = "Transfer-Encoding: chunked"
WRONG_KEY = "Authorization: Bearer x"
# its checksum is right: anybody can compute one
UNKNOWN_KEY = "Authorization: Bearer wp_0000000000000000000000000000002C8GjS"
STRANGERS = {
    "no key": ("/api/links", (LARGE,)),
    "a wrong key": ("/api/links", (LARGE, WRONG_KEY)),
    "a wrong key, in chunks": ("/api/links", (CHUNKED, WRONG_KEY)),
    "an unknown key": ("/api/links", (LARGE, UNKNOWN_KEY)),
    "another scheme": ("/api/links", (LARGE, "Authorization: Basic eDp5")),
    "no session": ("/dashboard/account/", (LARGE,)),
    "a forged session": ("/dashboard/account/", (LARGE, forged_session())),
    "a cookie of something else": ("/dashboard/account/", (LARGE, "Cookie: a=b")),
}


@pytest.mark.full
@pytest.mark.parametrize(("path", "lines"), STRANGERS.values(), ids=STRANGERS)
def test_a_stranger_is_answered_before_a_large_body_comes(
    owner: Owner, path: str, lines: tuple[str, ...]
) -> None:
    assert ask_before_sending(owner.server, path, *lines).split()[1] == b"401"


def test_an_owner_may_send_one(owner: Owner) -> None:
    answer = owner.session.post(
        f"{owner.site}/links",
        data={"location_url": "https://example.com/", "ignored": "x" * 5 * MIB},
        timeout=SECONDS,
    )
    assert answer.status_code == 201, answer.text


def test_so_may_an_owner_in_chunks(owner: Owner) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"location_url=https%3A%2F%2Fexample.com%2F&ignored="
        for _ in range(80):
            yield b"x" * 65536

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = owner.session.post(f"{owner.site}/links", data=pieces(), headers=headers, timeout=SECONDS)
    assert answer.status_code == 201, answer.text
