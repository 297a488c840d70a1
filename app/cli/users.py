"""`flask users`: creates, lists, disables, deletes and restores accounts, and sets passwords."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from app.accounts import keys, passwords, services, setup, standing
from app.accounts.deletion import leaving
from app.accounts.forms import NewPasswordForm, NewUserForm
from app.accounts.models import User
from app.accounts.oidc import identities
from app.accounts.one_time_addresses import make_sign_in_link
from app.cli.failures import Group
from app.cli.tables import print_table
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db
from app.events.subscriptions.ending import end_over
from app.input.data import RequestData
from app.notifications.security_email import SecurityMail
from app.operations.database import migrate_first
from app.web.application import settings

users = Group("users", help="Accounts: create, list, set a password, disable, delete, restore.")
whose = click.option("--email", required=True)
from_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")


@users.command("create")
@click.option("--email", required=True)
@click.option("--name", default="")
@click.option("--admin", is_flag=True, help="Make the user an admin. The first user always is.")
@click.option(
    "--no-password", is_flag=True, help="Sign in by single sign-on alone, for the first time within 7 days."
)
@from_stdin
def create(email: str, name: str, *, admin: bool, no_password: bool, password_stdin: bool) -> None:
    """Create an account."""
    if no_password:
        require_issuer()
    password = "" if no_password else read_password(from_stdin=password_stdin)
    migrate_first()
    form = NewUserForm(RequestData([("email", email), ("name", name), ("password", password)]), owner=None)
    if no_password:
        form.password.ignore()
    form.require_valid()
    password_hash = identities.NO_PASSWORD if no_password else passwords.hash_password(password)
    begin_write(db.session)
    user = services.store_user(form.email.data, password_hash, services.Profile(name), is_admin=admin)
    if no_password:
        identities.allow(user, require_issuer())
    db.session.commit()
    setup.forget_token(settings().data_dir)
    click.echo(f"Created user {user.id}: {user.email}{' (admin)' if user.is_admin else ''}")


@users.command("list")
def list_all() -> None:
    """List all accounts."""
    migrate_first()
    print_table(("ID", "EMAIL", "NAME", "ROLE", "STATE", "CREATED"), map(row_of, services.list_users()))


def row_of(user: User) -> tuple[str, ...]:
    role = "admin" if user.is_admin else "user"
    state = standing.state_of(user)
    return str(user.id), user.email, user.name, role, state, clock.format_utc(user.datetime) or ""


@users.command("set-password")
@click.option("--email", required=True)
@click.option("--revoke-keys", is_flag=True, help="Revoke all API keys of the user, too.")
@from_stdin
def set_one(email: str, *, revoke_keys: bool, password_stdin: bool) -> None:
    """Set a new password. It ends every session of the user.

    The user is notified by e-mail if a mail server is set."""
    password = read_password(from_stdin=password_stdin)
    migrate_first()
    user = require_user(email)
    form = NewPasswordForm(RequestData([("password", password)]), owner=user)
    form.require_valid()
    password_hash = passwords.hash_password(password)
    begin_write(db.session)
    services.store_password(user, password_hash)
    revoked = keys.revoke_keys(user) if revoke_keys else 0
    end_over(db.session)
    SecurityMail(db.session, settings()).password_is_changed(user, revoked)
    db.session.commit()
    click.echo(f"Set the password of {user.email}")
    left = len(keys.active_keys(user))
    if left:
        click.echo(f"API keys that stay active: {left} (--revoke-keys ends them)", err=True)


@users.command("reset-two-factor")
@whose
def reset_two_factor(email: str) -> None:
    """Disable two-factor authentication for a user who has lost the app, the passkeys and the recovery codes.

    It removes the user's passkeys, ends every session of the user, and notifies the user by e-mail if a mail
    server is set."""
    change(
        email, SecurityMail(db.session, settings()).reset_two_factor, "Disabled two-factor authentication of"
    )


@users.command("allow-single-sign-on")
@whose
def allow_single_sign_on(email: str) -> None:
    """Let a user's next sign-in by single sign-on link the account, without its password.

    The provider must confirm the account's e-mail address. It holds for 7 days."""
    issuer = require_issuer()
    change(email, lambda user: identities.allow(user, issuer), "Allowed single sign-on for")


@users.command("unlink-single-sign-on")
@whose
def unlink_single_sign_on(email: str) -> None:
    """Remove the link between an account and single sign-on. Sessions that it began end."""
    issuer = require_issuer()
    change(email, lambda user: identities.unlink(user, issuer), "Unlinked single sign-on from")


@users.command("sign-in-link")
@whose
def sign_in_link(email: str) -> None:
    """Print an address that signs the user in once, within 15 minutes.

    For when the password is lost, or the provider of single sign-on does not answer."""
    migrate_first()
    user = require_user(email)
    if not user.is_active:
        raise click.ClickException(f"{user.email} is {standing.state_of(user)}")
    begin_write(db.session)
    token = make_sign_in_link(user)
    db.session.commit()
    click.echo(f"{setup.known_site(settings())}/login/link?token={token}")


def require_issuer() -> str:
    """The provider of single sign-on, as identities store it."""
    issuer = settings().oidc_issuer
    if not issuer:
        raise click.ClickException("there is no single sign-on: WAYPOST_OIDC_ISSUER is not set")
    return issuer.rstrip("/")


@users.command("disable")
@whose
def disable(email: str) -> None:
    """Disable a user: no sign-in, no session, no API key. The links go on."""
    change(email, standing.disable, "Disabled")


@users.command("enable")
@whose
def enable(email: str) -> None:
    """Enable a disabled user."""
    change(email, standing.enable, "Enabled")


@users.command("delete")
@whose
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(email: str, *, yes: bool) -> None:
    """Delete a user. The links stop at once; after 30 days everything is deleted for good."""
    if not yes:
        click.confirm(f"Delete {email} with all links?", abort=True)
    user = change(email, leaving.leave, "Deleted")
    click.echo(
        f"Deleted for good after {clock.format_utc(standing.gone_from(user))} UTC; until then: users restore"
    )


@users.command("restore")
@whose
def restore(email: str) -> None:
    """Restore a deleted user, with all links."""
    change(email, leaving.come_back, "Restored")


def change(email: str, service: Callable[[User], None], done: str) -> User:
    migrate_first()
    user = require_user(email)
    begin_write(db.session)
    service(user)
    db.session.commit()
    click.echo(f"{done} {user.email}")
    return user


def require_user(email: str) -> User:
    user = services.find_user(email)
    if user is None:
        raise click.ClickException(f"there is no user with the e-mail address {email}")
    return user


def read_password(*, from_stdin: bool) -> str:
    """All of standard input without its last line end, or what is typed twice at the terminal."""
    if from_stdin:
        return as_text(sys.stdin.buffer.read(64 * 1024))
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return typed
    raise click.UsageError("Pass --password-stdin, and the password on standard input.")


def as_text(octets: bytes) -> str:
    try:
        return octets.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise click.ClickException("the password is not in UTF-8") from None
