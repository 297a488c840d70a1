"""A receiver of subscriptions that verifies what it gets, fails at times, and keeps the ids."""

from __future__ import annotations

import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook


class ClickReceiver(ThreadingHTTPServer):
    """Verifies with the official library. A part of the requests, `fails`, is answered with 503."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, fails: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), ClickRequest)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.fails, self.chance = fails, random.Random(1)
        self.secrets: dict[str, str] = {}  # by path
        self.ids: dict[str, Counter[str]] = {}  # by path: how often each click came
        self.requests = self.failed = self.most = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def accept(self, path: str, clicks: list[str]) -> bool:
        with self.lock:
            self.requests += 1
            self.most = max(self.most, len(clicks))
            if self.chance.random() < self.fails:
                self.failed += 1
                return False
            self.ids.setdefault(path, Counter()).update(clicks)
            return True


class ClickRequest(BaseHTTPRequestHandler):
    server: ClickReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        said = Webhook(self.server.secrets[self.path]).verify(body, dict(self.headers))
        is_accepted = self.server.accept(self.path, [click["id"] for click in said["data"]["clicks"]])
        self.send_response(204 if is_accepted else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""
