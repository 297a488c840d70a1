"""Who may what: one line a group of endpoints, with what each person gets there.

A new route needs a place here, and a write also a body by which it changes something.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from tests.factories import PASSWORD

MARK = "zqmarked"  # in the name of every row of the workspace
IN, REFUSED, GONE, UNKNOWN = "in", 403, 404, 401
# of people who are no members: with ids of the workspace's rows, else of their own workspace
STRANGE = {"stranger": GONE, "admin": GONE}
OUT = {"former": UNKNOWN, "disabled": UNKNOWN, "nobody": UNKNOWN}
READERS = ("viewer", "demoted", "reader")


def members(
    owner: object, editor: object, viewer: object, reader: object = REFUSED, creator: object = REFUSED
) -> dict[str, object]:
    """`reader` and `creator`: the owner by a key that only reads, and by one that only creates links."""
    by_role = {"owner": owner, "editor": editor, "viewer": viewer, "demoted": viewer}
    return {**by_role, "reader": reader, "creator": creator}


# what each group gets, of the API with a key, of the dashboard at the address of the workspace
GROUPS: Mapping[str, Mapping[str, object]] = {
    "read": members(IN, IN, IN, IN),
    "write": members(IN, IN, REFUSED),
    "create": members(IN, IN, REFUSED, creator=IN),
    "own": members(IN, IN, IN),  # everybody's own in the workspace
    "owners": members(IN, REFUSED, REFUSED),
    "pictures": members(GONE, GONE, GONE),  # by digests and tokens that nobody has here
    "owners read": members(IN, REFUSED, REFUSED, IN),
}

# --- the API

API: Mapping[str, str] = {
    "read": """
        links_find links_read links_explain links_qr pixels_find pixels_read projects_find projects_read
        domains_find domains_read notification-handlers_find notification-handlers_read
        notification-handlers_deliveries statistics statistics_clicks statistics_link statistics_link_clicks
        trash_find events user audit workspace_read workspace-members_find workspace-members_read
        subscriptions_find subscriptions_read subscriptions_samples
    """,
    "write": """
        links_update links_delete pixels_post pixels_update pixels_delete
        projects_post projects_update projects_delete notification-handlers_post notification-handlers_update
        notification-handlers_delete notification-handlers_test notification-handlers_secret
        notification-handlers_confirmation trash_restore subscriptions_post subscriptions_delete
    """,
    "create": "links_post",
    "owners": """
        domains_post domains_update domains_delete domains_verify workspace_update workspace-members_post
        workspace-members_update workspace-members_delete workspace-invitations_delete
    """,
    "owners read": "workspace-invitations_find workspace-invitations_read",
    "open": "openapi",
}
API_IDS = {
    "links": "link",
    "statistics": "link",
    "pixels": "pixel",
    "projects": "project",
    "domains": "domain",
    "notification-handlers": "handler",
    "subscriptions": "subscription",
    "trash": "trashed",
    "workspace-members": "member",
    "workspace-invitations": "member invitation",
}
HANDLER = {"name": "new", "type": "webhook", "webhook": "https://hook.example/"}
API_BODIES: Mapping[str, Mapping[str, Any]] = {
    "links_post": {"url": "new", "location_url": "https://example.com/"},
    "links_update": {"title": "new"},
    "pixels_post": {"type": "social_a", "name": "new", "pixel": "1"},
    "pixels_update": {"name": "new"},
    "projects_post": {"name": "new"},
    "projects_update": {"name": "new"},
    "domains_post": {"host": "new.example"},
    "domains_update": {"custom_index_url": "https://example.com/"},
    "notification-handlers_post": HANDLER,
    "notification-handlers_update": {"name": "new"},
    "subscriptions_post": {"target_url": "https://hook.example/", "events": "link.clicked"},
    "workspace_update": {"name": "new"},
    "workspace-members_post": {"email": "new@example.com", "role": "editor"},
    "workspace-members_update": {"role": "editor"},
}
# writes that leave no row behind: this domain is verified, and this handler no mailbox
API_UNCHANGED = {"domains_verify", "notification-handlers_confirmation"}

# --- the dashboard: pages of a workspace

STATISTICS = "{0} {0}_file {0}_list {0}_part"
PAGES: Mapping[str, str] = {
    "read": " ".join(map(STATISTICS.format, ("statistics", "links_statistics", "projects_statistics")))
    + """
        home api links links_clicks links_export.csv links_history links_more links_try links_qr
        links_qr_write palette palette_links pixels projects domains handlers
        handlers_deliveries imports imports_one shares trash keys workspace capture_made capture_tools
        activity activity_news
    """,
    "write": """
        links_new links_new_write links_edit links_edit_write links_delete links_delete_write
        links_bulk links_bulk_write links_many links_many_go links_many_undo links_switch links_revert
        capture capture_write links_destination links_destination_write links_preview links_preview_of links_suggestions
        pixels_new pixels_new_write pixels_edit pixels_edit_write pixels_delete pixels_delete_write
        projects_new projects_new_write projects_edit projects_edit_write projects_delete
        projects_delete_write handlers_new handlers_new_write handlers_edit handlers_edit_write
        handlers_delete handlers_delete_write handlers_test handlers_turn_on handlers_renew_secret
        handlers_again handlers_ask_for_confirmation handlers_preview handlers_preview_of imports_write imports_check_write imports_columns_write
        imports_end_write imports_take_write samples_new samples_remove shares_new shares_new_write
        shares_edit shares_edit_write shares_revoke shares_revoke_write shares_show
        trash_restore trash_restore_write trash_undo trash_erase trash_erase_write trash_empty
        trash_empty_write imports_failed links_export.json
    """,
    "pictures": "links_icon links_suggested_picture",
    "owners": """
        domains_new domains_new_write domains_edit domains_edit_write domains_delete domains_delete_write
        domains_verify domains_verify_write workspace_audit_log workspace_audit_log_file workspace_delete workspace_delete_write workspace_invite
        workspace_remove workspace_remove_write workspace_rename workspace_revoke workspace_role
    """,
    "own": """
        keys_new keys_new_write keys_revoke keys_revoke_write saved_views_new saved_views_new_write
        saved_views_edit saved_views_edit_write saved_views_remove saved_views_remove_write
        saved_views_update workspace_leave
    """,
}
PAGE_IDS = {
    "links": "link",
    "capture": "link",
    "pixels": "pixel",
    "projects": "project",
    "domains": "domain",
    "handlers": "handler",
    "imports": "import",
    "shares": "share",
    "trash": "trashed",
    "saved_views": "view",
    "keys": "key",
    "workspace": "member",
    "workspace_revoke": "member invitation",
}
# models of personal rows, with the kind of row that the paths of pages name by an id; "" where none does
PERSONAL = {"ApiKey": "key", "SavedView": "view", "Archive": ""}
OF_ONE = "zqpersonal"  # in the names of rows that only one member sees
LINK = {"url": "new", "location_url": "https://example.com/"}
VIEW = {"name": "new", "query": "state=on"}
SHARE = {"name": "new", "parts": "country_code", "period": "30d", "least": "1"}


def personal_kind(name: str) -> str:
    """The kind of personal row that this page is about; "" for none."""
    kinds = {start: kind for start, kind in PAGE_IDS.items() if kind in PERSONAL.values()}
    return next((kind for start, kind in kinds.items() if name.startswith(f"{start}_")), "")


def page_body(name: str, ids: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a page's form sends, so that it changes something."""
    bodies: dict[str, Mapping[str, Any]] = {
        "links_new_write": LINK,
        "capture_write": LINK,
        "links_edit_write": {"title": "new"},
        "links_bulk_write": {"location_urls": "https://example.com/"},
        "links_many": {"do": "off", "ids": ids["link"]},
        "links_many_go": {"do": "delete", "ids": ids["link"]},
        "links_destination_write": {"location_url": "https://example.com/new"},
        "links_preview": LINK,
        "links_preview_of": LINK,
        "links_qr_write": {"size": "512", "margin": "4", "dark": "#000000", "light": "#ffffff"},
        "pixels_new_write": {"type": "social_a", "name": "new", "pixel": "1"},
        "pixels_edit_write": {"name": "new"},
        "projects_new_write": {"name": "new", "color": "#123456"},
        "projects_edit_write": {"name": "new"},
        "domains_new_write": {"host": "new.example", "scheme": "https://"},
        "domains_edit_write": {"custom_index_url": "https://example.com/"},
        "handlers_new_write": HANDLER,
        "handlers_preview": HANDLER,
        "handlers_edit_write": {"name": "new"},
        "imports_write": {"file": (BytesIO(b"url,location_url\n,https://example.com/\n"), "new.csv")},
        "imports_check_write": {"column:url": "url", "column:location_url": "location_url"},
        "shares_new_write": SHARE,
        "shares_edit_write": {**SHARE, "name": "newer"},
        "keys_new_write": {"name": "new", "scope": "write"},
        "saved_views_new_write": VIEW,
        "saved_views_edit_write": VIEW,
        "saved_views_update": VIEW,
        "workspace_delete_write": {"own_name": MARK, "own_password": PASSWORD},
        "workspace_invite": {"email": "new@example.com", "role": "editor"},
        "workspace_rename": {"name": "new"},
        "workspace_role": {"role": "editor"},
    }
    return bodies.get(name, {})


