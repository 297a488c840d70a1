"""Every route, asked by everybody: members in each role, who was one, and who never was.

`table` says what each gets; `world` makes the rows and the people. What is refused leaves every table as it
was, and no answer shows what its reader may not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from app.core.config import Settings
from app.core.database import PersonalRow
from tests.factories import Factory
from tests.rights import table
from tests.rights.table import GONE, GROUPS, IN, MARK, OUT, STRANGE, UNKNOWN
from tests.rights.world import DATABASES, PEOPLE, SECRET, World, make_world

EVERYBODY = (*PEOPLE, "reader", "creator", "nobody")
IN_BROWSERS = (*PEOPLE, "nobody")
WITHOUT = frozenset({"HEAD", "OPTIONS"})
INSIDE = "workspace_in_address"
pytestmark = [pytest.mark.settings(API_RATE_LIMIT="0"), DATABASES]


@pytest.fixture
def world(app: Flask, settings: Settings, factory: Factory) -> World:
    return make_world(app, settings, factory)


def routes(app: Flask, blueprint: str) -> Iterator[tuple[Rule, str, str]]:
    """Each route of a blueprint: rule, name without the blueprint, and verb."""
    for rule in app.url_map.iter_rules():
        start, _, name = rule.endpoint.partition(".")
        if start == blueprint:
            kind = (rule.defaults or {}).get("kind")
            for method in sorted((rule.methods or set()) - WITHOUT):
                yield rule, f"{name}.{kind}" if kind else name, method


def groups_of(lines: Mapping[str, str]) -> dict[str, str]:
    return {name: group for group, names in lines.items() for name in names.split()}


def got(answer: TestResponse) -> object:
    """What the answer says of rights: "in", or the status of a refusal; of a failure, its status."""
    status = answer.status_code
    if status == 302 and "/login" in (answer.location or ""):
        return UNKNOWN
    return status if status in {401, 403, 404, 405, 429} or status >= 500 else IN


def wrong_with(
    world: World, person: str, asked: str, answer: TestResponse, expected: object, *, writes: bool = False
) -> Iterator[str]:
    """What is wrong with this answer. `writes`: whether it is to have changed something where it is allowed."""
    said = f"{person}: {asked}"
    if got(answer) != expected:
        yield f"{said} is {answer.status_code} and not {expected}"
    changed = world.changed()
    if changed and (expected != IN or asked.startswith("GET")):
        yield f"{said} changed {sorted(changed)}"
    if writes and expected == IN and not changed:
        yield f"{said} changed nothing: {answer.status_code}"
    # one's own audit log tells of a workspace that one was in
    if (person in STRANGE or person in OUT) and MARK in answer.text and "/account/audit-log" not in asked:
        yield f"{said} shows a row"
    if person not in {"owner", "editor"} and SECRET in answer.text:
        yield f"{said} shows a secret"


def path_of(rule: Rule, values: Mapping[str, Any]) -> str:
    path = rule.rule
    for name in rule.arguments:
        for shape in (f"<row_id:{name}>", f"<int:{name}>", f"<{name}>"):
            path = path.replace(shape, str(values.get(name, "none")))
    return path


# --- the API


def test_the_api(app: Flask, world: World) -> None:
    groups, wrong = groups_of(table.API), []
    found = list(routes(app, "api"))
    assert {name for _, name, _ in found} == set(groups)
    for rule, name, method in found:
        row = world.ids[table.API_IDS[name.partition("_")[0]]] if rule.arguments else None
        path, sent = path_of(rule, {"id": row}), table.API_BODIES.get(name)
        writes = method != "GET" and name not in table.API_UNCHANGED
        for person in EVERYBODY:
            expected = api_expected(person, groups[name], has_row=row is not None)
            answer = world.call_api(person, method, path, **({"json": sent} if sent else {}))
            wrong += wrong_with(world, person, f"{method} {path}", answer, expected, writes=writes)
    assert not wrong, "\n".join(wrong)


def api_expected(person: str, group: str, *, has_row: bool) -> object:
    if group == "open":
        return IN
    if person in STRANGE:  # of their own workspace they are the owners
        return STRANGE[person] if has_row else IN
    return OUT[person] if person in OUT else GROUPS[group][person]


# --- pages of a workspace


def page_values(world: World, person: str, name: str) -> dict[str, Any]:
    ids = {**world.ids, **world.own.get(person, {})}
    kind = table.PAGE_IDS.get(name) or table.PAGE_IDS.get(name.partition("_")[0], "")
    return {
        "id": ids.get(table.personal_kind(name) or kind, 1),
        "delivery_id": ids["delivery"],
        "change_id": ids["change"],
        "batch": ids["changes" if name == "links_many_undo" else "batch"],
        "name": "country_code",
        "part": "overview",
        INSIDE: world.workspace_id,
    }


def test_pages(app: Flask, world: World) -> None:
    groups, wrong = groups_of(table.PAGES), []
    inside = [one for one in routes(app, "dashboard") if INSIDE in one[0].arguments]
    assert {name for _, name, _ in inside} == set(groups)
    for rule, name, method in inside:
        writes = method == "POST" and name not in table.PAGES_UNCHANGED
        for person in IN_BROWSERS:
            path = path_of(rule, page_values(world, person, name))
            answer = world.open(person, method, path, table.page_body(name, world.ids))
            expected = page_expected(person, groups[name])
            wrong += wrong_with(world, person, f"{method} {path}", answer, expected, writes=writes)
    assert not wrong, "\n".join(wrong)


def page_expected(person: str, group: str) -> object:
    if person in {"disabled", "nobody"}:
        return UNKNOWN
    return GONE if person in {"former", *STRANGE} else GROUPS[group][person]


def test_personal_rows_of_another_member(app: Flask, world: World) -> None:
    """Whatever the role, another member's personal row is answered as a missing one is."""
    assert {model.__name__ for model in PersonalRow.__subclasses__()} == set(table.PERSONAL)
    asked, wrong = set(), []
    for rule, name, method in routes(app, "dashboard"):
        kind = table.personal_kind(name)
        if INSIDE not in rule.arguments or "id" not in rule.arguments or not kind:
            continue
        asked.add(kind)
        for person, other in product(("owner", "editor", "viewer"), repeat=2):
            if person != other:
                path = path_of(rule, page_values(world, person, name) | {"id": world.own[other][kind]})
                sent = table.page_body(name, world.ids)
                wrong += wrong_with(
                    world, person, f"{method} {path}", world.open(person, method, path, sent), GONE
                )
    assert asked == set(filter(None, table.PERSONAL.values()))
    assert not wrong, "\n".join(wrong)


