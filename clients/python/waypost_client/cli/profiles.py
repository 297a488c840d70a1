"""Profiles: which instance, and whose key. Keys are in the system's keyring, or in a file of mode 0600."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click

SERVICE = "waypost"  # of the keyring's entries
DEFAULT = "default"


@dataclass(frozen=True)
class Profile:
    """An instance and a key of it."""

    name: str
    url: str
    key: str


def profiles_file() -> Path:
    return Path(click.get_app_dir("waypost-client")) / "profiles.json"


def read_profiles() -> dict[str, dict[str, str]]:
    """Name → `url`, and `key` where it is in the file. Refuses a file that other users can read."""
    path = profiles_file()
    try:
        mode = path.stat().st_mode
        text = path.read_text()
    except FileNotFoundError:
        return {}
    if os.name == "posix" and mode & 0o077:
        raise click.ClickException(f"{path} holds keys, and others may read it. Run: chmod 600 {path}")
    try:
        found: dict[str, dict[str, str]] = json.loads(text)["profiles"]
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{path} can't be read. Delete it and log in anew.") from error
    return found


def write_profiles(profiles: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the file at once; it is of mode 0600 from its first byte on."""
    path = profiles_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, made = tempfile.mkstemp(dir=path.parent, prefix=".profiles-")  # of mode 0600
    try:
        with os.fdopen(number, "w") as file:
            json.dump({"profiles": profiles}, file, indent=1)
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def load(name: str) -> Profile:
    """The profile by this name; `WAYPOST_URL` and `WAYPOST_API_KEY` come before what is stored."""
    stored = read_profiles().get(name, {})
    url = os.environ.get("WAYPOST_URL") or stored.get("url")
    if not url:
        raise click.ClickException(
            f"The profile {name!r} does not exist. Run: way login https://your.instance --profile {name}"
        )
    key = os.environ.get("WAYPOST_API_KEY") or stored.get("key")
    if not key and url == stored.get("url"):
        key = key_of_keyring(name)
    if not key:
        raise click.ClickException(f"There is no key for {url}. Run way login, or set WAYPOST_API_KEY.")
    return Profile(name, url, key)


def save(profile: Profile) -> str:
    """Store a profile. Returns where its key is."""
    keyring = usable_keyring()
    row = {"url": profile.url}
    if keyring is None:
        row["key"] = profile.key
    else:
        keyring.set_password(SERVICE, profile.name, profile.key)
    write_profiles({**read_profiles(), profile.name: row})
    return "the system's keyring" if keyring else str(profiles_file())


def forget(name: str) -> None:
    """Remove a profile with its key. Raises a ClickException where there is none."""
    profiles: dict[str, Any] = read_profiles()
    if name not in profiles:
        raise click.ClickException(f"There is no profile {name!r}.")
    row = profiles.pop(name)
    keyring = usable_keyring()
    if keyring is not None and "key" not in row and keyring.get_password(SERVICE, name):
        keyring.delete_password(SERVICE, name)
    write_profiles(profiles)


def key_of_keyring(name: str) -> str | None:
    keyring = usable_keyring()
    return keyring.get_password(SERVICE, name) if keyring else None


def usable_keyring() -> ModuleType | Any | None:
    """The package `keyring`, where it is installed and the system has a keyring that keeps something."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else keyring
