"""Masked addresses: networks of 24 and 48 bits, never a full address."""

from __future__ import annotations

import pytest

from app.net.networks import mask_address

ADDRESSES = {
    "IPv4": ("203.0.113.77", "203.0.113.0/24"),
    "IPv6": ("2001:db8:7c1a:5::9e77", "2001:db8:7c1a::/48"),
    "IPv4 within IPv6": ("::ffff:203.0.113.77", "203.0.113.0/24"),
    "with a zone": ("fe80::1%eth0", "fe80::/48"),
    "none": ("", ""),
    "no address": ("unix:", ""),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_mask(name: str) -> None:
    address, network = ADDRESSES[name]
    assert mask_address(address) == network
