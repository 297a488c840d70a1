"""Networks that are not public, so that no outbound connection may be made to them; masks of addresses.

This is an explicit list from IANA's registries of special-purpose addresses: `ipaddress.is_private` and
`is_global` both let some of these through, and change with Python's patch releases.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from app.core.caches import cache_texts

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
MASK_IPV4_BITS, MASK_IPV6_BITS = 24, 48

NOT_PUBLIC: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared between a provider and its customers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; metadata services of clouds are here
        "168.63.129.16/32",  # a public address that is a metadata service of one cloud
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # relays of 6to4, given up
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        # of IPv6 only 2000::/3 is in public use; these are the rest, and the exceptions within it
        "::/3",
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
        "4000::/2",
        "8000::/1",
    )
)
MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")


def is_public(address: IpAddress, allowed: Sequence[Network] = ()) -> bool:
    """Whether this address may be contacted: it is public, or in a network that the operator allows.

    An IPv6 address that embeds an IPv4 one is judged by that.
    """
    inner = embedded(address)
    if any(one in network for network in allowed for one in (address, inner) if one):
        return True
    judged = inner or address
    return not any(judged in network for network in NOT_PUBLIC)


def embedded(address: IpAddress) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address embeds (mapped, NAT64 or 6to4); else None."""
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address in MAPPED or address in TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in SIX_TO_FOUR:
        return ipaddress.IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return None


def may_be_called(host: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether a host, in its wire form, may be in an address to deliver to.

    Only `localhost` and IP addresses are judged here. Other names are judged by the addresses they resolve
    to, when these are dialled.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return is_public(ipaddress.IPv4Address("127.0.0.1"), allowed) or is_public(
            ipaddress.IPv6Address("::1"), allowed
        )
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return True
    return is_public(address, allowed)


@cache_texts(48, max_characters=45, bytes_per_entry=800)  # an API is called by few addresses
def mask_address(address: str) -> str:
    """The network of a client's address, so that the audit log never holds a full one.

    A /24 of IPv4, a /48 of IPv6; "" for what is no address.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, MASK_IPV6_BITS), strict=False))
        found = found.ipv4_mapped
    return str(ipaddress.ip_network((found, MASK_IPV4_BITS), strict=False))
