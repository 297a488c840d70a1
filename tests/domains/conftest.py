"""Fixtures for the verification of domains: a real DNS server and a real web server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import dns.flags
import dns.message
import dns.rcode
import dns.resolver
import dns.rrset
import pytest

from app.net import http as net_http
from tests.dashboard.conftest import desk

__all__ = ["desk"]


class Dns:
    """A name server on the loopback interface. `records` are TXT by name; a name of None is not answered."""

    def __init__(self) -> None:
        self.records: dict[str, list[str] | None] = {}
        self.asked: list[str] = []
        self.rcode = dns.rcode.NOERROR
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        while True:
            heard, peer = self.socket.recvfrom(4096)
            if not heard:
                return
            if (answer := self.answer(dns.message.from_wire(heard))) is not None:
                self.socket.sendto(answer.to_wire(), peer)

    def answer(self, query: dns.message.Message) -> dns.message.Message | None:
        name = query.question[0].name
        text = name.to_text().removesuffix(".")
        self.asked.append(text)
        found = self.records.get(text, [])
        if found is None:
            return None
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        answer.set_rcode(self.rcode if text in self.records else dns.rcode.NXDOMAIN)
        if found:
            quoted = [
                '"' + '" "'.join(value[i : i + 20] for i in range(0, len(value), 20)) + '"' for value in found
            ]
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", *quoted))
        return answer

    def resolver(self) -> dns.resolver.Resolver:
        found = dns.resolver.Resolver(configure=False)
        found.nameservers, found.port = ["127.0.0.1"], self.socket.getsockname()[1]
        return found

    def close(self) -> None:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bell:
            bell.sendto(b"", self.socket.getsockname())
        self.thread.join(90)
        self.socket.close()


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dns]:
    """A name server that is the system's only resolver during the test."""
    server = Dns()
    monkeypatch.setattr(net_http, "resolver", server.resolver)
    yield server
    server.close()
