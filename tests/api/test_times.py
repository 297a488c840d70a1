"""Times with fractions of a second are accepted wherever the API takes a time."""

from __future__ import annotations

import pytest

from tests.clients import Api

THERE = "https://example.com/"
SAME = {
    "as JavaScript writes it": "2099-01-02T03:04:05.000Z",
    "milliseconds": "2099-01-02T03:04:05.678Z",
    "microseconds and an offset": "2099-01-02T05:04:05.123456+02:00",
    "an offset without a colon": "2099-01-02T05:04:05.000+0200",
    "a space and no offset": "2099-01-02 03:04:05.9",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_a_fraction_is_read_everywhere(api: Api, text: str) -> None:
    sent = {"location_url": THERE, "schedule": True, "start_date": text, "end_date": "2100-01-01"}
    made = api.post("/links", json=sent)
    assert made.status_code == 201, made.text
    link = f"/links/{made.json['data']['id']}"
    assert api.get(link).json["data"]["start_date"] == "2099-01-02 03:04:05"
    assert api.post(link, data={"end_date": text, "start_date": ""}).status_code == 200
    assert api.get(link).json["data"]["end_date"] == "2099-01-02 03:04:05"
    for field in ("datetime_start", "datetime_end"):
        assert api.get("/links", query_string={field: text}).status_code == 200, field
    assert api.get(f"{link}/explain", query_string={"at": text}).json["data"]["outcome"] == "expired"


@pytest.mark.parametrize("text", ["2099-01-02T03:04.000Z", "2099-01-02T03:04:05.Z", "2099-01-02.000Z"])
def test_a_fraction_is_of_a_second(api: Api, text: str) -> None:
    sent = {"location_url": THERE, "schedule": True, "start_date": text}
    assert api.post("/links", json=sent).status_code == 422