def test_lists_show_no_personal_row_of_another_member(app: Flask, world: World) -> None:
    wrong = []
    for rule, name, method in routes(app, "dashboard"):
        if INSIDE not in rule.arguments or method != "GET":
            continue
        for person in ("owner", "editor", "viewer"):
            path = path_of(rule, page_values(world, person, name))
            text = world.open(person, method, path, {}).text
            # the audit log names the keys that all members made
            others = {"editor", "viewer", "owner"} - {person} if "audit-log" not in path else ()
            shown = [
                one
                for one in others
                if f"{table.OF_ONE} {one}" in text or f"{table.OF_ONE} key of {one}" in text
            ]
            wrong += [f"{person}: {path} shows a row of {one}" for one in shown]
    assert not wrong, "\n".join(wrong)


def test_rows_of_others_at_the_address_of_ones_own(app: Flask, world: World) -> None:
    """Who owns a workspace may do everything there, but not with rows of another one."""
    inside, wrong = groups_of(table.PAGES), []
    plain = [one for one in routes(app, "dashboard") if one[1] in inside and INSIDE not in one[0].arguments]
    before = world.rows_of_it()
    for rule, name, method in plain:
        values = page_values(world, "owner", name)
        has_row = bool({"id", "batch"} & rule.arguments)
        path = path_of(rule, values)
        for person in ("stranger", "former", "admin"):
            sent = table.page_body(name, world.ids)
            answer = world.open(person, method, path, sent)
            said = f"{person}: {method} {path}"
            if got(answer) != (GONE if has_row or inside[name] == "pictures" else IN):
                wrong.append(f"{said} is {answer.status_code}")
            if (MARK in answer.text and MARK not in sent.values()) or SECRET in answer.text:
                wrong.append(f"{said} shows a row")
            if world.rows_of_it() != before:
                wrong.append(f"{said} changed the other workspace")
            if (changed := world.changed()) and has_row:
                wrong.append(f"{said} changed {changed}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
def test_other_verbs_and_parts_of_pages(app: Flask, world: World) -> None:
    """HEAD is answered as GET is, and so is what htmx asks for."""
    groups, wrong = groups_of(table.PAGES), []
    for rule, name, method in routes(app, "dashboard"):
        if INSIDE not in rule.arguments or method != "GET":
            continue
        for person in IN_BROWSERS:
            path, expected = (
                path_of(rule, page_values(world, person, name)),
                page_expected(person, groups[name]),
            )
            head = world.open(person, "HEAD", path, {})
            part = world.open(person, "GET", path, {}, headers={"HX-Request": "true"})
            # whoever is not signed in is not redirected from the middle of a page
            expected = {UNKNOWN: 401}.get(expected, expected)
            wrong += wrong_with(world, person, f"GET {path} by HEAD", head, expected)
            wrong += wrong_with(world, person, f"GET {path} by htmx", part, expected)
    for rule, name, method in routes(app, "api"):
        group = groups_of(table.API)[name]
        if method == "GET":
            row = world.ids[table.API_IDS[name.partition("_")[0]]] if rule.arguments else None
            path = path_of(rule, {"id": row})
            for person in EVERYBODY:
                answer = world.call_api(person, "HEAD", path)
                expected = api_expected(person, group, has_row=row is not None)
                wrong += wrong_with(world, person, f"GET {path} by HEAD", answer, expected)
    assert not wrong, "\n".join(wrong)


# --- pages of the account and of the instance


def test_pages_outside_of_workspaces(app: Flask, world: World) -> None:
    groups, wrong = groups_of(table.PAGES), []
    outside = [
        one for one in routes(app, "dashboard") if one[1].partition(".")[0] not in {*groups, "links_export"}
    ]
    assert {name for _, name, _ in outside} == table.ACCOUNT | table.INSTANCE | table.FOR_ALL
    for rule, name, method in outside:
        for person in IN_BROWSERS:
            path = path_of(rule, outside_values(world, person, name))
            answer = world.open(person, method, path, {})
            wrong += wrong_with(world, person, f"{method} {path}", answer, outside_expected(person, name))
    assert not wrong, "\n".join(wrong)


def outside_values(world: World, person: str, name: str) -> dict[str, Any]:
    """Ids of somebody else."""
    other = "owner" if person != "owner" else "editor"
    kinds = {"sessions_end": world.own[other]["session"], "users_change": 1, "users_change_write": 1}
    return {"id": kinds.get(name, world.ids["invitation"]), "action": "disable", "kind": "csv"}


def outside_expected(person: str, name: str) -> object:
    if name in table.FOR_ALL:
        return IN
    if person in {"disabled", "nobody"}:
        return UNKNOWN
    if name in table.INSTANCE:
        return IN if person == "admin" else GONE
    return GONE if name in table.ACCOUNT_GONE else IN


def test_other_pages_ask_nobody_who_they_are(app: Flask, world: World) -> None:
    """They are few; each is at most opened by a token, and shows nothing of a workspace without it."""
    blueprints = {rule.endpoint.partition(".")[0] for rule in app.url_map.iter_rules()}
    assert blueprints == {"api", "dashboard", *table.OPEN}
    wrong: list[str] = []
    for blueprint in sorted(table.OPEN):
        for rule, _, method in routes(app, blueprint):
            path = path_of(rule, {})
            answer = world.open("nobody", method, path, {})
            if answer.status_code == 500 or MARK in answer.text:
                wrong.append(f"{method} {path} is {answer.status_code}")
            if changed := world.changed():
                wrong.append(f"{method} {path} changed {changed}")
    assert not wrong, "\n".join(wrong)
