"""Masks a client's address, so that the audit log never holds one."""

from __future__ import annotations

import ipaddress

IPV4_BITS, IPV6_BITS = 24, 48


def mask_address(address: str) -> str:
    """The network of an address: a /24 of IPv4, a /48 of IPv6; "" for what is no address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, IPV6_BITS), strict=False))
        found = found.ipv4_mapped
    return str(ipaddress.ip_network((found, IPV4_BITS), strict=False))
