"""Hosts: which ones may be a domain, and how they are normalised."""

from __future__ import annotations

import pytest

from app.domains.hosts import name_of, read_host, readable
from app.input.parsers import Rejected

GOOD = [
    ("go.example", "go.example"), ("GO.Example", "go.example"), ("go.example.", "go.example"),
    ("go.example:443", "go.example"), ("go.example:80", "go.example"), ("go.example:8443", "go.example:8443"),
    ("gö.example", "xn--g-1ga.example"), ("xn--g-1ga.example", "xn--g-1ga.example"), ("go", "go"),
    ("go.localhost:8000", "go.localhost:8000"), ("例え.jp", "xn--r8jz45g.jp"), ("мой-сайт.рф", "xn----8sbzclmxk.xn--p1ai"),
    ("сор.рф", "xn--n1aeb.xn--p1ai"), ("пример.com", "xn--e1afmkfd.com"), ("1.2.3.example", "1.2.3.example"),
    ("straße.example", "xn--strae-oqa.example"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "host"), GOOD)
def test_a_host(text: str, host: str) -> None:
    assert read_host(text) == host
    assert read_host(readable(host)) == host


BAD = [
    ("127.0.0.1", "ip_address"), ("127.1", "ip_address"), ("0x7f000001", "ip_address"), ("2130706433", "ip_address"),
    ("8.8.8.8:8000", "ip_address"), ("[::1]", "ip_address"), ("[::1]:80", "ip_address"), ("::1", "ip_address"),
    ("１２７.0.0.1", "ip_address"), ("localhost", "own"), ("LOCALHOST:8000", "own"),
    ("https://go.example", "host"), ("go.example/", "host"), ("me@go.example", "host"), ("go.example:0", "host"),
    ("go.example:65536", "host"), ("go.example:x", "host"), (":80", "host"), ("go..example", "host"), (".example", "host"),
    ("-go.example", "host"), ("go-.example", "host"), ("a_b.example", "host"), ("x" * 64 + ".example", "host"),
    (".".join(["a" * 60] * 5), "too_long"), ("999.999.999.999", "host"), ("go.example%2e", "host"),
    ("go\\example", "host"), ("*.example", "host"), ("i❤.example", "host"), ("xn--a.example", "host"),
    ("xn--.example", "host"), ("go example", "white_space"), ("go\0.example", "control_characters"),
    # the o, the whole word, or the a is Cyrillic; the o is Greek; the digits are another script's
    ("gо.example", "look_alike"), ("аррӏе.com", "look_alike"), ("xn--80ak6aa92e.com", "look_alike"),
    ("pаypal.com", "look_alike"), ("gοogle.com", "look_alike"), ("ο.com", "look_alike"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), BAD)
def test_no_host(text: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_host(text)
    assert caught.value.args[0].code == code


def test_a_host_without_its_port() -> None:
    assert (name_of("go.example:8443"), name_of("go.example")) == ("go.example", "go.example")
    assert readable("xn--g-1ga.example:8443") == "gö.example:8443"
