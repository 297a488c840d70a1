"""Checks other servers: the collector of traces, single sign-on."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from app.core.config import PREFIX, Settings
from app.net import http as net_http
from app.net.dial import EVERYWHERE, NoAnswer
from app.operations.checks.finding import Finding, ok, problem, warning

COLLECTOR_SECONDS = 5.0


def servers_check(settings: Settings) -> Iterator[Finding]:
    if settings.traces_url is not None:
        yield check_collector(settings.traces_url, dict(settings.traces_headers))
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


def check_collector(url: str, headers: dict[str, str]) -> Finding:
    """Posts no span at all, which every collector takes."""
    name, advice = f"{PREFIX}TRACES_URL", "Traces are dropped meanwhile; nothing else needs it."
    own = {"content-type": "application/x-protobuf"}
    try:
        answer = net_http.request(
            "POST", url, headers=headers | own, allowed=EVERYWHERE, seconds=COLLECTOR_SECONDS
        )
    except NoAnswer as error:
        return warning(f"{name} gives no answer: {error.reason}", advice)
    if answer.status != HTTPStatus.OK:
        return warning(f"{name} answers {answer.status}.", advice)
    return ok(f"{name} takes traces.")
