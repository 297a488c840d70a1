"""Web sites for tests, on the loopback interface: pages, icons and what else a destination may answer."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from types import SimpleNamespace

from tests.links.pictures import picture
from tests.notifications.peers import Peers, Script

ICON = picture(size=(48, 48))
HEAD = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"


def answer(
    body: bytes = b"", content_type: str = "text/html; charset=utf-8", status: int = 200, head: str = ""
) -> bytes:
    return HEAD % (status, content_type.encode(), len(body), head.encode()) + body


def page(head: str) -> bytes:
    return answer(f"<!doctype html><html><head>{head}</head><body><p>x</p></body></html>".encode())


def redirect(target: str) -> bytes:
    return answer(status=302, head=f"Location: {target}\r\n")


NOTHING_THERE = answer(b"no", "text/plain", 404)


def paths(peers: Peers, answers: Mapping[str, bytes | Script]) -> Script:
    """A server with an answer, or a script, for each path; 404 for all others."""

    def script(line: socket.socket) -> None:
        found = answers.get(peers.hear(line).split()[1].decode(), NOTHING_THERE)
        if callable(found):
            found(line)
        else:
            line.sendall(found)

    return script


def serve(peers: Peers, answers: Mapping[str, bytes | Script], host: str = "127.0.0.1") -> SimpleNamespace:
    return peers.serve(paths(peers, answers), host=host)


def serve_shop(peers: Peers, title: str) -> str:
    """A site whose page says a title, a description, a picture and an icon. Returns its address."""
    head = (
        f"<title>{title}</title><meta name=description content='For everybody'>"
        "<meta property='og:image' content='/p'><link rel=icon href='/i'>"
    )
    wide = answer(picture(size=(1200, 630)), "image/png")
    return str(serve(peers, {"/": page(head), "/p": wide, "/i": answer(ICON, "image/png")}).url)


def asked(peers: Peers) -> list[str]:
    """The paths that were asked for, in order."""
    return [heard.split()[1].decode() for heard in peers.heard]
