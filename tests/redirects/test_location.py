"""The `Location` header: a destination as it was written, except for what a header can't carry."""

from __future__ import annotations

import pytest

from app.redirects.location import encode_location

WEB = frozenset({"http", "https"})


@pytest.mark.parametrize(
    "planted",
    [
        "javascript:alert(1)",
        "JavaScript://example.com/%0aalert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "//example.com",
        "/dashboard",
        "example.com",
        "",
        "https:",
        "https://",
        "https:///path",
        "https:example.com",
        "ftp://example.com/",
        "https://e.com/\r\nSet-Cookie: a=b",
        "https://e.com/a b",
        "https://e.com/\x00",
        "https://ex ample.com/",
        "https://ä ö/",
        "https://\u202e.example/",
    ],
)
def test_what_may_not_be_sent_is_not(planted: str) -> None:
    assert encode_location(planted, WEB) is None


def test_a_scheme_that_the_operator_allowed_needs_no_host() -> None:
    assert encode_location("mailto:ä@example.com", WEB | {"mailto"}) == "mailto:%C3%A4@example.com"
    assert encode_location("tel:+49", WEB) is None


def test_no_setting_allows_a_script() -> None:
    assert encode_location("javascript:alert(1)", WEB | {"javascript"}) is None
