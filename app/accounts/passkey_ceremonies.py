"""WebAuthn ceremonies: the options that a browser gets, and the checks of what it sends back.

A challenge is a signed text, so strangers who ask for one leave nothing behind. It names its ceremony: the
purpose, the account, and the browser that asked. It expires after five minutes, and works once: each passkey
remembers when the challenge of its last use was issued (`passkeys.note_use`).
"""

# see docs/decisions/2026-11-25-passkeys.md
from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from itsdangerous import BadSignature

from app.accounts.models import Passkey, User
from app.core.errors import FieldError, Forbidden, WaypostError
from app.core.late_modules import LateModule
from app.core.secret_keys.timed_tokens import TimedTokens
from app.i18n.messages import lazy_gettext as _l
from app.web import text_bodies

if TYPE_CHECKING:
    import webauthn
    from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
    from webauthn.helpers import structs
else:
    webauthn = LateModule("webauthn")
    structs = LateModule("webauthn.helpers.structs")

ADD, SIGN_IN, SECOND_FACTOR, PROOF = "add", "sign-in", "second-factor", "proof"
# after a password a security key without a PIN is enough; alone, it must know its user
NEEDS_VERIFICATION = {SIGN_IN, PROOF}

SECONDS = 300
CHALLENGES = TimedTokens("waypost: challenge of a passkey", SECONDS)
MAX_RESPONSE = 16_384  # characters; browsers send some 1,000, attestations of a few certificates included
MAX_CREDENTIAL_ID, MAX_PUBLIC_KEY = 1023, 1024  # bytes
# reasons, as the audit log holds them
WRONG, UNKNOWN, REPLAYED, CLONED = "wrong_passkey", "unknown_passkey", "replayed_passkey", "cloned_passkey"


class PasskeyRefused(Forbidden):
    """What the browser sent proves nothing. The person is told no reason, the audit log is."""

    def __init__(self, reason: str) -> None:
        text = _l("This passkey did not work here. Try once more, or choose another way.")
        super().__init__(FieldError(text, reason))
        self.reason = reason


class Ceremony(NamedTuple):
    """One use of a passkey: what for, where, by which account, and in which browser.

    `browser`: a random text that only this browser's session holds. `user_id`: 0 where the passkey alone says
    who signs in.
    """

    purpose: str
    rp_id: str
    origin: str
    browser: str
    user_id: int = 0

    def mark(self) -> list[Any]:
        """What a challenge of this ceremony says."""
        browser = hashlib.sha256(self.browser.encode()).hexdigest()
        return [self.purpose, self.rp_id, self.user_id, browser]


class NewCredential(NamedTuple):
    """A verified registration, with its columns and when its challenge was issued."""

    columns: dict[str, Any]
    challenge: int


class Assertion(NamedTuple):
    """A verified use of a passkey: its new sign count, and when its challenge was issued."""

    sign_count: int
    is_backed_up: bool
    challenge: int


# ------------------------------------------------------------------ challenges
def issue_challenge(ceremony: Ceremony) -> bytes:
    moment = time.time_ns() // 1000
    return CHALLENGES.sign([*ceremony.mark(), moment, secrets.token_urlsafe(16)]).encode()


def read_challenge(challenge: bytes, ceremony: Ceremony) -> int:
    """When it was issued, in microseconds. Raises PasskeyRefused for one of another ceremony or too old."""
    try:
        *mark, moment, _random = CHALLENGES.read(challenge.decode("ascii", "replace"))
    except BadSignature:
        raise PasskeyRefused(WRONG) from None
    if mark != ceremony.mark():
        raise PasskeyRefused(WRONG)
    return int(moment)


# --------------------------------------------------------------------- options
def algorithms() -> list[webauthn.helpers.cose.COSEAlgorithmIdentifier]:
    """The signatures that are taken, the best first."""
    known = webauthn.helpers.cose.COSEAlgorithmIdentifier
    return [known.ECDSA_SHA_256, known.EDDSA, known.RSASSA_PKCS1_v1_5_SHA_256]


def new_handle() -> str:
    """A random name for an account, under which authenticators store it."""
    return webauthn.helpers.bytes_to_base64url(webauthn.helpers.generate_user_handle())


def registration_options(
    ceremony: Ceremony, user: User, handle: str, known: Sequence[Passkey]
) -> dict[str, Any]:
    """What `navigator.credentials.create` gets. An authenticator makes none beside a known one."""
    options = webauthn.generate_registration_options(
        rp_id=ceremony.rp_id,
        rp_name="Waypost",
        user_id=webauthn.helpers.base64url_to_bytes(handle),
        user_name=user.email,
        user_display_name=user.name or user.email,
        challenge=issue_challenge(ceremony),
        timeout=SECONDS * 1000,
        supported_pub_key_algs=algorithms(),
        exclude_credentials=[descriptor_of(row) for row in known],
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.PREFERRED,
            user_verification=structs.UserVerificationRequirement.PREFERRED,
        ),
    )
    return as_json(options)


