"""Settings: which values are valid for each, and the messages for invalid ones."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from app.accounts import setup
from app.core import config
from app.core.config import (
    TABLE,
    BadSettings,
    default_processes,
    describe_unknown_name,
    load_settings,
)
from app.core.folders import ROOT
from app.core.oidc_settings import RoleRule
from app.core.storage_settings import Retention
from app.notifications.site import site_of
from app.operations.owner import acting_as, describe_owner

BAD = {
    "a name to listen on": ("HOST", "localhost"),
    "an address to listen on with its port": ("HOST", "127.0.0.1:8000"),
    "a URL to listen on": ("HOST", "http://127.0.0.1"),
    "an address to listen on that can't be": ("HOST", "127.0.0.256"),
    "an interface beside the address": ("HOST", "fe80::1%eth0"),
    "Redis by a word": ("REDIS_URL", "hello"),
    "Redis by another scheme": ("REDIS_URL", "http://127.0.0.1:6379"),
    "Redis without a host": ("REDIS_URL", "redis://"),
    "Redis at a port that can't be": ("REDIS_URL", "redis://127.0.0.1:99999"),
    "a Redis database that is no number": ("REDIS_URL", "redis://127.0.0.1/waypost"),
    "a database without a file": ("DATABASE_URL", "sqlite:///"),
    "a database in memory": ("DATABASE_URL", "sqlite:///:memory:"),
    "a database by a relative path": ("DATABASE_URL", "sqlite:///main.db"),
    "a folder for a database": ("DATABASE_URL", "sqlite:////tmp"),
    "a database in a folder that is not there": ("DATABASE_URL", "sqlite:////nothing/here/main.db"),
    "PostgreSQL at a port that is none": ("DATABASE_URL", "postgresql://u:p@h:port/d"),
    "PostgreSQL without anything": ("DATABASE_URL", "postgresql://"),
    "clicks without a file": ("CLICKS_URL", "sqlite:///"),
    "a ClickHouse without a database": ("CLICKS_URL", "clickhouse://user@localhost:8123"),
    "a ClickHouse with a database that is none": ("CLICKS_URL", "clickhouse://localhost/a-b"),
    "a ClickHouse with parameters": ("CLICKS_URL", "clickhouse://localhost/clicks?secure=1"),
    "a ClickHouse for the links": ("DATABASE_URL", "clickhouse://localhost/links"),
    "a secret that is short": ("SECRET_KEY", "x"),
    "a secret that is no secret": ("SECRET_KEY", "aaaaaaaaaaaaaaaaaaaaaaaa"),
    "an old secret that is short": ("SECRET_KEY_OLD", "x"),
    "a trusted host with a scheme": ("TRUSTED_HOSTS", "https://go.example"),
    "a trusted host with a path": ("TRUSTED_HOSTS", "go.example/links"),
    "every host": ("TRUSTED_HOSTS", "*"),
    "a place file's address without a scheme": ("GEOIP_URL", "no url"),
    "a place file's address by another scheme": ("GEOIP_URL", "ftp://geo.example/file.mmdb"),
    "a folder for a place file": ("GEOIP_DB", "/tmp"),
    "a header with a colon": ("GEO_COUNTRY_HEADER", "CF-IPCountry:"),
    "a header that never arrives": ("GEO_COUNTRY_HEADER", "CF_IPCOUNTRY"),
    "a token that no client can send": ("METRICS_TOKEN", "Zutritt für alle"),
    "a token that is guessed": ("METRICS_TOKEN", "x"),
    "a file for the data": ("DATA_DIR", "/dev/null"),
    "a folder for the data within a file": ("DATA_DIR", "/dev/null/waypost"),
    "a mail server without a scheme": ("SMTP_URL", "mail.example"),
    "a mail server at a port that is none": ("SMTP_URL", "smtp://mail.example:smtp"),
    "a sender without an address": ("MAIL_FROM", "Waypost"),
    "proxies that are no number": ("TRUSTED_PROXIES", "yes"),
    "too many proxies": ("TRUSTED_PROXIES", "10"),
    "sessions of no day": ("SESSION_DAYS", "0"),
    "a limit below nothing": ("API_RATE_LIMIT", "-5"),
    "clicks that are kept for no day": ("CLICK_RETENTION_DAYS", "0"),
    "an audit log of a day": ("AUDIT_LOG_DAYS", "1"),
    "fewer backups than none": ("UPGRADE_BACKUPS", "-1"),
    "a journal by another word": ("JOURNAL_SYNC", "always"),
    "a base address with a host that can't be": ("BASE_URL", "https://go..example"),
    "a base address with a port that can't be": ("BASE_URL", "https://go.example:99999"),
    "a base address with white space": ("BASE_URL", "https://go.example /"),
    "a port that is no number": ("PORT", "eighty"),
    "a port in other digits": ("PORT", "٨٠٠٠"),
    "a port that can't be": ("PORT", "65536"),
    "no process at all": ("PROCESSES", "0"),
    "a base address without a scheme": ("BASE_URL", "go.example"),
    "a base address with a path": ("BASE_URL", "https://go.example/links"),
    "a Unix socket to listen on": ("HOST", "unix:///run/waypost.sock"),
    "a base address with a login": ("BASE_URL", "https://me:secret@go.example"),
    "another scheme for the dashboard": ("DASHBOARD_URL", "ftp://go.example"),
    "a database that is not known": ("DATABASE_URL", "mysql://localhost/waypost"),
    "a network that is none": ("ALLOW_PRIVATE_NETWORKS", "10.0.0.0/99"),
    "a scheme that runs scripts": ("DESTINATION_SCHEMES", "https javascript"),
    "a scheme that is none": ("DESTINATION_SCHEMES", "https 1two"),
    "a word that is not one of the few": ("LOG_FORMAT", "xml"),
    "a level that is none": ("LOG_LEVEL", "loud"),
    "consent by another word": ("PIXEL_CONSENT", "maybe"),
    "too few connections": ("DATABASE_POOL_SIZE", "3"),
    "no handlers": ("MAX_HANDLERS", "0"),
    "a bucket that is none": ("BACKUP_TO", "https://s3.example.com/bucket"),
    "a bucket in capitals": ("BACKUP_TO", "s3://Bucket"),
    "a prefix that would be encoded": ("BACKUP_TO", "s3://bucket/a b"),
    "backups to a server of another kind": ("BACKUP_TO", "ftp://example.com/backups"),
    "backups to a file": ("BACKUP_TO", "/dev/null"),
    "a time that is none": ("BACKUP_AT", "24:00"),
    "six fields of cron": ("BACKUP_AT", "0 0 3 * * *"),
    "nothing is kept": ("BACKUP_KEEP", "0d"),
    "years are kept": ("BACKUP_KEEP", "7d 1y"),
    "a word for a time": ("BACKUP_VERIFY_AT", "sometimes"),
    "a short passphrase": ("BACKUP_PASSPHRASE", "elevenchars"),
    "a server without a scheme": ("S3_ENDPOINT", "s3.example.com"),
    "a region that is none": ("S3_REGION", "eu central"),
    "a key with white space": ("S3_ACCESS_KEY_ID", "a key"),
    "a secret that is too short": ("S3_SECRET_ACCESS_KEY", "ab"),
    "a provider without a scheme": ("OIDC_ISSUER", "id.example.com"),
    "a provider with a question mark": ("OIDC_ISSUER", "https://id.example.com/?realm=1"),
    "a provider with a login": ("OIDC_ISSUER", "https://me:secret@id.example.com"),
    "a client with white space": ("OIDC_CLIENT_ID", "way post"),
    "a client's secret that no header takes": ("OIDC_CLIENT_SECRET", "geheim\u00fc"),
    "a provider's name with a control character": ("OIDC_NAME", "Id\x07"),
    "a provider's name that is too long": ("OIDC_NAME", "n" * 65),
    "scopes that are none": ("OIDC_SCOPES", 'openid "profile"'),
    "a role of nobody": ("OIDC_ROLES", "marketing:3:editor"),
    "a role in no workspace": ("OIDC_ROLES", "groups=marketing:three:editor"),
    "a role in workspace 0": ("OIDC_ROLES", "groups=marketing:0:editor"),
    "a role that does not exist": ("OIDC_ROLES", "groups=marketing:3:admin"),
    "roles by commas": ("OIDC_ROLES", "groups=a:3:editor, groups=b:4:editor:x"),
    "an address for a domain": ("OIDC_EMAIL_DOMAINS", "me@example.com"),
    "a domain's end": ("OIDC_EMAIL_DOMAINS", ".example.com"),
    "a flag that is none": ("OIDC_ONLY", "perhaps"),
    "clicks in another kind of database": ("CLICKS_URL", "postgresql://localhost/clicks"),
}
GOOD = {
    "a name in other letters": ("BASE_URL", "https://bücher.example", "https://xn--bcher-kva.example"),
    "a base address of IPv6": ("BASE_URL", "http://[2001:DB8::1]:8000", "http://[2001:db8::1]:8000"),
    "Redis by a socket": ("REDIS_URL", "unix:///run/redis.sock", "unix:///run/redis.sock"),
    "Redis with TLS": ("REDIS_URL", "rediss://:p%40@[::1]:6379/1", "rediss://:p%40@[::1]:6379/1"),
    "PostgreSQL by a socket": ("DATABASE_URL", "postgresql:///d", "postgresql+psycopg:///d"),
    "hosts by their ends, and with ports": (
        "TRUSTED_HOSTS",
        ".Example.com go.example:8443 [::1]",
        (".example.com", "go.example", "[::1]"),
    ),
    "a host of a container network": ("BASE_URL", "http://waypost_web:8000", "http://waypost_web:8000"),
    "a base address loses its slash": ("BASE_URL", "https://Go.Example/", "https://go.example"),
    "PostgreSQL gets our driver": ("DATABASE_URL", "postgres://u@h/d", "postgresql+psycopg://u@h/d"),
    "schemes come beside the web's": (
        "DESTINATION_SCHEMES",
        "mailto",
        frozenset({"http", "https", "mailto"}),
    ),
    "hosts by comma or space": ("TRUSTED_HOSTS", "a.example, B.example", ("a.example", "b.example")),
    "a folder by its address": ("BACKUP_TO", "file:///var/backups", "/var/backups"),
    "a time of day": ("BACKUP_AT", "3:15", "15 3 * * *"),
    "the fields of cron": ("BACKUP_AT", "*/30  4 * * mon", "*/30 4 * * mon"),
    "no time at all": ("BACKUP_VERIFY_AT", "never", ""),
    "what is kept": ("BACKUP_KEEP", "7d, 6m", Retention(days=7, months=6)),
    "all are kept": ("BACKUP_KEEP", "all", Retention(is_all=True)),
    "scopes get openid": ("OIDC_SCOPES", "email, groups", "openid email groups"),
    "a flag": ("OIDC_ONLY", "No", False),
    "empty is not set": ("BASE_URL", "", None),
}


def environ(data_dir: Path, **settings: str) -> dict[str, str]:
    return {f"WAYPOST_{name}": text for name, text in {"DATA_DIR": str(data_dir), **settings}.items()}


def test_none_is_needed(tmp_path: Path) -> None:
    settings = load_settings(environ(tmp_path))
    assert settings.database_url == f"sqlite:///{tmp_path / 'main.db'}"
    assert (settings.host, settings.port, settings.processes) == ("127.0.0.1", 8000, default_processes())


@pytest.mark.parametrize(("name", "text"), BAD.values(), ids=BAD)
def test_a_bad_value_is_refused_by_its_name(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(BadSettings, match=f"^WAYPOST_{name}: ") as caught:
        load_settings(environ(tmp_path, **{name: text}))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "text", "read"), GOOD.values(), ids=GOOD)
def test_a_good_value_is_read(tmp_path: Path, name: str, text: str, read: object) -> None:
    assert getattr(load_settings(environ(tmp_path, **{name: text})), name.lower()) == read


def test_every_setting_has_a_bad_value_here() -> None:
    assert {name for name, _ in BAD.values()} == set(TABLE)


OIDC = {"OIDC_ISSUER": "https://id.example.com/realms/a/", "OIDC_CLIENT_ID": "waypost"}


def test_roles_and_domains_of_single_sign_on_are_read(tmp_path: Path) -> None:
    rows = "groups=a, b:3:editor; realm_access.roles=urn:x:y:4:owner\nis_staff=true:5:viewer;"
    more = {"OIDC_ROLES": rows, "OIDC_EMAIL_DOMAINS": "Example.com, b\u00fccher.example"}
    settings = load_settings(environ(tmp_path, **OIDC, **more))
    assert settings.oidc_roles == (
        RoleRule("groups", "a, b", 3, "editor"),
        RoleRule("realm_access.roles", "urn:x:y", 4, "owner"),
        RoleRule("is_staff", "true", 5, "viewer"),
    )
    assert settings.oidc_email_domains == ("example.com", "xn--bcher-kva.example")


def test_single_sign_on_needs_a_provider_and_a_client(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"^WAYPOST_OIDC_CLIENT_ID: must be set"):
        load_settings(environ(tmp_path, OIDC_ISSUER="https://id.example.com"))
    for name, text in {"ONLY": "on", "ROLES": "g=a:1:owner", "EMAIL_DOMAINS": "*"}.items():
        with pytest.raises(BadSettings, match=f"^WAYPOST_OIDC_{name}: means nothing without"):
            load_settings(environ(tmp_path, **{f"OIDC_{name}": text}))


KEYS = {"S3_ACCESS_KEY_ID": "key", "S3_SECRET_ACCESS_KEY": "secret"}


def test_a_bucket_needs_both_keys(tmp_path: Path) -> None:
    target = {"BACKUP_TO": "s3://bucket/a/b/"}
    assert load_settings(environ(tmp_path, **target, **KEYS)).backup_to == "s3://bucket/a/b"
    for name in KEYS:
        with pytest.raises(BadSettings, match=rf"^WAYPOST_{name}: .* WAYPOST_BACKUP_TO names a bucket$"):
            load_settings(environ(tmp_path, **target, **(KEYS | {name: ""})))


def test_clicks_in_the_same_file_as_the_rest_are_refused(tmp_path: Path) -> None:
    same = f"sqlite:///{tmp_path / 'main.db'}"
    with pytest.raises(BadSettings, match=r"^WAYPOST_CLICKS_URL: "):
        load_settings(environ(tmp_path, DATABASE_URL=same, CLICKS_URL=same))


PASSWORDS = {
    "PostgreSQL": ("DATABASE_URL", "postgresql://me:hidden/word@db.example:x/d"),
    "Redis": ("REDIS_URL", "redis://:hidden/word@cache.example/0"),
    "mail": ("SMTP_URL", "smtp://me:hidden/word@mail.example"),
    "mail, as if a port": ("SMTP_URL", "smtp://me:hidden#word@mail.example"),
    "places": ("GEOIP_URL", "https://me:hidden#word@geo.example:x/"),
}


@pytest.mark.parametrize(("name", "text"), PASSWORDS.values(), ids=PASSWORDS)
def test_a_refusal_does_not_repeat_a_password(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_settings(environ(tmp_path, **{name: text}))
    assert "hidden" not in str(caught.value)


UNKNOWN = {
    "WAYPOST_PROT": "WAYPOST_PORT",
    "WAYPOST_TRUSTED_PROXY": "WAYPOST_TRUSTED_PROXIES",
    "WAYPOST_DATABSE_URL": "WAYPOST_DATABASE_URL",
    "WAYPOST_SECRETKEY_FILE": "WAYPOST_SECRET_KEY_FILE",
    "WAYPOST_": "WAYPOST_",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_name_is_named_with_the_nearest_setting(tmp_path: Path, name: str) -> None:
    found = load_settings({**environ(tmp_path), name: "1", "WAYPOST_PORT_FILE": ""})
    assert found.unknown_names == (name,)
    assert name in describe_unknown_name(name)
    assert f"Did you mean {UNKNOWN[name]}" in describe_unknown_name(name)


LOCAL_URLS = {
    "127.0.0.1": "http://127.0.0.1:8000",
    "192.0.2.7": "http://192.0.2.7:8000",
    "0.0.0.0": "http://127.0.0.1:8000",
    "::": "http://[::1]:8000",
    "0:0:0:0:0:0:0:1": "http://[::1]:8000",
    "2001:db8::7": "http://[2001:db8::7]:8000",
}


@pytest.mark.parametrize("host", LOCAL_URLS)
def test_the_local_url_opens(tmp_path: Path, host: str) -> None:
    settings = load_settings(environ(tmp_path, HOST=host))
    assert settings.local_url == LOCAL_URLS[host]
    assert site_of(settings).links == LOCAL_URLS[host]
    assert setup.known_site(settings) == LOCAL_URLS[host]


def test_a_relative_path_starts_at_the_folder_of_waypost(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        found = load_settings(environ(tmp_path, GEOIP_DB="instance/geo.mmdb"))
    assert found.geoip_db == ROOT / "instance" / "geo.mmdb"


def test_every_bad_value_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        load_settings(environ(tmp_path, PORT="x", PROCESSES="x"))
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "WAYPOST_PORT",
        "WAYPOST_PROCESSES",
    ]


def test_any_setting_can_come_from_a_file(tmp_path: Path) -> None:
    for name, text, read in GOOD.values():
        (tmp_path / "value").write_text(f"{text}\n", encoding="utf-8")
        given = {"WAYPOST_DATA_DIR": str(tmp_path), f"WAYPOST_{name}_FILE": str(tmp_path / "value")}
        assert getattr(load_settings(given), name.lower()) == read


def test_an_old_key_without_a_current_one_is_refused(tmp_path: Path) -> None:
    key = "a secret of the tests that has no end in sight"
    with pytest.raises(BadSettings, match=r"^WAYPOST_SECRET_KEY_OLD: means nothing without"):
        load_settings(environ(tmp_path, SECRET_KEY_OLD=key))
    assert load_settings(environ(tmp_path, SECRET_KEY_OLD=key, SECRET_KEY=key[::-1])).secret_key_old == key


def test_a_data_directory_is_not_made_by_reading_settings(tmp_path: Path) -> None:
    assert load_settings(environ(tmp_path / "not" / "yet")).data_dir == tmp_path / "not" / "yet"
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_is_given_twice(tmp_path: Path) -> None:
    (tmp_path / "port").write_text("9000\n")
    twice = environ(tmp_path, PORT="8000", PORT_FILE=str(tmp_path / "port"), HOST="127.0.0.1", HOST_FILE="")
    found = load_settings(twice)
    assert (found.port, found.doubled_names) == (9000, ("PORT",))


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of settings in place of the one in this folder."""
    path = tmp_path / "settings.env"
    monkeypatch.setattr(config, "ENV_FILE", path)
    monkeypatch.setattr(os, "environ", {"WAYPOST_DATA_DIR": str(tmp_path)})
    return path


