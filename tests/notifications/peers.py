"""Test servers on the loopback interface: good ones, slow ones, broken ones, and their TLS certificates."""

from __future__ import annotations

import datetime as dt
import re
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Script = Callable[[socket.socket], None]


class Peers:
    """Real servers on the loopback interface, each of which runs its script for every connection."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.heard: list[bytes] = []
        self.names: list[str | None] = []
        self.threads: list[threading.Thread] = []
        self.sockets: list[socket.socket] = []

    def serve(
        self, script: Script, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> SimpleNamespace:
        listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=64
        )
        self.sockets.append(listener)
        self.start(self.accept, listener, script, tls)
        port = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        return SimpleNamespace(port=port, url=f"http{'s' if tls else ''}://{name}:{port}/")

    def start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self.threads.append(thread)
        thread.start()

    def accept(self, listener: socket.socket, script: Script, tls: ssl.SSLContext | None) -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                self.start(self.talk, line, script, tls)

    def talk(self, line: socket.socket, script: Script, tls: ssl.SSLContext | None) -> None:
        line.settimeout(10)
        try:
            if tls:
                tls.sni_callback = lambda _line, name, _context: self.names.append(name)
                line = tls.wrap_socket(line, server_side=True)
            script(line)
        except OSError:
            pass  # the client hung up, as it should
        finally:
            line.close()

    def hear(self, line: socket.socket) -> bytes:
        """One whole request, head and body."""
        heard = b""
        while not is_whole(heard):
            if not (piece := line.recv(65536)):
                raise ConnectionError("hung up before the request was whole")
            heard += piece
        self.heard.append(heard)
        return heard

    def says(self, *parts: bytes) -> Script:
        def script(line: socket.socket) -> None:
            self.hear(line)
            for part in parts:
                line.sendall(part)

        return script

    def goes_on(self, head: bytes, piece: bytes, pause: float = 0) -> Script:
        """A script that sends `head`, and then `piece` for ever, with `pause` seconds between two."""

        def script(line: socket.socket) -> None:
            self.hear(line)
            line.sendall(head)
            while not self.over.wait(pause):
                line.sendall(piece)

        return script

    def hangs(self, line: socket.socket) -> None:
        self.over.wait(10)

    def resets(self, line: socket.socket) -> None:
        self.hear(line)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def close(self) -> None:
        self.over.set()
        for listener in self.sockets:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self.threads:
            thread.join(90)
        assert not [thread for thread in self.threads if thread.is_alive()]


def is_whole(heard: bytes) -> bool:
    head, end, body = heard.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """A certificate authority, which tests may trust or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        self.file = folder / "authority.pem"
        own = self.certificate(self.name, self.key, "Test authority", is_authority=True)
        self.file.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        host: str,
        *,
        is_authority: bool = False,
        is_self_signed: bool = False,
        days: int = 1,
        others: Sequence[str] = (),
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        signer = key if is_self_signed else self.key
        names = [x509.DNSName(name) for name in (host, *others)]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if is_self_signed else self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=9))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
            )
        )
        if is_authority:  # Python 3.13 and newer trust no other
            builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
        return builder.sign(signer, hashes.SHA256())

    def server(self, host: str, **more: object) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        own = self.certificate(subject, key, host, **more)  # type: ignore[arg-type]
        file = self.folder / f"{host}-{own.serial_number}.pem"
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        file.write_bytes(
            own.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context
