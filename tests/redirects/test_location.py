"""The `Location` header: a destination as it was written, except for what a header can't carry."""

from __future__ import annotations

import pytest

from app.redirects.location import encode_location, with_query

WEB = frozenset({"http", "https"})


@pytest.mark.parametrize(
    ("destination", "expected"),
    {
        "plain": ("https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
        "nothing decoded": ("https://e.com/%7Ea%2fb/../c?x=%zz&y=+%2B%2520", "https://e.com/%7Ea%2fb/../c?x=%zz&y=+%2B%2520"),
        "brackets": ("https://e.com/a[]?b[]=();c", "https://e.com/a[]?b[]=();c"),
        "question mark alone": ("https://e.com?", "https://e.com?"),
        "hash alone": ("https://e.com/#", "https://e.com/#"),
        "question mark in fragment": ("https://e.com/#/a?b", "https://e.com/#/a?b"),
        "case of host kept": ("HTTPS://Example.COM/A", "HTTPS://Example.COM/A"),
        "port": ("http://e.com:8080/", "http://e.com:8080/"),
        "IPv6": ("http://[::1]:80/a", "http://[::1]:80/a"),
        "user": ("https://ä:b@e.com/", "https://%C3%A4:b@e.com/"),
        "path in UTF-8": ("https://e.com/ä/日本", "https://e.com/%C3%A4/%E6%97%A5%E6%9C%AC"),
        "query and fragment": ("https://e.com/?ü=ß#é", "https://e.com/?%C3%BC=%C3%9F#%C3%A9"),
        "emoji": ("https://e.com/😀", "https://e.com/%F0%9F%98%80"),
        "host": ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        "host with port": ("https://BÜCHER.example:444/ü", "https://xn--bcher-kva.example:444/%C3%BC"),
        "sharp s stays": ("https://straße.de", "https://xn--strae-oqa.de"),
        "emoji host": ("https://i❤.ws/", "https://xn--i-7iq.ws/"),
        "ideographic dot": ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
    }.values(),
)  # fmt: skip
def test_only_what_must_changes(destination: str, expected: str) -> None:
    assert encode_location(destination, WEB) == expected


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


OWN = (("utm_source", "mail"), ("utm_medium", ""), ("utm_campaign", ""))


@pytest.mark.parametrize(
    ("destination", "own", "visitors", "expected"),
    {
        "nothing to do": ("https://e.com/?a=%zz&&b#c", (), "", "https://e.com/?a=%zz&&b#c"),
        "first parameter": ("https://e.com/", OWN, "", "https://e.com/?utm_source=mail"),
        "one more": ("https://e.com/?a=+", OWN, "", "https://e.com/?a=+&utm_source=mail"),
        "fragment last": ("https://e.com/#a?b", OWN, "", "https://e.com/?utm_source=mail#a?b"),
        "replaced": ("https://e.com/?utm_source=x&a=1&utm_source", OWN, "", "https://e.com/?a=1&utm_source=mail"),
        "replaced in disguise": ("https://e.com/?utm%5Fsource=x", OWN, "", "https://e.com/?utm_source=mail"),
        "empty query": ("https://e.com/?", OWN, "", "https://e.com/?utm_source=mail"),
        "ends in &": ("https://e.com/?a&", OWN, "", "https://e.com/?a&utm_source=mail"),
        "value escaped": ("https://e.com/", (("utm_source", "a&b=ü #"),), "", "https://e.com/?utm_source=a%26b%3D%C3%BC%20%23"),
        "forwarded": ("https://e.com/?a=1", (), "b=%2B+%zz&c", "https://e.com/?a=1&b=%2B+%zz&c"),
        "the destination's wins": ("https://e.com/?a=1", (), "a=2&b=3", "https://e.com/?a=1&b=3"),
        "the link's wins": ("https://e.com/", OWN, "utm_source=x&utm_medium=y", "https://e.com/?utm_source=mail&utm_medium=y"),
        "repeated": ("https://e.com/", (), "a=1&a=2", "https://e.com/?a=1&a=2"),
        "empty ones dropped": ("https://e.com/", (), "&&", "https://e.com/"),
        "no value": ("https://e.com/", (), "=&=b", "https://e.com/?=&=b"),
        "raw UTF-8": ("https://e.com/", (), "q=\u00c3\u00a4", "https://e.com/?q=%C3%A4"),
        "raw Latin-1": ("https://e.com/", (), "q=\u00e4", "https://e.com/?q=%E4"),
        "brackets": ("https://e.com/", (), "a[]=1;b", "https://e.com/?a[]=1;b"),
    }.values(),
)  # fmt: skip
def test_query(destination: str, own: tuple[tuple[str, str], ...], visitors: str, expected: str) -> None:
    assert with_query(destination, own, visitors) == expected
