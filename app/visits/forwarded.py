"""Whose address do the operator's own proxies say that a request came from?"""

from __future__ import annotations


def forwarded(header: str, proxies: int) -> str:
    """The client as the outermost trusted proxy saw it; empty when the header is shorter than that."""
    entries = header.split(",")
    return without_port(entries[-proxies].strip()) if len(entries) >= proxies else ""


def without_port(address: str) -> str:
    """`[::1]:80` and `192.0.2.1:80` without the port, which some proxies add and which changes each time."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
