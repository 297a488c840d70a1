"""What is a good value for each setting, and what is said of a bad one?"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import BadSettings, default_processes, load_settings

BAD = {
    "a port that is no number": ("PORT", "eighty"),
    "a port in other digits": ("PORT", "٨٠٠٠"),
    "a port that can't be": ("PORT", "65536"),
    "no process at all": ("PROCESSES", "0"),
    "a base address without a scheme": ("BASE_URL", "go.example"),
    "a base address with a path": ("BASE_URL", "https://go.example/links"),
    "a base address with a login": ("BASE_URL", "https://me:secret@go.example"),
    "another scheme for the dashboard": ("DASHBOARD_URL", "ftp://go.example"),
    "a database that is not known": ("DATABASE_URL", "mysql://localhost/waypost"),
    "a network that is none": ("ALLOW_PRIVATE_NETWORKS", "10.0.0.0/99"),
    "a scheme that runs scripts": ("DESTINATION_SCHEMES", "https javascript"),
    "a scheme that is none": ("DESTINATION_SCHEMES", "https 1two"),
    "a word that is not one of the few": ("LOG_FORMAT", "xml"),
    "consent by another word": ("PIXEL_CONSENT", "maybe"),
    "clicks in another kind of database": ("CLICKS_URL", "postgresql://localhost/clicks"),
}
GOOD = {
    "a base address loses its slash": ("BASE_URL", "https://Go.Example/", "https://go.example"),
    "PostgreSQL gets our driver": ("DATABASE_URL", "postgres://u@h/d", "postgresql+psycopg://u@h/d"),
    "schemes come beside the web's": (
        "DESTINATION_SCHEMES",
        "mailto",
        frozenset({"http", "https", "mailto"}),
    ),
    "hosts by comma or space": ("TRUSTED_HOSTS", "a.example, B.example", ("a.example", "b.example")),
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
    with pytest.raises(BadSettings, match=f"^WAYPOST_{name}: "):
        load_settings(environ(tmp_path, **{name: text}))


@pytest.mark.parametrize(("name", "text", "read"), GOOD.values(), ids=GOOD)
def test_a_good_value_is_read(tmp_path: Path, name: str, text: str, read: object) -> None:
    assert getattr(load_settings(environ(tmp_path, **{name: text})), name.lower()) == read


def test_every_bad_value_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        load_settings(environ(tmp_path, PORT="x", PROCESSES="x"))
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "WAYPOST_PORT",
        "WAYPOST_PROCESSES",
    ]


@pytest.mark.parametrize(("name", "text", "read"), GOOD.values(), ids=GOOD)
def test_any_setting_can_come_from_a_file(tmp_path: Path, name: str, text: str, read: object) -> None:
    (tmp_path / "value").write_text(f"{text}\n", encoding="utf-8")
    given = {"WAYPOST_DATA_DIR": str(tmp_path), f"WAYPOST_{name}_FILE": str(tmp_path / "value")}
    assert getattr(load_settings(given), name.lower()) == read


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="WAYPOST_SECRET_KEY"):
        load_settings({"WAYPOST_DATA_DIR": str(tmp_path), "WAYPOST_SECRET_KEY_FILE": str(tmp_path / "none")})
