"""A TCP proxy before a server, which can hold everything back: it accepts connections, and nothing comes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

BYTES = 65_536
Address = tuple[str, int] | str  # a string is a UNIX socket's path


class TcpProxy:
    """Listens on a port of its own. Two threads carry the bytes of each connection."""

    def __init__(self, behind: Address) -> None:
        self.behind = behind
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.lines: list[socket.socket] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def hold(self) -> None:
        self.goes_on.clear()

    def go_on(self) -> None:
        self.goes_on.set()

    def accept(self) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                line, _ = self.listener.accept()
                self.lines.append(line)
                threading.Thread(target=self.serve, args=[line], daemon=True).start()

    def serve(self, line: socket.socket) -> None:
        self.goes_on.wait()
        if isinstance(self.behind, str):
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.behind)
        else:
            server = socket.create_connection(self.behind)
        self.lines.append(server)
        threading.Thread(target=self.carry, args=[server, line], daemon=True).start()
        self.carry(line, server)

    def carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # one of both is closed
            while found := source.recv(BYTES):
                self.goes_on.wait()
                target.sendall(found)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def stop(self) -> None:
        self.go_on()
        for one in (self.listener, *self.lines):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
