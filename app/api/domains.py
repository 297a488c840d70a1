"""What does the API do with domains?"""

from __future__ import annotations

from flask import Response

from app import domain_check
from app.api import envelope, present
from app.api.auth import caller
from app.api.resource import Resource
from app.bodies import read_sent
from app.domains import services
from app.domains.forms import DomainForm
from app.domains.lists import LISTING
from app.domains.models import Domain

DOMAINS = Resource(
    path="/domains",
    model=Domain,
    form=DomainForm,
    create=services.create,
    services=services,
    listing=LISTING,
    present=present.domains,
)


def verify(id: int) -> Response:
    """Look for either proof now. That there is none is no error: it says what was found instead."""
    read_sent()
    domain, found = domain_check.verify(caller(), id)
    checks = [finding._asdict() for finding in found]
    return envelope.answer({"data": {"is_verified": domain.is_verified, "checks": checks}})
