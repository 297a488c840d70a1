"""What may an owner fill in for a handler? One kind of field for each kind of setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

from app.addresses import BadAddress, read_address
from app.fields import TextField
from app.notifications.networks import Network, may_be_called
from app.notifications.transport import Setting
from app.reading import Rejected

# only the form is judged: a server at home may well be called mail.local
SPECIAL_USE_DOMAIN_NAMES.clear()

CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64}", re.ASCII)


class SettingField(TextField):
    """One setting of one transport. Whether it must be there depends on the type, so the form says so."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting.label, required=True, **options)
        self.setting = setting


class EmailField(SettingField):
    """An e-mail address by its form, without a look-up; kept as typed."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=254, **options)

    def parse(self, text: str) -> str:
        try:
            validate_email(super().parse(text), strict=True, check_deliverability=False)
        except EmailNotValidError as error:
            raise Rejected(str(error), "email") from None
        return text


class AddressField(SettingField):
    """An http(s) address that may be called, as far as its text tells."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=2048, **options)

    def parse(self, text: str) -> str:
        try:
            host = read_address(text, self.most).host
        except BadAddress as bad:
            raise Rejected(str(bad), bad.code) from None
        if not may_be_called(host, self.allowed_networks):
            raise Rejected(
                "This address leads into a private network, or to this server itself.", "private_address"
            )
        return text

    @property
    def allowed_networks(self) -> Sequence[Network]:
        return self.meta.settings.allow_private_networks if self.meta.settings else ()


class TokenField(SettingField):
    """What a service gives out to be sent along."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=128, **options)


class ChatField(SettingField):
    """A chat by its number, or by its public name."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__(setting, most=65, **options)

    def parse(self, text: str) -> str:
        if not CHAT.fullmatch(text):
            raise Rejected("This must be a number, which may be negative, or @ and a name.", "format")
        return text


KINDS: dict[str, Callable[[Setting], SettingField]] = {
    "email": EmailField,
    "address": AddressField,
    "token": TokenField,
    "chat": ChatField,
}