# writes of the dashboard that store nothing, or nothing of the rows as they are here
PAGES_UNCHANGED = frozenset(
    [
        "links_preview",
        "links_preview_of",
        "links_qr_write",
        "links_suggestions",
        "handlers_preview",
        "handlers_preview_of",
        "domains_verify_write",
        "handlers_ask_for_confirmation",
        "imports_take_write",
        "imports_columns_write",
        "handlers_turn_on",
        "samples_remove",
    ]
)

# --- the dashboard: the account, the instance; and pages for all

# of whoever is signed in, whatever workspaces they are in
ACCOUNT = frozenset(
    [
        "account",
        "account_audit_log",
        "account_audit_log_file",
        "account_data",
        "account_data_file",
        "account_data_write",
        "account_delete",
        "account_delete_write",
        "account_email",
        "account_email_write",
        "account_password",
        "account_unlink",
        "account_write",
        "density",
        "join",
        "join_write",
        "passkeys_new",
        "passkeys_new_write",
        "passkeys_options",
        "passkeys_proof",
        "passkeys_remove",
        "passkeys_remove_write",
        "passkeys_rename",
        "passkeys_rename_write",
        "passkeys_start_write",
        "password_again",
        "password_again_write",
        "sessions_end",
        "sessions_end_others",
        "signed_in",
        "two_factor",
        "two_factor_codes",
        "two_factor_codes_write",
        "two_factor_confirm_write",
        "two_factor_off",
        "two_factor_off_write",
        "two_factor_start_write",
        "workspaces_new",
        "workspaces_restore",
    ]
)
# of things that nobody here has, or that are somebody else's: a file, a provider of single sign-on, a passkey,
# a session, a form to go on with
ACCOUNT_GONE = frozenset(
    [
        "account_data_file",
        "account_unlink",
        "join",
        "join_write",
        "passkeys_remove",
        "passkeys_remove_write",
        "passkeys_rename",
        "passkeys_rename_write",
        "passkeys_options",
        "password_again",
        "password_again_write",
        "sessions_end",
        "workspaces_restore",
    ]
)
INSTANCE = frozenset(
    [
        "instance",
        "instance_audit_log",
        "instance_audit_log_file",
        "instance_mail",
        "instance_mail_write",
        "invitations_new",
        "invitations_new_write",
        "invitations_revoke",
        "invitations_revoke_write",
        "users",
        "users_change",
        "users_change_write",
    ]
)
FOR_ALL = frozenset({"theme"})
# blueprints whose pages ask nobody who they are, or by a token of their own
OPEN = frozenset(
    [
        "accounts",
        "assets",
        "certificates",
        "confirming",
        "health",
        "media",
        "public",
        "shared",
        "static",
        "stopping",
    ]
)
