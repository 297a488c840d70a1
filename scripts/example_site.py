"""A web site of somebody else, for pictures: served on this machine while a `with` block runs."""

from __future__ import annotations

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

from app.operations.demo.account import card, icon

TOUR = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>A tour of the hills</title><meta name="description" content="Three days, two huts, one sunrise.">
<meta property="og:image" content="/card.png"><link rel="icon" href="/icon.png"></head><body></body></html>"""
ARTICLE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Hill Weekly</title><style>
body { max-width: 50rem; margin: 0 auto; padding: 2rem 1rem; background: #fffdf8; color: #2b2118; }
body { font: 1.125rem/1.6 Georgia, serif; }
header { margin-bottom: 1.75rem; border-bottom: 3px double; font-size: 1.5rem; letter-spacing: .08em; }
h1 { margin: 0 0 .5rem; font-size: 2rem; line-height: 1.2; } iframe { width: 100%%; margin-top: 1rem; }
</style></head><body><header>HILL WEEKLY</header><h1>How many of you read our letter</h1>
<p>Each week we write to everybody who has walked with us. This is how last month went.</p>
%s</body></html>"""


class Content(NamedTuple):
    """What is at one path."""

    type: str
    body: bytes


def html(text: str) -> Content:
    return Content("text/html; charset=utf-8", text.encode())


def tour() -> Mapping[str, Content]:
    """A page that says of itself all that can be fetched: title, description, picture and icon."""
    pictures = {"/card.png": card(), "/icon.png": icon()}
    return {"/": html(TOUR)} | {
        path: Content("image/png", picture.content) for path, picture in pictures.items()
    }


def article(snippet: str) -> Mapping[str, Content]:
    """A page of a newspaper with the code of an `<iframe>` in it."""
    return {"/": html(ARTICLE % snippet)}


class ExampleSite(ThreadingHTTPServer):
    """A server of these pages. Its `url` is that of the first one."""

    daemon_threads = True

    def __init__(self, pages: Mapping[str, Content]) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.pages = pages
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def __enter__(self) -> ExampleSite:
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class PageHandler(BaseHTTPRequestHandler):
    server: ExampleSite

    def do_GET(self) -> None:
        found = self.server.pages.get(self.path)
        self.send_response(200 if found else 404)
        content = found or Content("text/plain", b"")
        self.send_header("content-type", content.type)
        self.send_header("content-length", str(len(content.body)))
        self.end_headers()
        self.wfile.write(content.body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
