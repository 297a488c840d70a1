"""Commands of the other resources: `way pixels list`, `way projects create`, and so on. One row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from waypost_client.cli.command import Group, Session, shared_options, way
from waypost_client.cli.links import first
from waypost_client.cli.options import given, options_of
from waypost_client.cli.output import print_json, print_object, print_rows
from waypost_client.fields import (
    AuditFilters,
    DeliveryFilters,
    DomainFields,
    DomainFilters,
    DomainOptions,
    HandlerFields,
    HandlerFilters,
    HandlerSettings,
    PixelFields,
    PixelFilters,
    ProjectFields,
    ProjectFilters,
    TrashFilters,
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A resource: its name in the client, what its commands accept, and the columns of its list."""

    name: str
    attribute: str
    required: Sequence[str]
    options: Any
    fields: Any
    filters: Any
    columns: Sequence[str]

    def of(self, session: Session) -> Any:
        return getattr(session.client, self.attribute)


class NoOptions:
    """For a create that only has what it needs."""


class ProjectOptions:
    color: str


KINDS = (
    Kind(
        name="pixels",
        attribute="pixels",
        required=("type", "name", "pixel"),
        options=NoOptions,
        fields=PixelFields,
        filters=PixelFilters,
        columns=("id", "type", "name", "pixel"),
    ),
    Kind(
        name="handlers",
        attribute="notification_handlers",
        required=("type", "name"),
        options=HandlerSettings,
        fields=HandlerFields,
        filters=HandlerFilters,
        columns=("id", "type", "name", "is_enabled", "is_confirmed"),
    ),
    Kind(
        name="projects",
        attribute="projects",
        required=("name",),
        options=ProjectOptions,
        fields=ProjectFields,
        filters=ProjectFilters,
        columns=("id", "name", "color"),
    ),
    Kind(
        name="domains",
        attribute="domains",
        required=("host",),
        options=DomainOptions,
        fields=DomainFields,
        filters=DomainFilters,
        columns=("id", "host", "is_verified", "is_enabled"),
    ),
)


def add_commands(kind: Kind) -> click.Group:
    """The group of a resource with its five commands."""
    group = Group(kind.name, help=f"Lists and changes {kind.name}.")
    way.add_command(group)
    add_reading(group, kind)
    add_writing(group, kind)
    return group


def add_reading(group: click.Group, kind: Kind) -> None:
    @group.command("list", help=f"Lists {kind.name}.")
    @options_of(kind.filters, "page", "results_per_page")
    @click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
    @shared_options
    def list_(session: Session, limit: int, **filters: Any) -> None:
        print_rows(
            first(kind.of(session).find(**given(filters)), limit), kind.columns, as_json=session.as_json
        )

    @group.command(help="Shows all of one.")
    @click.argument("id", type=click.IntRange(1))
    @shared_options
    def show(session: Session, id: int) -> None:
        print_object(kind.of(session).read(id), as_json=session.as_json)


def add_writing(group: click.Group, kind: Kind) -> None:
    @options_of(kind.options)
    @shared_options
    def create(session: Session, **fields: Any) -> None:
        print_object(kind.of(session).create(**given(fields)), as_json=session.as_json)

    for name in reversed(kind.required):
        create = click.argument(name)(create)
    group.command("create", help="Creates one.")(create)

    @group.command(help="Changes what is given; an empty text ('') clears a field.")
    @click.argument("id", type=click.IntRange(1))
    @options_of(kind.fields)
    @shared_options
    def update(session: Session, id: int, **fields: Any) -> None:
        if not given(fields):
            raise click.UsageError("Nothing to change was given.")
        print_object(kind.of(session).update(id, **given(fields)), as_json=session.as_json)

    @group.command(help="Deletes one.")
    @click.argument("id", type=click.IntRange(1))
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @shared_options
    def delete(session: Session, id: int, yes: bool) -> None:
        if not yes:
            click.confirm(f"Delete {id}?", abort=True, err=True)
        kind.of(session).delete(id)
        if session.as_json:
            print_json([id])


GROUPS = {kind.name: add_commands(kind) for kind in KINDS}


@GROUPS["handlers"].command("test")
@click.argument("id", type=click.IntRange(1))
@shared_options
def test_handler(session: Session, id: int) -> None:
    """Sends a test message now."""
    trial = session.client.notification_handlers.test(id)
    print_object(trial, as_json=session.as_json)
    if trial.status != "delivered":
        raise click.exceptions.Exit(1)


@GROUPS["handlers"].command()
@click.argument("id", type=click.IntRange(1))
@options_of(DeliveryFilters, "page", "results_per_page")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
@shared_options
def deliveries(session: Session, id: int, limit: int, **filters: Any) -> None:
    """Lists a handler's deliveries, newest first."""
    rows = session.client.notification_handlers.deliveries(id, **given(filters))
    columns = ("id", "datetime", "type", "status", "next_attempt")
    print_rows(first(rows, limit), columns, as_json=session.as_json)


@GROUPS["handlers"].command("renew-secret")
@click.argument("id", type=click.IntRange(1))
@shared_options
def renew_secret(session: Session, id: int) -> None:
    """Replaces a webhook's signing secret."""
    print_object(session.client.notification_handlers.renew_secret(id), as_json=session.as_json)


@GROUPS["handlers"].command("ask-confirmation")
@click.argument("id", type=click.IntRange(1))
@shared_options
def ask_confirmation(session: Session, id: int) -> None:
    """Asks again for the confirmation of an e-mail address."""
    print_object(session.client.notification_handlers.ask_confirmation(id), as_json=session.as_json)


trash = Group("trash", help="Lists and restores what was deleted in the last 30 days.")
way.add_command(trash)


@trash.command("list")
@options_of(TrashFilters, "page", "results_per_page")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
@shared_options
def list_trash(session: Session, limit: int, **filters: Any) -> None:
    """Lists the trash, newest first."""
    columns = ("id", "type", "name", "detail", "datetime", "purge_datetime")
    print_rows(first(session.client.trash.find(**given(filters)), limit), columns, as_json=session.as_json)


@trash.command()
@click.argument("id", type=click.IntRange(1))
@click.option("--url", help="Another alias, where a link's own is taken by now.")
@click.option("--domain-id", type=click.IntRange(0))
@shared_options
def restore(session: Session, id: int, url: str | None, domain_id: int | None) -> None:
    """Brings back what has this id in the trash."""
    print_object(session.client.trash.restore(id, url, domain_id), as_json=session.as_json)


@way.command()
@options_of(AuditFilters, "page", "results_per_page")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
@shared_options
def audit(session: Session, limit: int, **filters: Any) -> None:
    """Lists the audit log, newest first."""
    columns = ("datetime", "action", "actor_email", "object_type", "object_id", "object_name", "network")
    print_rows(first(session.client.account.audit(**given(filters)), limit), columns, as_json=session.as_json)


@GROUPS["domains"].command()
@click.argument("id", type=click.IntRange(1))
@shared_options
def verify(session: Session, id: int) -> None:
    """Looks for the proof of a domain now; ends with 1 where there is none."""
    found = session.client.domains.verify(id)
    print_rows(found.checks, ("method", "is_found", "detail"), as_json=session.as_json)
    if not found.is_verified:
        raise click.exceptions.Exit(1)
