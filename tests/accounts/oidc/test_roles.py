"""Roles from claims: a pure function, a row a case."""

from __future__ import annotations

from typing import Any

import pytest

from app.accounts.oidc.roles import are_complete, role_changes, wanted_roles
from app.core.oidc_settings import role_rules

RULES = role_rules(
    "groups=marketing:3:editor; groups=staff:3:viewer; groups=bosses:3:owner; groups=staff:4:viewer;"
    "realm_access.roles=way:post:5:editor; https://example.com/level=7:6:viewer; is_boss=true:7:owner"
)
WANTED: dict[str, tuple[dict[str, Any], dict[int, str]]] = {
    "no claim": ({}, {}),
    "one group": ({"groups": ["marketing"]}, {3: "editor"}),
    "a group as a text": ({"groups": "marketing"}, {3: "editor"}),
    "the highest role of several": ({"groups": ["staff", "marketing"]}, {3: "editor", 4: "viewer"}),
    "in any order": ({"groups": ["bosses", "staff"]}, {3: "owner", 4: "viewer"}),
    "a group that begins alike": ({"groups": ["marketing-2", "Marketing"]}, {}),
    "a part of a text": ({"groups": "marketing staff"}, {}),
    "a claim inside another": ({"realm_access": {"roles": ["way:post"]}}, {5: "editor"}),
    "a claim whose name has dots": ({"https://example.com/level": 7}, {6: "viewer"}),
    "a truth": ({"is_boss": True}, {7: "owner"}),
    "a truth is no number": ({"is_boss": 1, "https://example.com/level": True}, {}),
    "no text": ({"groups": None}, {}),
    "objects": ({"groups": [{"name": "marketing"}, ["marketing"]]}, {}),
    "a path that ends early": ({"realm_access": "roles"}, {}),
}


@pytest.mark.parametrize(("claims", "roles"), WANTED.values(), ids=WANTED)
def test_claims_give_roles(claims: dict[str, Any], roles: dict[int, str]) -> None:
    assert wanted_roles(RULES, claims) == roles


CHANGES: dict[str, tuple[dict[int, str], dict[int, str], frozenset[int]]] = {
    "a first sign-in": ({}, {3: "editor"}, frozenset()),
    "the same again": ({3: "editor"}, {3: "editor"}, frozenset()),
    "a group removed": ({3: "editor", 4: "viewer"}, {4: "viewer"}, frozenset({3})),
    "all groups removed": ({3: "editor", 4: "viewer"}, {}, frozenset({3, 4})),
    "another role": ({3: "owner"}, {3: "viewer"}, frozenset()),
}


@pytest.mark.parametrize(("before", "wanted", "ended"), CHANGES.values(), ids=CHANGES)
def test_what_a_sign_in_changes(
    before: dict[int, str], wanted: dict[int, str], ended: frozenset[int]
) -> None:
    found = role_changes(before, wanted)
    assert (found.granted, found.ended) == (wanted, ended)


def test_groups_that_are_elsewhere_are_no_removed_groups() -> None:
    assert are_complete(RULES, {"groups": []})
    assert not are_complete(RULES, {"_claim_names": {"groups": "src1"}})
    assert are_complete(RULES, {"_claim_names": {"photos": "src1"}})
