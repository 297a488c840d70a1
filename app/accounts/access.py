"""Access: on whose behalf a request acts, in which workspace, and in which role."""

from __future__ import annotations

from typing import NamedTuple

from app.accounts.models import User


class Access(NamedTuple):
    """A user in a workspace. An edge finds it once a request; services and forms take it as it is."""

    user: User
    workspace_id: int
    role: str

    @property
    def row_columns(self) -> dict[str, int]:
        """The columns of a new row that say whose it is and who made it."""
        return {"workspace_id": self.workspace_id, "user_id": self.user.id}
