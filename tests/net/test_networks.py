"""Networks: which addresses may be contacted."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.net.networks import embedded, is_public, may_be_called

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0",
          "126.255.255.255", "128.0.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
          "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]  # fmt: skip
HIDDEN = ["0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "127.0.0.1", "127.255.255.254",
          "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
          "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1",
          "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
          "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:db8::1",
          "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1",
          "ff02::1", "::ffff:0:127.0.0.1", "168.63.129.16", "169.254.170.2", "100.100.100.200", "fd00:ec2::254",
          "fe80::1%eth0", "64:ff9b::a9fe:a9fe", "2001:0:1::1"]  # fmt: skip


@pytest.mark.parametrize("text", PUBLIC)
def test_public(text):
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", HIDDEN)
def test_not_public(text):
    assert not is_public(ipaddress.ip_address(text))


def test_networks_that_the_operator_allows():
    allowed = (ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/8"))
    assert is_public(ipaddress.ip_address("10.1.2.3"), allowed)
    assert is_public(ipaddress.ip_address("::ffff:10.1.2.3"), allowed)
    assert is_public(ipaddress.ip_address("fd00::1"), allowed)
    assert not is_public(ipaddress.ip_address("10.2.0.1"), allowed)


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_changes_nothing(inner):
    for wrapped in (
        f"::ffff:{inner}",
        f"64:ff9b::{inner}",
        f"2002:{int(inner) >> 16:x}:{int(inner) & 0xFFFF:x}::1",
    ):
        address = ipaddress.ip_address(wrapped)
        assert embedded(address) == inner
        assert is_public(address) == is_public(inner)


@given(st.ip_addresses())
def test_whatever_python_calls_private_is_not_public(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        inner = embedded(address)
        assert not is_public(address) or (inner and is_public(inner))


HOSTS = [
    ("example.com", True), ("localhost", False), ("a.localhost", False), ("localhost.example.com", True),
    ("127.0.0.1", False), ("[::1]", False), ("8.8.8.8", True), ("[2606:4700:4700::1111]", True), ("intranet", True),
]  # fmt: skip


@pytest.mark.parametrize(("host", "may"), HOSTS)
def test_hosts(host, may):
    assert may_be_called(host) == may


def test_localhost_by_the_operators_leave():
    for network in ("127.0.0.0/8", "::1/128"):
        assert may_be_called("localhost", (ipaddress.ip_network(network),))
        assert may_be_called("a.localhost", (ipaddress.ip_network(network),))