def authentication_options(ceremony: Ceremony, allowed: Sequence[Passkey] = ()) -> dict[str, Any]:
    """What `navigator.credentials.get` gets. Without `allowed` the authenticator offers what it has."""
    verification = structs.UserVerificationRequirement.PREFERRED
    if ceremony.purpose in NEEDS_VERIFICATION:
        verification = structs.UserVerificationRequirement.REQUIRED
    options = webauthn.generate_authentication_options(
        rp_id=ceremony.rp_id,
        challenge=issue_challenge(ceremony),
        timeout=SECONDS * 1000,
        allow_credentials=[descriptor_of(row) for row in allowed],
        user_verification=verification,
    )
    return as_json(options)


def as_json(options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(webauthn.options_to_json(options))
    return found


def descriptor_of(row: Passkey) -> structs.PublicKeyCredentialDescriptor:
    transports = [structs.AuthenticatorTransport(name) for name in row.transports]
    return structs.PublicKeyCredentialDescriptor(
        id=webauthn.helpers.base64url_to_bytes(row.credential_id), transports=transports
    )


# ---------------------------------------------------------------------- checks
@contextmanager
def refused_if_malformed() -> Iterator[None]:
    """Raises PasskeyRefused for what is no response of WebAuthn.

    The library has errors of its own for most of it. Keys and certificates that are nonsense raise Python's.
    """
    try:
        yield
    except (
        webauthn.helpers.exceptions.WebAuthnException,
        WaypostError,
        UnsupportedAlgorithm,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = error.reason if isinstance(error, PasskeyRefused) else WRONG
        raise PasskeyRefused(reason) from error


def parse_response(text: str) -> dict[str, Any]:
    if len(text) > MAX_RESPONSE:
        raise PasskeyRefused(WRONG)
    return text_bodies.parse(text.encode())


def verify_registration(text: str, ceremony: Ceremony) -> NewCredential:
    """The new credential in a browser's answer. Raises PasskeyRefused."""
    with refused_if_malformed():
        sent = webauthn.helpers.parse_registration_credential_json(parse_response(text))
        challenge = challenge_in(sent.response.client_data_json)
        moment = read_challenge(challenge, ceremony)
        made = webauthn.verify_registration_response(
            credential=sent,
            expected_challenge=challenge,
            expected_rp_id=ceremony.rp_id,
            expected_origin=ceremony.origin,
            supported_pub_key_algs=algorithms(),
        )
        if len(made.credential_id) > MAX_CREDENTIAL_ID or len(made.credential_public_key) > MAX_PUBLIC_KEY:
            raise PasskeyRefused(WRONG)
        webauthn.helpers.decoded_public_key_to_cryptography(
            webauthn.helpers.decode_credential_public_key(made.credential_public_key)
        )
        columns = {
            "credential_id": webauthn.helpers.bytes_to_base64url(made.credential_id),
            "public_key": webauthn.helpers.bytes_to_base64url(made.credential_public_key),
            "rp_id": ceremony.rp_id,
            "sign_count": made.sign_count,
            "last_challenge": moment,
            "transports": sorted({each.value for each in sent.response.transports or ()}),
            "aaguid": made.aaguid,
            "is_backup_eligible": made.credential_device_type == structs.CredentialDeviceType.MULTI_DEVICE,
            "is_backed_up": made.credential_backed_up,
        }
        return NewCredential(columns, moment)


def challenge_in(client_data: bytes) -> bytes:
    """The challenge that was answered. Raises PasskeyRefused for a page in a frame of another site."""
    said = webauthn.helpers.parse_client_data_json(client_data)
    if said.cross_origin:
        raise PasskeyRefused(WRONG)
    return said.challenge


def parse_assertion(text: str) -> structs.AuthenticationCredential:
    """A browser's answer, unverified. Raises PasskeyRefused."""
    with refused_if_malformed():
        return webauthn.helpers.parse_authentication_credential_json(parse_response(text))


def verify_assertion(sent: structs.AuthenticationCredential, row: Passkey, ceremony: Ceremony) -> Assertion:
    """What the answer proves of this passkey. Raises PasskeyRefused."""
    with refused_if_malformed():
        handle = webauthn.helpers.bytes_to_base64url(sent.response.user_handle or b"")
        # a security key that is no first factor may have none; alone, a passkey must say whose it is
        if handle != row.user_handle and (handle or not ceremony.user_id):
            raise PasskeyRefused(WRONG)
        challenge = challenge_in(sent.response.client_data_json)
        moment = read_challenge(challenge, ceremony)
        used = verify_signature(sent, row, ceremony, challenge)
        return Assertion(used.new_sign_count, used.credential_backed_up, moment)


def verify_signature(
    sent: structs.AuthenticationCredential, row: Passkey, ceremony: Ceremony, challenge: bytes
) -> VerifiedAuthentication:
    return webauthn.verify_authentication_response(
        credential=sent,
        expected_challenge=challenge,
        expected_rp_id=ceremony.rp_id,
        expected_origin=ceremony.origin,
        credential_public_key=webauthn.helpers.base64url_to_bytes(row.public_key),
        # the library compares counts before it checks the signature: `passkeys.note_use` does so after it
        credential_current_sign_count=0,
        require_user_verification=ceremony.purpose in NEEDS_VERIFICATION,
    )
