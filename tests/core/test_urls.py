"""Addresses: read as browsers read them, and refused where browsers would repair them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.urls import BadAddress, read_address

HOSTS = {
    "plain": ("https://example.com/", "example.com"),
    "capitals": ("HTTPS://Example.COM", "example.com"),
    "a final dot": ("http://example.com./", "example.com"),
    "underscore": ("http://my_host.example/", "my_host.example"),
    "sharp s": ("https://faß.de/", "xn--fa-hia.de"),
    "japanese dot": ("https://日本。jp/", "xn--wgv71a.jp"),
    "full width": ("https://ｅｘａｍｐｌｅ.com/", "example.com"),
    "IPv4": ("http://192.0.2.1/", "192.0.2.1"),
    "IPv4 as one number": ("http://2130706433/", "127.0.0.1"),
    "IPv4 in hexadecimal": ("http://0x7f000001/", "127.0.0.1"),
    "IPv4 cut short": ("http://127.1/", "127.0.0.1"),
    "IPv6": ("http://[2001:DB8:0:0::1]:8080/", "[2001:db8::1]"),
    "IPv6 around IPv4": ("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]"),
    "a login": ("https://user:p%40ss@example.com/", "example.com"),
    "an @ in the path": ("https://example.com/@user", "example.com"),
}


@pytest.mark.parametrize(("text", "host"), HOSTS.values(), ids=HOSTS)
def test_host(text, host):
    assert read_address(text, 8192).host == host


BAD = {
    "script": "javascript:alert(1)",
    "script behind a space": " javascript:alert(1)",
    "script behind a control character": "\x01javascript:alert(1)",
    "script with a tab": "java\tscript:alert(1)",
    "script with a host": "javascript://example.com/%0aalert(1)",
    "data": "data:text/html,<script>alert(1)</script>",
    "ftp": "ftp://example.com/",
    "no scheme": "example.com",
    "relative to the scheme": "//example.com/",
    "backslashes": "https:\\\\example.com",
    "a backslash in the host": "https://example.com\\@evil.example/",
    "one slash": "https:/example.com",
    "three slashes": "https:///example.com",
    "no host": "https://",
    "only a login": "https://user@/",
    "a space": "https://example.com/a b",
    "an ideographic space": "https://example.com/\u3000",
    "a tab in the host": "https://exam\tple.com/",
    "NUL": "https://example.com/\x00",
    "a lone surrogate": "https://example.com/\ud800",
    "two dots": "https://example..com/",
    "a percent in the host": "https://example%2ecom/",
    "a label of 64": f"https://{'a' * 64}.com/",
    "a host of 260": f"https://{'a.' * 130}com/",
    "port too high": "https://example.com:65536/",
    "port of letters": "https://example.com:x/",
    "port of other digits": "https://example.com:٨٠/",
    "IPv6 unclosed": "https://[::1/",
    "IPv6 with a zone": "https://[fe80::1%25eth0]/",
    "IPv4 too large": "https://1.2.3.256/",
    "IPv4 with five parts": "https://1.2.3.4.5/",
    "octal with a nine": "https://09.1.1.1/",
    "too long": "https://example.com/" + "a" * 8192,
    "empty": "",
    "angle brackets": "https://<script>/",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_refused(text):
    with pytest.raises(BadAddress) as caught:
        read_address(text, 8192)
    assert str(caught.value)


def test_other_schemes_by_setting():
    schemes = {"http", "https", "mailto", "myapp", "javascript"}
    assert read_address("mailto:me@example.com", 100, schemes).host == ""
    assert read_address("myapp://open/here", 100, schemes).host == "open"
    for text in ("mailto:", "javascript:alert(1)", "https:x"):
        with pytest.raises(BadAddress):
            read_address(text, 100, schemes)


@pytest.mark.parametrize(
    ("text", "netloc"),
    [("http://h:80/", "h"), ("https://h:443", "h"), ("http://h:443", "h"), ("http://h:8000/", "h:8000")],
)
def test_the_usual_ports_make_no_difference(text, netloc):
    assert read_address(text, 100).netloc == netloc


@given(st.text(alphabet="ahtps:/\\@[]%.#?0x1🄫ß。\t\u200d-_", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        found = read_address("http://" + text, 8192)
    except BadAddress:
        return
    assert found.host.isascii()
    assert found.host == found.host.lower()
    assert found.host == read_address(f"http://{found.host}/", 8192).host
