"""Signatures of the texts of a block's rows: which blocks of a long list can have a row with some text.

A signature has a bit for each part of four bytes that the texts have (a Bloom filter with one hash). A text
that is looked for can only be in blocks that have the bits of all its parts, and only the rows of these are
read. So what is rare is found by reading few blocks. What is in most rows is in most blocks, too.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable

PART = 4  # bytes
HASH_BITS = 17  # of 16 KiB, 4,096 links of 50 characters set a quarter of the bits
BYTES = (1 << HASH_BITS) // 8
MOST_TEXT = 1 << 20  # bytes of a block's texts; of more no signature is made, for most bits would be set
FACTOR = 0x9E3779B1  # an odd number: the high bits of a product with it are a hash (Fibonacci hashing)


def hashes_of(text: bytes) -> list[int]:
    """The hashes of all parts of a text, each once."""
    parts: set[int] = set()
    for start in range(min(PART, len(text) - PART + 1)):
        end = start + (len(text) - start) // PART * PART
        parts.update(array("I", text[start:end]))
    return [(part * FACTOR & 0xFFFFFFFF) >> (32 - HASH_BITS) for part in parts]


def signature_of(texts: Iterable[str]) -> bytes:
    """The signature of a block's texts. Empty if they are too long: then each text may be among them."""
    together = "\n".join(texts).encode()
    if len(together) > MOST_TEXT:
        return b""
    found = bytearray(BYTES)
    for one in hashes_of(together):
        found[one >> 3] |= 1 << (one & 7)
    return bytes(found)


def may_have(signature: bytes, hashes: Collection[int]) -> bool:
    """Whether texts with this signature may have all parts with these hashes."""
    return not signature or all(signature[one >> 3] >> (one & 7) & 1 for one in hashes)
