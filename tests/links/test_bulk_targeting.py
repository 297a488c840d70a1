"""Targeting of many links: set, add or replace lines, remove lines, clear."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import Invalid
from app.links.bulk_forms import TargetingEdit
from app.links.models import Link

DE, FR, ES = (["DE", "https://de.example"], ["FR", "https://fr.example"], ["ES", "https://es.example"])
NEW_DE = ["DE", "https://new.example"]
COUNTRY, NONE, LANGUAGE, ROTATION = "country_code", None, "browser_language", "rotation"


@pytest.mark.parametrize(
    ("stored", "edit", "result"),
    [
        pytest.param((NONE, []), ("set", COUNTRY, [DE]), (COUNTRY, [DE]), id="set on none"),
        pytest.param(
            (LANGUAGE, [["de", "https://x.example"]]), ("set", COUNTRY, [DE]), (COUNTRY, [DE]), id="set"
        ),
        pytest.param((COUNTRY, [DE]), ("clear", None, []), (None, []), id="clear"),
        pytest.param((NONE, []), ("put", COUNTRY, [DE]), (COUNTRY, [DE]), id="put on none"),
        pytest.param(
            (COUNTRY, [DE, FR]), ("put", COUNTRY, [NEW_DE]), (COUNTRY, [NEW_DE, FR]), id="replace one"
        ),
        pytest.param((COUNTRY, [DE]), ("put", COUNTRY, [FR, ES]), (COUNTRY, [DE, FR, ES]), id="add"),
        pytest.param(
            ("city_name", [["Köln", "https://a.example"]]),
            ("put", "city_name", [["KÖLN", "https://b.example"]]),
            ("city_name", [["KÖLN", "https://b.example"]]),
            id="ignoring case, as visitors are matched",
        ),
        pytest.param(
            (ROTATION, [["50", "https://a.example"], ["50", "https://b.example"]]),
            ("put", ROTATION, [["80", "https://b.example"]]),
            (ROTATION, [["50", "https://a.example"], ["80", "https://b.example"]]),
            id="a weight belongs to its destination",
        ),
        pytest.param((COUNTRY, [DE, FR]), ("remove", COUNTRY, [["DE", ""]]), (COUNTRY, [FR]), id="by key"),
        pytest.param(
            (COUNTRY, [DE, FR]), ("remove", COUNTRY, [["", FR[1]]]), (COUNTRY, [DE]), id="by destination"
        ),
        pytest.param((COUNTRY, [DE]), ("remove", COUNTRY, [["DE", ""]]), (None, []), id="the last one"),
    ],
)
def test_what_results(stored: Any, edit: Any, result: Any) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    changes = TargetingEdit(*edit).changes_of(link)
    assert (changes["targeting_type"], changes["targeting"]) == result


@pytest.mark.parametrize(
    ("stored", "pairs"),
    [((COUNTRY, [DE]), [["FR", ""]]), ((COUNTRY, [DE]), [["DE", FR[1]]]), ((LANGUAGE, []), [["DE", ""]])],
)
def test_lines_that_are_not_there(stored: Any, pairs: Any) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    assert TargetingEdit("remove", COUNTRY, pairs).changes_of(link) == {}


@pytest.mark.parametrize(
    ("stored", "pairs", "problem"),
    [
        ((LANGUAGE, []), [DE], "It has another targeting: Language."),
        (
            ("city_name", [[f"c{n}", "https://x.example"] for n in range(100)]),
            [["more", DE[1]]],
            "It would have 101",
        ),
    ],
)
def test_what_a_link_can_not_have(stored: Any, pairs: Any, problem: str) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    type_ = "city_name" if stored[0] == "city_name" else COUNTRY
    with pytest.raises(Invalid) as found:
        TargetingEdit("put", type_, pairs).changes_of(link)
    assert str(found.value.errors[0].title).startswith(problem)
