"""Forms with a password for visitors."""

from __future__ import annotations

from typing import Any

from app.input.forms import ResourceForm
from app.links.fields import LinkPasswordField


class VisitorPasswordForm(ResourceForm):
    """A form whose field `password` protects from visitors. Its hash is among the changes, if it was sent."""

    password: LinkPasswordField
    password_hash: str | None = None

    def validate(self, extra_validators: Any = None) -> bool:
        """Hashes the password, too: what takes long is done here, before the write begins."""
        is_valid = super().validate(extra_validators)
        self.password_hash = self.password.hashed() if is_valid and self.password.sent else None
        return is_valid

    @property
    def changes(self) -> dict[str, Any]:
        found = super().changes
        if self.password.sent:
            del found["password"]
            found["password_hash"] = self.password_hash
        return found
