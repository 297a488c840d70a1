"""Caches between test applications: they save work and change no behaviour."""

from __future__ import annotations

import gc

import pytest
from flask import Flask
from sqlalchemy import Engine, select, text
from werkzeug.routing import Map, Rule

from app.accounts.models import User
from app.core.extensions import db
from app.redirects.reader import Store

RULES = {
    "plain": ("/links/", {}, "/links/"),
    "with a number": ("/links/<int:id>", {"id": 5}, "/links/5"),
    "with a path": ("/files/<path:name>", {"name": "a b/c"}, "/files/a%20b/c"),
    "with an unknown value": ("/links/", {"page": 2}, "/links/?page=2"),
}


@pytest.mark.parametrize("case", RULES)
def test_equal_rules_of_another_map_build_and_match_alike(case: str) -> None:
    rule, values, built = RULES[case]
    maps = [Map([Rule("/other", endpoint="other"), Rule(rule, endpoint="this")]) for _ in range(2)]
    adapters = [each.bind("go.example") for each in maps]
    assert [adapter.build("this", values) for adapter in adapters] == [built, built]
    path = built.partition("?")[0]
    assert adapters[0].match(path) == adapters[1].match(path)
    rules = [next(each.iter_rules("this")) for each in maps]
    assert rules[0]._parts == rules[1]._parts
    assert rules[0]._build.__func__ is rules[1]._build.__func__  # type: ignore[attr-defined]
    assert rules[0]._build.__self__ is rules[0]  # type: ignore[attr-defined]
    assert rules[1]._build.__self__ is rules[1]  # type: ignore[attr-defined]


def test_defaults_make_another_rule() -> None:
    rules = [Rule("/links/", endpoint="this", defaults={"page": page}) for page in (1, 2)]
    adapters = [Map([rule]).bind("go.example") for rule in rules]
    assert [adapter.match("/links/")[1] for adapter in adapters] == [{"page": 1}, {"page": 2}]


def test_what_is_collected_is_not_scanned_again() -> None:
    assert gc.get_freeze_count() > 100_000


@pytest.mark.databases
def test_sql_is_compiled_once_for_all_applications(app: Flask, session, database: str) -> None:
    engine: Engine = db.engine
    compiled = engine.get_execution_options()["compiled_cache"]
    session.execute(select(User.id).where(User.email == "nobody@example.com"))
    known = len(compiled)
    session.execute(select(User.id).where(User.email == "somebody@example.com"))
    assert len(compiled) == known > 0
    assert session.execute(text("SELECT 1")).scalar() == 1


def test_stores_share_what_they_read_with(settings) -> None:
    stores = [Store(settings) for _ in range(2)]
    assert stores[0].link_statement is stores[1].link_statement
    assert stores[0].link_statement is not stores[0].page_statement
