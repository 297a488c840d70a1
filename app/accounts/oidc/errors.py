"""Reasons why a sign-in by the provider ends without a session, in words and as the audit log has them."""

from __future__ import annotations

from app.core.errors import FieldError, Forbidden
from app.i18n.messages import lazy_gettext as _l

PROVIDER_DOWN, PROVIDER_REFUSED, STALE = "provider_down", "provider_refused", "expired_sign_in"
INVALID_TOKEN, UNVERIFIED, NO_ACCOUNT = "invalid_token", "unverified_email", "no_account"
NOT_LINKED, OTHER_IDENTITY, NOT_RECENT = "not_linked", "other_identity", "not_recent"


class OidcError(Forbidden):
    """The provider's sign-in can't be used. `detail` is for the log: it holds no secret and no claim."""

    def __init__(self, reason: str, text: str, detail: str = "") -> None:
        super().__init__(FieldError(text, reason))
        self.reason, self.detail = reason, detail


class ProviderDown(OidcError):
    """The provider gives no answer, or none that can be used."""

    def __init__(self, detail: str) -> None:
        text = _l(
            "The provider of single sign-on does not answer as it should. Try again in a few minutes. Open "
            "sessions go on."
        )
        super().__init__(PROVIDER_DOWN, text, detail)


class ProviderRefused(OidcError):
    """The provider, or the user there, has ended the sign-in."""

    def __init__(self, detail: str) -> None:
        super().__init__(PROVIDER_REFUSED, _l("The provider of single sign-on did not sign you in."), detail)


class StaleSignIn(OidcError):
    """An answer to no sign-in of this browser: it was answered already, is too old, or began elsewhere."""

    def __init__(self) -> None:
        super().__init__(STALE, _l("This sign-in has expired or was used already. Please begin again."))


class InvalidToken(OidcError):
    """A token that this provider has not made for this instance now."""

    def __init__(self, detail: str) -> None:
        text = _l(
            "The answer of the provider of single sign-on could not be verified. Please tell the operator of "
            "this instance if that goes on."
        )
        super().__init__(INVALID_TOKEN, text, detail)


class UnverifiedEmail(OidcError):
    """The provider names no e-mail address, or does not vouch for it."""

    def __init__(self) -> None:
        text = _l("The provider of single sign-on does not confirm your e-mail address, which Waypost needs.")
        super().__init__(UNVERIFIED, text)


class NoAccount(OidcError):
    """No invitation for this address, and its domain may not sign up."""

    def __init__(self, email: str) -> None:
        text = _l("%(email)s has no account here. Ask an admin for an invitation.", email=email)
        super().__init__(NO_ACCOUNT, text)


class NotLinked(OidcError):
    """There is an account with this address, and nothing yet that ties it to this identity."""

    def __init__(self, email: str) -> None:
        text = _l(
            "The account %(email)s does not use single sign-on yet. An admin can allow it under “Users”.",
            email=email,
        )
        super().__init__(NOT_LINKED, text)


class OtherIdentity(OidcError):
    """The account is tied to another identity of the provider."""

    def __init__(self) -> None:
        text = _l(
            "This account is linked to another sign-in at the provider of single sign-on. An admin can "
            "remove that link under “Users”."
        )
        super().__init__(OTHER_IDENTITY, text)


class NotRecent(OidcError):
    """A reauthentication without a fresh sign-in at the provider."""

    def __init__(self) -> None:
        text = _l(
            "The provider of single sign-on did not say that you have just signed in there. Sign out there, "
            "then try again."
        )
        super().__init__(NOT_RECENT, text)
