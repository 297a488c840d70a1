"""Pixels: the form, the services and the list."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.errors import NotFound
from app.core.extensions import db
from app.input.data import RequestData
from app.input.listing import find_page
from app.pixels import services
from app.pixels.models import Pixel
from app.pixels.provider import all_providers
from app.pixels.services import LISTING, PixelForm
from tests.writes import write

# the words that an owner may use beside the neutral ones
WORDS = {
    "social_a": "facebook", "analytics_a": "google_analytics", "tagmanager_a": "google_tag_manager",
    "social_b": "linkedin", "social_c": "pinterest", "social_d": "twitter", "social_e": "quora",
    "social_f": "tiktok", "social_g": "snapchat",
}  # fmt: skip
GOOD = {"type": "social_a", "name": "n", "pixel": "1234567890123456"}


def read(stored=None, **values):
    form = PixelForm(RequestData(values.items()), owner=None, stored=stored)
    form.validate()
    return form


def wrong(form):
    return [(problem.field, problem.code) for problem in form.problems]


# --- providers


@pytest.mark.parametrize("type_", WORDS)
def test_one_provider(type_):
    """Holds for each file of `providers`, also for new ones."""
    provider = all_providers()[type_]
    assert provider.label
    assert provider.help_url.startswith("https://")
    assert provider.warning(provider.example) is None
    assert provider.example in provider.warning("nonsense!")
    assert wrong(read(type=type_, name="n", pixel=provider.example)) == []


LOOKS = [
    ("social_a", "123", False), ("social_a", "1234567890123456", True), ("analytics_a", "UA-12345-1", False),
    ("analytics_a", "G-ABC123DEF4", True), ("analytics_a", "g-abc123def4", False), ("tagmanager_a", "GTM-ABC123", True),
    ("tagmanager_a", "G-ABC123", False), ("social_b", "123456", True), ("social_c", "2612345678901", True),
    ("social_c", "261234567890", False), ("social_d", "o1ab2", True), ("social_d", "tw-o1ab2-xyz", False),
    ("social_e", "0" * 32, True), ("social_e", "0" * 31, False), ("social_f", "C4ABCDEFGH1234567890", True),
    ("social_g", "01234567-89ab-cdef-0123-456789abcdef", True), ("social_g", "0" * 32, False),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "pixel", "looks_right"), LOOKS)
def test_a_value_that_looks_wrong_is_only_warned_of(type_, pixel, looks_right):
    assert (all_providers()[type_].warning(pixel) is None) == looks_right
    assert wrong(read(type=type_, name="n", pixel=pixel)) == []


# --- form


@pytest.mark.parametrize(("type_", "word"), WORDS.items())
def test_types_in_either_word(type_, word):
    assert read(**GOOD | {"type": word}).changes["type"] == type_
    assert read(**GOOD | {"type": type_}).changes["type"] == type_


BAD = [
    ("type", "facebook2"), ("type", "Facebook"), ("type", ""), ("name", ""), ("name", "x" * 129), ("name", "a\nb"),
    ("name", "\ud800"), ("pixel", ""), ("pixel", "x" * 129), ("pixel", "a b"), ("pixel", "1'2"), ("pixel", "<1>"),
    ("pixel", "ä"), ("pixel", "١"), ("pixel", "1\n"), ("pixel", "1\x00"), ("pixel", "1/2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_field_is_named(name, value):
    assert [problem.field for problem in read(**GOOD | {name: value}).problems] == [name]
    assert [problem.field for problem in read(stored=Pixel(**GOOD), **{name: value}).problems] == [name]


def test_all_are_required_on_create_and_none_on_update():
    assert wrong(read()) == [("type", "required"), ("name", "required"), ("pixel", "required")]
    assert wrong(read(stored=Pixel(**GOOD))) == []


def test_the_widest_values():
    values = {"name": "ä" * 128, "pixel": "aZ09._:-" * 16}
    assert read(**GOOD | values).changes == GOOD | values


# --- services and list


def test_the_life_of_a_pixel(alice):
    pixel = write(services.create, access_of(alice), GOOD)
    assert (pixel.user_id, pixel.type, pixel.last_datetime) == (alice.id, "social_a", None)
    write(services.update, pixel, {"name": "new"})
    assert (pixel.name, pixel.pixel) == ("new", GOOD["pixel"])
    assert now() - pixel.last_datetime < dt.timedelta(minutes=1)
    write(services.delete, pixel)
    assert db.session.scalar(sa.select(sa.func.count()).select_from(Pixel)) == 0


@pytest.mark.databases
@pytest.mark.parametrize("service", [lambda pixel: services.update(pixel, {"name": "x"}), services.delete])
def test_a_pixel_that_is_gone(alice, make_pixel, service):
    pixel = make_pixel(alice)
    with db.engine.begin() as connection:
        connection.execute(sa.delete(Pixel))
    with pytest.raises(NotFound):
        write(service, pixel)


QUESTIONS = [
    ({}, "abc"),
    ({"search": "OFF"}, "a"),
    ({"search": "gtm"}, "b"),
    ({"search": "100%"}, "a"),
    ({"search": "%"}, "a"),
    ({"type": "tagmanager_a"}, "b"),
    ({"type": "google_tag_manager"}, "b"),
    ({"type": "social_g"}, ""),
    ({"order_by": "name", "order_type": "DESC"}, "cba"),
    ({"order_by": "pixel_id", "order_type": "DESC"}, "cba"),
    ({"order_by": "datetime"}, "cba"),
    ({"order_by": "last_datetime", "order_type": "DESC"}, "cba"),
]


@pytest.mark.databases
def test_list(alice, bob, make_pixel):
    names = {
        make_pixel(alice, name="100% off", datetime=now()).id: "a",
        make_pixel(
            alice, "tagmanager_a", name="Tags", pixel="GTM-1", datetime=now() - dt.timedelta(1)
        ).id: "b",
        make_pixel(alice, name="Zet", datetime=now() - dt.timedelta(2), last_datetime=now()).id: "c",
    }
    make_pixel(bob)
    found = [
        (
            asked,
            "".join(names[row.id] for row in find_page(LISTING, access_of(alice).workspace_id, asked).rows),
        )
        for asked, _ in QUESTIONS
    ]
    assert found == QUESTIONS
