"""The first counted click of a new instance, by what its owner does in a browser and by one visit."""

from __future__ import annotations

import re

import requests

from tests.pages import Person
from tests.server import BROWSER, wait_for

EMAIL, PASSWORD = "owner@example.com", "five small boats go upriver"


def count_first_click(url: str, setup_address: str) -> None:
    """Opens the one-time address, makes an account, a key and a link, and opens that. Fails unless it counts."""
    with Person(url) as owner:
        page = owner.open(setup_address)
        owner.send_form(page, "/setup", email=EMAIL, name="Olive Owner", password=PASSWORD)
        made = owner.send_form(owner.open("/dashboard/keys/new"), "/keys/new", name="first")
    key = re.search(r"wp_[0-9A-Za-z]{36}", made.text)
    assert key, made.text
    with requests.Session() as api:
        api.trust_env = False
        api.headers["Authorization"] = f"Bearer {key[0]}"
        link = {"url": "first", "location_url": "https://example.com/"}
        path = f"{url}/api/links/{api.post(f'{url}/api/links', json=link).json()['data']['id']}"
        visit = requests.get(
            f"{url}/first", headers={"User-Agent": BROWSER}, allow_redirects=False, timeout=30
        )
        assert (visit.status_code, visit.headers["Location"]) == (302, "https://example.com/")
        wait_for(lambda: api.get(path).json()["data"]["clicks"] == 1, "the click")
