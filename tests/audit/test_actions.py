"""Audited actions: each is recorded where it happens, with actor and object, and without a secret."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.accounts import (
    invitations,
    keys,
    member_invitations,
    passkeys,
    second_factor,
    services,
    standing,
    workspaces,
)
from app.accounts.access import Access
from app.accounts.deletion import leaving
from app.accounts.deletion import leaving as deletion
from app.accounts.deletion.purging import purge
from app.accounts.models import User, Workspace, WorkspaceMember
from app.accounts.oidc import identities
from app.accounts.oidc.person import ProviderPerson
from app.accounts.one_time_addresses import make_sign_in_link
from app.accounts.workspaces import access_of
from app.analytics.sharing import services as shares
from app.audit.models import ACTIONS, GROUPS, TABLE, AuditEntry
from app.audit.services import Object, record
from app.core.actor import Actor, act_as
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.domains import services as domains
from app.events.subscriptions import ending
from app.jobs.mails import answer_forgotten
from app.links import services as links
from app.links.removal import empty_trash
from app.notifications import outbox, unsubscribe
from app.notifications import services as handlers
from app.pixels import services as pixels
from app.projects import services as projects
from app.trash import services as trash
from tests.accounts.authenticator import Authenticator
from tests.accounts.codes import code_of, switch_on
from tests.accounts.test_passkeys import register
from tests.accounts.test_sign_in import sign_in
from tests.dashboard.conftest import Desk, desk
from tests.factories import PASSWORD, Factory
from tests.users import create_user, set_password
from tests.writes import write

__all__ = ["desk"]
NEW_PASSWORD = "another horse, battery and staple"
ISSUER = "https://id.example.com"
BOB_THERE = ProviderPerson(ISSUER, "bob-1", "bob@example.com")
SECRET = "a-secret-that-no-entry-may-hold"


@pytest.fixture
def world(
    app: Flask, desk: Desk, alice: User, bob: User, factory: Factory, settings: Settings, session
) -> Any:
    """The rows and clients that the actions of the table below need."""
    return SimpleNamespace(
        app=app, desk=desk, alice=alice, bob=bob, factory=factory, settings=settings, session=session
    )


def sign_out(world: Any) -> None:
    world.desk.client.post("/logout", data={"csrf_token": world.desk.token()})


def sign_in_once_more(world: Any) -> None:
    sign_in(world.app.test_client())


def fail_to_sign_in(world: Any) -> None:
    sign_in(world.app.test_client(), password="wrong")


def fail_to_prove(world: Any) -> None:
    world.desk.post("/account/email", {"new_email": "a@example.com", "own_password": "wrong"})


def end_another_session(world: Any) -> None:
    sign_in(world.app.test_client())
    world.desk.post("/account/sessions/end", {})


def send_a_wrong_key(world: Any) -> None:
    world.app.test_client().get("/api/links", headers={"Authorization": "Bearer wp_wrong"})


def revoke(world: Any) -> None:
    keys.revoke_key(world.factory.key(world.bob)[0])


def restore_user(world: Any) -> None:
    leaving.leave(world.bob)
    leaving.come_back(world.bob)


def enable(world: Any) -> None:
    standing.disable(world.bob)
    standing.enable(world.bob)


def unmake_admin(world: Any) -> None:
    standing.make_admin(world.bob)
    standing.unmake_admin(world.bob)


def purge_user(world: Any) -> None:
    world.bob.deleted_datetime = now() - dt.timedelta(days=31)
    db.session.commit()
    world.session.expunge(world.bob)
    purge(db.session(), world.settings)


def second_workspace(world: Any) -> Access:
    made = workspaces.create(world.alice, "Second")
    return Access(world.alice, made.id, "owner")


def restore_workspace(world: Any) -> None:
    row = deletion.delete_workspace(second_workspace(world))
    deletion.restore_workspace(world.alice, row.id)


def own_workspace(world: Any) -> Workspace:
    return db.session.get_one(Workspace, access_of(world.alice).workspace_id)


def add_bob(world: Any) -> WorkspaceMember:
    return workspaces.add_member(own_workspace(world), world.bob, "viewer")


def revoke_member_invitation(world: Any) -> None:
    member_invitations.revoke(
        member_invitations.invite(access_of(world.alice), "eve@example.com", "viewer")[0]
    )


def unlink(world: Any) -> None:
    identities.link(world.bob, BOB_THERE)
    identities.unlink(world.bob, ISSUER)


def revoke_invitation(world: Any) -> None:
    invitations.revoke(invitations.invite(world.alice, email="eve@example.com")[0])


def ask_for_a_new_password(world: Any) -> None:
    from app.accounts.one_time_addresses import request_reset

    request_reset(world.alice.email)
    db.session.commit()
    answer_forgotten(db.session(), world.settings)


def renew_codes(world: Any) -> None:
    switch_on(world.alice)
    code = code_of(world.alice, 1)
    drawn = second_factor.draw_codes(world.alice, code)
    assert drawn
    second_factor.renew(world.alice, code, drawn)


def switch_two_factor_off(world: Any) -> None:
    switch_on(world.alice)
    second_factor.forget(world.alice)


def add_app(world: Any) -> None:
    register(world.alice, Authenticator())
    switch_on(world.alice)


def remove_app(world: Any) -> None:
    add_app(world)
    second_factor.remove_app(world.alice)


def webhook(world: Any) -> Any:
    return handlers.create(
        access_of(world.alice),
        {"type": "webhook", "name": "Hook", "settings": {"webhook": f"https://a.example/{SECRET}"}},
    )


def end_subscription(world: Any) -> None:
    settings = {"target_url": f"https://a.example/{SECRET}"}
    made = {"type": "subscription", "name": "Hook", "settings": settings, "events": ["link.clicked"]}
    outbox.end_subscriptions(db.session(), [handlers.create(access_of(world.alice), made).id])


def end_subscription_with_its_key(world: Any) -> None:
    settings = {"target_url": f"https://a.example/{SECRET}"}
    made = {"type": "subscription", "name": "Hook", "settings": settings, "events": ["link.clicked"]}
    access = access_of(world.alice)
    handlers.create(access, made)
    ending.end_of_user(db.session(), access.workspace_id, world.alice.id)


def restore_handler(world: Any) -> None:
    batch = handlers.delete(webhook(world))
    handlers.restore(trash.find_batch(access_of(world.alice).workspace_id, batch)[0])


def restore_link(world: Any) -> None:
    batch = links.delete(world.factory.link(world.alice))
    links.restore(trash.find_batch(access_of(world.alice).workspace_id, batch)[0])


def restore_pixel(world: Any) -> None:
    batch = pixels.delete(world.factory.pixel(world.alice))
    pixels.restore(trash.find_batch(access_of(world.alice).workspace_id, batch)[0])


def domain(world: Any) -> Any:
    return world.factory.domain(world.alice, "go.example", is_verified=False)


def lose_domain(world: Any) -> None:
    lapsed = now() - dt.timedelta(days=20)
    world.factory.domain(world.bob, "go.example", unproven_since=lapsed)
    mine = domain(world)
    domains.verify(mine, mine.token)


def verify_domain(world: Any) -> None:
    mine = domain(world)
    domains.verify(mine, mine.token)


def delete_link(world: Any) -> None:
    links.delete(world.factory.link(world.alice, "launch"))


def purge_link(world: Any) -> None:
    delete_link(world)
    empty_trash(access_of(world.alice).workspace_id)


def download_failed_rows(world: Any) -> None:
    from app.import_export.models import LinkImport

    job = LinkImport(**access_of(world.alice).row_columns, name="links.csv", file="0" * 32 + ".csv")
    db.session.add(job)
    db.session.commit()
    assert world.desk.get(f"/imports/{job.id}/failed.csv").status_code == 200


def download_archive(world: Any) -> None:
    from app.import_export import archives
    from app.import_export.models import Archive

    archives.ask(world.alice, "http://localhost")
    row = world.session.scalars(sa.select(Archive)).one()
    row.state, row.done_datetime = archives.DONE, now()
    row.workspace_id = access_of(world.alice).workspace_id
    path = archives.path_of(world.settings.data_dir, row.file)
    path.parent.mkdir()
    path.write_bytes(b"PK")
    db.session.commit()
    assert world.desk.get("/account/data/file").status_code == 200


def command(*arguments: str) -> Callable[[Any], None]:
    def run(world: Any) -> None:
        done = world.app.test_cli_runner().invoke(
            args=[one.format(**vars(world.settings)) for one in arguments]
        )
        assert done.exit_code == 0, done.output

    return run


# by action: the function that does it, and the account that its entry is about
DEEDS: dict[str, Callable[[Any], Any]] = {
    "sign_in": sign_in_once_more,
    "sign_in.failed": fail_to_sign_in,
    "sign_out": sign_out,
    "session.ended": end_another_session,
    "proof.failed": fail_to_prove,
    "api_key.refused": send_a_wrong_key,
    "api_key.created": lambda world: keys.create_key(access_of(world.bob), "ci"),
    "api_key.revoked": revoke,
    "user.created": lambda world: create_user("eve@example.com", PASSWORD),
    "user.made_admin": lambda world: standing.make_admin(world.bob),
    "user.unmade_admin": unmake_admin,
    "user.disabled": lambda world: standing.disable(world.bob),
    "user.enabled": enable,
    "user.deleted": lambda world: leaving.leave(world.bob),
    "user.restored": restore_user,
    "user.purged": purge_user,
    "workspace.created": lambda world: world.desk.post("/workspaces/new", {"name": "Second"}),
    "workspace.renamed": lambda world: workspaces.update_workspace(own_workspace(world), {"name": "Other"}),
    "workspace.deleted": lambda world: deletion.delete_workspace(second_workspace(world)),
    "workspace.restored": restore_workspace,
    "member.invited": lambda world: member_invitations.invite(
        access_of(world.alice), "eve@example.com", "viewer"
    ),
    "member.invitation_revoked": revoke_member_invitation,
    "member.joined": add_bob,
    "member.role_changed": lambda world: workspaces.change_role(add_bob(world), "editor"),
    "member.removed": lambda world: workspaces.remove_member(add_bob(world)),
    "invitation.created": lambda world: invitations.invite(world.alice, email="eve@example.com"),
    "invitation.revoked": revoke_invitation,
    "identity.allowed": lambda world: identities.allow(world.bob, ISSUER),
    "identity.linked": lambda world: identities.link(world.bob, BOB_THERE),
    "identity.unlinked": unlink,
    "sign_in_link.created": lambda world: make_sign_in_link(world.bob),
    "password.reset_requested": ask_for_a_new_password,
    "password.changed": lambda world: set_password(world.bob, NEW_PASSWORD),
    "email.changed": lambda world: services.update_user(world.bob, {"email": "b@example.com"}),
    "two_factor.enabled": lambda world: switch_on(world.bob),
    "two_factor.disabled": switch_two_factor_off,
    "authenticator_app.added": add_app,
    "authenticator_app.removed": remove_app,
    "passkey.added": lambda world: register(world.bob, Authenticator()),
    "passkey.renamed": lambda world: passkeys.rename(register(world.bob, Authenticator()), "Old phone"),
    "passkey.removed": lambda world: passkeys.remove(register(world.bob, Authenticator()), world.bob),
    "recovery_codes.renewed": renew_codes,
    "handler.created": webhook,
    "handler.updated": lambda world: handlers.update(
        webhook(world), {"name": "Other", "settings": {"webhook": f"https://b.example/{SECRET}"}}
    ),
    "handler.secret_renewed": lambda world: handlers.renew(webhook(world)),
    "notification_handler.restored": restore_handler,
    "link.restored": restore_link,
    "pixel.restored": restore_pixel,
    "user.updated": lambda world: services.update_user(world.bob, {"timezone": "Europe/Berlin", "name": ""}),
    "handler.unsubscribed": end_subscription,
    "handler.switched_off": lambda world: unsubscribe.stop(webhook(world)),
    "share.created": lambda world: shares.create(access_of(world.alice), {"name": "Team"}),
    "share.changed": lambda world: shares.update(
        shares.create(access_of(world.alice), {"name": "Team"})[0], {"name": "All"}
    ),
    "share.revoked": lambda world: shares.revoke(shares.create(access_of(world.alice), {"name": "Team"})[0]),
    "domain.created": lambda world: domains.create(access_of(world.alice), {"host": "go.example"}),
    "domain.updated": lambda world: domains.update(domain(world), {"host": "to.example"}),
    "domain.verified": verify_domain,
    "domain.lost": lose_domain,
    "domain.deleted": lambda world: domains.delete(domain(world)),
    "links.exported": lambda world: world.desk.get("/links/export.csv"),
    "failed_rows.exported": download_failed_rows,
    "statistics.exported": lambda world: world.desk.get("/statistics/export.csv"),
    "archive.requested": lambda world: world.desk.post("/account/data", {}),
    "archive.downloaded": download_archive,
    "audit_log.exported": lambda world: world.desk.get("/account/audit-log/file.csv"),
    "link.deleted": delete_link,
    "pixel.deleted": lambda world: pixels.delete(world.factory.pixel(world.alice)),
    "handler.subscription_ended": end_subscription_with_its_key,
    "notification_handler.deleted": lambda world: handlers.delete(webhook(world)),
    "project.deleted": lambda world: projects.delete(world.factory.project(world.alice)),
    "trash.purged": purge_link,
}


# commands of an operator, which stop and start processes: tests/core/secret_keys test their entries
BY_COMMAND = {"secret_key.rotated", "secret_key.adopted"}
# in entries of earlier versions
FORMER = {"handler.restored"}


def test_the_table_has_messages_by_names() -> None:
    assert TABLE.keys() == {"groups", "actions", "reasons", "methods", "labels"}
    tables = [TABLE[name] for name in TABLE if name != "actions"] + [*TABLE["actions"].values()]
    assert all(isinstance(text, str) and text for table in tables for text in table.values())
    assert [*TABLE["actions"]] == [*GROUPS]
    assert len(ACTIONS) == sum(len(labels) for labels in TABLE["actions"].values())


def test_each_action_has_a_deed() -> None:
    assert set(DEEDS) | BY_COMMAND | FORMER == set(ACTIONS)


def new_entries(session, after: int) -> list[AuditEntry]:
    session.rollback()
    return list(session.scalars(sa.select(AuditEntry).where(AuditEntry.id > after).order_by(AuditEntry.id)))


@pytest.mark.parametrize("action", DEEDS)
def test_it_is_recorded(world: Any, action: str) -> None:
    before = world.session.scalar(sa.select(sa.func.max(AuditEntry.id)))
    begin_write(db.session)
    DEEDS[action](world)
    db.session.commit()
    made = new_entries(world.session, before)
    told = [entry for entry in made if entry.action == action]
    assert len(told) == 1, [entry.action for entry in made]
    assert action == "api_key.refused" or told[0].account_id is not None or told[0].actor_way == ""
    text = str(world.session.execute(sa.text("SELECT * FROM audit_entry")).all())
    for secret in (SECRET, PASSWORD, NEW_PASSWORD, "whsec_", "127.0.0.1"):
        assert secret not in text


@pytest.mark.settings(LOG_FORMAT="json")
def test_an_entry_is_a_log_line_once_it_is_committed(
    app: Flask, session, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waypost.audit")

    def lines() -> list[dict[str, Any]]:
        return [one.msg for one in caplog.records if one.name == "waypost.audit"]

    caplog.clear()
    begin_write(db.session)
    keys.create_key(access_of(alice), "ci")
    session.flush()
    assert lines() == []
    session.rollback()
    keys.create_key(access_of(alice), "ci")
    session.commit()
    services.update_user(alice, {"email": "other@example.com"})
    session.commit()
    line, changed = lines()
    assert changed["changes"] == {"email": "changed"}
    assert (line["event"], line["action"], line["account_id"]) == ("audit", "api_key.created", alice.id)
    assert alice.email not in json.dumps(line, default=str)


def test_who_did_it_and_from_where(desk: Desk, alice: User, bob: User, session) -> None:
    answer = desk.post(
        f"/users/{bob.id}/disable",
        {},
        headers={"X-Request-Id": "abc-1"},
        environ_overrides={"REMOTE_ADDR": "203.0.113.77"},
    )
    assert answer.status_code == 303
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "user.disabled")).one()
    who = entry.actor_id, entry.actor_email, entry.actor_way, entry.account_id, entry.account_email
    assert who == (alice.id, alice.email, "dashboard", bob.id, bob.email)
    assert (entry.network, entry.request_id) == ("203.0.113.0/24", "abc-1")


def test_by_an_api_key(api, make_pixel, alice: User, session) -> None:
    pixel_id = make_pixel(alice).id
    assert api.delete(f"/pixels/{pixel_id}").status_code == 204
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "pixel.deleted")).one()
    assert (entry.actor_way, entry.actor_id, entry.object_id) == ("api", alice.id, pixel_id)
    assert entry.key_prefix.startswith("wp_")
    assert len(entry.key_prefix) == 11


def test_by_the_operator(app: Flask, bob: User, session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "carol")
    done = app.test_cli_runner().invoke(args=["users", "disable", "--email", bob.email])
    assert done.exit_code == 0, done.output
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "user.disabled")).one()
    assert (entry.actor_way, entry.actor_name, entry.actor_id) == ("command", "carol", None)


def test_many_links_at_once_are_one_entry(desk: Desk, alice: User, make_link, session) -> None:
    ids = [make_link(alice).id for _ in range(7)]
    write(links.delete_many, access_of(alice).workspace_id, ids)
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "link.deleted")).one()
    assert (entry.count, entry.object_id, entry.object_name) == (7, None, "")


def test_many_restored_links_are_one_entry(alice: User, make_link, session) -> None:
    ids = [make_link(alice).id for _ in range(3)]
    begin_write(db.session)
    batch, _ = links.delete_many(access_of(alice).workspace_id, ids)
    links.restore_many(trash.find_batch(access_of(alice).workspace_id, batch))
    session.commit()
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "link.restored")).one()
    assert (entry.count, entry.object_type, entry.object_id) == (3, "link", None)


def test_account_settings_say_what_they_were(alice: User, session) -> None:
    services.update_user(alice, {"timezone": "Europe/Berlin", "language": alice.language, "report_hour": 9})
    session.commit()
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "user.updated")).one()
    assert entry.changes == {"timezone": ["UTC", "Europe/Berlin"], "report_hour": [8, 9]}
    services.update_user(alice, {"timezone": "Europe/Berlin"})
    session.commit()
    assert session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "user.updated")).one() is entry


@pytest.mark.databases
def test_of_a_workspace(alice: User, bob: User, session) -> None:
    """The actor's workspace, or the one that is named; none where neither is known."""
    act_as(Actor("dashboard", "Alice", alice.id, alice.email, workspace_id=7))
    on = Object("workspace", 7, "Ours")
    record(db.session, "workspace.deleted", account=bob, on=on, role=["viewer", "editor"])
    record(db.session, "workspace.deleted", account=bob, on=on, workspace_id=8)
    act_as(Actor("dashboard", "Alice", alice.id, alice.email))
    record(db.session, "workspace.deleted", account=bob, on=on)
    session.commit()
    entries = session.scalars(
        sa.select(AuditEntry).where(AuditEntry.action == "workspace.deleted").order_by(AuditEntry.id)
    )
    assert [entry.workspace_id for entry in entries] == [7, 8, None]


def test_an_unknown_action_is_a_mistake_of_the_program(session) -> None:
    with pytest.raises(ValueError, match=r"no\.such"):
        record(session, "no.such")


def test_a_handler_that_fails_for_days_is_switched_off_on_the_record(
    session, alice: User, make_handler
) -> None:
    handler = make_handler(alice)
    outbox.switch_off(
        handler, "No notification has arrived for five days. The last answer: a-secret-of-theirs"
    )
    session.commit()
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "handler.switched_off")).one()
    assert entry.account_id == alice.id
    assert "a-secret-of-theirs" not in json.dumps(entry.changes)
