"""Profiles: which instance, and whose key. Keys are in the system's keyring, or in a file of mode 0600."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from waypost_client.client import base_of

SERVICE = "waypost"  # of the keyring's entries
DEFAULT = "default"
URL, KEY, PROFILE = "WAY_URL", "WAY_KEY", "WAY_PROFILE"
RENAMED = {URL: "URL", KEY: "API_KEY", PROFILE: "PROFILE"}  # to what they were after the server's prefix


@dataclass(frozen=True)
class Profile:
    """An instance and a key of it."""

    name: str
    url: str
    key: str = field(repr=False)


def renamed_variables() -> list[str]:
    """A line for each variable of older versions that is set and has no successor. None of them is read."""
    olds = {name: f"WAYPOST_{old}" for name, old in RENAMED.items()}
    return [
        f"{old} is not read any more. Set {name} instead."
        for name, old in olds.items()
        if old in os.environ and name not in os.environ
    ]


def profiles_file() -> Path:
    return Path(click.get_app_dir("waypost-client")) / "profiles.json"


def read_profiles() -> dict[str, dict[str, str]]:
    """Name → `url`, and `key` where it is in the file. Refuses a file that other users can read."""
    path = profiles_file()
    try:
        with path.open() as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read()
    except FileNotFoundError:
        return {}
    if os.name == "posix" and mode & 0o077:
        raise click.ClickException(f"{path} holds keys, and others may read it. Run: chmod 600 {path}")
    try:
        found: dict[str, dict[str, str]] = json.loads(text)["profiles"]
        if not all(isinstance(row["url"], str) for row in found.values()):
            raise ValueError("An address is no text.")  # noqa: TRY301
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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
    """The instance to work with and a key of it: those of the environment, or of the profile by this name.

    With `WAY_URL` alone it is a key that was stored for that instance. Raises a ClickException where there is
    none: no key goes to another instance than its own.
    """
    address, key = os.environ.get(URL), os.environ.get(KEY, "").strip()
    if key and not address:
        raise click.ClickException(f"{KEY} is set without {URL}, which says whose key it is. Set both.")
    if not address:
        return stored_profile(name)
    try:
        url = base_of(address)
    except ValueError as error:
        raise click.ClickException(f"{URL}: {error}") from error
    return Profile(name, url, key) if key else profile_for(url, name)


def stored_profile(name: str) -> Profile:
    row = read_profiles().get(name)
    if row is None:
        raise click.ClickException(
            f"The profile {name!r} does not exist. Run: way login https://your.instance --profile {name}"
        )
    key = key_of(name, row)
    if not key:
        raise click.ClickException(
            f"There is no key for {row['url']}. Run: way login {row['url']} --profile {name}"
        )
    return Profile(name, row["url"], key)


def profile_for(url: str, name: str) -> Profile:
    """The profile of this instance: the one by this name, or the only one where that is the default name."""
    rows = read_profiles()
    found = [each for each, row in rows.items() if is_of(row, url)]
    if name in found:
        return stored_profile(name)
    if name != DEFAULT or not found:
        new = url.partition("://")[2] if name in rows else name
        raise click.ClickException(
            f"There is no key for {url}. Run way login {url} --profile {new}, or set {KEY}."
        )
    if len(found) > 1:
        raise click.ClickException(
            f"Several profiles are of {url}: {', '.join(found)}. Name one by --profile."
        )
    return stored_profile(found[0])


def is_of(row: Mapping[str, str], url: str) -> bool:
    """Whether a profile is of the instance at this address, however its own address was written down."""
    try:
        return base_of(row["url"]) == url
    except ValueError:
        return False


def save(profile: Profile) -> str:
    """Store a profile. Returns where its key is."""
    rows, keyring = read_profiles(), usable_keyring()
    before = rows.get(profile.name)
    row = {"url": profile.url}
    if keyring is None:
        row["key"] = profile.key
    else:
        row["keyring"] = SERVICE
        keyring.set_password(SERVICE, entry_of(profile.name, row), profile.key)
    write_profiles({**rows, profile.name: row})
    if before is not None and entry_of(profile.name, before) != entry_of(profile.name, row):
        delete_key(profile.name, before)
    return "the system's keyring" if keyring else str(profiles_file())


def forget(name: str) -> None:
    """Remove a profile with its key. Raises a ClickException where there is none."""
    rows = dict(read_profiles())
    if name not in rows:
        raise click.ClickException(f"There is no profile {name!r}.")
    delete_key(name, rows.pop(name))
    write_profiles(rows)


def key_of(name: str, row: Mapping[str, str]) -> str | None:
    """The key of a profile: in the file beside its instance, or in the keyring under both names."""
    if "key" in row:
        return row["key"]
    keyring = usable_keyring()
    return keyring.get_password(SERVICE, entry_of(name, row)) if keyring else None


def delete_key(name: str, row: Mapping[str, str]) -> None:
    keyring, entry = usable_keyring(), entry_of(name, row)
    if keyring is not None and "key" not in row and keyring.get_password(SERVICE, entry):
        keyring.delete_password(SERVICE, entry)


def entry_of(name: str, row: Mapping[str, str]) -> str:
    """The name of a profile's key in the keyring. It holds the instance, so a key is found for no other.

    Older versions wrote the profile's name alone; such a profile has no `keyring`.
    """
    return f"{name} {row['url']}" if "keyring" in row else name


def usable_keyring() -> ModuleType | Any | None:
    """The package `keyring`, where it is installed and the system has a keyring that keeps something."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else keyring
