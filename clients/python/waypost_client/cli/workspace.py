"""Commands of the key's workspace: `way workspace show`, its members, and invitations into it."""

from __future__ import annotations

from typing import Any

import click

from waypost_client.cli.command import Group, Session, shared_options, way
from waypost_client.cli.links import first
from waypost_client.cli.options import given, options_of
from waypost_client.cli.output import print_json, print_object, print_rows
from waypost_client.fields import MemberFilters

MEMBERS = ("id", "user_id", "name", "email", "role")
INVITATIONS = ("id", "email", "role", "expires_datetime")

id_argument = click.argument("id", type=click.IntRange(1))
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
limit_option = click.option(
    "--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all."
)

workspace = Group("workspace", help="Shows the key's workspace; lists, invites and removes its members.")
way.add_command(workspace)


@workspace.command()
@shared_options
def show(session: Session) -> None:
    """Shows the workspace, and the role in it."""
    print_object(session.client.workspace.read(), as_json=session.as_json)


@workspace.command()
@click.argument("name")
@shared_options
def rename(session: Session, name: str) -> None:
    """Gives the workspace another name."""
    session.client.workspace.update(name)
    print_object(session.client.workspace.read(), as_json=session.as_json)


@workspace.command()
@options_of(MemberFilters, "page", "results_per_page")
@limit_option
@shared_options
def members(session: Session, limit: int, **filters: Any) -> None:
    """Lists the members."""
    rows = session.client.workspace.members(**given(filters))
    print_rows(first(rows, limit), MEMBERS, as_json=session.as_json)


@workspace.command()
@id_argument
@shared_options
def member(session: Session, id: int) -> None:
    """Shows a member."""
    print_object(session.client.workspace.read_member(id), as_json=session.as_json)


@workspace.command()
@id_argument
@click.argument("role")
@shared_options
def role(session: Session, id: int, role: str) -> None:
    """Gives a member another role: owner, editor or viewer."""
    session.client.workspace.update_member(id, role)
    print_object(session.client.workspace.read_member(id), as_json=session.as_json)


@workspace.command()
@id_argument
@yes_option
@shared_options
def remove(session: Session, id: int, yes: bool) -> None:
    """Removes a member. What they made stays."""
    if not yes:
        click.confirm(f"Remove member {id}?", abort=True, err=True)
    session.client.workspace.remove_member(id)
    if session.as_json:
        print_json([id])


@workspace.command()
@click.argument("email")
@click.option("--role", default="viewer", show_default=True, help="owner, editor or viewer")
@shared_options
def invite(session: Session, email: str, role: str) -> None:
    """Invites an address. Prints the one-time address of the invitation, which works for seven days."""
    made = session.client.workspace.invite(email, role)
    if session.as_json:
        print_json(made)
    else:
        click.echo(made.url or made.id)


@workspace.command()
@options_of(MemberFilters, "page", "results_per_page")
@limit_option
@shared_options
def invitations(session: Session, limit: int, **filters: Any) -> None:
    """Lists the open invitations."""
    rows = session.client.workspace.invitations(**given(filters))
    print_rows(first(rows, limit), INVITATIONS, as_json=session.as_json)


@workspace.command()
@id_argument
@shared_options
def invitation(session: Session, id: int) -> None:
    """Shows an open invitation."""
    print_object(session.client.workspace.read_invitation(id), as_json=session.as_json)


@workspace.command()
@id_argument
@yes_option
@shared_options
def revoke(session: Session, id: int, yes: bool) -> None:
    """Takes an invitation back."""
    if not yes:
        click.confirm(f"Revoke invitation {id}?", abort=True, err=True)
    session.client.workspace.revoke_invitation(id)
    if session.as_json:
        print_json([id])
