"""Proofs that an owner holds a host: a TXT record, or a file at a well-known path.

Only the holder of the name can set its TXT record. The file contains nothing but the token. Waypost itself
never serves that path: a host that points here does not show which of our users runs its DNS.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from app.domains.hosts import name_of
from app.domains.models import Domain

LABEL = "_waypost"
VALUE = "waypost-verification="
PATH = "/.well-known/waypost"


class Proofs(NamedTuple):
    """Where either proof is looked for, and what it must contain."""

    txt_name: str
    txt_value: str
    file_url: str
    file_content: str


def proofs(domain: Domain) -> Proofs:
    return Proofs(
        txt_name=f"{LABEL}.{name_of(domain.host)}",
        txt_value=f"{VALUE}{domain.token}",
        file_url=f"{domain.scheme}{domain.host}{PATH}",
        file_content=domain.token,
    )


def is_in_records(wanted: Proofs, records: Iterable[str]) -> bool:
    return wanted.txt_value in {record.strip() for record in records}


def is_file(wanted: Proofs, status: int, body: bytes) -> bool:
    """Whether the body is exactly the token. A page that echoes its request proves nothing."""
    return status == 200 and body.strip() == wanted.file_content.encode()
