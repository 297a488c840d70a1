"""Which address and which title are found in what a bookmarklet or a share sheet hands over."""

from __future__ import annotations

import pytest

from app.dashboard.links.capture import read_shared

HERE = "https://example.com/here"
# what is shared: url, text, title; and the address, the title and the other addresses that are found
SHARED: dict[str, tuple[tuple[str, str, str], tuple[str, str, tuple[str, ...]]]] = {
    "a bookmarklet": ((HERE, "", "Here"), (HERE, "Here", ())),
    "words around it": (("", f"Look at this: {HERE}, it is good", ""), (HERE, "Look at this", ())),
    "a title before it": (("", f"An article\n{HERE}", ""), (HERE, "An article", ())),
    "the end of a sentence": (("", f"See {HERE}.", ""), (HERE, "See", ())),
    "in brackets": (("", f"(see {HERE})", ""), (HERE, "see", ())),
    "a bracket of its own": (("", f"{HERE}_(town)", "T"), (f"{HERE}_(town)", "T", ())),
    "in other quotes": (("", f"„{HERE}“ 「{HERE}/2」。", "T"), (HERE, "T", (f"{HERE}/2",))),
    "several": (("", f"{HERE}/1 and {HERE}/2\n{HERE}/1", "T"), (f"{HERE}/1", "T", (f"{HERE}/2",))),
    "in the field and the text": (
        (f"{HERE}/1", f"{HERE}/2 {HERE}/1", "T"),
        (f"{HERE}/1", "T", (f"{HERE}/2",)),
    ),
    "only in the title": (("", "", f"Here {HERE}"), (HERE, "Here", ())),
    "a title that is the address": ((HERE, "", HERE), (HERE, "", ())),
    "its last mark": ((f"{HERE}?q=a.", "", ""), (f"{HERE}?q=a.", "", ())),
    "without a scheme": (("", "example.com/here", ""), (HERE, "example.com/here", ())),
    "words with dots": (("", "Node.js is here", ""), ("", "Node.js is here", ())),
    "a script in the text": (("", "javascript:alert(1)", ""), ("", "javascript:alert(1)", ())),
    "nothing": (("", "", ""), ("", "", ())),
    "lines and controls": ((HERE, "", "A\n title\x00of\u202e it"), (HERE, "A title of it", ())),
    "a long title": ((HERE, "", "t" * 500), (HERE, "t" * 159 + "…", ())),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_is_found(name: str) -> None:
    shared, expected = SHARED[name]
    assert read_shared(*shared) == expected


def test_many_addresses_are_bounded() -> None:
    found = read_shared(text=" ".join(f"{HERE}/{number}" for number in range(1000)))
    assert (found.address, len(found.others)) == (f"{HERE}/0", 8)
