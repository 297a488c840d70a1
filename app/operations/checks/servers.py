"""Checks other servers: the provider of single sign-on."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.config import PREFIX, Settings
from app.operations.checks.finding import Finding, ok, problem


def servers_check(settings: Settings) -> Iterator[Finding]:
    if settings.oidc_issuer is not None:
        yield check_provider(settings)


def check_provider(settings: Settings) -> Finding:
    """Whether the provider of single sign-on answers, as the issuer that is set, and publishes keys."""
    from app.accounts.oidc.errors import OidcError
    from app.accounts.oidc.provider import OidcProvider

    name = f"{PREFIX}OIDC_ISSUER"
    try:
        OidcProvider(settings).check()
    except OidcError as error:
        return problem(f"{name}: {error.detail}.", f"Is {name} as the provider writes its issuer?")
    return ok(f"The provider of single sign-on answers as {settings.oidc_issuer}.")
