"""Framing: which response headers forbid a frame on our page, as in browsers, and which do not."""

from __future__ import annotations

import pytest

from app.dashboard.links.framing_check import forbids_framing

PAGE = "https://shop.example/summer"
OURS = "https://go.example/a"
XFO = "X-Frame-Options"
CSP = "Content-Security-Policy"

FORBIDS = {
    "deny": [(XFO, "DENY")],
    "deny in lower case": [("x-frame-options", "deny")],
    "the same origin": [(XFO, "SAMEORIGIN")],
    "twice the same": [(XFO, "SAMEORIGIN"), (XFO, "sameorigin")],
    "two that contradict each other": [(XFO, "allowall, foo")],
    "one of two": [(XFO, "DENY, ALLOWALL")],
    "nobody": [(CSP, "frame-ancestors 'none'")],
    "no source at all": [(CSP, "frame-ancestors")],
    "itself": [(CSP, "frame-ancestors 'self'")],
    "somebody else": [(CSP, "default-src *; frame-ancestors https://other.example")],
    "our subdomains only": [(CSP, "frame-ancestors *.go.example")],
    "another port of ours": [(CSP, "frame-ancestors https://go.example:8443")],
    "another scheme": [(CSP, "frame-ancestors app:")],
    "the second policy": [(CSP, "default-src 'self'"), (CSP, "frame-ancestors 'none'")],
    "one of two policies": [(CSP, "frame-ancestors *, frame-ancestors 'self'")],
    "the first of two in one policy": [(CSP, "frame-ancestors 'none'; frame-ancestors *")],
    "in capitals": [(CSP, "FRAME-ANCESTORS 'NONE'")],
    "a source that is none": [(CSP, "frame-ancestors (anybody)")],
}
ALLOWS = {
    "nothing said": [],
    "everybody": [(CSP, "frame-ancestors *")],
    "us": [(CSP, "frame-ancestors 'self' go.example")],
    "us, with everything": [(CSP, "frame-ancestors https://GO.example:443/path")],
    "us, by the weaker scheme": [(CSP, "frame-ancestors http://go.example")],
    "us, by its port": [(CSP, "frame-ancestors http://go.example:80")],
    "us, on any port": [(CSP, "frame-ancestors go.example:*")],
    "all above us": [(CSP, "frame-ancestors *.example")],
    "our scheme": [(CSP, "frame-ancestors https:")],
    "our scheme's weaker sister": [(CSP, "frame-ancestors http:")],
    "a policy goes before the option": [(CSP, "frame-ancestors *"), (XFO, "DENY")],
    "a policy about other things": [(CSP, "default-src 'none'; frame-src 'none'")],
    "only reported": [("Content-Security-Policy-Report-Only", "frame-ancestors 'none'")],
    "an option nobody knows": [(XFO, "ALLOW-FROM https://other.example")],
    "everybody, as some say it": [(XFO, "ALLOWALL")],
    "an empty option": [(XFO, "")],
}


@pytest.mark.parametrize("headers", FORBIDS.values(), ids=FORBIDS)
def test_it_forbids(headers: list[tuple[str, str]]) -> None:
    assert forbids_framing(headers, PAGE, OURS)


@pytest.mark.parametrize("headers", ALLOWS.values(), ids=ALLOWS)
def test_it_allows(headers: list[tuple[str, str]]) -> None:
    assert not forbids_framing(headers, PAGE, OURS)


SITES = {
    "http without a port covers https": ("https://go.example/", "http://shop.example/", "go.example", False),
    "https does not cover http": ("http://go.example/", "https://shop.example/", "go.example", True),
    "a port that is not named": ("https://go.example:8443/", PAGE, "go.example", True),
    "an address": ("http://127.0.0.1:8000/", "http://127.0.0.1:9000/", "127.0.0.1:8000", False),
    "the very same origin": ("https://shop.example/x", PAGE, "'self'", False),
}


@pytest.mark.parametrize(("ours", "page", "source", "forbids"), SITES.values(), ids=SITES)
def test_which_site_a_source_means(ours: str, page: str, source: str, forbids: bool) -> None:
    assert forbids_framing([(CSP, f"frame-ancestors {source}")], page, ours) is forbids


def test_the_same_origin_may_frame_itself() -> None:
    assert not forbids_framing([(XFO, "SAMEORIGIN")], PAGE, "https://shop.example/other")
