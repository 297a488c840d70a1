"""A web server that keeps what it was sent, and a minimal transport that posts to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app.net.session import OutboundSession
from app.notifications.http_result import judge
from app.notifications.message import Message
from app.notifications.transport import Delivered, Setting, Transport


def post(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    headers = {"webhook-id": message.id, "content-type": "application/json"}
    body = json.dumps({"type": message.type, "data": dict(message.data)}).encode()
    return judge(outbound.request("POST", fields["webhook"], headers=headers, body=body))


PLAIN = Transport(
    label="Plain",
    settings=(Setting(name="webhook", label="Address", kind="address", example="", guidance=""),),
    send=post,
)


class Sink(ThreadingHTTPServer):
    """Keeps (path, webhook-id, body) of each request in order, and answers `status[path]`, else 204.

    Requests to paths that begin with `/hangs` wait until it is closed, for 60 seconds at most.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.heard: list[tuple[str, str, dict[str, object]]] = []
        self.status: dict[str, int] = {}
        self.released = threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def ids(self, path: str = "/") -> list[str]:
        return [id_ for at, id_, _ in list(self.heard) if at == path]

    def close(self) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()


class Receiver(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.heard.append((self.path, self.headers["webhook-id"], json.loads(body)))
        if self.path.startswith("/hangs"):
            self.server.released.wait(60)
        self.send_response(self.server.status.get(self.path, 204))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing, so that the output is the test's alone."""
