"""Receivers of deliveries: a real web server and a real mail server on the loopback interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, Session

from tests.server import free_port


class Heard(NamedTuple):
    """One received request."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Says(NamedTuple):
    """One answer to give."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = {}


class WebReceiver:
    """Gives the prepared answers in their order, then 200, and keeps the requests."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.answers: list[Says] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.heard.append(Heard(self.path, self.headers, body, self.command))
                says = receiver.answers.pop(0) if receiver.answers else Says(200, "ok")
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(says.body.encode())))
                self.end_headers()
                self.wfile.write(says.body.encode())

            do_PUT = do_POST  # noqa: N815

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler

    def clear(self) -> None:
        self.heard.clear()
        self.answers.clear()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class MailReceiver:
    """Accepts mail, or gives the prepared answers at RCPT and DATA, and keeps the accepted mails."""

    def __init__(self, **options: Any) -> None:
        self.mails: list[tuple[Envelope, EmailMessage]] = []
        self.at_rcpt = self.at_data = ""
        self.was_tls: list[bool] = []
        self.logins: list[tuple[bytes, bytes]] = []
        self.port = free_port()
        if "auth_required" in options:
            options |= {"authenticator": self.authenticate}
        options = {"enable_SMTPUTF8": False, **options}
        self.controller = Controller(self, hostname="127.0.0.1", port=self.port, ready_timeout=30, **options)
        self.controller.start()

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        if self.at_rcpt:
            return self.at_rcpt
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.at_data:
            return self.at_data
        self.was_tls.append(session.ssl is not None)
        mail = message_from_bytes(envelope.original_content or b"", policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append((envelope, mail))
        return "250 2.0.0 OK: queued as 42"

    def clear(self) -> None:
        self.mails.clear()
        self.at_rcpt = self.at_data = ""

    def stop(self) -> None:
        self.controller.stop()
