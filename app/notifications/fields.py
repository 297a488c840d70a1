"""Form fields for handler settings, one class for each kind of setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

from app.core.urls import BadAddress, read_address
from app.i18n.messages import lazy_gettext as _l
from app.input.fields import PatternField, TextField
from app.input.parsers import Rejected
from app.net.networks import Network, may_be_called
from app.notifications.transport import Setting

# only the syntax is checked: a server at home may well be called mail.local
SPECIAL_USE_DOMAIN_NAMES.clear()

MAX_LINES_LENGTH = 10_000
CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64}", re.ASCII)


class SettingField(TextField):
    """One setting of one transport. Whether it is asked for depends on the type, so the form decides that."""

    def __init__(self, setting: Setting, *, most: int, **options: Any) -> None:
        check = setting.check
        checks = [lambda _form, text: check(text)] if check else []
        super().__init__(
            setting.label,
            required=not setting.is_optional,
            most=setting.most or most,
            checks=checks,
            **options,
        )
        self.setting = setting


class EmailSettingField(SettingField):
    """An e-mail address, checked by its syntax alone (no DNS query), and kept as typed."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=254, **options)

    def parse(self, text: str) -> str:
        try:
            validate_email(super().parse(text), strict=True, check_deliverability=False)
        except EmailNotValidError as error:
            raise Rejected(str(error), "email") from None
        return text


class UrlField(SettingField):
    """An http(s) URL that may be called, as far as its text shows."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=2048, **options)

    def parse(self, text: str) -> str:
        try:
            host = read_address(text, self.most).host
        except BadAddress as bad:
            raise Rejected(str(bad), bad.code) from None
        if not may_be_called(host, self.allowed_networks):
            raise Rejected(
                _l("This address is in a private network, or is this server itself."), "private_address"
            )
        return text

    @property
    def allowed_networks(self) -> Sequence[Network]:
        return self.meta.settings.allow_private_networks if self.meta.settings else ()


class TokenField(SettingField):
    """A token that a service issues, and that each request to it carries."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=128, **options)


class IdentifierField(SettingField, PatternField):
    """A name or a token whose characters a service limits, by the setting's pattern."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=128, pattern=setting.pattern, problem=setting.problem, **options)


class ChatField(SettingField):
    """A chat by its number, or by its public name."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=65, **options)

    def parse(self, text: str) -> str:
        if not CHAT.fullmatch(text):
            raise Rejected(_l("This must be a number, which may be negative, or @ and a name."), "format")
        return text


class LinesField(SettingField):
    """A text of several lines. Browsers send their ends as CR LF; stored, they are LF."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=MAX_LINES_LENGTH, lines=True, **options)

    def parse(self, text: str) -> str:
        return super().parse(text.replace("\r\n", "\n"))


KINDS: dict[str, Callable[[Setting], SettingField]] = {
    "email": EmailSettingField,
    "address": UrlField,
    "token": TokenField,
    "chat": ChatField,
    "identifier": IdentifierField,
    "recipient": IdentifierField,
    "lines": LinesField,
}
