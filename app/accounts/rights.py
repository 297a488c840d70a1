"""Rights of the roles: one row an action, with the roles that may take it."""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

from app.accounts.access import Access
from app.core.errors import FieldError, Forbidden
from app.i18n.messages import lazy_gettext as _l

OWNER, EDITOR, VIEWER = "owner", "editor", "viewer"
ROLES = {OWNER: _l("Owner"), EDITOR: _l("Editor"), VIEWER: _l("Viewer")}

ALL, WRITERS, OWNERS = frozenset(ROLES), frozenset({OWNER, EDITOR}), frozenset({OWNER})
RIGHTS = {
    "read": ALL,  # rows and statistics, their exports, and trying a link as a visitor
    "read_secrets": WRITERS,  # what handlers are set to, passwords, and addresses of shared statistics
    "write": WRITERS,  # links, pixels, handlers, projects, imports, the trash, share addresses
    "write_domains": OWNERS,
    "write_workspace": OWNERS,  # its name, its members, its deletion
    "read_audit_log": OWNERS,  # what all members did in it; everybody reads what concerns themselves
}
REFUSALS = {
    "read_secrets": _l("Your role in this workspace is viewer: it does not see passwords and other secrets."),
    "write_domains": _l("Only owners of this workspace can change its domains."),
    "write_workspace": _l("Only owners of this workspace can change it and its members."),
    "read_audit_log": _l("Only owners of this workspace see its audit log."),
}
REFUSED = _l("Your role in this workspace is viewer: it can read, but not change anything.")


def may(access: Access, action: str) -> bool:
    return access.role in RIGHTS[action]


def require(access: Access, action: str) -> None:
    """Raises Forbidden where the role may not take the action."""
    if not may(access, action):
        raise Forbidden(FieldError(REFUSALS.get(action, REFUSED), "role"))