def test_settings_of_a_file(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().port == 8000
    env_file.write_text("WAYPOST_PORT=9000\n")
    assert load_settings().port == 9000
    monkeypatch.setitem(os.environ, "WAYPOST_PORT", "9001")
    assert load_settings().port == 9001


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_file_of_settings_that_this_user_cant_read_is_named(env_file: Path) -> None:
    env_file.write_text("WAYPOST_PORT=9000\n")
    env_file.chmod(0o600)
    for folder in list(env_file.parents)[:-2]:
        folder.chmod(folder.stat().st_mode | 0o011)
    with (
        acting_as(describe_owner(54321, 54321)),
        pytest.raises(BadSettings, match=r"can't be read by this user") as caught,
    ):
        load_settings()
    assert str(caught.value).startswith(f"{env_file}: ")
    assert "(54321)" in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_key_that_this_user_cant_read_is_no_bad_setting(env_file: Path, tmp_path: Path) -> None:
    """It is left to commands to say that the data directory belongs to another user."""
    (tmp_path / "secret_key").touch(mode=0o600)
    for folder in list(env_file.parents)[:-2]:
        folder.chmod(folder.stat().st_mode | 0o011)
    with acting_as(describe_owner(54321, 54321)):
        assert load_settings(environ(tmp_path)).secret_key == ""


def test_a_file_of_settings_that_is_no_text_is_named(env_file: Path) -> None:
    env_file.write_bytes(b"WAYPOST_MAIL_FROM=M\xfcller\n")
    with pytest.raises(BadSettings) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{env_file}: can't be read")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="WAYPOST_SECRET_KEY"):
        load_settings({"WAYPOST_DATA_DIR": str(tmp_path), "WAYPOST_SECRET_KEY_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize("database", ["", "postgresql://localhost/links"])
def test_clicks_in_clickhouse_leave_the_database_as_it_is(tmp_path: Path, database: str) -> None:
    address = "clickhouses://user:secret@stats.example:8443/clicks"
    found = load_settings(environ(tmp_path, DATABASE_URL=database, CLICKS_URL=address))
    assert (found.clickhouse_url, found.clicks_url) == (address, None)
    assert found.database_url.startswith(database[:10] or "sqlite")


def test_clickhouse_without_its_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(BadSettings, match=r"CLICKS_URL: needs the package clickhouse-connect"):
        load_settings(environ(tmp_path, CLICKS_URL="clickhouse://localhost/clicks"))
