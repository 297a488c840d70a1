"""Writes docs/configure.md: every setting with its values, by subject. `python -m scripts.configure_page`

Names, defaults and values come from the table of settings in the code, the words about each from the table
of the README. A test compares the page with what this makes.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

from app.core import setting_values as values
from app.core.config import PREFIX, TABLE
from app.core.config_sources import SECRETS
from app.core.folders import ROOT

PAGE = ROOT / "docs" / "configure.md"
COMMAND = "python -m scripts.configure_page"

# the first subject whose prefixes a name begins with
SUBJECTS: dict[str, tuple[str, ...]] = {
    "Addresses and the server": ("BASE_URL", "DASHBOARD_URL", "HOST", "PORT", "PROCESSES", "TRUSTED_"),
    "Data": ("DATA_DIR", "DATABASE_", "CLICKS_", "REDIS_", "JOURNAL_"),
    "Secrets": ("SECRET_KEY",),
    "E-mail": ("SMTP_", "MAIL_"),
    "Backups and buckets": ("BACKUP_", "UPGRADE_", "S3_"),
    "Visitors and their privacy": ("GEO", "PIXEL_", "CLICK_RETENTION", "AUDIT_"),
    "Links, accounts and limits": ("DESTINATION_", "SESSION_", "API_", "MAX_", "ALLOW_", "AUTH_"),
    "Single sign-on": ("OIDC_",),
    "Logs and metrics": ("LOG_", "METRICS_"),
    "Others": ("",),
}
# what each reader of a value takes, by its name; `whole` and `one_of` say it by themselves
READERS: dict[str, str] = {
    "folder_path": "a folder",
    "file_path": "a file",
    "database_address": "`sqlite:///…` or `postgresql://…`",
    "clicks_address": "`sqlite:///…` or `clickhouse://…`",
    "postgresql_server": "`postgresql://…`",
    "redis_address": "`redis://…`, `rediss://…` or `unix:///…`",
    "base_address": "`http(s)://host`, without a path",
    "secret": f"at least {values.MIN_SECRET} random characters",
    "listen_address": "an IP address",
    "hosts": "hosts",
    "server_address": "an address",
    "sender": "an e-mail address, with a name if you like",
    "web_address": "`http(s)://…`",
    "header_name": "the name of a header",
    "networks": "networks",
    "schemes": "words",
    "bucket_address": "`s3://bucket/prefix`",
    "backup_target": "a whole path, or `s3://bucket/prefix`",
    "schedule": "a time like `03:15`, five fields of cron, or `never`; in UTC",
    "retention": "like `7d 4w 6m`, or `all`",
    "passphrase": "a passphrase",
    "region": "a region",
    "access_key": "a key",
    "collector_address": "`http(s)://…`",
    "collector_headers": "`name=value,name=value`",
    "ratio": "0 to 1",
    "issuer": "`http(s)://…`",
    "client_id": "what the provider calls Waypost",
    "client_secret": "what the provider gives you",
    "provider_name": "a name",
    "scopes": "words",
    "role_rules": "rows like `groups=marketing:3:editor`, apart by `;`",
    "email_domains": "domains, or `*`",
    "flag": "`on` or `off`",
    "bearer_token": f"at least {values.MIN_TOKEN} ASCII characters",
}

HEAD = f"""# Configure

<!-- Written by `{COMMAND}`: change app/core/config.py and the README's table instead. -->

Every setting is optional: without any, Waypost serves on `127.0.0.1:8000` and stores everything in its
data directory.

- Settings are variables of the environment with the prefix `{PREFIX}`, or lines of a file `.env`: in
  Waypost's folder, or in the user's data directory where it is installed as a package. The environment wins.
- `{PREFIX}NAME_FILE` names a file that holds the value, for secrets of containers and of systemd. It wins
  over `{PREFIX}NAME`.
- An empty value is the same as none. Relative paths start at Waypost's folder. Lists are separated by commas
  or spaces.
- A start with values that can't be used fails and names all of them. `./waypost doctor` also reports names
  that are no settings, each with the one that is spelled most like it.
- The page “Instance” of an admin shows what is in force and where it comes from, secrets masked.
- A [restart](operate.md#restart) takes changes.

"""


def main() -> None:
    PAGE.write_text(render())
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}: {len(TABLE)} settings\n")


def render() -> str:
    """The page as it must be."""
    words = readme_words()
    groups: dict[str, list[str]] = {subject: [] for subject in SUBJECTS}
    for name in TABLE:
        groups[subject_of(name)].append(name)
    parts = [
        f"## {subject}\n\n| Name | Default | Values | |\n|---|---|---|---|\n{rows(names, words)}"
        for subject, names in groups.items()
        if names
    ]
    return HEAD + "\n".join(parts)


def rows(names: list[str], words: Mapping[str, tuple[str, str]]) -> str:
    return "".join(
        f"| `{PREFIX}{name}` | {words[name][0]} | {describe_values(name)} | {words[name][1]} |\n"
        for name in names
    )


def subject_of(name: str) -> str:
    return next(
        subject for subject, starts in SUBJECTS.items() if any(name.startswith(start) for start in starts)
    )


def readme_words() -> dict[str, tuple[str, str]]:
    """The default and the description of each setting, with links that start at `docs/`."""
    table = (ROOT / "README.md").read_text().partition("<!-- settings -->\n")[2].partition("\n\n")[0]
    found = re.findall(r"^\| `([A-Z_0-9]+)`(?: \*)? \| ?(.*?) ?\| (.*?) \|$", table, re.MULTILINE)
    return {name: (default, said.replace("](docs/", "](")) for name, default, said in found}


def describe_values(name: str) -> str:
    read = TABLE[name][1]
    bound: Mapping[str, Any] = inspect.getclosurevars(read).nonlocals if inspect.isfunction(read) else {}
    if {"low", "high"} <= bound.keys():
        return f"{bound['low']:,} to {bound['high']:,}"
    if "words" in bound:
        return " or ".join(f"`{word}`" for word in bound["words"])
    said = READERS.get(read.__name__, "text")
    return f"{said} (secret)" if name in SECRETS else said


if __name__ == "__main__":
    main()
