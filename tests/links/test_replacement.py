"""Find and replace in destinations: what changes, where, and results that can't be destinations."""

from __future__ import annotations

from typing import Any

import pytest

from app.links.destination import DestinationRules
from app.links.models import Link
from app.links.replacement import Replacement

RULES = DestinationRules(None, None)


@pytest.mark.parametrize(
    ("before", "find", "options", "after"),
    [
        pytest.param("https://a.example/x", "a.example", {}, "https://b.test/x", id="once"),
        pytest.param(
            "https://a.example/?u=a.example", "a.example", {}, "https://b.test/?u=b.test", id="each"
        ),
        pytest.param("https://A.Example/x", "a.example", {}, "https://A.Example/x", id="case counts"),
        pytest.param(
            "https://A.Example/x",
            "a.example",
            {"is_case_ignored": True},
            "https://b.test/x",
            id="ignoring case",
        ),
        pytest.param(
            "https://a.example/a.example",
            "a.example",
            {"is_host_only": True},
            "https://b.test/a.example",
            id="host",
        ),
        pytest.param(
            "https://a.example@a.example:81/?a.example",
            "a.example",
            {"is_host_only": True},
            "https://a.example@b.test:81/?a.example",
            id="host, not the user before it",
        ),
        pytest.param(
            "https://a.example:81/", ":81", {"is_host_only": True}, "https://a.exampleb.test/", id="port"
        ),
        pytest.param("mailto:me@a.example", "a", {"is_host_only": True}, "mailto:me@a.example", id="no host"),
        pytest.param("https://a.example/.*", ".*", {}, "https://a.example/b.test", id="no pattern"),
        pytest.param("https://a.example/\\1", "\\1", {}, "https://a.example/b.test", id="no group"),
        pytest.param("https://a.example/", "elsewhere", {}, "https://a.example/", id="not there"),
    ],
)
def test_text_is_replaced(before: str, find: str, options: dict[str, Any], after: str) -> None:
    replacement = Replacement(find, "b.test", RULES, **options)
    assert replacement.apply(before) == after
    assert "".join(piece.text for piece in replacement.pieces(before, is_after=False)) == before
    assert "".join(piece.text for piece in replacement.pieces(before, is_after=True)) == after


def test_what_is_replaced_is_told_apart() -> None:
    pieces = list(Replacement("old", "new", RULES).pieces("https://old.example/old", is_after=True))
    assert [(one.text, one.is_changed) for one in pieces if one.text] == [
        ("https://", False),
        ("new", True),
        (".example/", False),
        ("new", True),
    ]


def test_what_is_put_there_is_no_template() -> None:
    assert Replacement("a", "\\g<0>{x}", RULES).apply("https://a.test") == "https://\\g<0>{x}.test"


LINK = {
    "location_url": "https://old.example/",
    "expiration_url": "https://old.example/over",
    "targeting_type": "country_code",
    "targeting": [["DE", "https://old.example/de"], ["FR", "https://fr.example/"]],
}


@pytest.mark.parametrize(
    ("places", "changes"),
    [
        (("location_url",), {"location_url": "https://new.example/"}),
        (("expiration_url",), {"expiration_url": "https://new.example/over"}),
        (("targeting",), {"targeting": [["DE", "https://new.example/de"], ["FR", "https://fr.example/"]]}),
    ],
)
def test_only_where_it_was_asked_for(places: tuple[str, ...], changes: dict[str, Any], app: Any) -> None:
    with app.app_context():
        assert Replacement("old.", "new.", RULES, places).changes_of(Link(**LINK)) == changes


@pytest.mark.parametrize(
    ("find", "replace", "problem"),
    [
        pytest.param("https://", "javascript:", "This must be an address that begins with", id="scheme"),
        pytest.param("old.example", "", "This address has no host", id="no host"),
        pytest.param("old.example", "a b", "An address can't contain white space.", id="white space"),
        pytest.param("e", "e" * 5000, "This may have at most 8,192 characters; it has ", id="too long"),
        pytest.param("old.example/", "go.example/abc", "This is a short link of this instance.", id="own"),
    ],
)
def test_results_that_are_wrong(find: str, replace: str, problem: str, app: Any) -> None:
    with app.app_context():
        rules = DestinationRules(None, "go.example")
        (one,) = Replacement(find, replace, rules, ("location_url",)).replaced(Link(**LINK))
        assert one.problem
        assert str(one.problem.title).startswith(problem)


def test_what_does_not_change_is_not_checked_again(app: Any) -> None:
    """A stored destination may be from a time with other rules."""
    stored = Link(location_url="ftp://old.example/", expiration_url="https://old.example/")
    with app.app_context():
        changes = Replacement("https://old", "https://new", RULES).changes_of(stored)
    assert changes == {"expiration_url": "https://new.example/"}
