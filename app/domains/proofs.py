"""By what does an owner show that a host is his?

Either by a TXT record, which only who holds the name can set; or by a file at a well-known path, which has
nothing in it but the token. Waypost itself never serves that path: a host that leads here has shown who
runs its DNS, but not which of our users that is.
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
    """Where either proof is looked for, and what must stand there."""

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
    """Exactly the token: a page that repeats whatever is asked of it proves nothing."""
    return status == 200 and body.strip() == wanted.file_content.encode()
