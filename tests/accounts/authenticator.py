"""A simulated authenticator: what a browser sends for a passkey, with a key of its own (ES256)."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import bytes_to_base64url

PRESENT, VERIFIED, BACKUP_ELIGIBLE, BACKED_UP, ATTESTED = 1, 4, 8, 16, 64
APPLE = bytes.fromhex("fbfc3007154e4ecc8c0b6e020557d7bd")


@dataclass
class Authenticator:
    """One passkey. Its attributes are what it says: a test changes them to have it lie."""

    origin: str = "http://localhost"
    rp_id: str = "localhost"
    flags: int = PRESENT | VERIFIED
    sign_count: int = 0
    counts: bool = True
    aaguid: bytes = bytes(16)
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    user_handle: str | None = None
    is_framed: bool = False
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: Mapping[str, Any], **changes: Any) -> str:
        """Registers, and remembers the account's handle as a discoverable credential does."""
        self.user_handle = options["user"]["id"]
        attestation = {"fmt": "none", "attStmt": {}, "authData": self.data(ATTESTED, self.credential())}
        return self.answer(
            {
                "clientDataJSON": self.client_data("webauthn.create", options["challenge"]),
                "attestationObject": cbor2.dumps(attestation | changes.pop("attestation", {})),
            },
            transports=["internal"],
            **changes,
        )

    def get(self, options: Mapping[str, Any], **changes: Any) -> str:
        """Signs a challenge."""
        self.sign_count += self.counts
        client_data = self.client_data("webauthn.get", options["challenge"])
        data = self.data()
        signed = data + hashlib.sha256(client_data).digest()
        handle = {"userHandle": self.user_handle} if self.user_handle else {}
        return self.answer(
            {
                "clientDataJSON": client_data,
                "authenticatorData": data,
                "signature": self.key.sign(signed, ec.ECDSA(hashes.SHA256())),
            },
            **handle,
            **changes,
        )

    def answer(self, parts: Mapping[str, bytes], **more: Any) -> str:
        id_ = bytes_to_base64url(self.credential_id)
        said = {name: bytes_to_base64url(part) for name, part in parts.items()}
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": said | more})

    def client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.is_framed}
        return json.dumps(said).encode()

    def data(self, more_flags: int = 0, rest: bytes = b"") -> bytes:
        host = hashlib.sha256(self.rp_id.encode()).digest()
        return host + bytes([self.flags | more_flags]) + self.sign_count.to_bytes(4, "big") + rest

    def credential(self) -> bytes:
        length = len(self.credential_id).to_bytes(2, "big")
        return self.aaguid + length + self.credential_id + cbor2.dumps(self.public_key())

    def public_key(self) -> dict[int, Any]:
        point = self.key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
