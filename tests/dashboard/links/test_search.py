"""The search of the link list: words in any order and place, and pasted short links."""

from __future__ import annotations

import pytest

from app.accounts.models import User
from app.links.models import Link
from tests.dashboard.conftest import Desk
from tests.factories import Factory

OWN = "localhost"


@pytest.fixture
def links(factory: Factory, alice: User, bob: User) -> dict[str, Link]:
    domain = factory.domain(alice, "go.example")
    of_bob = factory.domain(bob, "bob.example")
    made = {
        "spring": factory.link(
            alice, "spring", title="Sale of the year", location_url="https://shop.example/sale", tags=("mail",)
        ),
        "noted": factory.link(alice, "noted", notes="for Gr\u00fc\u00dfe & co", location_url="https://shop.example/"),
        "mine": factory.link(alice, "mine", domain_id=domain.id, location_url="https://other.example/"),
        "caf\u00e9": factory.link(alice, "caf\u00e9", location_url="https://other.example/coffee"),
    }  # fmt: skip
    factory.link(bob, "secret", domain_id=of_bob.id, location_url="https://shop.example/bob")
    factory.session.commit()
    return made


CASES = {
    "one word": ("sale", {"spring"}),
    "in other places": ("shop mail", {"spring"}),
    "one that is missing": ("shop mail nowhere", set()),
    "spaces alone": ("   ", {"spring", "noted", "mine", "caf\u00e9"}),
    "a tag": ("MAIL", {"spring"}),
    "decomposed": ("cafe\u0301", {"caf\u00e9"}),
    "a sign of LIKE": ("%", set()),
    "a short link": (f"http://{OWN}/spring", {"spring"}),
    "in capitals": (f"HTTP://{OWN.upper()}/SPRING", {"spring"}),
    "with what follows": (f"https://{OWN}/spring?utm_source=x#top", {"spring"}),
    "escaped": (f"{OWN}/caf%C3%A9", {"caf\u00e9"}),
    "on a domain": ("https://go.example/mine", {"mine"}),
    "on the wrong host": ("https://go.example/spring", set()),
    "with a word beside it": (f"{OWN}/spring year", {"spring"}),
    "of somebody else": ("https://bob.example/secret", set()),
    "a host alone": ("shop.example/", {"spring", "noted"}),
    "many words": ("sale " * 20, set()),
}


@pytest.mark.databases
def test_what_is_found(desk: Desk, links: dict[str, Link]) -> None:
    for name, (text, wanted) in CASES.items():
        page = desk.get("/links/", query_string={"search": text})
        assert page.status_code == 200, name
        found = {one for one in links if f'id="row-{links[one].id}"' in page.text}
        assert found == wanted, name
